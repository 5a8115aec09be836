"""`@lamina.kernel`: compiles a Python function over arrays with the default schedule or its author's."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from ... import pipeline
from ...errors import KernelError, TracingError
from ...executor import executor, kernels
from ...runtime.callable import FunctionBase, function_class
from ...runtime.executable import Executable
from ...runtime.signature import Signature
from .arguments import as_array, can_be_same, is_foreign, same_arrays
from .generic import GenericKernel, variables_of

if TYPE_CHECKING:
    from .schedules import Schedule

Unscheduled = Literal["auto", "none"]
"""How an unscheduled kernel runs: with the default schedule, or as it is written."""


class KernelBase(FunctionBase):
    """A kernel: called with NumPy arrays, which it changes in place; one compilation serves all sizes.

    Made by `kernel`. The first call compiles, with the steps that its schedule has by then, or else the default schedule.
    """

    __slots__ = ()
    __wrapped__: Any  # the function in Python, by `update_wrapper`

    def __init__(
        self,
        function: Callable[..., Any],
        check_bounds: bool = False,
        schedule: Unscheduled = "auto",
        reassociate: bool = False,
        state: State | None = None,
    ):
        # the slow path must not refer to this object: a cycle would delay its end
        state = state or State(function, check_bounds, schedule == "auto", reassociate)

        def first(*args: Any, **kwargs: Any) -> Any:
            _refuse_tracers(state.function, (*args, *kwargs.values()))
            if any(map(is_foreign, (*args, *kwargs.values()))):
                args, kwargs = state.as_arrays(args, kwargs)
                return state.owner()(*args, **kwargs)
            executable = state.executable()
            results = state.results(executable)
            named: Mapping[str, Any] = {**state.defaults(args, kwargs), **kwargs, **results}
            if state.complex_types:
                args, named, copies = state.in_parts(args, named)
                state.run(executable, args, named)
                for original, copy in copies:
                    original[...] = copy
            else:
                state.run(executable, args, named)
            if results:
                return state.returned(results)
            if not state.complex_types:
                state.install(executable)
            return None

        super().__init__(first)
        functools.update_wrapper(self, function)
        self.__kernel__ = state
        state.owner = weakref.ref(self)

    def __reduce__(self) -> Any:
        """A kernel is pickled as functions are, by its name in its module; one made from a text by that and its schedule."""
        state = self.__kernel__
        if state.origin is None:
            return state.function.__qualname__
        return _made_again, (*state.origin, str(state.schedule) if state.is_scheduled else "")

    @property
    def module(self) -> ModuleOp:
        """The kernel as loop IR, before any schedule; a fresh copy."""
        return self.__kernel__.module.clone()

    @property
    def signature(self) -> Signature:
        """Parameters, which of them are written, and the symbols of their sizes."""
        from ...runtime.module_signatures import kernel_signature_of

        return kernel_signature_of(kernels.find_kernel(self.__kernel__.module))

    def schedule(self) -> Schedule:
        """The schedule of this kernel: steps taken on it decide what later calls run, in place of the default schedule."""
        return self.__kernel__.scheduled()

    def default_schedule(self, target: str | None = None) -> Schedule:
        """The schedule that calls run until a step is taken on `schedule()`; it keeps every bit of the results.

        Where `lm.tune` has found a faster one, in this process or in one before, it is that.

        To be read, and to start from: steps taken on it are of no consequence for calls.

        Args:
            target: the machine that it is for, as `"x86-64-v4"`; the host if not given.

        >>> import lamina as lm
        >>> @lm.kernel
        ... def scale(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
        ...     for i, j in lm.grid(x.shape):
        ...         y[i, j] = 2.0 * x[i, j]
        >>> default = scale.default_schedule()
        >>> [step.name for step in default.steps]
        ['loop-vectorize', 'loop-parallelize']
        >>> mine = scale.schedule()
        >>> for step in default.steps[:1]:
        ...     loops = mine.take(step)
        >>> str(mine) == str(default)
        False
        """
        from ...codegen import targets
        from .schedules import default_schedule

        return default_schedule(self.__kernel__.module, None if target is None else targets.get(target))

    def reset(self) -> None:
        """Forget the schedule: calls run the default one again."""
        self.__kernel__.reset()

    def as_text(self, phase: str = "loop", target: str | None = None) -> str:
        """The kernel at a phase: `loop` as it is written, `scheduled` as it runs, `llvmir` or `asm`.

        Args:
            phase: where to stop.
            target: what `llvmir` and `asm` are for, as `"aarch64"`; the host if not given. A schedule stays as it is.

        Raises:
            ValueError: no such phase.
            CompileError: an op cannot be lowered, or there is no such target.
        """
        return self.__kernel__.as_text(phase, target)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | os.PathLike[str] | None = None,
        target: str | None = None,
        prefix: str | None = None,
        threads: bool | None = None,
    ) -> None:
        """Write the kernel, with the schedule that calls run, for C and other languages, or for `lm.load`.

        Args:
            path: a file ending in .o, .a, .so, .s or .ll. Its function is called by the file's name and the kernel's.
            header: a file for the prototype in C.
            target: what it is for, as `"aarch64"`; the host if not given. A schedule stays as it is.
            prefix: of names in C, if not the name of the file.
            threads: whether parallel loops require an OpenMP runtime (True), run on one thread (False), or on threads where
                the program that calls has such a runtime.

        Raises:
            CompileError: an op cannot be lowered.
            OSError: a file cannot be written.

        >>> import tempfile, numpy as np, lamina as lm
        >>> @lm.kernel
        ... def double(x: lm.f32["N"], y: lm.f32["N"]):
        ...     for i in range(x.shape[0]):
        ...         y[i] = 2 * x[i]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     double.export(f"{folder}/mine.so", header=f"{folder}/mine.h")
        ...     print(open(f"{folder}/mine.h").read().count("mine_double"))
        1
        """
        from ...codegen import targets
        from ...executor.export import write

        chosen = () if target is None else (targets.get(target),)
        write(self.__kernel__.as_scheduled(), path, header=header, prefix=prefix, targets=chosen, threads=threads)

    def explain(self, *args: Any) -> str:
        """A report on the loops of the kernel as scheduled: kinds, trip counts, strides, what is vectorized and why not;
        given the arguments of a call, also a roofline estimate beside a measurement (on copies of the arrays).
        """
        from .explain import explain

        state = self.__kernel__
        executable = state.executable() if args else None
        given = state.positional(args) if args else ()
        return explain(kernels.find_kernel(state.module), kernels.find_kernel(state.latest), executable, given)

    def compile(self) -> Executable:
        """Compile now what the next call would; the loaded machine code."""
        return self.__kernel__.executable()


class State:
    """The state of a kernel: its function, IR, schedule and machine code. Threads that need the same wait for one of them."""

    owner: Callable[[], Any]

    def __init__(self, function: Callable[..., Any], check_bounds: bool, has_default: bool, reassociate: bool):
        self.function, self.check_bounds, self.has_default = function, check_bounds, has_default
        self.reassociate = reassociate
        self.schedule: Schedule | None = None
        self._default: Schedule | None = None
        self.current: Executable | None = None
        self.installed: Executable | None = None
        self._called: Any = None
        self._same: dict[Any, Executable | None] = {}
        self.origin: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
        self._module: ModuleOp | None = None
        self._lock = threading.RLock()

    @property
    def module(self) -> ModuleOp:
        """The kernel before any schedule."""
        from .build import build_kernel

        with self._lock:
            if self._module is None:
                self._module = build_kernel(self.function, self.check_bounds, self.reassociate)
            return self._module

    def scheduled(self) -> Schedule:
        """The schedule, made when it is first requested."""
        from .schedules import Schedule

        with self._lock:
            if self.schedule is None:
                self.schedule = Schedule(self.module, self.changed)
            return self.schedule

    @property
    def is_scheduled(self) -> bool:
        """Whether its author has taken a step."""
        return self.schedule is not None and bool(self.schedule.steps)

    @property
    def latest(self) -> ModuleOp:
        """The module with the kernel as calls run it."""
        with self._lock:
            steps = self.steps
            return self.module if steps is None else steps.module

    @property
    def steps(self) -> Schedule | None:
        """The author's schedule, continued by default, or the default one; None: as it is written."""
        from .schedules import default_schedule

        with self._lock:
            if not self.has_default:
                return self.schedule
            if self._default is None:
                author = self.schedule if self.is_scheduled else None
                self._default = default_schedule(self.module) if author is None else author.finished()
            return self._default

    def called(self, make: Callable[[ModuleOp, str], Any]) -> Any:
        """The result of `make` for the kernel as scheduled so far, from its module and steps; kept until these change."""
        with self._lock:
            if self._called is None:
                self._called = make(self.latest, str(self.steps or ""))
            return self._called

    def reset(self) -> None:
        """Forget the schedule."""
        with self._lock:
            self.schedule = self._default = None
            self.changed()

    def changed(self) -> None:
        """The schedule has changed: compiled code is not valid any more."""
        with self._lock:
            self.current = self._called = self._default = None
            if self.installed is not None and (owner := self.owner()) is not None:
                owner.uninstall()
                self.installed = None

    def executable(self) -> Executable:
        """The machine code, compiled if there is none yet."""
        with self._lock:
            if self.current is None:
                if self.is_scheduled or not self.has_default:
                    self.current = executor.kernel(self.latest)
                else:
                    from .facts import facts_of

                    facts = facts_of(self.function, self.check_bounds, self.reassociate)
                    self.current = executor.known_kernel(facts, lambda: self.module)
            return self.current

    def run(self, executable: Executable, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Call through Python; of one array that is given twice, the kernel that has one parameter for both."""
        params = executable.signature.params
        given = dict(zip((p.name for p in params), args, strict=False)) | {**named}
        same = same_arrays(executable.signature, [given.get(p.name) for p in params])
        if same and len(args) <= len(params) and (one := self.with_same(same)) is not None:
            executable, args, named = one, (), {name: value for name, value in given.items() if name not in same}
        executable.run(args, named)

    def with_same(self, same: Mapping[str, str]) -> Executable | None:
        """The kernel in which parameters are the arrays of others, with the default schedule; None if there is none."""
        from .build import build_kernel
        from .facts import facts_of
        from .parameters import parameters_of
        from .source import read

        key = tuple(sorted(same.items()))
        with self._lock:
            if key not in self._same:
                self._same[key] = None
                if can_be_same(parameters_of(self.function, *read(self.function)), same):
                    options = self.check_bounds, self.reassociate
                    make = functools.partial(build_kernel, self.function, *options, same)
                    facts = facts_of(self.function, *options)
                    try:
                        if self.has_default:
                            known = None if facts is None else f"{facts}\n{key}"
                            self._same[key] = executor.known_kernel(known, make)
                        else:
                            self._same[key] = executor.kernel(make())
                    except KernelError:  # as iterations of a parallel loop that depend on each other then
                        pass
            return self._same[key]

    def as_arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments with the memory of other libraries' tensors as NumPy arrays."""

        def one(name: str, value: Any) -> Any:
            return as_array(value, f"kernel '{self.function.__name__}' argument '{name}'") if is_foreign(value) else value

        names = [p.name for p in self.parameters] + [""] * len(args)
        positional = tuple(map(one, names, args))
        return positional, {name: one(name, value) for name, value in named.items()}

    @functools.cached_property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """The parameters of the function."""
        return list(inspect.signature(self.function).parameters.values())

    def defaults(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that a call leaves to their defaults."""
        missing = [p for p in self.parameters[len(args) :] if p.name not in kwargs]
        return {p.name: p.default for p in missing if p.default is not p.empty}

    @functools.cached_property
    def complex_types(self) -> Mapping[str, Any]:
        """The element types of the parameters that are arrays of complex numbers."""
        from .annotations import COMPLEX, ArrayType
        from .parameters import parameters_of
        from .source import read

        types = parameters_of(self.function, *read(self.function)).types
        return {n: t.element.dtype for n, t in types.items() if isinstance(t, ArrayType) and t.element in COMPLEX}

    def in_parts(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[tuple[Any, ...], Mapping[str, Any], Any]:
        """Arguments with arrays of complex numbers as arrays of their parts; copies, and what they are copies of."""
        copies: list[tuple[np.ndarray, np.ndarray]] = []

        def parts(name: str, value: Any) -> Any:
            dtype = self.complex_types.get(name)
            if dtype is None:
                return value
            if not isinstance(value, np.ndarray) or value.dtype != dtype:
                got = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
                raise TypeError(f"kernel '{self.function.__name__}' argument '{name}' must be an array of {dtype}, got {got}")
            whole = np.ascontiguousarray(value)
            if whole is not value and value.flags.writeable:
                copies.append((value, whole))
            return whole.view(value.real.dtype).reshape(*value.shape, 2)

        positional = [parts(p.name, v) for p, v in zip(self.parameters, args, strict=False)] + list(
            args[len(self.parameters) :]
        )
        return tuple(positional), {name: parts(name, value) for name, value in named.items()}, copies

    def positional(self, args: Sequence[Any]) -> Sequence[Any]:
        """What machine code gets for the arguments of a call: defaults, the parts of complex numbers, arrays for results."""
        defaults = self.defaults(args, {})
        whole, _, _ = self.in_parts(
            (*args, *(defaults[p.name] for p in self.parameters[len(args) :] if p.name in defaults)), {}
        )
        return *whole, *self.results(self.executable()).values()

    def results(self, executable: Executable) -> dict[str, np.ndarray]:
        """New arrays for what the kernel returns: parameters after those of the function."""
        added = executable.signature.params[len(self.parameters) :]
        return {param.name: np.zeros(1, param.dtype) for param in added}

    def returned(self, results: Mapping[str, np.ndarray]) -> Any:
        """What a call returns: NumPy scalars."""
        values: list[Any] = [array[0] for array in results.values()]
        return tuple(values) if self.returns_tuple or len(values) > 1 else values[0]

    @functools.cached_property
    def returns_tuple(self) -> bool:
        """Whether `return` has a tuple."""
        from .jumps import results_of
        from .source import read

        return bool(results_of(read(self.function)[0].body))

    def install(self, executable: Executable) -> None:
        """Let later calls go straight to machine code, unless the schedule is another by now."""
        with self._lock:
            if executable is self.current and self.installed is None and (owner := self.owner()) is not None:
                owner.install(executable)
                self.installed = executable

    def as_text(self, phase: str, target: str | None) -> str:
        texts: dict[str, Callable[[], str]] = {
            "loop": lambda: f"{self.module!s}\n",
            "scheduled": lambda: f"{self.latest!s}\n",
            "llvmir": lambda: self._code("llvmir", target),
            "asm": lambda: self._code("asm", target),
        }
        if phase not in texts:
            raise ValueError(f"no phase {phase!r}; there are: {', '.join(texts)}")
        return texts[phase]()

    def as_scheduled(self) -> ModuleOp:
        """A copy of the module that calls run."""
        module = self.latest.clone()
        module.attributes["lamina.phase"] = StringAttr("scheduled")  # by hand, or by default in `latest`
        return module

    def _code(self, phase: str, target: str | None) -> str:
        from ...codegen import targets

        module = self.as_scheduled()
        text = pipeline.compile_to(module, phase, target=None if target is None else targets.get(target))
        assert isinstance(text, str)
        return text


def _made_again(make: Callable[..., Any], args: tuple[Any, ...], steps: str) -> Any:
    kernel = make(*args)
    if steps:
        kernel.schedule().replay(steps)
    return kernel


def _refuse_tracers(function: Callable[..., Any], values: Sequence[Any]) -> None:
    tracing = sys.modules.get(f"{__name__.rpartition('.kernel.')[0]}.trace.tracing")  # without it there are no tracers
    if tracing is not None and tracing.is_traced(values):
        name = function.__name__
        raise TracingError(
            f"kernel '{name}' changes arrays in place, which traced ones do not allow: in a traced function call it with "
            f"lamina.call_kernel({name}, ..., out=...)"
        )


Kernel: type[KernelBase] = function_class(KernelBase)


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    check_bounds: bool = False,
    schedule: Unscheduled | None = "auto",
    reassociate: bool = False,
) -> Any:
    """Compile a Python function over arrays as a kernel. It is read (its source, not its execution), checked, and
    compiled on the first call, once for all sizes.

    Args:
        function: parameters are annotated: `lm.f32["M", "N"]` for arrays, `lm.f32` for scalars.
        check_bounds: check at run time the accesses that cannot be proved to be in bounds.
        schedule: how it runs while nobody has taken a step on its `schedule()`: "auto", with vectors and threads where its
            loops are proved to allow them (`default_schedule()` shows the steps; results are the same, bit for bit); "none"
            or None, loop by loop as it is written.
        reassociate: let the schedule add sums of floats in another order: they become vectors. Results then depend on the
            target, not on the number of threads.

    Raises:
        KernelError: Python that kernels do not have, or an access that is out of bounds, at its line.
        ValueError: `schedule` is neither.

    >>> import numpy as np, lamina as lm
    >>> @lm.kernel
    ... def saxpy(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"]):
    ...     for i in range(x.shape[0]):
    ...         y[i] += a * x[i]
    >>> y = np.ones(3, np.float32)
    >>> saxpy(2.0, np.arange(3, dtype=np.float32), y)
    >>> y
    array([1., 3., 5.], dtype=float32)
    """
    if schedule not in ("auto", "none", None):
        raise ValueError(f'schedule must be "auto" or "none" (as it is written), got {schedule!r}')
    if function is None:
        return functools.partial(kernel, check_bounds=check_bounds, schedule=schedule, reassociate=reassociate)
    options = {"check_bounds": check_bounds, "schedule": schedule or "none", "reassociate": reassociate}
    make = functools.partial(Kernel, **options)
    variables = variables_of(function)
    return GenericKernel(function, variables, make) if variables else make(function)


__all__: Sequence[str] = ["Kernel", "kernel"]
