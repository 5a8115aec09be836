"""Affine subscripts as text: `%i + 1`, `%i * 2 + %k`, `(%n floordiv 8) * 8`.

A list of subscripts is an `AffineMap` over the index values it names: `[%i + 1, %k]` is the map `(d0, d1) -> (d0 + 1, d1)` on
the operands `%i, %k`. Upstream's affine dialect writes the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

_WORDS = {AffineBinaryOpKind.Mod: "mod", AffineBinaryOpKind.FloorDiv: "floordiv", AffineBinaryOpKind.CeilDiv: "ceildiv"}


@lru_cache(maxsize=8192)
def linear_form(expr: AffineExpr, n_dims: int) -> tuple[tuple[int, ...], int] | None:
    """Coefficients of the dims and the constant of an expression; None when it has a `mod` or a division."""
    coefficients = [0] * n_dims
    constant = _add_to(coefficients, expr, 1)
    return None if constant is None else (tuple(coefficients), constant)


def _add_to(coefficients: list[int], expr: AffineExpr, factor: int) -> int | None:
    """Add the multiple of an expression to coefficients; its constant, or None if the expression is not linear."""
    constant = 0
    while True:
        if isinstance(expr, AffineDimExpr):
            coefficients[expr.position] += factor
            return constant
        if isinstance(expr, AffineConstantExpr):
            return constant + factor * expr.value
        if not isinstance(expr, AffineBinaryOpExpr):
            return None
        left, right, word = expr.lhs, expr.rhs, expr.kind
        if word is AffineBinaryOpKind.Add:
            more = _add_to(coefficients, right, factor)
            if more is None:
                return None
            constant += more
        elif word is AffineBinaryOpKind.Mul:
            if (by := _number(right)) is None:
                left, by = right, _number(left)
            if by is None:
                return None
            factor *= by
        else:
            return None
        expr = left


def _number(expr: AffineExpr) -> int | None:
    """The value of an expression without dims."""
    if isinstance(expr, AffineConstantExpr):
        return expr.value
    form = linear_form(expr, max(expr.used_dims(), default=-1) + 1)
    return None if form is None or any(form[0]) else form[1]


def from_linear(coefficients: Sequence[int], constant: int) -> AffineExpr:
    """The expression `sum(c_k * d_k) + constant`, in canonical form."""
    return _from_linear(tuple(coefficients), constant)


@lru_cache(maxsize=8192)
def _from_linear(coefficients: tuple[int, ...], constant: int) -> AffineExpr:
    terms: list[AffineExpr] = []
    for k, c in enumerate(coefficients):
        if c:
            dim = AffineExpr.dimension(k)
            terms.append(dim if c == 1 else AffineBinaryOpExpr(AffineBinaryOpKind.Mul, dim, AffineConstantExpr(c)))
    if constant != 0 or not terms:
        terms.append(AffineConstantExpr(constant))
    result = terms[0]
    for term in terms[1:]:
        result = AffineBinaryOpExpr(AffineBinaryOpKind.Add, result, term)
    return result


@lru_cache(maxsize=8192)
def canonical(expr: AffineExpr, n_dims: int) -> AffineExpr:
    """The expression with its linear part collected; a nonlinear one is returned unchanged."""
    form = linear_form(expr, n_dims)
    return expr if form is None else from_linear(*form)


map_attribute = lru_cache(maxsize=8192)(AffineMapAttr)
"""The attribute of a map; equal maps have one."""


def print_expr(printer: Printer, expr: AffineExpr, operands: Sequence[SSAValue], nested: bool = False) -> None:
    """Print one subscript, dims as the SSA values they stand for."""
    form = linear_form(expr, len(operands))
    if form is not None and not nested:
        _print_linear(printer, form, operands)
        return
    if isinstance(expr, AffineConstantExpr):
        printer.print_string(str(expr.value))
    elif isinstance(expr, AffineDimExpr):
        printer.print_ssa_value(operands[expr.position])
    else:
        assert isinstance(expr, AffineBinaryOpExpr)
        if nested:
            printer.print_string("(")
        print_expr(printer, expr.lhs, operands, nested=True)
        word = {AffineBinaryOpKind.Add: "+", AffineBinaryOpKind.Mul: "*"}.get(expr.kind) or _WORDS[expr.kind]
        printer.print_string(f" {word} ")
        print_expr(printer, expr.rhs, operands, nested=True)
        if nested:
            printer.print_string(")")


def print_exprs(printer: Printer, exprs: Sequence[AffineExpr], operands: Sequence[SSAValue]) -> None:
    """Print `[expr, expr, ...]`."""
    printer.print_string("[")
    for k, expr in enumerate(exprs):
        if k:
            printer.print_string(", ")
        print_expr(printer, expr, operands)
    printer.print_string("]")


def print_bound(printer: Printer, word: str, map: AffineMap, operands: Sequence[SSAValue]) -> None:
    """Print one expression, or `min(expr, expr, ...)`."""
    if len(map.results) == 1:
        print_expr(printer, map.results[0], operands)
        return
    printer.print_string(f"{word}(")
    for k, expr in enumerate(map.results):
        if k:
            printer.print_string(", ")
        print_expr(printer, expr, operands)
    printer.print_string(")")


def _print_linear(printer: Printer, form: tuple[Sequence[int], int], operands: Sequence[SSAValue]) -> None:
    coefficients, constant = form
    first = True
    for operand, c in zip(operands, coefficients, strict=True):
        if not c:
            continue
        if first:
            printer.print_string("-" if c == -1 else "")
        else:
            printer.print_string(" - " if c < 0 else " + ")
        shown = c if first and c != -1 else abs(c)
        if abs(c) == 1:
            printer.print_ssa_value(operand)
        else:
            printer.print_ssa_value(operand)
            printer.print_string(f" * {shown}")
        first = False
    if first:
        printer.print_string(str(constant))
    elif constant:
        printer.print_string(f" {'-' if constant < 0 else '+'} {abs(constant)}")


class SubscriptParser:
    """Parses subscripts over index values; collects the values as operands in order of appearance."""

    def __init__(self, parser: Parser):
        self.parser = parser
        self.operands: list[SSAValue] = []

    def list(self) -> AffineMap:
        """`[expr, expr, ...]`"""
        exprs = self.parser.parse_comma_separated_list(self.parser.Delimiter.SQUARE, self.expr)
        return self.map(exprs)

    def bound(self, word: str) -> AffineMap:
        """`expr`, or `min(expr, expr, ...)` for `word` min."""
        if self.parser.parse_optional_keyword(word):
            return self.map(self.parser.parse_comma_separated_list(self.parser.Delimiter.PAREN, self.expr))
        return self.map([self.expr()])

    def map(self, exprs: Sequence[AffineExpr]) -> AffineMap:
        n = len(self.operands)
        return AffineMap(n, 0, tuple(canonical(e, n) for e in exprs))

    def expr(self) -> AffineExpr:
        result = self._term()
        while True:
            if self.parser.parse_optional_punctuation("+"):
                result = AffineBinaryOpExpr(AffineBinaryOpKind.Add, result, self._term())
            elif self.parser.parse_optional_punctuation("-"):
                result = AffineBinaryOpExpr(AffineBinaryOpKind.Add, result, _negate(self._term()))
            else:
                return result

    def _term(self) -> AffineExpr:
        result = self._factor()
        while True:
            if self.parser.parse_optional_punctuation("*"):
                result = AffineBinaryOpExpr(AffineBinaryOpKind.Mul, result, self._factor())
            elif word := self.parser.parse_optional_keyword_in(list(_WORDS.values())):
                kind = next(k for k, w in _WORDS.items() if w == word)
                result = AffineBinaryOpExpr(kind, result, self._factor())
            else:
                return result

    def _factor(self) -> AffineExpr:
        parser = self.parser
        if parser.parse_optional_punctuation("("):
            inner = self.expr()
            parser.parse_punctuation(")")
            return inner
        if parser.parse_optional_punctuation("-"):
            return _negate(self._factor())
        position = parser.pos
        if (operand := parser.parse_optional_unresolved_operand()) is not None:
            return AffineDimExpr(self._dim(operand, position))
        return AffineConstantExpr(parser.parse_integer())

    def _dim(self, operand: UnresolvedOperand, position: int) -> int:
        value = self.parser.resolve_operand(operand, IndexType())
        if value not in self.operands:
            self.operands.append(value)
        return self.operands.index(value)


class NamedSubscriptParser(SubscriptParser):
    """Parses expressions over names that are not defined yet: the index arguments of a kernel in its header."""

    def __init__(self, parser: Parser, dims: Mapping[str, int]):
        super().__init__(parser)
        self.dims = dims

    def exprs(self) -> Sequence[AffineExpr]:
        """`[expr, expr, ...]`"""
        return self.parser.parse_comma_separated_list(self.parser.Delimiter.SQUARE, self.expr)

    def _dim(self, operand: UnresolvedOperand, position: int) -> int:
        found = self.dims.get(operand.span.text)
        if found is None:
            self.parser.raise_error(f"{operand.span.text} is no argument of type index", position)
        return found


def _negate(expr: AffineExpr) -> AffineExpr:
    if isinstance(expr, AffineConstantExpr):
        return AffineConstantExpr(-expr.value)
    return AffineBinaryOpExpr(AffineBinaryOpKind.Mul, expr, AffineConstantExpr(-1))
