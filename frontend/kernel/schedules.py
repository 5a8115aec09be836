"""Schedules in Python: a kernel, the steps taken so far, and the loops by name.

    s = matmul.schedule()
    io, jo, ii, ji = s.tile(s["i", "j"], sizes=(6, 16))
    s.reorder((io, jo, s["k"], ii, ji))
    print(s)                       # loop-tile{loops=i,j sizes=6,16},loop-reorder{loops=io,jo,k,ii,ji}

Every primitive of `lowering/schedule/` is a method: its name is the file's, its parameters are the fields of its class.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ... import passes
from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...errors import LaminaError, ScheduleError
from ...executor import kernels
from ...lowering.analysis.nests import loops, outline, unique_names
from ...lowering.schedule.auto import schedule_kernel, schedule_rest
from ...lowering.schedule.base import Primitive
from ...lowering.schedule.serialize import Serialize
from ...lowering.target import set_target, target_of
from ...lowering.tuned_schedules import kept_steps
from ...passes import parse_passes


@cache
def _ours() -> dict[str, type[Primitive]]:
    found: dict[str, type[Primitive]] = {}
    for info in passes.our_passes().values():
        if info.module.startswith("lowering.schedule."):
            cls = passes.find_pass(info.name)
            if issubclass(cls, Primitive):
                found[info.module.rpartition(".")[2]] = cls
    return found


def primitives() -> dict[str, type[Primitive]]:
    """Every schedule primitive by its method name, those of other packages too."""
    registered = passes.registered_passes().items()
    others = {name.removeprefix("loop-").replace("-", "_"): cls for name, cls in registered if issubclass(cls, Primitive)}
    return {**_ours(), **others} if others else _ours()


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop of a schedule: a name, and the step that made it. It becomes invalid when a step replaces the loop."""

    name: str
    schedule: Schedule = dataclasses.field(repr=False, compare=False)
    made: int = dataclasses.field(default=0, repr=False)

    @property
    def op(self) -> ForOp:
        """The loop in the IR as it is now."""
        return self.schedule.find(self.name, self.made)

    @property
    def kind(self) -> str:
        """seq, parallel, vector, unroll or reduce."""
        return self.op.kind.data

    def __str__(self) -> str:
        return self.name


