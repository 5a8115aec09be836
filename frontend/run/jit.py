"""`jit`: compiled functions, with a specialization for each structure, dtypes and shapes of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ...errors import DeviceError
from ...runtime.callable import FunctionBase, function_class
from ..trace.config import config
from ..trace.dynamic import Dynamic
from ..trace.program import (
    TensorSpec,
)
from ..trace.pytree import flatten
from .lowered import Compiled, Lowered
from .parameters import donated_positions, static_arguments
from .specializations import Dispatcher

if TYPE_CHECKING:
    from ...explorer import Page
    from ..kernel.explain import Report

CAPTURES = ("auto", "trace", "source")


class JitBase(FunctionBase):
    """The result of `jit`: call it like the Python function."""

    __slots__ = ()

    _dispatcher: Dispatcher

    def __init__(self, dispatcher: Dispatcher):
        super().__init__(dispatcher.call)
        self._dispatcher = dispatcher
        dispatcher.install = lambda executable: config.serve(self, executable)
        dispatcher.is_served = lambda: bool(self.executables)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace for arguments (arrays, numbers, or `TensorSpec`s) without compiling."""
        dispatcher = self._dispatcher
        moving, keywords, statics = dispatcher.split(args, kwargs)
        leaves, structure = flatten((moving, keywords))
        avals = dispatcher.with_dynamic(dispatcher.abstract(leaves, structure), structure, statics)
        return dispatcher.lower(structure, statics, avals)

    def explore(self, *args: Any, **kwargs: Any) -> Page:
        """A page that shows the compilation for these arguments; `save(path)` writes it, a notebook shows it."""
        return self.lower(*args, **kwargs).explore()

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Why the machine code for these arguments is as it is: a text.

        Which variants of the function were compiled and why; for each pair of neighbours in its graph why they share a kernel
        or do not; for each kernel its loops, which of them are vectors and why others are not, and what bounds it. It costs a
        cold compile.

        >>> import numpy as np, lamina as lm
        >>> f = lm.jit(lambda x: lm.numpy.tanh(x * 2 + 1))
        >>> print(f.explain(np.ones(1000, np.float32)))  # doctest: +ELLIPSIS
        <lambda>() for ...
        <BLANKLINE>
        neighbours:
          broadcast -> mul: one kernel: it only moves elements
          mul -> add: one kernel: its elements are computed where they are read
        ...
        """
        from ..kernel.explain import Report
        from .explaining import explain_module, variants

        dispatcher = self._dispatcher
        report = explain_module(self.lower(*args, **kwargs).module, dispatcher.name)
        compiled = variants(list(dispatcher.specializations), dispatcher.paths)
        return Report("\n".join([report, "", "variants:", *(compiled or ["  none was compiled by this path yet"])]))

    def trace(self, *args: Any, **kwargs: Any) -> Lowered:
        """As `lower`: a traced function is a graph here, whose `lower()` is itself."""
        return self.lower(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget the specializations that were made from trees or numbers; native ones stay."""
        self._dispatcher.specializations.clear()
        self._dispatcher.latest = None


