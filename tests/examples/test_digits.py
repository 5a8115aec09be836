"""The example `examples/digits`: its two forms of the network agree, and its step is NumPy's."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lamina.dialects.context import make_context
from xdsl.parser import Parser

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def train() -> Any:
    pytest.importorskip("sklearn")
    pytest.importorskip("rich")
    spec = importlib.util.spec_from_file_location("digits_train", DIGITS / "train.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_text_file_is_the_network(train: Any, interpret: Any) -> None:
    module = Parser(make_context(), (DIGITS / "predict.mlir").read_text()).parse_module()
    module.verify()
    rng = np.random.default_rng(0)
    params = train.initial_state(rng)["params"]
    images = rng.integers(0, 17, (360, 64)).astype(np.float32)
    (digits,) = interpret(module, images, *params.values())
    assert digits.dtype == np.int64
    np.testing.assert_array_equal(digits, train.predict(params, images))


def test_the_step_is_numpys(train: Any) -> None:
    rng = np.random.default_rng(1)
    ours = theirs = train.initial_state(rng)
    images, labels, *_ = train.data(rng)
    for batch in list(train.batches(rng, images, labels))[:5]:
        ours, value = train.step(ours, *batch)
        theirs, expected = train.numpy_step(theirs, *batch)
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    for key in ours["params"]:
        assert ours["params"][key].dtype == np.float32
        np.testing.assert_allclose(ours["params"][key], theirs["params"][key], rtol=1e-3, atol=1e-5)


def test_the_arrays_are_in_the_order_of_the_arguments(train: Any) -> None:
    params = train.initial_state(np.random.default_rng(0))["params"]
    assert list(params) == sorted(params) == ["b1", "b2", "w1", "w2"]
