"""The tangents of a `graph.custom_derivative`, computed by its rules.

A rule `jvp` is linear in the tangents: in reverse mode it is linearized in them at zero, so that the transposed region contains
only linear ops. Rules `vjp` replace the function: `forward` where it is called, `reverse` inside a `graph.transpose_of`. A call
in a rule has a forward mode, too, where rules of reverse mode are differentiated in forward mode: `reverse` is linearized in
the cotangents and transposed.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.graph.autodiff import TransposedOp, has_tangent
from ..dialects.graph.base import Bilinear, Custom, GraphOp, Linear
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.custom import CustomDerivativeOp, TransposeOfOp
from ..dialects.graph.effects import AfterOp, EffectOp, has_effects
from ..dialects.graph.fusion import YieldOp
from ..errors import DifferentiationError
from ._for_loops import tangents_of, types_of
from ._functions import clone_body, error_at, function_named, hoist_invariant
from ._transpose import accumulated

if TYPE_CHECKING:
    from ._linearize import Linearizer


def linearize_custom(op: CustomDerivativeOp, linearizer: Linearizer) -> None:
    """The tangents of a call that was just inserted, by its rules.

    Raises:
        DifferentiationError: a captured value of the function has a tangent; or its rules are of reverse mode and this is
            forward mode.
    """
    name = op.callee.string_value()
    if any(linearizer.tangent(v) is not None for v in op.consts):
        rule = f"@{name} has a rule for its derivative, and captures a value that is differentiated"
        raise error_at(op, DifferentiationError, f"{rule}: pass it as an argument")
    if op.jvp is not None and (linearizer.forward or op.forward is None):
        _by_jvp(op, function_named(op, op.jvp), linearizer)
    elif linearizer.forward and op.in_rule is None:
        rule = f"@{name} has a rule for its derivative in reverse alone (custom_vjp)"
        raise error_at(op, DifferentiationError, f"{rule}: use lm.vjp or lm.grad, or give it a rule by custom_jvp")
    else:
        forward, reverse = (function_named(op, rule) for rule in op.rules[-2:])
        apply = _by_transpose if linearizer.forward else _by_vjp
        apply(op, forward, reverse, linearizer)


def _by_jvp(op: CustomDerivativeOp, rule: FuncOp, linearizer: Linearizer) -> None:
    b, n = linearizer.b, len(op.results)
    floats = op.floats
    given = [linearizer.tangent(value) for value in floats]
    if linearizer.forward:
        values = _without_zeros(rule, list(op.operands), floats, given, b)
        moved = values[n:]
    else:
        inner = copy.copy(linearizer)
        zeros = [linearizer.primal.zeros_like(v) for v in floats]
        inner.tangents, inner.superseded = dict(zip(zeros, given, strict=True)), []
        values = inner.run(rule, [*op.operands, *zeros])
        moved = tangents_of(values[n:], inner)
    if has_effects(op):  # these happen once: where the rule has them
        linearizer.supersede(op, values[:n])
    linearizer.tangents.update(zip([r for r in op.results if has_tangent(r.type)], moved, strict=True))


def _without_zeros(
    rule: FuncOp,
    arguments: Sequence[SSAValue],
    floats: Sequence[SSAValue],
    tangents: Sequence[SSAValue | None],
    b: GraphBuilder,
) -> list[SSAValue]:
    """The results of a rule onto arguments and the tangents of `floats`.

    A tangent that is zero, None, is so beside an infinite slope, too: ops that are linear in it have no copies.
    """
    left_out: list[Operation] = []
    zeros = {value: b.zeros_like(value) for value, tangent in zip(floats, tangents, strict=True) if tangent is None}
    known = set(zeros.values())

    def emit(op: Operation) -> None:
        if _is_linear_in(op, known):
            left_out.append(op)
            known.update(op.results)
            return
        for k, operand in enumerate(op.operands):
            if operand.owner in left_out:
                op.operands[k] = b.zeros_like(operand)
        b.insert(op)

    given = [zeros[value] if tangent is None else tangent for value, tangent in zip(floats, tangents, strict=True)]
    values, _ = clone_body(rule, [*arguments, *given], emit)
    values = [b.zeros_like(value) if value.owner in left_out else value for value in values]
    for op in reversed(left_out):
        op.erase()
    return values


def _is_linear_in(op: Operation, zeros: set[SSAValue]) -> bool:
    """Whether the results of an op are zero because some of its operands are, whatever the others."""
    if not isinstance(op, GraphOp) or isinstance(op, EffectOp | AfterOp):
        return False
    if isinstance(op.derivative, Bilinear):
        return any(operand in zeros for operand in op.operands)
    if isinstance(op.derivative, Linear):
        linear = range(len(op.operands)) if op.derivative.operands is None else op.derivative.operands
        return all(op.operands[k] in zeros for k in linear)
    if isinstance(op.derivative, Custom) and op.derivative.linear:  # a quotient by its dividend
        return all(op.operands[k] in zeros for k in op.derivative.linear)
    return False


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


def _by_transpose(op: CustomDerivativeOp, forward: FuncOp, reverse: FuncOp, linearizer: Linearizer) -> None:
    """Forward mode by rules of reverse mode: the tangents of the results, by the transpose of `reverse`.

    Raises:
        DifferentiationError: `reverse` is not linear in the cotangents.
    """
    b = linearizer.primal
    found, _ = clone_body(forward, list(op.operands), b.insert)
    results, residuals = found[: len(op.results)], found[len(op.results) :]
    floats = [r for r in op.results if has_tangent(r.type)]
    given = [b.zeros_like(v) if (t := linearizer.tangent(v)) is None else t for v in op.floats]
    zeros = [b.zeros_like(r) for r in floats]
    region = Block(arg_types=types_of(floats))
    inner = linearizer.inside(b.point, GraphBuilder(region, op.location), forward=False)
    inner.tangents.update(zip(zeros, region.args, strict=True))
    gradients = inner.run(reverse, [*op.consts, *residuals, *zeros])
    region.add_op(YieldOp.create(operands=tangents_of(gradients, inner)))
    turned = TransposedOp.create(operands=given, result_types=types_of(floats), regions=[Region(region)])
    turned.location = op.location
    linearizer.b.insert(turned)
    hoist_invariant(region, turned)
    if _read(region) & _reached(zeros):
        name = op.callee.string_value()
        rule = f"@{name} is differentiated in forward mode in a rule, and its own reverse rule is not linear in the cotangents"
        raise error_at(op, DifferentiationError, f"{rule}: give it a rule by custom_jvp")
    tangents = accumulated(turned, {})
    turned.detach()
    turned.erase()
    linearizer.tangents.update(zip(floats, tangents, strict=True))
    linearizer.supersede(op, results)


def _reached(values: Sequence[SSAValue]) -> set[SSAValue]:
    """All values that depend on some."""
    found, waiting = set(values), list(values)
    while waiting:
        for use in waiting.pop().uses:
            new = [r for r in use.operation.results if r not in found]
            found.update(new)
            waiting += new
    return found


def _read(region: Block) -> set[SSAValue]:
    """The values from outside on which the yielded values of a region depend."""
    seen, waiting = set[SSAValue](), [v for op in (region.last_op,) if op is not None for v in op.operands]
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            owner = value.owner
            waiting += owner.operands if isinstance(owner, Operation) and owner.parent is region else ()
    return {value for value in seen if not isinstance(value.owner, Operation) or value.owner.parent is not region}