@functools.cache
def _jit_class() -> type[Any]:
    return function_class(JitBase)


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    dynamic: Mapping[str, Sequence[Any]] | None = None,
    capture: str = "auto",
    device: str | None = None,
) -> Any:
    """Compile a function of arrays to native code.

    The function is traced once for each structure, dtypes and shapes of its arguments (and each value of its static
    arguments); its Python does not run again. Arrays that it closes over keep their values at the trace.

    Results are new arrays, whose memory comes from a pool (`set_result_pool`). `out=` in a call stores them in arrays of the
    caller, which have the structure, dtypes and shapes of the results, are C-contiguous, writeable and overlap one another
    nowhere, and which the call returns; an argument that overlaps one of them is copied first. A function that has a parameter
    `out` of its own gets it.

    Args:
        fun: takes and returns pytrees of arrays. Python numbers may stand for arrays; they take the dtype of the other
            operand, as in NumPy.
        static_argnums: positions of arguments that stay Python values; they must be hashable.
        static_argnames: names of such arguments, for calls by position and by name.
        donate_argnums: positions of arguments that are given away. Where the program allows it, a result of the same dtype and
            shape is stored over such an array, and is that array: `y = f(x)` may overwrite `x`, and then `y is x`. Otherwise,
            as where it is not writeable or overlaps another argument, it is left as it was. Do not use it after the call.
        donate_argnames: names of such arguments, which calls pass by position.
        dynamic: symbolic sizes, by argument: one entry for each dim, a name or `lm.dim(...)`, or None for a dim of which
            each size is compiled for by itself. One compilation then serves all sizes: `dynamic={"x": ("batch", None)}`.
            Equal names are equal sizes. An argument that is a tree is named leaf by leaf, as messages do: `"params['w']"`.
            Inside, `x.shape[0]` is a size that takes part in arithmetic and shapes; a loop over it, or a branch on it, is one
            of the program unless its bounds decide. Sizes that are too small for what all others share are compiled for by
            themselves, and so is each size, with a warning, where an op has code for known sizes alone (`eigh`, `lu`).
        capture: what happens where Python asks a traced array for its value, as `if x > 0` does. "auto" traces the function
            from its source, so that its control flow becomes that of the program (docs/capture.md); "source" does so at once,
            and "trace" raises.
        device: the name of a device that another package has registered (`lm.register_device`), where the program then runs.
            Arguments are copied there unless they are there, and results stay there; `donate_argnums` and `dynamic` are for
            the CPU alone.

    Returns:
        A callable with `lower(*args)`. A call with flat arrays costs about 0.3 us, with a tree of 14 leaves about 3 us.

    Raises:
        TracingError: the function needs values of traced arrays in a way that cannot be captured, when called.
        TypeError: an argument is neither array nor number, or `out` has another structure than the results, when called.
        ValueError: an array of `out` cannot take its result, or sizes do not agree with `dynamic`, when called.

    >>> import numpy as np, lamina as lm
    >>> @lm.jit
    ... def f(x, y):
    ...     return x * y + 1
    >>> f(np.float32([1, 2]), np.float32([3, 4]))
    array([4., 9.], dtype=float32)
    >>> y = np.zeros(2, np.float32)
    >>> f(np.float32([1, 2]), np.float32([3, 4]), out=y) is y
    True
    >>> step = lm.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
    >>> w = np.float32([1, 2])
    >>> step(w, np.float32([2, 2])) is w
    True
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            dynamic=dynamic,
            capture=capture,
            device=device,
        )
    fun = getattr(fun, "compiled_from", fun)
    if capture not in CAPTURES:
        raise ValueError(f"jit takes capture= as one of {', '.join(CAPTURES)}, got {capture!r:.60}")
    if not callable(fun):
        raise TypeError(f"jit takes a function, got {type(fun).__name__}: {fun!r:.60}")
    positions, names = static_arguments(fun, static_argnums, static_argnames)
    donated = donated_positions(fun, donate_argnums, donate_argnames, positions)
    compiled = _jit_class()(Dispatcher(fun, positions, names, donated, Dynamic(dynamic), capture))
    functools.update_wrapper(compiled, fun)
    if device in (None, "cpu"):
        return compiled
    from .devices import DeviceFunction, find_device

    find_device(device)
    if donated or dynamic:
        raise DeviceError(f"jit(device={device!r}) takes no donate_argnums= and no dynamic=")
    return DeviceFunction(compiled, device)


def make_graph(function: Callable[..., Any]) -> Callable[..., ModuleOp]:
    """From a function and its arguments, the module of graph IR with the entry `@main`; all closed-over arrays are constants.

    >>> import lamina as lm
    >>> module = make_graph(lambda x: x * 2)(lm.TensorSpec((3,), "float32"))
    >>> print(module)
    builtin.module {
      func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        %0 = graph.const dense<2.000000e+00> : tensor<f32>
        %1 = graph.broadcast %0 to [] : tensor<f32> -> tensor<3xf32>
        %2 = graph.mul %x, %1 : tensor<3xf32>
        func.return %2 : tensor<3xf32>
      }
    }
    """

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> ModuleOp:
        dispatcher = Dispatcher(function, (), frozenset(), capture="trace")
        leaves, structure = flatten((args, kwargs))
        return dispatcher.lower(structure, (), dispatcher.abstract(leaves, structure), limit=float("inf")).module

    return make


make_jaxpr = make_graph
"""jax's name: the result prints as graph IR."""

__all__ = ["Compiled", "Lowered", "TensorSpec", "jit", "make_graph", "make_jaxpr"]
