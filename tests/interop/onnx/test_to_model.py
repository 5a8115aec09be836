"""`lm.to_onnx`: ONNX's own evaluator computes the same, and so does the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import lamina as lm
import lamina.numpy as lnp
from interop_programs import PROGRAMS, X, compare, flat, leaves
from onnx.reference import ReferenceEvaluator
from random_programs import Drawn, exact_results
from random_programs import compare as compare_random

HAVE_NO_FORM = {"fft": "complex numbers", "complex": "complex numbers", "cholesky": "'graph.cholesky' op"}
MORE: dict[str, Any] = {
    "arctan2": (
        lambda y, x: lnp.arctan2(y, x),
        [np.float32([0.0, -0.0, 1, -1, 3, np.inf, -2]), np.float32([-1, -1, 0, 0, -4, -np.inf, 5])],
    ),
    "small": (lambda x: (lnp.expm1(x), lnp.log1p(x)), [np.float32([1e-7, -1e-7, 0.5, 30, -0.5, np.inf])]),
    "shifts": (lambda x, k: (x << k, x >> k), [np.int32([-9, -1, 7, 1 << 30, -(1 << 31)]), np.int32([1, 31, 0, 2, 33])]),
    "quotients": (
        lambda x, y: (lm.lax.div(x, y), lm.lax.rem(x, y)),
        [np.int32([-7, 7, -(1 << 31), 5, -7]), np.int32([2, -2, -1, 0, 7])],
    ),
    "narrow": (lambda x: (x + x, lnp.sum(x, 0), lnp.max(x), x @ x.T, lnp.sort(x)), [np.int8([[100, 90], [-3, 7]])]),
    "flags": (
        lambda x: (lnp.any(x, 0), lnp.all(x, 1), lnp.cumsum(x, 0), x.at[1].max(True)), [np.array([[True, False],
        [False, False]])],
    ),
    "not_numbers": (lambda x: (lnp.argmax(x, 1), lnp.argmin(x, 1), lnp.sort(x, 1)), [np.float32([[1, np.nan, 3], [2, -1, 0]])]),
    "running": (
        lambda x: (lm.lax.cumprod(x, 0), lm.lax.cummin(x, 0, reverse=True)), [np.float32([[2], [-1], [3], [0.5],
        [-2]])],
    ),
    "windows": (
        lambda x: (
            lm.lax.reduce_window(x, 0.0, lm.lax.add, (2, 3), (1, 2), ((1, 0), (0, 2))),
            lm.nn.avg_pool2d(x[None, None], 2),
        ),
        [np.arange(30, dtype=np.float32).reshape(5, 6)],
    ),
    "transposed_conv": (
        lambda x, w: lm.nn.conv_transpose2d(x, w, stride=2),
        [np.ones((1, 2, 3, 3), np.float32), np.ones((2, 4, 3, 3), np.float32)],
    ),
    "uniform": (lambda: lm.random.normal(lm.random.key(3), (5,), dtype=np.float32), []),
    "blocks": (
        lambda x, i: lm.lax.dynamic_slice(x, (i, i), (2, 3)),
        [np.arange(20.0, dtype=np.float32).reshape(4, 5), np.int32(3)],
    ),
    "put": (
        lambda x, i: lm.lax.dynamic_update_slice(x, x[:2, :2] * 9, (i, i)),
        [np.arange(20.0, dtype=np.float32).reshape(4, 5), np.int32(9)],
    ),
    "nothing": (lambda x: (lnp.sum(x, 0), x + 1, x.reshape(3, 0)), [np.zeros((0, 3), np.float32)]),
    "boxes": (lambda x: lm.nn.non_max_suppression(x, x[:, 0], 3), [np.float32([[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])]),
    "turns": (lambda x, n: lm.fori_loop(0, n, lambda i, c: c * 2 + i, x), [np.float32([1, 2]), np.int64(5)]),
}  # fmt: skip

COLUMNS = ("boxes",)
"""Programs with loops that collect numbers: ONNX's evaluator stacks them as a column (onnxruntime does not)."""


def evaluated(model: Any, args: Any) -> list[np.ndarray]:
    return ReferenceEvaluator(model).run(None, {i.name: np.asarray(x) for i, x in zip(model.graph.input, args, strict=True)})


