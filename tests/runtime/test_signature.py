"""Signatures: spelling, JSON, faults."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lamina.runtime.signature import DTYPES, ArrayParam, Signature, describe

params = st.builds(ArrayParam.of_shape, st.text(), st.sampled_from(list(DTYPES)), st.lists(st.integers(0, 1 << 40)).map(tuple))
signatures = st.builds(
    Signature,
    st.text(),
    st.lists(params).map(tuple),
    st.lists(params).map(tuple),
    st.integers(0, 1 << 40),
    st.none() | st.integers(0, 1 << 60),
)


@given(signatures)
def test_json_round_trip(signature):
    assert Signature.from_json(signature.to_json()) == signature


def test_spelling():
    x, n = ArrayParam.of_shape("x", "float32", (32, 64)), ArrayParam.of_shape("n", "int64", ())
    assert str(Signature("f", (x, n), (x,))) == "f(x: float32[32,64], n: int64[]) -> float32[32,64]"
    assert str(Signature("f", (), (x, n))) == "f() -> (float32[32,64], int64[])"
    assert str(Signature("f", (), ())) == "f() -> ()"


def test_heavy_elements():
    assert Signature("f", (), work=7).heavy_elements > 1 << 60
    assert Signature("f", (), work=1 << 20).heavy_elements == 0
    assert Signature("f", (), heavy=5).heavy_elements == 5


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "3", '{"name": 1}', "[" * 50, "[" * 100_000],
)
def test_from_json_refuses(text):
    with pytest.raises(ValueError):
        Signature.from_json(text)


GOOD = json.loads(Signature("f", (ArrayParam.of_shape("x", "float32", (2,)),), ()).to_json())


@pytest.mark.parametrize(
    "change",
    [
        {"name": 1}, {"is_kernel": 1}, {"params": None}, {"params": [1]}, {"params": [{}]}, {"arena_bytes": "1"}, {"work": "x"},
        {"results": {"a": 1}}, {"temporaries": 1}, {"donations": [[0, 0]]},
        {"params": [{"name": "x", "dtype": "float31", "dims": [], "writes": False, "strides": None}]},
        {"params": [{"name": "x", "dtype": "float32", "dims": [[None, 1.5]], "writes": False, "strides": None}]},
        {"params": [{"name": "x", "dtype": "float32", "dims": [[None, -1]], "writes": False, "strides": None}]},
        {"params": [{"name": "x", "dtype": "float32", "dims": [[None, True]], "writes": False, "strides": None}]},
        {"params": [{"name": "x", "dtype": "float32", "dims": [[0, 1]], "writes": False, "strides": None}]},
        {"params": [{"name": "x", "dtype": "float32", "dims": [[None, 2]], "writes": True, "strides": None}]},
        {"results": [{"name": "x", "dtype": "float32", "dims": [[0, 0]], "writes": False, "strides": None}]},
        {"results": [{"name": "x", "dtype": "float32", "dims": [[None, 2]], "writes": False, "strides": [[None, 2]]}]},
        {"params": [{"name": "x", "dtype": "float32", "dims": [[None, 2]], "writes": False, "strides": [[None, "2"]]}]},
    ],
)  # fmt: skip
def test_from_json_refuses_changed_fields(change):
    with pytest.raises(ValueError):
        Signature.from_json(json.dumps({**GOOD, **change}))


def test_params_are_checked():
    with pytest.raises(ValueError, match="known are: float32"):
        ArrayParam.of_shape("x", "float8", ())
    with pytest.raises(ValueError, match="negative size"):
        ArrayParam.of_shape("x", "float32", (2, -1))
    with pytest.raises(ValueError, match="out of the range"):
        ArrayParam.of_shape("x", "float32", (1 << 63,))


def test_describe():
    assert describe(np.zeros((2, 3))) == "float64[2,3]"
    assert describe(np.float32(1)) == "float32[]"
    assert describe(np.zeros(1, ">i4")) == "int32 (byte-swapped)[1]"
    assert describe([1]) == "list"
