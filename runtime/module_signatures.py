"""The signatures of the functions and kernels of a module: how a caller has to call the compiled code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..dialects.loop.effects import CallbackOp
from ..dialects.loop.loops import ForOp, KernelOp, parent_loops
from ..dialects.loop.parameters import Interface, Parameter
from ..dialects.loop.prints import PrintOp
from ..dialects.program import FuncOp
from ..dialects.sizes.binding import Dim, dims_of, is_plain_symbol
from ..dialects.sizes.text import spell
from ..dialects.types import element_of, numpy_dtype, shape_of
from ..dialects.verify_module import effects_of, may_stop
from ..errors import CompileError
from .effect_sites import Site
from .signature import RELEASE_GIL_WORK, ArrayParam, Param, ScalarParam, Signature

HEAVY_ELEMENTS = {0: 1 << 15, 1: 1 << 15, 2: 1 << 13}
"""From how many array elements a kernel is worth releasing the GIL, by the depth of its loops; deeper: always."""


HEAVY_OPEN = 1 << 13
"""The same for a program whose work depends on symbolic sizes."""


def signature_of(module: ModuleOp, entry: str, names: Sequence[str] | None = None) -> Signature:
    """The signature of a host function of a module at phase `program`.

    Args:
        names: the names of the arguments in messages; by default those in the text.

    Raises:
        CompileError: there is no such function, or nothing can be passed to it.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    function = functions.get(entry)
    if function is None:
        raise CompileError(f"no function @{entry} to call; there are: {', '.join(f'@{name}' for name in functions) or 'none'}")

    meant = function.meant_sizes()
    dims_of_sizes: dict[SSAValue, Dim] = dict(zip(function.sizes, dims_of(meant), strict=True))
    plain = all(map(is_plain_symbol, meant))

    def param(k: int, argument: SSAValue, kind: str) -> ArrayParam:
        name = names[k] if names is not None and kind == "arg" else argument.name_hint or f"{kind}{k}"
        sizes = function.sizes_of(argument)
        dims = tuple([Dim(None, size) if isinstance(size, int) else dims_of_sizes[size] for size in sizes])
        return ArrayParam(name, str(numpy_dtype(element_of(argument))), dims)

    symbols = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp | KernelOp)}
    try:
        args, results, temporaries = (
            tuple([param(k, argument, kind) for k, argument in enumerate(arguments)])
            for arguments, kind in ((function.inputs, "arg"), (function.outputs, "result"), (function.temporaries, "temporary"))
        )
        return Signature(
            entry,
            args,
            results,
            function.arena_bytes,
            RELEASE_GIL_WORK if _prints(module) else None if function.work is None else function.work.value.data,
            function.donation_pairs,
            tuple(map(str, meant)),
            HEAVY_OPEN,
            temporaries,
            meant=() if plain else tuple(map(spell, meant)),
            effects=tuple(map(site_of, effects_of(module))),
            stops=function.sym_name.data in may_stop(symbols),
        )
    except ValueError as error:
        raise CompileError(f"function @{entry} cannot be called: {error}") from None


def site_of(op: CallbackOp) -> Site:
    """The values of an effect of a host function."""
    masks = [] if op.mask is None else [op.mask]
    operands, results = (
        tuple([(str(numpy_dtype(element_of(buffer))), len(shape_of(buffer))) for buffer in buffers])
        for buffers in ([*masks, *op.read], op.into)
    )
    return Site(op.kind.data, op.text.data, op.batch.value.data, bool(masks), operands, results)


def kernel_signature_of(kernel: KernelOp, kind: type[Signature] = Signature) -> Signature:
    """How a kernel is called: its arguments in order, sizes and strides bound by the shapes of the arrays.

    Args:
        kind: `GivenSizes` if its caller passes them.

    Raises:
        CompileError: a size is not a symbol plus a number, or an index argument is bound by no array.
    """
    interface = Interface(kernel, sizes_are_given=kind.sizes_are_given)
    depth = max((len(parent_loops(op)) + 1 for op in kernel.walk() if isinstance(op, ForOp)), default=0)
    try:
        params = tuple(_param(interface, parameter) for parameter in interface.parameters)
        symbols, heavy = tuple(interface.names), 0 if _prints(kernel) else HEAVY_ELEMENTS.get(depth, 0)
        return kind(interface.kernel, params, symbols=symbols, heavy=heavy, is_kernel=True)
    except ValueError as error:
        raise CompileError(f"kernel @{interface.kernel} cannot be called: {error}") from None


def _prints(op: Operation) -> bool:
    """Whether a kernel prints: its threads need the GIL, which the call must not hold meanwhile."""
    return any(isinstance(inner, PrintOp) for inner in op.walk())


def _param(interface: Interface, parameter: Parameter) -> Param:
    dtype = str(numpy_dtype(parameter.element))
    if not parameter.is_array:
        return ScalarParam(parameter.name, dtype)
    sizes, strides = interface.dims(parameter)
    return ArrayParam(parameter.name, dtype, sizes, parameter.writes, strides)
