"""Lists of elements read as a whole are what they are read token by token, and so are the errors in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects import parsing
from lamina.dialects.context import make_context
from lamina.dialects.parsing import LaminaParser, parse_module
from xdsl.utils.exceptions import ParseError

CONTEXT = make_context()
INTEGERS = ("i1", "i4", "i7", "i8", "i16", "i24", "i32", "i64", "si8", "ui8", "ui64", "index")
FLOATS = ("f16", "bf16", "f32", "f64", "f8E5M2")


def data_of(text: str, long: int, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes | None, str]:
    """The bytes of a constant, or the message and no bytes."""
    monkeypatch.setattr(parsing, "LONG_LIST", long)
    try:
        module = parse_module(CONTEXT, f"module attributes {{a.b = {text}}} {{}}")
    except ParseError as error:
        return None, error.msg
    return module.attributes["a.b"].data.data, ""  # pyright: ignore[reportAttributeAccessIssue]


def spelled(values: list[str], shape: list[int]) -> str:
    for size in reversed(shape):
        values = [f"[{', '.join(values[k : k + size])}]" for k in range(0, len(values), size)]
    return values[0]


numbers = st.one_of(st.integers(-9, 9), st.integers(-300, 300), st.integers(-(2**64), 2**64))
integers = st.one_of(numbers.map(str), st.integers(0, 2**20).map(hex), st.sampled_from(["true", "false"]))
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=16).map(lambda x: f"{x:.9e}"),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.20e}"),
    st.integers(0, 2**16 - 1).map(hex),
    st.integers(-99, 99).map(str),
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_list_read_as_a_whole_is_the_same(data: st.DataObject) -> None:
    element = data.draw(st.sampled_from([*INTEGERS, *FLOATS]))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    count = int(np.prod(shape))
    words = data.draw(st.lists(floats if element in FLOATS else integers, min_size=count, max_size=count))
    said = data.draw(st.sampled_from([shape, shape, shape, [*shape, 1], shape[::-1]]))
    text = f"dense<{spelled(words, shape)}> : tensor<{''.join(f'{n}x' for n in said)}{element}>"
    with pytest.MonkeyPatch.context() as patch:
        whole, message = data_of(text, 1, patch)
        tokens, _ = data_of(text, 1 << 30, patch)
    if "is out of the range" in message:  # NumPy would give infinity, as xDSL does for some types
        return
    assert whole == tokens, (text, message)


@pytest.mark.parametrize(
    ("text", "word", "message"),
    [
        ("[1, 2, 3x, 4]", "3x", "expected an element of type i8"),
        ("[1, 2, 300, 4]", "300", "300 does not fit i8, which holds -128 to 255"),
        ("[1, 2.5, 3, 4]", "2.5", "expected an element of type i8"),
        ("[[1, 2], [3, 4]]", "[[", "dense list does not have the shape [4] of its type"),
        ("[1, 2, , 4]", ", 4", "expected an element of type i8"),
        ("[1, 2, 3]", "[1", "dense list does not have the shape [4] of its type"),
    ],
)
def test_an_error_in_a_long_list_has_a_place(text: str, word: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "LONG_LIST", 1)
    source = f"module attributes {{a.b = dense<{text}> : tensor<4xi8>}} {{}}"
    with pytest.raises(ParseError) as caught:
        parse_module(CONTEXT, source)
    assert message in caught.value.msg
    assert caught.value.span.start == source.index(word)


@pytest.mark.parametrize("element", ["f32", "bf16", "i24", "i1", "i64"])
def test_long_lists_are_not_read_token_by_token(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: LaminaParser) -> None:
        raise AssertionError("token by token")

    monkeypatch.setattr(LaminaParser, "_parse_tensor_literal", refuse)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, 200_000) if element == "i1" else rng.integers(-99, 99, 200_000)
    words = [f"{n}.5" for n in values] if element in FLOATS else list(map(str, values))
    text = f"%0 = arith.constant dense<{spelled(words, [400, 500])}> : tensor<400x500x{element}>"
    module = parse_module(CONTEXT, text)
    again = parse_module(CONTEXT, str(module))
    assert again.is_structurally_equivalent(module)
