"""Random expressions: what kernels compute is what Python computes on NumPy scalars, to the last bit, element by element."""

from __future__ import annotations

import itertools
import linecache
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from running import by_interpreter, by_python, natively

ROWS = 7
HEAD = """\
def k(a: lm.i64["N"], b: lm.i64["N"], m: lm.i32["N"], x: lm.f32["N"], d: lm.f64["N"], t: lm.bool_["N"], s: lm.f64, q: lm.i64,
      whole: lm.i64["N", {wholes}], real: lm.f64["N", {reals}]):
    for i in range(N):
"""
FLOATS, INTEGERS = ("float", "f32", "f64"), ("int", "i32", "i64")
"""Kinds by what NumPy gives: `int` and `float` are Python's own numbers."""
LEAVES = {
    "int": ("i", "N", "2", "-3", "7", "(N - i)", "(2 * i + 1)"),
    "i64": ("a[i]", "b[i]", "a[N - 1 - i]"),
    "i32": ("m[i]",),
    "float": ("0.5", "-1.25", "3.0", "0.1"),
    "f32": ("x[i]", "x[N - 1 - i]"),
    "f64": ("d[i]",),
    "bool": ("t[i]", "t[i // 2]"),
}
_names = itertools.count()


def met(one: str, other: str) -> str:
    """The kind of a sum. `int` with i32 counts as i64: kernels compute it so, and values that fit are the same."""
    kinds = {one, other}
    if kinds <= {"int"} or kinds <= {"int", "float"}:
        return "float" if "float" in kinds else "int"
    if "f64" in kinds or ("f32" in kinds and kinds & {"i32", "i64"}):
        return "f64"
    if "f32" in kinds:
        return "f32"
    if "float" in kinds:
        return "f64"
    return "i32" if kinds <= {"i32", "bool"} else "i64"


Typed = tuple[str, str]


@st.composite
def expressions(draw: st.DrawFn, kinds: tuple[str, ...], depth: int = 3) -> Typed:
    """An expression of one of the kinds, and its kind."""
    kind = draw(st.sampled_from(kinds))
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(LEAVES[kind])), kind
    if kind == "bool":
        return draw(conditions(depth)), kind

    def same() -> str:
        return draw(expressions((kind,), depth - 1))[0]

    form = draw(st.sampled_from(("sum", "sum", "sum", "division", "unary", "choice", "extreme", "special", "special")))
    if form == "choice":
        return f"({same()} if {draw(conditions(depth - 1))} else {same()})", kind
    if form == "extreme":
        return f"{draw(st.sampled_from(('min', 'max')))}({same()}, {same()})", kind
    if form == "unary":
        return f"{draw(st.sampled_from(('-', 'abs', '+')))}({same()})", kind
    if form == "division":
        if kind in INTEGERS:
            divisors = ("3", "-2", "7") if kind == "int" else ("3", "-2", "b[i]" if kind == "i64" else "(m[i] | 1)")
            return f"({same()} {draw(st.sampled_from(('//', '%')))} {draw(st.sampled_from(divisors))})", kind
        whole = {"float": "int", "f32": "f32", "f64": "i64"}[kind]
        divisor = {"float": ("3", "0.7"), "f32": ("7", "-2.5"), "f64": ("b[i]", "3", "0.3")}[kind]
        return f"({draw(expressions((whole,), depth - 1))[0]} / {draw(st.sampled_from(divisor))})", kind
    if form == "special":
        return draw(special(kind, depth)), kind
    others = [other for other in LEAVES if met(kind, other) == kind and other != "bool"]
    other = draw(expressions(tuple(others), depth - 1))[0]
    pair = [same(), other]
    if draw(st.booleans()):
        pair.reverse()
    return f"({pair[0]} {draw(st.sampled_from('+-*'))} {pair[1]})", kind


