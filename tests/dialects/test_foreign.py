"""Upstream's ops are accepted and refused as upstream's mlir-opt does, one thing of an op changed at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from foreign_ops import CRASH, Case, cases, upstream
from lamina.dialects.context import make_context
from lamina.dialects.dominance import errors_in
from lamina.dialects.parsing import parse_module

STRICTER = {
    "vector.insert": "xDSL takes no tensor or memref as the element of a vector of something else",
    "vector.bitcast": "between scalable and fixed vectors nobody knows the number of bits",
    "vector.extract": "a position of -1 is poison, and vector<1xf32> is not a scalar",
    "memref.view": "the byte shift must be known (dialects/verify_module.py)",
    "memref.copy": "sizes are compared before a run",
    "memref.reinterpret_cast": "a view stays in its buffer",
    "memref.alloc": "the segments of operands are said",
    "memref.alloca": "the segments of operands are said",
    "vector.transfer_read": "of xDSL",
    "vector.transfer_write": "of xDSL",
    "arith.index_cast": "of xDSL: no cast to i1",
    "arith.addui_extended": "of xDSL: not of index",
}
"""What we refuse and upstream takes: the changes of an op, and why. There is nothing that upstream refuses and we take."""

CONTEXT = make_context()


def _ours(text: str) -> str | None:
    try:
        return next((str(error) for error in errors_in(parse_module(CONTEXT, text))), None)
    except Exception as error:
        return str(error)


def _compare(chosen: list[Case], mlir_opt: str) -> list[str]:
    texts = [case.text() for case in chosen]
    wrong = []
    for case, text, theirs in zip(chosen, texts, upstream(mlir_opt, texts), strict=True):
        ours = _ours(text)
        agrees = theirs == CRASH or (ours is None) == (theirs is None)
        if not agrees and not (theirs is None and case.change in STRICTER.get(case.name, ((), ""))[0]):
            wrong.append(f"{case.name}, {case.change}: upstream says {theirs}, we say {ours}\n{text}")
    return wrong


def test_a_sample_is_judged_as_upstream_judges_it(mlir_opt: str) -> None:
    wrong = _compare(cases()[::40], mlir_opt)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_all_are_judged_as_upstream_judges_them(mlir_opt: str) -> None:
    wrong = _compare(cases(), mlir_opt)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", STRICTER)
def test_what_is_stricter_is_so_still(name: str, mlir_opt: str) -> None:
    known = [case for case in cases() if case.name == name and case.change in STRICTER[name][0]]
    assert {case.change for case in known} == set(STRICTER[name][0])
    texts = [case.text() for case in known]
    judged = [(_ours(text), theirs) for text, theirs in zip(texts, upstream(mlir_opt, texts), strict=True)]
    assert any(ours is not None and theirs is None for ours, theirs in judged)


@pytest.mark.parametrize(
    ("operand", "op", "result", "says"),
    [
        ("f32", "arith.extf", "f16", "are cast incompatible"),
        ("f16", "arith.truncf", "f32", "are cast incompatible"),
        ("i32", "arith.extsi", "i32", "are cast incompatible"),
        ("i8", "arith.trunci", "i32", "are cast incompatible"),
        ("vector<4xf32>", "vector.broadcast", "vector<8xf32>", "dimension mismatch (4 vs. 8)"),
    ],
)
def test_a_wrong_direction_is_refused_in_upstreams_words(operand: str, op: str, result: str, says: str) -> None:
    case = Case(op, (operand,), (result,))
    assert says in (_ours(case.text()) or "")