@pytest.mark.parametrize("name", [*(n for n in PROGRAMS if n not in HAVE_NO_FORM), *MORE])
def test_models_compute_the_same(name: str) -> None:
    function, args = PROGRAMS[name] if name in PROGRAMS and name not in MORE else MORE[name]
    wanted = leaves(lm.jit(function)(*args))
    model = lm.to_onnx(function, *args)
    if name not in COLUMNS:
        with np.errstate(all="ignore"):
            compare([np.asarray(x) for x in evaluated(model, args)], wanted)
    compare(flat(lm.from_onnx(model)(*args)), wanted)


@pytest.mark.parametrize("name", HAVE_NO_FORM)
def test_an_op_without_a_form_is_named(name: str) -> None:
    function, args = PROGRAMS[name]
    with pytest.raises(lm.CompileError, match=f"interop_programs.py:\\d+:\\d+: .*{HAVE_NO_FORM[name]}.*has no form in ONNX"):
        lm.to_onnx(function, *args)


def test_named_dims() -> None:
    w = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)

    def layer(x: Any, y: Any) -> Any:
        h = lm.nn.softmax(x @ w, axis=0)
        return lnp.concatenate([h, y, h]).reshape(-1), lnp.cumsum(h, 0)[::2], h.shape[0] * h, lnp.arange(x.shape[0]) + 1

    n = lm.dim("n", min=1)
    model = lm.to_onnx(layer, lm.TensorSpec((n, 3), "float32"), lm.TensorSpec((n, 4), "float32"))
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    for size in (1, 2, 5):
        args = [np.full((size, 3), 0.3, np.float32), np.ones((size, 4), np.float32)]
        wanted = leaves(lm.jit(layer)(*args))
        compare(evaluated(model, args), wanted)
        compare(flat(lm.from_onnx(model)(*args)), wanted)


def test_sizes_of_sums_are_computed() -> None:
    n = lm.dim("n", min=1)
    function = lambda x: lnp.concatenate([x[1:], x, x]).reshape(-1)  # noqa: E731
    model = lm.to_onnx(function, lm.TensorSpec((n + 1, 4), "float32"))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    compare(evaluated(model, [x]), [np.asarray(function(x))])


def test_one_node_for_an_op() -> None:
    model = lm.to_onnx(lambda x, w: lm.nn.relu(x @ w), np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))
    assert [n.op_type for n in model.graph.node] == ["MatMul", "Relu"]
    assert [v.name for v in model.graph.output] == ["result_0"]
    conv = lm.to_onnx(
        lambda x, w: lm.nn.conv2d(x, w, padding=1), np.ones((1, 2, 5, 5), np.float32), np.ones((4, 2, 3, 3), np.float32)
    )
    assert [n.op_type for n in conv.graph.node] == ["Conv"]


def test_a_model_of_a_model() -> None:
    def function(x: Any) -> Any:
        return lnp.tanh(x) * 2

    once = lm.to_onnx(function, X)
    again = lm.to_onnx(lm.from_onnx(once), X)
    compare(evaluated(again, [X]), [function(X)])


def test_integers_that_floats_would_round_are_refused() -> None:
    with pytest.raises(lm.CompileError, match="has no form in ONNX"):
        lm.to_onnx(lambda x: lnp.sort(x), np.array([2**63 + 1, 2**63], np.uint64))


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    drawn = Drawn(seed)
    compiled = lm.jit(drawn, dynamic=drawn.dynamic)
    module = compiled.lower(*drawn.arrays(2, 2)).module
    try:
        model = lm.to_onnx(module)
    except lm.CompileError as error:
        assert "has no form in ONNX" in str(error)
        return
    args = drawn.arrays(3, 3) if drawn.dynamic else drawn.arrays(5, 3)
    exact = exact_results(module)
    wanted = compiled(*args)
    for got in (evaluated(model, args), flat(lm.from_onnx(model)(*args))):
        for k, (a, b, is_exact) in enumerate(zip(got, wanted, exact, strict=True)):
            compare_random(np.asarray(a), b, is_exact, f"seed {seed}, result {k}")