@st.composite
def special(draw: st.DrawFn, kind: str, depth: int) -> str:
    """Conversions, bits, roundings, roots."""

    def one(*kinds: str) -> str:
        return draw(expressions(kinds, depth - 1))[0]

    if kind == "int":
        rounding = draw(st.sampled_from(("int", "round", "math.floor", "math.ceil", "int")))
        return f"{rounding}({one(*FLOATS, 'int', 'i64')})"
    if kind == "i32":
        return draw(st.sampled_from((f"lm.i32({one('int', 'i32')} % 1000)", f"(m[i] ^ {one('i32')})", f"(~{one('i32')})")))
    if kind == "i64":
        bits = f"({one('i64')} {draw(st.sampled_from('&|^'))} {one('i64', 'int')})"
        shifted = f"({one('i64')} {draw(st.sampled_from(('<<', '>>')))} {draw(st.integers(0, 5))})"
        counted = f"({one('bool')} + {one('i64')})"
        return draw(st.sampled_from((bits, shifted, counted, f"(~{one('i64')})", f"({one('int', 'i64')} + a[i]) ** 2")))
    if kind == "float":
        return f"float({one(*FLOATS, *INTEGERS, 'bool')})"
    if kind == "f32":
        return draw(
            st.sampled_from((f"lm.f32({one(*FLOATS, 'int')})", f"np.sqrt(abs({one('f32')}))", f"np.floor({one('f32')})"))
        )
    division = f"({one('f64')} {draw(st.sampled_from(('//', '%')))} {draw(st.sampled_from(('2.5', '-0.75', 'b[i]')))})"
    return draw(
        st.sampled_from((f"np.rint({one('f64')})", f"np.sqrt(abs({one('f64')}))", f"(s * {one(*FLOATS, 'i64')})", division))
    )


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> str:
    """A condition of array elements, so that it is a `np.bool_`."""
    if depth <= 0:
        return draw(st.sampled_from(LEAVES["bool"]))
    form = draw(st.sampled_from(("compare", "compare", "chain", "and", "not", "bits", "convert", "guard")))
    if form in ("compare", "chain"):
        kinds = ("i32", "i64", "f32", "f64")
        parts = [draw(expressions(kinds, depth - 1))[0], draw(expressions((*kinds, "int", "float"), depth - 1))[0]]
        parts += [draw(expressions((*kinds, "int"), depth - 1))[0]] if form == "chain" else []
        signs = [draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!="))) for _ in parts]
        return "(" + " ".join(f"{part} {sign}" for part, sign in zip(parts, signs, strict=True)).rsplit(" ", 1)[0] + ")"
    one, other = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    if form == "not":
        return f"(t[i] ^ (not {one}))"
    if form == "convert":
        return f"(t[i] & bool({draw(expressions(('i64', 'f64', 'f32'), depth - 1))[0]}))"
    if form == "guard":
        return f"(i > 0 and x[i - 1] > {draw(st.integers(-2, 2))} or {one})"
    return f"({one} {draw(st.sampled_from(('and', 'or') if form == 'and' else ('&', '|', '^', '==', '!=')))} {other})"


def function(wholes: list[str], reals: list[str]) -> Any:
    """The kernel that stores each expression into a column."""
    text = HEAD.format(wholes=len(wholes), reals=len(reals))
    text += "".join(f"        whole[i, {k}] = {e}\n" for k, e in enumerate(wholes))
    text += "".join(f"        real[i, {k}] = {e}\n" for k, e in enumerate(reals))
    name = f"<expressions {next(_names)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {"lm": lm, "np": np, "math": __import__("math")}
    exec(compile(text, name, "exec"), names)
    return names["k"]


def arrays(seed: int, wholes: int, reals: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    nonzero = rng.integers(1, 9, ROWS) * rng.choice([-1, 1], ROWS)
    m, a = rng.integers(-9, 10, ROWS, np.int32), rng.integers(-99, 100, ROWS)
    x, d = (rng.standard_normal(ROWS) * 4).astype(np.float32), rng.integers(-40, 40, ROWS) / 8
    flags = rng.integers(0, 2, ROWS).astype(bool)
    return [a, nonzero, m, x, d, flags, 1.5, -4, np.zeros((ROWS, wholes), np.int64), np.zeros((ROWS, reals))]


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(expressions((*INTEGERS, "bool")), min_size=4, max_size=8),
    st.lists(expressions(FLOATS), min_size=4, max_size=8),
    st.integers(0, 99),
)
def test_random_expressions(wholes: list[Typed], reals: list[Typed], seed: int) -> None:
    agreed(wholes, reals, seed)


def agreed(wholes: list[Typed], reals: list[Typed], seed: int) -> None:
    """Interpreter and machine code compute what Python computes."""
    k = function([text for text, _ in wholes], [text for text, _ in reals])
    args = arrays(seed, len(wholes), len(reals))
    want = by_python(k, args)
    for run in (by_interpreter, natively):
        got = run(k, args)
        for column, (text, kind) in enumerate([*wholes, *reals]):
            part, at = (8, column) if column < len(wholes) else (9, column - len(wholes))
            np.testing.assert_array_equal(got[part][:, at], want[part][:, at], f"{text} ({kind}) by {run.__name__}")


CHOICES = (
    *("int(0.5 if t[i] else 0.5)", "int(1.5 if t[i] else -2.5)", "int(7 if t[i] else 2.5)", "int(True if t[i] else False)"),
    *("int(float(2 if t[i] else 3) / 2)", "bool(0.5 if t[i] else 0.0)", "bool(2 if t[i] else 0)", "abs(-1 if t[i] else 2)"),
    *("abs(True if t[i] else False)", "-(True if t[i] else False)", "int(abs(-1.5 if t[i] else 2.5))"),
    *("int(min(0.5 if t[i] else 2.5, 1.5))", "int(max(0.5 if t[i] else 2.5, 1))", "min(3 if t[i] else 5, 4, i)"),
    *("int((0.5 if t[i] else 1.5) if x[i] > 0 else 2.5)", "int(0.5 if t[i] else (1.5 if x[i] > 0 else 2.5))"),
    *("int((0.5 if t[i] else 1.5) if x[i] > 0 else (2.5 if t[i] else 3))", "int(int(0.5 if t[i] else 3.5) / 2)"),
    *("round(0.5 if t[i] else 1.5)", "math.floor(-0.5 if t[i] else 1.5)", "math.ceil(2 if t[i] else 1.5)"),
    *(
        "lm.i32(0.5 if t[i] else -1.5)",
        "lm.i64(7.5 if t[i] else 1)",
        "lm.bool_(0.5 if t[i] else 0)",
        "np.int32(2.5 if t[i] else 1)",
    ),
    *("a[int(1.5 if t[i] else 2.5)]", "m[i] + int(1.5 if t[i] else 2.5)", "~int(1.5 if t[i] else 2.5)"),
    *("(True if t[i] else 2)", "np.where(t[i], True, 2)", "int(np.where(t[i], 1.5, 2))", "~(2 if t[i] else 3)"),
)
REAL_CHOICES = (
    *("float(1 if t[i] else 2)", "float(True if t[i] else False)", "float(0.1 if t[i] else 1) * x[i]", "-(0.1 if t[i] else 1)"),
    *(
        "abs(-0.1 if t[i] else 1)",
        "lm.f32(0.1 if t[i] else 3)",
        "max(0.1 if t[i] else 0.3, 0.2)",
        "x[i] * abs(-0.1 if t[i] else 1)",
    ),
    *("float(0.1 if t[i] else (1 if x[i] > 0 else 2))", "x[i] + -(0.1 if t[i] else 0.2)", "min(x[i], 0.25 if t[i] else 0.5)"),
)


def test_choices_between_numbers() -> None:
    """Functions and conversions of a number that depends on a condition are those of either number."""
    agreed([(text, "int") for text in CHOICES], [(text, "float") for text in REAL_CHOICES], 0)
