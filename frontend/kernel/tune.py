"""`tune`: searches legal schedules around the default one, measures them, and keeps the fastest."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ... import pipeline
from ...codegen import tuned
from ...codegen.executable import load_executable, object_for
from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...errors import InternalError, LaminaError
from ...executor import kernels
from ...lowering.analysis.bounds import code_size
from ...lowering.default_threads import place_loops
from ...lowering.llvm.emit import emit_module
from ...lowering.schedule.auto import schedule_module
from ...lowering.schedule.base import Primitive
from ...lowering.target import set_target, target_of
from ...lowering.tuned_schedules import tuning_key
from ...runtime.callable import KernelFunction
from ...runtime.module_signatures import kernel_signature_of
from ...runtime.signature import ArrayParam
from ...runtime.threads import get_threads
from ..run.jit import JitBase
from .decorator import KernelBase

MOST_CODE = 1500
"""Ops of a candidate, each copy in an unrolled loop counted: more takes too long to compile."""
GAIN = 0.97
"""A candidate is kept if its time is at most this part of the default schedule's."""
ROUNDS = 7
HOPELESS = 4.0
"""How many times slower than the default schedule a first run may be for another to be worth it."""
MOST_CANDIDATES = 2000


@dataclass(frozen=True)
class Tuned:
    """The result for one kernel.

    Attributes:
        kernel: its name.
        default_seconds, seconds: the time of a run with the default schedule, and with the one that is kept.
        steps: the schedule that is kept, as pipeline text.
        candidates: how many others were measured.
        path: the file it is kept in; None if the default schedule stays, or the cache is off.
    """

    kernel: str
    default_seconds: float
    seconds: float
    steps: str
    candidates: int
    path: Path | None

    def __str__(self) -> str:
        gain = self.default_seconds / self.seconds
        return f"@{self.kernel}: {_ms(self.default_seconds)} -> {_ms(self.seconds)} ({gain:.2f}x, {self.candidates} candidates)"


def tune(function: Any, *args: Any, seconds: float = 5.0, seed: int = 0) -> tuple[Tuned, ...]:
    """Search schedules for the kernels of a compiled function, and keep those that are faster than the default.

    Candidates are the default schedule with some steps changed: sizes, factors and lanes, steps left out, put in or exchanged.
    A step that is not proved legal is not applied, so that a candidate can only be slower. The candidates follow
    from `seed`; how many of them are measured, from the time. The result is a text file beside the object cache, read by all
    later compilations of the same kernels on this kind of machine; `function` itself is compiled again by its next call.

    Args:
        function: made by `jit` or `kernel`; a kernel must not be scheduled by hand.
        args: as it is called; a kernel is measured on copies of them, the kernels of a jitted function on arrays of their
            shapes.
        seconds: how long to search, about.

    Raises:
        TypeError: `function` is neither.
        ValueError: a kernel that is scheduled by hand, or `seconds` that is not positive.

    >>> import numpy as np, lamina as lm
    >>> x = np.ones((64, 64), np.float32)
    >>> f = lm.jit(lambda x: lm.numpy.tanh(x @ x))
    >>> (found,) = lm.tune(f, x, seconds=0.1)
    >>> found.seconds <= found.default_seconds
    True
    """
    if not seconds > 0:
        raise ValueError(f"tune() needs seconds above 0, got {seconds}")
    if isinstance(function, KernelBase):
        state = function.__kernel__
        if state.is_scheduled:
            raise ValueError(f"{state.function.__name__} is scheduled by hand: reset() it first")
        name = kernels.find_kernel(state.module).sym_name.data
        found = _tune_module(state.module, {name: state.positional(args)}, seconds, seed)
        function.reset()
        return found
    if isinstance(function, JitBase):
        module = function.lower(*args).module
        pipeline.run_to(module, "loop")
        found = _tune_module(module, {}, seconds, seed)
        function.clear_cache()
        function.uninstall()
        return found
    raise TypeError(f"tune() takes what jit or kernel made, got {type(function).__name__}: {function!r:.60}")


def _tune_module(module: ModuleOp, given: dict[str, Sequence[Any]], seconds: float, seed: int) -> tuple[Tuned, ...]:
    """Tune every kernel of a module at phase `loop` that nobody scheduled; each gets time by what it takes."""
    kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp) and not op.is_scheduled]
    defaults = _default_steps(module)
    searches = [_Search(k, target_of(module), defaults[k.sym_name.data], given.get(k.sym_name.data), seed) for k in kernels]
    total = sum(search.default_seconds for search in searches) or 1.0
    return tuple(search.run(seconds * search.default_seconds / total) for search in searches)


