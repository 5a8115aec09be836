"""Affine expressions over index values in a normal form, in which equal expressions compare equal.

An `AffineMap` is over dims; the op that holds the map says which value each dim is. `Affine` contains the values, so that
subscripts and bounds of different ops can be compared, added, and rewritten for other loops.

    forms(load.map.data, load.indices)              # [io + ip + ii, ko + ki]
    form.substitute({ii: Affine.of(new) + 1})
    as_map([form, ...])                             # (map, operands) for a new op
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...dialects.loop.subscripts import canonical, from_linear, linear_form

_WORDS = {
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.Mul: "*",
}


@dataclass(frozen=True)
class Part:
    """A nonlinear term: `x floordiv y`, `x ceildiv y`, `x mod y`, or a product of two expressions that are not constant."""

    kind: AffineBinaryOpKind
    x: Affine
    y: Affine


class Affine:
    """`sum(c * atom) + constant`; an atom is an index value or a `Part`."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: Mapping[SSAValue | Part, int], constant: int = 0):
        self.terms = {atom: c for atom, c in terms.items() if c}
        self.constant = constant

    @staticmethod
    def of(value: SSAValue | int) -> Affine:
        """A value, or a number; a constant value becomes its number."""
        if isinstance(value, int):
            return Affine({}, value)
        number = _number(value)
        return Affine({value: 1}) if number is None else Affine({}, number)

    @staticmethod
    def parse(expr: AffineExpr, dims: Sequence[SSAValue]) -> Affine:
        """An expression over dims, with the values of the dims substituted."""
        if isinstance(expr, AffineConstantExpr):
            return Affine.of(expr.value)
        if isinstance(expr, AffineDimExpr):
            return Affine.of(dims[expr.position])
        assert isinstance(expr, AffineBinaryOpExpr)
        return _binary(expr.kind, Affine.parse(expr.lhs, dims), Affine.parse(expr.rhs, dims))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and self.terms == other.terms and self.constant == other.constant

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    def __add__(self, other: Affine | int) -> Affine:
        other = Affine.of(other) if isinstance(other, int) else other
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + c
        return Affine(terms, self.constant + other.constant)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, factor: int) -> Affine:
        return Affine({atom: c * factor for atom, c in self.terms.items()}, self.constant * factor)

    def __floordiv__(self, divisor: int) -> Affine:
        return _divided(AffineBinaryOpKind.FloorDiv, self, divisor)

    def ceildiv(self, divisor: int) -> Affine:
        return _divided(AffineBinaryOpKind.CeilDiv, self, divisor)

    def mod(self, divisor: int) -> Affine:
        return _divided(AffineBinaryOpKind.Mod, self, divisor)

    @property
    def number(self) -> int | None:
        """The value, when it is constant."""
        return None if self.terms else self.constant

    @property
    def value(self) -> SSAValue | None:
        """The value, when the expression is a single one."""
        atom = next(iter(self.terms), None)
        plain = len(self.terms) == 1 and not self.constant and self.terms.get(atom) == 1  # pyright: ignore[reportArgumentType]
        return atom if plain and isinstance(atom, SSAValue) else None

    @property
    def is_linear(self) -> bool:
        return not any([isinstance(atom, Part) for atom in self.terms])

    def values(self) -> Iterator[SSAValue]:
        """The values in it, also in nonlinear parts."""
        for atom in self.terms:
            if isinstance(atom, Part):
                yield from atom.x.values()
                yield from atom.y.values()
            else:
                yield atom

    def substitute(self, new: Mapping[SSAValue, Affine]) -> Affine:
        """The expression with values replaced."""
        result = Affine.of(self.constant)
        for atom, c in self.terms.items():
            if isinstance(atom, Part):
                part = _binary(atom.kind, atom.x.substitute(new), atom.y.substitute(new))
            else:
                part = new.get(atom) or Affine({atom: 1})
            result = result + part * c
        return result

    def expr(self, operands: list[SSAValue]) -> AffineExpr:
        """The expression with values as dims: their positions in `operands`, which grows as needed."""
        result: AffineExpr | None = None
        for atom, c in self.terms.items():
            if isinstance(atom, Part):
                term: AffineExpr = AffineBinaryOpExpr(atom.kind, atom.x.expr(operands), atom.y.expr(operands))
            else:
                if atom not in operands:
                    operands.append(atom)
                term = AffineDimExpr(operands.index(atom))
            if c != 1:
                term = AffineBinaryOpExpr(AffineBinaryOpKind.Mul, term, AffineConstantExpr(c))
            result = term if result is None else AffineBinaryOpExpr(AffineBinaryOpKind.Add, result, term)
        if result is None:
            return AffineConstantExpr(self.constant)
        if self.constant:
            result = AffineBinaryOpExpr(AffineBinaryOpKind.Add, result, AffineConstantExpr(self.constant))
        return result

    def __str__(self) -> str:
        text = ""
        for atom, c in self.terms.items():
            if isinstance(atom, Part):
                word = f"({atom.x} {_WORDS[atom.kind]} {atom.y})"
            else:
                word = atom.name_hint or "?"
            word = word if abs(c) == 1 else f"{word} * {abs(c)}"
            text += (f" {'-' if c < 0 else '+'} " if text else "-" if c < 0 else "") + word
        if not text:
            return str(self.constant)
        return text + (f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}" if self.constant else "")

    __repr__ = __str__


