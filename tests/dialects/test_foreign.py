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

_BUFFERS = ("memref<4xf32>", "memref<?xf32>", "memref<4x8xf32>", "memref<4x8xf32, strided<[16, 1]>>", "memref<f32>")

STRICTER: dict[str, tuple[Sequence[str], str]] = {
    "vector.insert": (
        [f"operands 0: {type}" for type in ("tensor<4xf32>", "tensor<?xf32>", *_BUFFERS, "memref<4xf32, 1>")]
        + ["properties: static_position = array<i64: -1>"],
        "xDSL takes no tensor or memref as an element; a position of -1 is poison",
    ),
    "vector.bitcast": (
        ["operands 0: vector<[4]xf32>", "results 0: vector<[4]xf32>"],
        "between scalable and fixed vectors nobody knows the number of bits",
    ),
    "vector.extract": (
        ["operands 0: vector<4x1xf32>", "results 0: vector<1xf32>", "properties: static_position = array<i64: -1>"],
        "vector<1xf32> is not a scalar, and a position of -1 is poison",
    ),
    "memref.view": (
        ["as it is", *(f"results 0: {type}" for type in ("memref<4xi32>", "memref<4x8xf32>", "memref<64xi8>", "memref<f32>"))],
        "the byte shift must be known (dialects/verify_module.py)",
    ),
    "memref.copy": (["operands 0: memref<?xf32>", "operands 1: memref<?xf32>"], "sizes are compared before a run"),
    "memref.reinterpret_cast": (
        [f"operands 0: {type}" for type in ("memref<4xf32>", "memref<?xf32>", "memref<f32>")],
        "a view stays in its buffer",
    ),
    "memref.alloc": (["properties: no operandSegmentSizes = array<i32: 0, 0>"], "the segments of operands are said"),
    "memref.alloca": (["properties: no operandSegmentSizes = array<i32: 0, 0>"], "the segments of operands are said"),
    "vector.transfer_read": (["results 0: vector<4xindex>"], "of xDSL"),
    "vector.transfer_write": (["operands 0: vector<4xindex>"], "of xDSL"),
    "arith.index_cast": (["results 0: i1"], "of xDSL: no cast to i1"),
    "arith.addui_extended": (["i32: index"], "of xDSL: not of index"),
}
"""What we refuse and upstream takes: the changes of an op, and why. There is nothing that upstream refuses and we take."""

CONTEXT = make_context()


def _ours(text: str) -> str | None:
    try:
        return next((str(error) for error in errors_in(parse_module(CONTEXT, text))), None)
    except Exception as error:
        return str(error)


def _compare(chosen: Sequence[Case], mlir_opt: str) -> list[str]:
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