def _default_steps(module: ModuleOp) -> dict[str, list[Primitive]]:
    """The default schedule of every kernel of a module, which stays as it is."""
    steps: dict[str, list[Primitive]] = {op.sym_name.data: [] for op in module.body.block.ops if isinstance(op, KernelOp)}
    schedule_module(module.clone(), lambda kernel, taken: steps[kernel.sym_name.data].append(taken.step))
    return steps


class _Search:
    """The search for one kernel."""

    def __init__(self, kernel: KernelOp, target: Target, default: Sequence[Primitive], args: Sequence[Any] | None, seed: int):
        self.kernel, self.target, self.default = kernel, target, list(default)
        self.key = tuning_key(kernel)
        self.rng = random.Random(f"{seed} {self.key}")
        self.seed = seed
        self.args = args
        first = self.compiled(self.default)
        if first is None:
            raise InternalError(f"the default schedule of @{kernel.sym_name.data} cannot be taken twice")
        first()
        self.run_default, self.results = first, [x.copy() for x in first.results()]
        self.repeat = 1
        self.default_seconds = self.measure([first])[0]
        self.repeat = max(1, min(10_000, int(2e-3 / max(self.default_seconds, 1e-9))))

    def compiled(self, steps: Sequence[Primitive]) -> _Run | None:
        """A run of the kernel with steps; None if one is not legal, or the code would be long."""
        kernel = self.kernel.clone()
        try:
            for step in steps:
                step.run(kernel)
            if code_size(kernel) > MOST_CODE:
                return None
            module = ModuleOp([kernel])
            signature = kernel_signature_of(kernel)
            set_target(module, self.target)
            place_loops(module)
            text = emit_module(module, self.target, callable_kernels=True)
        except LaminaError:
            return None
        function = KernelFunction(load_executable(signature, object_for(signature, text, target=self.target)))
        arrays = self.arrays()
        run = functools.partial(function, *arrays, threads=get_threads())
        return _Run(run, arrays)

    def arrays(self) -> list[Any]:
        """The arguments of the kernel: copies of the given ones, or numbers of about 1."""
        if self.args is not None:
            return [np.array(x) if isinstance(x, np.ndarray) else x for x in self.args]
        rng = np.random.default_rng(0)
        arrays: list[Any] = []
        for param in kernel_signature_of(self.kernel).params:
            shape = param.shape if isinstance(param, ArrayParam) else ()
            values = rng.uniform(0.5, 1.5, shape)
            arrays.append(np.zeros(shape, param.dtype) if np.dtype(param.dtype).kind in "iub" else values.astype(param.dtype))
        return arrays

    def measure(self, runs: Sequence[Callable[[], Any]]) -> list[float]:
        """Median seconds of each, in turns."""
        times: list[list[float]] = [[] for _ in runs]
        for _ in range(ROUNDS):
            for run, samples in zip(runs, times, strict=True):
                start = time.perf_counter()
                for _ in range(self.repeat):
                    run()
                samples.append((time.perf_counter() - start) / self.repeat)
        return [statistics.median(samples) for samples in times]

    def run(self, seconds: float) -> Tuned:
        """Measure candidates for about some seconds, at least one; keep the best if it gains."""
        end = time.perf_counter() + seconds
        best, best_run, best_ratio, measured = self.default, self.run_default, 1.0, 0
        seen = {_text(self.default)}
        for _ in range(MOST_CANDIDATES):
            if measured and time.perf_counter() > end:
                break
            steps = self.mutated()
            if _text(steps) not in seen:
                seen.add(_text(steps))
                run = self.compiled(steps)
                if run is not None:
                    measured += 1
                    if self.check(run, steps) > HOPELESS * self.default_seconds:
                        continue
                    of_default, of_run = self.measure([self.run_default, run])
                    if of_run < best_ratio * of_default * GAIN:
                        best, best_run, best_ratio = steps, run, of_run / of_default
        if best is not self.default:  # a lucky measurement does not win
            of_default, of_best = self.measure([self.run_default, best_run])
            if of_best < of_default * GAIN:
                return self.keep(best, of_default, of_best, measured)
        tuned.forget(self.key)
        name = self.kernel.sym_name.data
        return Tuned(name, self.default_seconds, self.default_seconds, _text(self.default), measured, None)

    def keep(self, steps: Sequence[Primitive], default_seconds: float, seconds: float, measured: int) -> Tuned:
        """Write the result."""
        name = self.kernel.sym_name.data
        note = (
            f"@{name}, {get_threads()} threads: {_ms(default_seconds)} by default, {_ms(seconds)} with these steps "
            f"({measured} candidates, seed {self.seed})"
        )
        path = tuned.save(self.key, "\n".join(step.as_text() for step in steps), note)
        return Tuned(name, default_seconds, seconds, _text(steps), measured, path)

    def check(self, run: _Run, steps: Sequence[Primitive]) -> float:
        """The seconds of a first run, which computes the same up to the order of sums.

        Raises:
            InternalError: it does not, which legality should have ruled out.
        """
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        for found, wanted in zip(run.results(), self.results, strict=True):
            if found.dtype.kind == "f":
                scale = float(np.nanmax(np.abs(wanted))) if wanted.size and np.isfinite(wanted).any() else 1.0
                same = np.allclose(found, wanted, rtol=1e-3, atol=1e-4 * scale, equal_nan=True)
            else:
                same = np.array_equal(found, wanted)
            if not same:
                raise InternalError(f"@{self.kernel.sym_name.data} computes something else after {_text(steps)}")
        return seconds

    # -- candidates

    def mutated(self) -> list[Primitive]:
        """The default schedule with one to three changes."""
        steps = list(self.default)
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.change(steps)
        return steps

    def change(self, steps: list[Primitive]) -> None:
        """Change one thing: mostly a number, else the set or the order of steps."""
        rng = self.rng
        numbers = [(k, f) for k, step in enumerate(steps) for f in _number_fields(step)]
        kind = rng.choices(("number", "drop", "swap", "unroll"), (6 if numbers else 0, 1, 1, 2))[0]
        if kind == "number":
            k, name = rng.choice(numbers)
            steps[k] = dataclasses.replace(steps[k], **{name: _other(rng, getattr(steps[k], name))})
        elif kind == "drop" and steps:
            steps.pop(rng.randrange(len(steps)))
        elif kind == "swap" and len(steps) > 1:
            k = rng.randrange(len(steps) - 1)
            steps[k], steps[k + 1] = steps[k + 1], steps[k]
        elif kind == "unroll":
            self.insert(steps)

    def insert(self, steps: list[Primitive]) -> None:
        """Insert a step for a loop of the kernel that the default schedule does not have."""
        from ...lowering.schedule.parallelize import Parallelize
        from ...lowering.schedule.unroll import Unroll
        from ...lowering.schedule.unroll_and_jam import UnrollAndJam
        from ...lowering.schedule.vectorize import Vectorize

        names = [op.index.name_hint for op in self.kernel.walk() if isinstance(op, ForOp) and op.index.name_hint]
        names += [step.loop for step in steps if hasattr(step, "loop")]  # pyright: ignore[reportAttributeAccessIssue]
        if not names:
            return
        rng, name = self.rng, self.rng.choice(names)
        steps.insert(
            rng.randrange(len(steps) + 1),
            rng.choice(
                (
                    Unroll(name, rng.choice((2, 4, 8))),
                    UnrollAndJam(name, rng.choice((2, 4, 8))),
                    Vectorize(name, rng.choice((4, 8, 16, 32))),
                    Parallelize(name),
                )
            ),
        )


