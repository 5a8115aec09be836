"""Attributes that are left out of the text of an op: what they are then, and what is said where that is open."""

from __future__ import annotations

import re

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from xdsl.utils.exceptions import ParseError

F, L, S = "tensor<1x3x8x8xf32>", "tensor<4x8xf32>", "tensor<f32>"
OPS = {
    f"graph.conv %a, %b{{}} : ({F}, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>": (
        " stride [1, 1] low [0, 0] high [0, 0] groups 1"
    ),
    f"graph.gather %a, %b{{}} : ({L}, tensor<3xi64>) -> tensor<3x8xf32>": " at [0]",
    f"graph.gather %a, %b, %c{{}} : ({L}, tensor<3xi64>, tensor<3xi64>) -> tensor<3xf32>": " at [0, 1]",
    f"graph.scatter add %a, %b, %c{{}} : ({L}, tensor<3x8xf32>, tensor<3xi64>) -> {L}": " at [0]",
    "graph.attention %a, %a, %a{} : (tensor<2x8x16xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>": (
        " mask none scale 0.25 : f64"
    ),
    f"graph.layer_norm %a{{}} : {L}": " over [1] epsilon 1.0e-05 : f64",
    f"graph.rms_norm %a{{}} : {L}": " over [1] epsilon 1.0e-05 : f64",
    f"graph.softmax %a{{}} : {L}": " over [1]",
    f"graph.log_softmax %a{{}} : {L}": " over [1]",
    f"graph.gelu %a{{}} : {L}": " approximate none",
    f"graph.var %a over [0]{{}} : {L} -> tensor<8xf32>": " correction 0",
    f"graph.pad %a, %b{{}} : ({L}, {S}) -> {L}": " low [0, 0] high [0, 0] interior [0, 0]",
    f"graph.reduce_window max %a window [2, 2]{{}} : {L} -> tensor<3x7xf32>": (
        " stride [1, 1] low [0, 0] high [0, 0] dilation [1, 1]"
    ),
    f"graph.sort %a{{}} : {L} -> {L}": " keys 1",
}


def _module(op: str) -> str:
    operands = re.findall(r"%\w", op.partition(":")[0])
    types = re.search(r" : \(?([^()]*?)\)?(?: ->|$)", op.replace(" : f64", ""))
    assert types is not None
    of = dict(zip(operands, types[1].split(", ") * len(operands), strict=False))
    arguments = ", ".join(f"{name}: {type}" for name, type in of.items())
    return f"func.func @f({arguments}) {{\n  %y = {op}\n  return\n}}"


@pytest.mark.parametrize("op", OPS)
def test_left_out_is_as_written(op: str) -> None:
    short, full = (parse_module(make_context(), _module(op.replace("{}", text))) for text in ("", OPS[op]))
    short.verify()
    assert short.is_structurally_equivalent(full)
    assert str(short) == str(full)
    assert str(parse_module(make_context(), str(short))) == str(full)


def test_one_of_several_is_written() -> None:
    (op,) = (key for key in OPS if "graph.conv" in key)
    module = parse_module(make_context(), _module(op.replace("{}", " high [1, 1]").replace("4x6x6", "4x7x7")))
    assert "stride [1, 1] low [0, 0] high [1, 1] groups 1" in str(module)


def test_slice_stops_are_required() -> None:
    text = _module(f"graph.slice %a stop [2, 8] : {L} -> tensor<2x8xf32>")
    assert "start [0, 0] stop [2, 8] step [1, 1]" in str(parse_module(make_context(), text))
    with pytest.raises(ParseError, match="xpected 'stop'"):
        parse_module(make_context(), _module(f"graph.slice %a : {L} -> tensor<2x8xf32>"))


def test_in_the_dictionary() -> None:
    module = parse_module(make_context(), _module(f"graph.layer_norm %a {{epsilon = 1.0e-3 : f64}} : {L}"))
    assert "over [1] epsilon 1.000000e-03 : f64" in str(module)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            "graph.attention %a, %a, %a : (tensor<2x8x?xf32>, tensor<2x8x?xf32>, tensor<2x8x?xf32>) -> tensor<2x8x?xf32>",
            r"needs scale: its default, 1 / sqrt\(dim of q\), does not follow",
        ),
        (f"graph.layer_norm %a, %a : {L}", "expected no further operand: 'graph.layer_norm' op takes one operand"),
        (f"graph.reduce %a over [1] : {L} -> tensor<4xf32>", "expected a word, the kind, got '%a'"),
    ],
)
def test_messages(op: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_module(make_context(), _module(op))