class Schedule:
    """The steps that turn a kernel into the code that runs; each is proved legal when it is applied, or refused.

    >>> import lamina as lm
    >>> @lm.kernel
    ... def scale(x: lm.f32["N"], y: lm.f32["N"]):
    ...     for i in range(x.shape[0]):
    ...         y[i] = 2.0 * x[i]
    >>> s = scale.schedule()
    >>> outer, inner = s.split(s["i"], 64)
    >>> str(s)
    'loop-split{loop=i size=64}'
    """

    def __init__(self, module: ModuleOp, changed: Callable[[], None] | None = None):
        self._unscheduled = module
        self._changed = changed or (lambda: None)
        self.module = module.clone()
        unique_names(self.kernel)
        self.steps: list[Primitive] = []
        self._born = dict.fromkeys(loops(self.kernel), 0)
        self._consumed: dict[str, Primitive] = {}

    @property
    def kernel(self) -> KernelOp:
        """The kernel as scheduled so far."""
        return kernels.find_kernel(self.module)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops there are now, in the order of the text."""
        return tuple(Loop(name, self, self._born[name]) for name in loops(self.kernel))

    def __getitem__(self, names: str | tuple[str, ...]) -> Any:
        """A loop by name, or several: `s["i"]`, `s["i", "j"]`."""
        if isinstance(names, tuple):
            return tuple(self[name] for name in names)
        self.find(names)
        return Loop(names, self, self._born[names])

    def find(self, name: str, made: int | None = None) -> ForOp:
        """The loop of a name.

        Raises:
            ScheduleError: there is no such loop, or a step, which is named, has consumed it.
        """
        found = loops(self.kernel).get(name)
        if found is not None and made in (None, self._born[name]):
            return found
        if name in self._consumed:
            raise ScheduleError(f"loop '{name}' was consumed by {self._consumed[name].as_text()}\n{outline(self.kernel)}")
        close = difflib.get_close_matches(name, self._born, 2)
        hint = f", did you mean {' or '.join(close)}?" if close else ""
        raise ScheduleError(f"no loop '{name}' in kernel @{self.kernel.sym_name.data}{hint}\n{outline(self.kernel)}")

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        cls = primitives().get(verb)
        if cls is None:
            close = difflib.get_close_matches(verb, primitives(), 2)
            hint = f", did you mean {' or '.join(close)}?" if close else f"; there are: {', '.join(sorted(primitives()))}"
            raise AttributeError(f"no schedule primitive '{verb}'{hint}")

        def step(*args: Any, **kwargs: Any) -> Any:
            return self.take(self._bind(cls, verb, args, kwargs))

        step.__name__, step.__doc__ = verb, importlib.import_module(cls.__module__).__doc__
        return step

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *primitives()]

    def _bind(self, cls: type[Primitive], verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Primitive:
        fields = [f for f in dataclasses.fields(cls) if f.name not in ("name", "kernel")]
        names = [f.name for f in fields]
        if len(args) > len(fields):
            raise TypeError(f"{verb}() takes {', '.join(names)}, got {len(args)} arguments")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in given:
                problem = "is given twice" if key in given else f"does not exist; there are: {', '.join(names)}"
                raise TypeError(f"{verb}(): parameter '{key}' {problem}")
            given[key] = value
        missing = [f.name for f in fields if f.name not in given and f.default is dataclasses.MISSING]
        if missing:
            raise TypeError(f"{verb}() misses {', '.join(missing)}")
        plain = {key: self._plain(value, key) for key, value in given.items()}
        for f in fields:  # one loop where several may be given
            if f.name in plain and "tuple" in str(f.type) and not isinstance(plain[f.name], tuple):
                plain[f.name] = (plain[f.name],)
        return cls(**plain)

    def _plain(self, value: Any, key: str) -> Any:
        if isinstance(value, Loop):
            if value.schedule is not self:
                raise ScheduleError(f"loop '{value.name}' belongs to another schedule")
            self.find(value.name, value.made)
            return value.name
        if isinstance(value, tuple | list):
            return tuple(self._plain(v, key) for v in value)
        if isinstance(value, bool | int | str) or value is None:
            return value
        raise TypeError(f"{key} must be a loop, a name or a number, got {type(value).__name__}")

    def take(self, step: Primitive) -> Any:
        """Take a step: the new loops, one or a tuple.

        Raises:
            ScheduleError: it is not legal; the schedule stays as it was.
        """
        names = step.run(self.kernel)
        self.taken(step, tuple(loops(self.kernel)))
        self._changed()
        made = tuple(Loop(name, self, self._born[name]) for name in names)
        return made[0] if len(made) == 1 else made

    def replay(self, steps: str) -> tuple[Loop, ...]:
        """Take the steps of a text, as `str` of a schedule and `lamina-opt -p` have them: all of them or none.

        Returns the loops that the last step made.

        Raises:
            ScheduleError: a step is not legal, or is no step of schedules.
            UnknownPassError: the text is malformed, or names a step or a parameter that does not exist.

        >>> import lamina as lm
        >>> @lm.kernel
        ... def scale(x: lm.f32["N"], y: lm.f32["N"]):
        ...     for i in range(x.shape[0]):
        ...         y[i] = 2.0 * x[i]
        >>> [str(loop) for loop in scale.schedule().replay("loop-split{loop=i size=64},loop-vectorize{loop=ii lanes=8}")]
        ['ii']
        """
        before = self.module.clone(), [*self.steps], {**self._born}, {**self._consumed}
        made: Any = ()
        try:
            for step in parse_schedule(steps):
                made = self.take(step)
        except LaminaError:
            self.module, self.steps, self._born, self._consumed = before
            self._changed()
            raise
        return made if isinstance(made, tuple) else (made,)

    def auto(self, only: Any = None) -> tuple[Primitive, ...]:
        """Schedule what the steps so far have left, as it is done when the kernel is called; returns the steps.

        Results stay the same, bit for bit: loops get vectors and threads where that is proved legal and pays.

        Args:
            only: a loop, or its name: what is not in it stays as it is.

        Raises:
            ScheduleError: there is no such loop.

        >>> import lamina as lm
        >>> @lm.kernel
        ... def scale(x: lm.f32["N", "N"], y: lm.f32["N", "N"]):
        ...     for i in range(x.shape[0]):
        ...         for j in range(x.shape[1]):
        ...             y[i, j] = 2.0 * x[i, j]
        >>> s = scale.schedule()
        >>> s.parallelize("i").kind
        'parallel'
        >>> [step.name for step in s.auto()][0]
        'loop-vectorize'
        """
        before = len(self.steps)
        name = self._plain(only, "only")
        if name is not None:
            self.find(name)
        sequential = {step.loop for step in self.steps if isinstance(step, Serialize)}
        took = lambda _, taken: self.taken(taken.step, taken.loops)  # noqa: E731
        schedule_rest(self.kernel, target_of(self.kernel), took, name, sequential)
        unique_names(self.kernel)
        self._changed()
        return tuple(self.steps[before:])

    def finished(self) -> Schedule:
        """A copy with the steps of `auto`: what calls run."""
        copy = Schedule(self._unscheduled)
        copy.module = self.module.clone()
        copy.steps, copy._born, copy._consumed = [*self.steps], {**self._born}, {**self._consumed}
        copy.auto()
        return copy

    def explain(self) -> str:
        """The report on the loops as they are scheduled so far, `auto` excluded."""
        from .explain import explain

        return explain(kernels.find_kernel(self._unscheduled), self.kernel, None, ())

    def taken(self, step: Primitive, loops_after: Collection[str]) -> None:
        """Record an applied step, and the loops that exist now."""
        self.steps.append(step)
        for name in self._born.keys() - set(loops_after):
            self._consumed[name] = step
            del self._born[name]
        for name in loops_after:
            self._born.setdefault(name, len(self.steps))

    def __str__(self) -> str:
        """The steps as a pipeline that `lamina-opt -p` runs."""
        return ",".join(step.as_text() for step in self.steps)

    def as_text(self) -> str:
        """The scheduled IR."""
        return f"{self.module!s}\n"

    def as_python(self) -> str:
        """The scheduled kernel as the plain Python loops it means: to be read."""
        from .text import kernel_as_python

        return kernel_as_python(self.kernel)

    def __repr__(self) -> str:
        return f"<schedule of @{self.kernel.sym_name.data}: {self or 'no steps'}>"


def parse_schedule(text: str) -> tuple[Primitive, ...]:
    """The steps of a text, `loop-split{loop=i size=64},loop-unroll{loop=ii}`, which `schedule.take` takes.

    Raises:
        ScheduleError: a pass of the text is no step of schedules.
        UnknownPassError: the text is malformed, or names a step or a parameter that does not exist.

    >>> [step.as_text() for step in parse_schedule("loop-split{size=64 loop=i}")]
    ['loop-split{loop=i size=64}']
    """
    found = parse_passes(text)
    for step in found:
        if not isinstance(step, Primitive):
            raise ScheduleError(
                f"'{step.name}' is no step of a schedule: steps are the primitives, as loop-split{{loop=i size=4}}"
            )
    return tuple(step for step in found if isinstance(step, Primitive))


def default_schedule(module: ModuleOp, target: Target | None = None) -> Schedule:
    """The schedule that calls of an unscheduled kernel run: the one that `tune` found, or the default one.

    The module stays as it is.
    """
    schedule = Schedule(module)
    aimed = module.clone()
    if target is not None:
        set_target(aimed, target)
    steps = kept_steps(kernels.find_kernel(aimed))
    if steps is not None:
        try:
            for step in parse_passes(steps):
                if isinstance(step, Primitive):
                    schedule.take(step)
            return schedule
        except LaminaError:  # calls do without these steps, too
            schedule = Schedule(module)
    schedule_kernel(
        schedule.kernel, target or target_of(schedule.kernel), lambda _, taken: schedule.taken(taken.step, taken.loops)
    )
    return schedule