@dataclass(frozen=True)
class _Run:
    """A call that is ready, and the arrays it works on."""

    call: Callable[[], Any]
    arrays: list[Any]

    def __call__(self) -> None:
        self.call()

    def results(self) -> list[np.ndarray]:
        """The arrays as they are now."""
        return [x for x in self.arrays if isinstance(x, np.ndarray)]


def _number_fields(step: Primitive) -> list[str]:
    """Parameters that are sizes or factors."""
    found = []
    for field in dataclasses.fields(step):
        value = getattr(step, field.name)
        is_sizes = isinstance(value, tuple) and value and all(type(v) is int for v in value)
        if field.name != "order" and ((type(value) is int and value > 0) or is_sizes):
            found.append(field.name)
    return found


def _other(rng: random.Random, value: Any) -> Any:
    """A size or factor near another."""
    if isinstance(value, tuple):
        k = rng.randrange(len(value))
        return (*value[:k], _other(rng, value[k]), *value[k + 1 :])
    choices = {value * 2, value // 2, value * 3 // 2, value * 3 // 4, value + 1, value - 1, value * 4} - {value}
    return rng.choice(sorted(v for v in choices if v >= 1) or [2])


def _text(steps: Sequence[Primitive]) -> str:
    return ",".join(step.as_text() for step in steps)


def _ms(seconds: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(max(seconds * 1e3, 1e-6))))
    return f"{seconds * 1e3:.{digits}f} ms"
