"""`lm.debug_nans` names the first op that makes a NaN; `lm.watch` tells variables of compiled functions."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import LaminaError


@lm.jit
def function(x, w):
    h = lnp.tanh(x @ w)
    g = lnp.log(h.sum(axis=1) - 0.5)
    return (g * 2).sum()


X = np.array([[1, 1, 1], [0, 0, 0]], np.float32)
W = np.ones((3, 2), np.float32)


def test_the_first_op_is_named_with_line_and_operand() -> None:
    line = function.__code__.co_firstlineno + 3 if hasattr(function, "__code__") else None
    with lm.debug_nans(), pytest.raises(FloatingPointError) as caught:
        function(X, W)
    said = str(caught.value)
    assert "function() gave a NaN: the first NaN is made by 'graph.log' at " in said
    assert "test_watching.py:" in said and "element [1] (operand 0: -0.5 of float32[2])" in said
    assert line is None or f"test_watching.py:{line}" in said
    assert np.isnan(function(X, W))  # outside of the block nothing is looked at


def test_functions_without_nans_give_their_results() -> None:
    with lm.debug_nans():
        assert np.isfinite(function(X + 1, W))
        with lm.debug_nans(False):
            assert np.isnan(function(X, W))


def test_nans_of_gradients_and_of_arguments() -> None:
    root = lm.jit(lm.grad(lambda x: lnp.sum(lnp.sqrt(x) * x)))
    with lm.debug_nans():
        with pytest.raises(FloatingPointError, match=r"made by 'graph\.sqrt'"):
            root(np.float32([1, -1]))
        with pytest.raises(FloatingPointError, match="it was given one, in x"):
            function(X * np.nan, W)


def test_the_process_has_it_by_an_option() -> None:
    lm.config.update(nans=True)
    try:
        with pytest.raises(FloatingPointError):
            function(X, W)
    finally:
        lm.config.update(nans=False)
    assert np.isnan(function(X, W))


def test_variables_are_told_and_nothing_is_compiled_again() -> None:
    function(X, W)
    before = len(function._dispatcher.specializations)
    with lm.watch("h") as seen:
        function(X, W)
        function(2 * X, W)
    assert len(seen) == 2 and len(function._dispatcher.specializations) <= max(before, 1)
    np.testing.assert_allclose(seen[1], np.tanh(2 * X @ W), rtol=1e-6)


def test_arguments_are_variables_and_others_are_refused() -> None:
    with lm.watch("x") as seen, lm.watch("g") as logs:
        function(X, W)
    assert np.array_equal(seen[0], X) and np.isnan(logs[0][1])
    with lm.watch("nothing"), pytest.raises(LaminaError, match="has no variable 'nothing'; there are: x, w, g, h"):
        function(X, W)
