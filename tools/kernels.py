"""Kernels in the tools: run one on arrays of its own, and declare one for C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dialects.types import shape_of
from ..errors import LaminaError, placed

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from ..dialects.loop.loops import KernelOp

Arrays = tuple[np.ndarray, ...]


class StoppedError(LaminaError):
    """A kernel that was run has stopped by itself: a check of bounds failed, or there was no memory."""


def find_kernel(module: ModuleOp, entry: str) -> KernelOp | None:
    """The kernel that `entry` names, or the only one of a module without functions; None if a function is meant."""
    from ..dialects.loop.loops import KernelOp
    from ..dialects.program import functions_of
    from ..errors import CompileError

    functions = functions_of(module)
    kernels = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}
    if entry in functions or entry in kernels:
        return kernels.get(entry)
    if functions or not kernels:
        return None
    if len(kernels) > 1 or entry != "main":
        raise CompileError(f"no kernel @{entry} to run; there are: {', '.join(f'@{name}' for name in kernels)}")
    return next(iter(kernels.values()))


class KernelRun:
    """A kernel and the arguments to run it on.

    Attributes:
        inputs: an array or number for each parameter.
        names: of the arrays that it writes.
    """

    def __init__(self, kernel: KernelOp, values: Sequence[Any]):
        from ..dialects.loop.parameters import Interface, Sizes
        from ..dialects.types import DYNAMIC, numpy_dtype, tensor
        from ..runtime.inputs import InputError, fit

        self.kernel, self.name = kernel, kernel.sym_name.data
        interface = Interface(kernel)
        self.parameters, sizes = interface.parameters, Sizes(interface)
        if len(values) != len(self.parameters):
            spelled = ", ".join(f"{p.name}: {interface.spell(p)}" for p in self.parameters)
            raise InputError(f"@{self.name} takes {len(self.parameters)} arguments ({spelled}), got {len(values)}")
        self.inputs: list[Any] = []
        for parameter, value in zip(self.parameters, values, strict=True):
            shape: list[int | None] = []
            if parameter.is_array:
                shape = [None if n == DYNAMIC else n for n in shape_of(parameter.argument)]
            array = fit(value, parameter.name, numpy_dtype(parameter.element), shape)
            sizes.bind(parameter, tensor(parameter.element, array.shape))
            self.inputs.append(array if parameter.is_array else array[()])
        self.sizes = sizes.values

    @property
    def names(self) -> list[str]:
        return [p.name for p in self.parameters if p.writes]

    def _copied(self, inputs: Sequence[np.ndarray]) -> list[Any]:
        """Arguments that the kernel may change."""
        return [x.copy() if p.writes else x for p, x in zip(self.parameters, inputs, strict=True)]

    def _written(self, arguments: Sequence[Any]) -> Arrays:
        return tuple(x for p, x in zip(self.parameters, arguments, strict=True) if p.writes)

    def interpreted(self) -> Callable[..., Arrays]:
        """The kernel in the reference interpreter, on copies."""
        from xdsl.dialects.builtin import IndexType

        from ..runtime.interpreter import Interpreter

        module = self.kernel.parent_op()
        interpreter = Interpreter(module)  # pyright: ignore[reportArgumentType]

        def run(*inputs: np.ndarray) -> Arrays:
            arguments = self._copied(inputs)
            given, rest = iter(arguments), iter(self.sizes)
            block = self.kernel.body.block
            interpreter.launch(self.name, [next(rest if isinstance(a.type, IndexType) else given) for a in block.args])
            return self._written(arguments)

        return run

    def _check(self, status: int) -> Operation:
        """The check that returns a status, else the kernel."""
        from ..dialects.loop.memory import CheckOp

        checks = [op for op in self.kernel.walk() if isinstance(op, CheckOp) and op.status.value.data == status]
        return checks[0] if checks else self.kernel

    def native(self, as_written: bool = False) -> Callable[..., Arrays]:
        """The kernel as machine code, on copies; its attribute `native` changes its arguments in place.

        It gets the default schedule, unless its module says that it is scheduled, or it shall run as it is written.
        """
        from xdsl.dialects.builtin import ModuleOp

        from .. import pipeline
        from ..executor import executor
        from ..lowering.target import declared_target
        from ..runtime.callable import KernelFunction

        module: Any = self.kernel.parent_op()
        by_default = not as_written and pipeline.is_before(module, "scheduled")
        alone = ModuleOp([self.kernel.clone()])
        target = declared_target(module)
        executable = executor.kernel(alone, self.name, target, by_default=by_default)
        compiled = KernelFunction(executable)

        def run(*inputs: np.ndarray) -> Arrays:
            arguments = self._copied(inputs)
            try:
                compiled(*arguments)
            except (IndexError, MemoryError) as error:
                raise placed(StoppedError(str(error)), self._check(getattr(error, "status", 0))) from None
            return self._written(arguments)

        run.native = compiled  # pyright: ignore[reportFunctionMemberAccess]
        return run
