"""Affine expressions as index arithmetic: bounds of loops, subscripts, terms of addresses."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...codegen.text import I64, const
from ...dialects.loop.subscripts import linear_form
from .emit_core import FunctionEmitter
from .emit_integer import is_number
from .emit_types import fail


def bound(e: FunctionEmitter, which: str, exprs: Sequence[AffineExpr], dims: Sequence[SSAValue], op: Operation) -> str:
    """The minimum (`smin`) or maximum (`smax`) of some expressions."""
    if len(exprs) == 1:
        return affine(e, exprs[0], dims, op)
    found = [affine(e, expr, dims, op) for expr in exprs]
    numbers = [int(x) for x in found if is_number(x)]
    result = str(min(numbers) if which == "smin" else max(numbers)) if numbers else ""
    for x in dict.fromkeys(found):
        if is_number(x):
            continue
        if not result:
            result = x
            continue
        y = result
        level = max(e.levels.get(x, 0), e.levels.get(y, 0))
        result = e.shared(level, (which, x, y), lambda x=x, y=y: e.b.intrinsic(which, I64, x, y))
        sure = [z in e.not_negative or (is_number(z) and int(z) >= 0) for z in (x, y)]
        if all(sure) or (which == "smax" and any(sure)):
            e.not_negative.add(result)
    return result


def affine(e: FunctionEmitter, expr: AffineExpr, dims: Sequence[SSAValue], op: Operation) -> str:
    """The value of an expression as an i64."""
    if isinstance(expr, AffineConstantExpr):
        return str(expr.value)
    if isinstance(expr, AffineDimExpr):
        return e.value(dims[expr.position], op)
    form = linear_form(expr, len(dims))
    if form is not None:
        terms, constant = gather_terms(e, form, dims, op)
        return e.sum(terms, constant, op)
    if not isinstance(expr, AffineBinaryOpExpr):
        raise fail(op, f"has a subscript of unknown kind: {expr}")
    x, y = affine(e, expr.lhs, dims, op), affine(e, expr.rhs, dims, op)
    if is_number(x) and is_number(y):
        return str(_fold(expr.kind, int(x), int(y), op))
    if expr.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        if expr.kind == AffineBinaryOpKind.Mul and is_number(y) and not is_number(x):
            return e.sum({x: int(y)}, 0, op)
        if expr.kind == AffineBinaryOpKind.Mul and is_number(x):
            return e.sum({y: int(x)}, 0, op)
        if expr.kind == AffineBinaryOpKind.Add:
            terms: dict[str, int] = {}
            constant = 0
            for z in (x, y):
                if is_number(z):
                    constant += int(z)
                else:
                    terms[z] = terms.get(z, 0) + 1
            return e.sum(terms, constant, op)
    if not is_number(y) or int(y) <= 0:
        raise fail(op, f"divides by {y} in a subscript or bound: a divisor must be a positive number")
    level = e.levels.get(x, 0)
    result = e.shared(level, (expr.kind, x, y), lambda: _divide(e, expr.kind, x, int(y)))
    if x in e.not_negative:
        e.not_negative.add(result)
    return result


def _divide(e: FunctionEmitter, kind: AffineBinaryOpKind, x: str, y: int) -> str:
    """`floordiv`, `ceildiv` and `mod` by a positive number; `mod` is never negative."""
    b = e.b
    if x in e.not_negative:
        if kind == AffineBinaryOpKind.Mod:
            return b.emit(f"urem i64 {x}, {y}")
        if kind == AffineBinaryOpKind.CeilDiv:
            x = b.emit(f"add nuw nsw i64 {x}, {y - 1}")
        return b.emit(f"udiv i64 {x}, {y}")
    if kind == AffineBinaryOpKind.CeilDiv:
        x = b.emit(f"add nsw i64 {x}, {y - 1}")
    quotient, remainder = b.emit(f"sdiv i64 {x}, {y}"), b.emit(f"srem i64 {x}, {y}")
    below = b.icmp("slt", remainder, const(0, I64), I64)
    if kind == AffineBinaryOpKind.Mod:
        return b.select(below, b.emit(f"add nsw i64 {remainder}, {y}"), remainder, I64)
    return b.select(below, b.emit(f"add nsw i64 {quotient}, -1"), quotient, I64)


def _fold(kind: AffineBinaryOpKind, x: int, y: int, op: Operation) -> int:
    if kind == AffineBinaryOpKind.Add:
        return x + y
    if kind == AffineBinaryOpKind.Mul:
        return x * y
    if y <= 0:
        raise fail(op, f"divides by {y} in a subscript or bound: a divisor must be a positive number")
    if kind == AffineBinaryOpKind.Mod:
        return x % y
    return x // y if kind == AffineBinaryOpKind.FloorDiv else -(-x // y)


def gather_terms(
    e: FunctionEmitter, form: tuple[Sequence[int], int], dims: Sequence[SSAValue], op: Operation
) -> tuple[dict[str, int], int]:
    """A linear form over values: coefficients by operand text, constants folded."""
    coefficients, constant = form
    terms: dict[str, int] = {}
    for c, dim in zip(coefficients, dims, strict=True):
        if c:
            x = e.values.get(dim)
            if x is None:
                raise e.missing(op, dim)
            if is_number(x):
                constant += c * int(x)
            else:
                terms[x] = terms.get(x, 0) + c
    return terms, constant
