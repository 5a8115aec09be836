"""Derivatives and batches of `graph.custom_derivative`: those that its rules compute, and the same op over batched functions.

A rule `jvp` is linear in the tangents: in reverse mode it is linearized by them at zero, so that only what is linear stands in
the region that is transposed. Rules `vjp` take the place of the function: `forward` where it is called, `reverse` behind a
`graph.transpose_of`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.graph.autodiff import has_tangent
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.custom import CustomDerivativeOp, TransposeOfOp
from ..dialects.graph.effects import has_effects
from ..dialects.types import tensor
from ..errors import DifferentiationError
from ._for_loops import new_function, tangents_of, types_of
from ._functions import called_function, clone_body, error_at, function_named

if TYPE_CHECKING:
    from ._batch import Batcher
    from ._linearize import Linearizer


# Derivatives


def linearize_custom(op: CustomDerivativeOp, linearizer: Linearizer) -> None:
    """The tangents of a call that was just inserted, by its rules.

    Raises:
        DifferentiationError: something that the function captures has a tangent; or its rules are of reverse mode and this is
            forward mode.
    """
    name = op.callee.string_value()
    if any(linearizer.tangent(v) is not None for v in op.consts):
        rule = f"@{name} has a rule for its derivative, and captures a value that is differentiated"
        raise error_at(op, DifferentiationError, f"{rule}: pass it as an argument")
    if op.jvp is not None and (linearizer.forward or op.forward is None):
        _by_jvp(op, function_named(op, op.jvp), linearizer)
    elif linearizer.forward:
        rule = f"@{name} has a rule for its derivative in reverse alone (custom_vjp)"
        raise error_at(op, DifferentiationError, f"{rule}: use lm.vjp or lm.grad, or give it a rule by custom_jvp")
    else:
        forward, reverse = (function_named(op, rule) for rule in op.rules[-2:])
        _by_vjp(op, forward, reverse, linearizer)


def _by_jvp(op: CustomDerivativeOp, rule: FuncOp, linearizer: Linearizer) -> None:
    b, n = linearizer.b, len(op.results)
    floats = op.floats
    given = [linearizer.tangent(value) for value in floats]
    if linearizer.forward:
        tangents = [b.zeros_like(v) if t is None else t for v, t in zip(floats, given, strict=True)]
        values = clone_body(rule, [*op.operands, *tangents], b.insert)[0]
        moved = values[n:]
    else:
        inner = copy.copy(linearizer)
        zeros = [linearizer.primal.zeros_like(v) for v in floats]
        inner.tangents, inner.superseded = dict(zip(zeros, given, strict=True)), []
        values = inner.run(rule, [*op.operands, *zeros])
        moved = tangents_of(values[n:], inner)
    if has_effects(op):  # which happen once: where the rule has them
        linearizer.supersede(op, values[:n])
    linearizer.tangents.update(zip([r for r in op.results if has_tangent(r.type)], moved, strict=True))


def _by_vjp(op: CustomDerivativeOp, forward: FuncOp, reverse: FuncOp, linearizer: Linearizer) -> None:
    found, _ = clone_body(forward, list(op.operands), linearizer.primal.insert)
    results, residuals = found[: len(op.results)], found[len(op.results) :]
    tangents = [linearizer.b.zeros_like(v) if (t := linearizer.tangent(v)) is None else t for v in op.floats]
    floats = [r for r in op.results if has_tangent(r.type)]
    name = SymbolRefAttr(reverse.sym_name.data)
    turned = TransposeOfOp.make(name, [*op.consts, *residuals], tangents, types_of(floats))
    linearizer.b.insert(turned)
    linearizer.tangents.update(zip(floats, turned.results, strict=True))
    linearizer.supersede(op, results)


def transpose_custom(
    op: TransposeOfOp, cotangents: Mapping[SSAValue, SSAValue], b: GraphBuilder
) -> list[tuple[SSAValue, SSAValue]]:
    """(argument, cotangent) for every argument of a `graph.transpose_of`: its function, in place."""
    given = [b.zeros_like(r) if (found := cotangents.get(r)) is None else found for r in op.results]
    gradients, _ = clone_body(called_function(op), [*op.fixed, *given], b.insert)
    return list(zip(op.arguments, gradients, strict=True))


# Batches


def batch_custom(op: CustomDerivativeOp, batcher: Batcher) -> None:
    """The same op over functions of batched values, all of them."""
    values = [batcher.values[v] if v in batcher.batched else batcher.spread(batcher.values[v]) for v in op.operands]
    n = len(op.consts)
    callee, *rules = [_batched(op, name, batcher) for name in (op.callee, *op.rules)]
    new = CustomDerivativeOp.make(callee, rules, values[:n], values[n:], [_stacked(r.type, batcher.size) for r in op.results])
    batcher.b.insert(new)
    for old, value in zip(op.results, new.results, strict=True):
        batcher.values[old] = value
        batcher.batched.add(old)


def _batched(op: Operation, name: SymbolRefAttr, batcher: Batcher) -> str:
    """The name of a function over a batch of all it takes."""
    function = function_named(op, name)
    types = [_stacked(type, batcher.size) for type in function.function_type.inputs]

    def build(block: Block) -> Sequence[SSAValue]:
        inner = batcher.of_function(GraphBuilder(block, op.location), function, block.args, [True] * len(types))
        return inner.run(function)

    return new_function(op, "batched", types, build, function).sym_name.data


def _stacked(type: Attribute, size: int) -> TensorType:
    assert isinstance(type, TensorType)
    return tensor(type.element_type, (size, *type.get_shape()))