def _number(value: SSAValue) -> int | None:
    """The number, when a value is a constant."""
    owner = value.owner
    constant = owner.value if isinstance(owner, arith.ConstantOp) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None


def _binary(kind: AffineBinaryOpKind, x: Affine, y: Affine) -> Affine:
    if kind == AffineBinaryOpKind.Add:
        return x + y
    if kind == AffineBinaryOpKind.Mul:
        for one, two in (x, y), (y, x):
            if two.number is not None:
                return one * two.number
        return Affine({Part(kind, x, y): 1})
    if y.number is not None and y.number > 0:
        return _divided(kind, x, y.number)
    return Affine({Part(kind, x, y): 1})


def _divided(kind: AffineBinaryOpKind, x: Affine, divisor: int) -> Affine:
    """A division, with multiples of the divisor moved out of it: (6 a + b) floordiv 6 is a + b floordiv 6."""
    whole = Affine({atom: c // divisor for atom, c in x.terms.items() if c % divisor == 0}, x.constant // divisor)
    rest = Affine({atom: c for atom, c in x.terms.items() if c % divisor}, x.constant % divisor)
    if rest.number is not None:
        rounded = {AffineBinaryOpKind.FloorDiv: 0, AffineBinaryOpKind.CeilDiv: int(rest.number > 0)}
        part = Affine.of(rounded.get(kind, rest.number))
    else:
        part = Affine({Part(kind, rest, Affine.of(divisor)): 1})
    return part if kind == AffineBinaryOpKind.Mod else whole + part


def forms(map: AffineMap, dims: Sequence[SSAValue]) -> list[Affine]:
    """The results of a map, with the values of its dims substituted."""
    found: list[Affine] = []
    for expr in map.results:
        linear = _linear(expr, len(dims))
        if linear is None:
            found.append(Affine.parse(expr, dims))
            continue
        terms, total = dict[SSAValue | Part, int](), linear[1]
        for k, c in linear[0]:
            value = dims[k]
            number = _number(value)
            if number is None:
                terms[value] = terms.get(value, 0) + c
            else:
                total += number * c
        found.append(Affine(terms, total))
    return found


@lru_cache(maxsize=8192)
def _linear(expr: AffineExpr, count: int) -> tuple[tuple[tuple[int, int], ...], int] | None:
    """The dims of a linear expression, in the order of the text, with their coefficients, and the constant."""
    form = linear_form(expr, count)
    return None if form is None else (tuple([(k, form[0][k]) for k in _in_order(expr) if form[0][k]]), form[1])


def _in_order(expr: AffineExpr) -> dict[int, None]:
    if isinstance(expr, AffineDimExpr):
        return {expr.position: None}
    return _in_order(expr.lhs) | _in_order(expr.rhs) if isinstance(expr, AffineBinaryOpExpr) else {}


def as_map(found: Sequence[Affine]) -> tuple[AffineMap, list[SSAValue]]:
    """A map and its operands."""
    operands: list[SSAValue] = []
    if all([form.is_linear for form in found]):
        operands = list(dict.fromkeys(value for form in found for value in form.values()))
        results = [from_linear([form.terms.get(value, 0) for value in operands], form.constant) for form in found]
        return AffineMap(len(operands), 0, tuple(results)), operands
    exprs = [form.expr(operands) for form in found]
    return AffineMap(len(operands), 0, tuple(canonical(e, len(operands)) for e in exprs)), operands


def show(found: Sequence[Affine]) -> str:
    """Subscripts as text."""
    return f"[{', '.join(map(str, found))}]"
