"""Dims of a model's inputs that are sums and products of other dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import lamina as lm
from lamina.interop.onnx.errors import OnnxError
from onnx_models import model, node, value


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def with_history() -> bytes:
    """`x + all[1:]`, then `new` behind it."""
    nodes = [node("Slice", "all one far zero", "last"), node("Add", "x last", "h"), node("Concat", "h new", "y", axis=0)]
    weights = {"one": np.asarray([1]), "far": np.asarray([2**60]), "zero": np.asarray([0])}
    inputs = [value("x", ["past", 4]), value("all", ["past + 1", 4]), value("new", ["m", 4])]
    return model(nodes, inputs, [value("y", ["past + m", 4])], weights)


def joined(text: str) -> Any:
    return lm.from_onnx(
        model([node("Concat", "x y", "z", axis=0)], [value("x", ["n", text]), value("y", ["m", text])], [value("z", None)])
    )


def test_a_dim_may_be_a_name_plus_a_number() -> None:
    f = lm.from_onnx(with_history())
    for n, m in ((3, 2), (1, 1), (7, 0), (0, 3)):
        np.testing.assert_array_equal(f(ones(n, 4), ones(n + 1, 4), ones(m, 4)), np.concatenate([2 * ones(n, 4), ones(m, 4)]))
    assert '#graph.sizes<"past + 1">' in str(f.module())
    with pytest.raises(OnnxError, match=r"takes all: float32\[past \+ 1, 4\], got the size 5 for past \+ 1, which is 4"):
        f(ones(3, 4), ones(5, 4), ones(2, 4))


def test_given_sizes_are_put_into_expressions() -> None:
    f = lm.from_onnx(with_history(), {"past": 3})
    assert [spec.shape for spec in f.inputs] == [(3, 4), (4, 4), ("m", 4)]
    assert f(ones(3, 4), ones(4, 4), ones(2, 4)).shape == (5, 4)


@pytest.mark.parametrize(("text", "size"), [("n-1", 2), ("2*n", 6), ("n * m", 6), ("(n + m) * 2", 10), ("1+1", 2)])
def test_sizes_of_expressions_are_compared(text: str, size: int) -> None:
    f = joined(text)
    assert f(ones(3, size), ones(2, size)).shape == (5, size)
    with pytest.raises(OnnxError, match=rf"got the size {size + 1} for .*, which is {size}"):
        f(ones(3, size + 1), ones(2, size + 1))


@pytest.mark.parametrize(
    "text", ["batch-size", "n + k", "n//2", "n +", "(n", "__import__('os')", "n**99999", "9" * 300 + "*n", "-"]
)
def test_any_other_text_is_a_name(text: str) -> None:
    f = joined(text)
    for size in (1, 5):
        assert f(ones(3, size), ones(2, size)).shape == (5, size)
    with pytest.raises(OnnxError, match="got shape"):
        f(ones(3, 4), ones(2, 5))
