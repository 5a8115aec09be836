"""Kernels that are made at run time: from the text of a Python function, and from loop IR."""

from __future__ import annotations

import importlib
import inspect
import itertools
import linecache
import math
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...errors import KernelError
from ...executor import executor, kernels
from ...runtime.executable import Executable
from ..trace.generated import run
from .decorator import Kernel, State, Unscheduled, kernel

_numbers = itertools.count(1)


def kernel_from_source(
    text: str,
    name: str | None = None,
    *,
    names: Mapping[str, Any] | None = None,
    check_bounds: bool = False,
    schedule: Unscheduled | None = "auto",
    reassociate: bool = False,
) -> Any:
    """A kernel from Python text, as a generator of code writes it. Messages show its lines.

    Args:
        text: one or more definitions; it is executed as a module is, with `lm`, `np` and `math`.
        name: which function is the kernel, if there are several; the last one by default.
        names: more names that the text may use: numbers, types, functions.
        check_bounds: as for `lm.kernel`, as are `schedule` and `reassociate`.

    Raises:
        KernelError: the text defines no such function, or one that is no kernel.
        SyntaxError: the text is no Python.

    Such a kernel is pickled as its text and its schedule, where `names` can be pickled.

    >>> import numpy as np, lamina as lm
    >>> lines = [f"        y[i] += {k} * x[i]" for k in (1, 2)]
    >>> k = kernel_from_source("\\n".join(['def k(x: lm.f64["N"], y: lm.f64["N"]):', "    for i in range(N):", *lines]))
    >>> x, y = np.ones(3), np.zeros(3)
    >>> k(x, y)
    >>> y
    array([3., 3., 3.])
    """
    filename = f"<kernel {next(_numbers)}>"
    space: dict[str, Any] = {"__name__": filename, "lm": importlib.import_module(__name__.partition(".")[0])}
    space |= {"np": np, "math": math, **(names or {})}
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    run(text, filename, space)
    found = {key: value for key, value in space.items() if _is_defined_by(value, filename)}
    if not found or (name is not None and name not in found):
        what = f"no function '{name}'" if name is not None else "no function"
        raise KernelError(f"the text of a kernel defines {what}: write def k(x: lm.f32['N']): ...")
    function = found[name] if name is not None else list(found.values())[-1]
    options: dict[str, Any] = {"check_bounds": check_bounds, "schedule": schedule, "reassociate": reassociate}
    made = kernel(function, **options)
    if hasattr(made, "__kernel__"):  # a kernel with type variables has one for each choice
        made.__kernel__.origin = _again, (text, name, names, options)
    return made


def _again(text: str, name: str | None, names: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Any:
    return kernel_from_source(text, name, names=names, **options)


def _is_defined_by(value: Any, filename: str) -> bool:
    return isinstance(value, FunctionType) and value.__code__.co_filename == filename


class _IrState(State):
    """The state of a kernel that is given as IR."""

    def __init__(self, module: ModuleOp, function: Callable[..., Any], has_default: bool):
        super().__init__(function, False, has_default, False)
        self._module = module

    complex_types: Mapping[str, Any] = {}  # pyright: ignore[reportIncompatibleVariableOverride]

    def executable(self) -> Executable:
        with self._lock:
            if self.current is None:
                by_default = self.has_default and not self.is_scheduled
                self.current = executor.kernel(self.module if by_default else self.latest, by_default=by_default)
            return self.current

    def with_same(self, same: Mapping[str, str]) -> Executable | None:
        return None


def kernel_from_ir(ir: str | ModuleOp, name: str | None = None, *, schedule: Unscheduled | None = "auto") -> Any:
    """A kernel from loop IR: it is called and scheduled as one from Python.

    Args:
        ir: a module with a `loop.kernel`, as `as_text()` prints it. Accesses that cannot be proved to be in bounds are checked
            when it runs.
        name: which kernel, if there are several.
        schedule: "auto" or "none", as for `lm.kernel`.

    Raises:
        CompileError: the module has no such kernel, or an access is certainly out of bounds.
        ParseError: the text is no IR.
        VerifyException: an op of the module is wrong.
        ValueError: `schedule` is neither.

    >>> import numpy as np
    >>> k = kernel_from_ir('''
    ... loop.kernel @double(%x: memref<?xf64>, %N: index) shapes(%x[%N]) {
    ...   loop.for seq %i = 0 to %N {
    ...     %a = loop.load %x[%i] : memref<?xf64>
    ...     %b = arith.addf %a, %a : f64
    ...     loop.store %b, %x[%i] : memref<?xf64>
    ...   }
    ... }''')
    >>> x = np.arange(3.0)
    >>> k(x)
    >>> x
    array([0., 2., 4.])
    """
    from ...dialects.context import make_context
    from ...dialects.dominance import verify_module
    from ...dialects.loop.loops import KernelOp
    from ...dialects.parsing import parse_module
    from ...lowering.check_bounds import guard_accesses
    from ...runtime.module_signatures import kernel_signature_of

    if schedule not in ("auto", "none", None):
        raise ValueError(f'schedule must be "auto" or "none" (as it is written), got {schedule!r}')
    module = parse_module(make_context(), ir, "<kernel>") if isinstance(ir, str) else ir.clone()
    verify_module(module)
    chosen = kernels.find_kernel(module, name)
    text = str(module)
    for op in list(module.body.block.ops):
        if isinstance(op, KernelOp) and op is not chosen:
            op.detach()
            op.erase()
    guard_accesses(module)
    signature = kernel_signature_of(chosen)

    def function(*args: Any) -> None:
        """A kernel that is given as IR."""

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = function.__qualname__ = chosen.sym_name.data
    function.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
        [inspect.Parameter(param.name, kind) for param in signature.params]
    )
    state = _IrState(module, function, schedule == "auto")
    state.origin = _ir_again, (text, chosen.sym_name.data, schedule)
    return Kernel(function, state=state)


def _ir_again(text: str, name: str, schedule: Unscheduled | None) -> Any:
    return kernel_from_ir(text, name, schedule=schedule)


__all__ = ["kernel_from_ir", "kernel_from_source"]
