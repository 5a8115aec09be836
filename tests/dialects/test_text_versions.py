"""Text of older versions is upgraded while it is read, of newer ones refused; locations may be named behind their use."""

from __future__ import annotations

from io import StringIO

import pytest
from lamina import pipeline
from lamina.dialects.context import make_context
from lamina.dialects.dominance import errors_in
from lamina.dialects.parsing import parse_module
from lamina.dialects.text_versions import ATTRIBUTE, VERSION
from xdsl.dialects.builtin import StringAttr
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

FIRST = """module attributes {{lamina.phase = "program"{version}}} {{
  memref.global "private" @c : memref<4xf32> = dense<1.0> {{constant}}
  program.func @f(%x: memref<4x4xf32>) -> (%y: memref<4xf32>) arena(%arena: memref<0xi8>) {{
    %v = memref.reinterpret_cast %x to offset: [8], sizes: [1, 4], strides: [4, 1] : memref<4x4xf32> to memref<1x4xf32>
    %c = memref.get_global @c : memref<4xf32>
    "memref.copy"(%c, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  }}
  loop.kernel @k(%x: memref<4xf32>, %y: memref<4xf32>) {{
    loop.for seq %i = 0 to 4 {{
      %a = loop.load %x[%i] : memref<4xf32>
      %b = math.sech2 %a : f32
      loop.store %b, %y[%i] : memref<4xf32>
    }}
  }}
}}
"""


def _first(version: str) -> str:
    return FIRST.format(version=version).replace(
        'memref.global "private" @c : memref<4xf32> = dense<1.0> {constant}',
        '"memref.global"() <{sym_name = "c", sym_visibility = "private", type = memref<4xf32>, '
        "initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()",
    )


@pytest.mark.parametrize("version", ["", ", lamina.version = 1 : i64"])
def test_text_of_the_first_version_is_upgraded(version: str) -> None:
    module = parse_module(make_context(), _first(version))
    assert not list(errors_in(module))
    text = str(module)
    assert "program.reinterpret_cast" in text and "program.get_global" in text and "scalar.sech2" in text
    assert (f"lamina.version = {VERSION}" in text) == bool(version)


def test_names_of_the_first_version_are_unknown_in_later_text() -> None:
    with pytest.raises(ParseError, match=r"math.sech2 is not registered"):
        parse_module(make_context(), _first(f", lamina.version = {VERSION} : i64"))


def test_newer_text_is_refused_at_its_version() -> None:
    with pytest.raises(ParseError, match=f"of version {VERSION + 1}, the newest that is read here is {VERSION}") as caught:
        parse_module(make_context(), _first(f", lamina.version = {VERSION + 1} : i64"))
    assert caught.value.span.text == str(VERSION + 1)


def test_what_is_printed_says_its_version_and_is_read() -> None:
    ctx = make_context()
    text = (
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n%y = graph.tanh %x : tensor<4xf32>\nreturn %y : tensor<4xf32>\n}"
    )
    module = parse_module(ctx, text)
    pipeline.run_to(module, "program", ctx, lambda *_: None)
    assert module.attributes[ATTRIBUTE].value.data == VERSION  # pyright: ignore[reportAttributeAccessIssue]
    again = parse_module(ctx, str(module))
    assert not list(errors_in(again))
    assert str(again) == str(module)


@pytest.mark.parametrize("value", ["0 : i64", '"2"', "dense<1> : tensor<1xi64>"])
def test_a_version_is_a_number(value: str) -> None:
    (error,) = errors_in(parse_module(make_context(), f"module attributes {{lamina.version = {value}}} {{}}"))
    assert f"must be a version from 1 to {VERSION}" in str(error)


def test_a_location_named_behind_its_use_is_read_once() -> None:
    text = 'func.func @f() { return loc(#a) }\n#b = loc("x.py":1:2)\n#a = loc(fused[#b, #b])\n'
    (function,) = parse_module(make_context(), text).body.block.ops
    assert str(function.regions[0].block.last_op.location) == 'loc(fused["x.py":1:2, "x.py":1:2])'  # pyright: ignore
    with pytest.raises(ParseError, match="re-declaration"):
        parse_module(make_context(), text + '#a = loc("x.py":1:2)\n')
    with pytest.raises(ParseError, match="undefined symbol alias '#a'"):
        parse_module(make_context(), "func.func @f() { return loc(#a) }\n#a = loc(fused[#a])\n")


def test_names_beyond_ascii_come_back_from_generic_syntax() -> None:
    module = parse_module(make_context(), 'module attributes {a.b = "é\\E2\\98\\83"} { func.func @"é☃"() { return } }')
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    again = parse_module(make_context(), stream.getvalue())
    assert str(again) == str(module) and again.is_structurally_equivalent(module)
    assert again.attributes["a.b"] == StringAttr("é☃")
