"""`lm.chain`: one program of what comes before a model, the model, and what comes after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
import lamina as lm
import lamina.numpy as lnp
from onnx_models import model, node, value

rng = np.random.default_rng(0)
FILTERS = (rng.normal(size=(5, 3, 3, 3)) / 5).astype(np.float32)


def detector() -> Any:
    """Four coordinates and a score of each point of the image."""
    nodes = [node("Conv", "image w", "h", strides=[2, 2], pads=[1, 1, 1, 1]), node("Sigmoid", "h", "y")]
    return lm.from_onnx(model(nodes, [value("image", ["n", 3, 16, 16])], [value("y", ["n", 5, 8, 8])], {"w": FILTERS}))


def prepare(image: Any) -> Any:
    x = lm.nn.resize(lnp.asarray(image, np.float32) / 255, (16, 16, 3), method="linear")
    return ((x - 0.5) / 0.25).transpose(2, 0, 1)[None]


def decode(y: Any) -> Any:
    rows = y[0].reshape(5, -1).T
    places, count = lm.nn.non_max_suppression(rows[:, :4], rows[:, 4], 6, overlap=0.4)
    return rows[lnp.maximum(places, 0)], places, count


def test_it_is_one_program_of_any_size() -> None:
    model = detector()
    f = lm.chain(prepare, model, decode, dynamic={"image": ("h", "w", None)})
    for shape in ((20, 30, 3), (16, 16, 3), (33, 17, 3)):
        image = rng.integers(0, 256, shape).astype(np.uint8)
        for a, b in zip(f(image), decode(model(np.asarray(prepare(image)))), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    text = f.lower(image).as_text("graph")
    assert text.count("func.func public") == 1 and '"h"' in text


def test_a_model_first_has_its_named_dims() -> None:
    f = lm.chain(detector(), lambda y: y.sum((1, 2, 3)))
    for n in (1, 3):
        assert f(np.ones((n, 3, 16, 16), np.float32)).shape == (n,)
    assert '"n"' in f.lower(np.ones((2, 3, 16, 16), np.float32)).as_text("graph")


def test_tuples_are_several_arguments_and_derivatives_pass() -> None:
    f = lm.chain(lambda x, y: (x + y, x * y), lambda a, b: a @ b, lnp.tanh)
    x, y = np.float32([1, 2]), np.float32([0.1, 0.2])
    np.testing.assert_allclose(f(x, y), np.tanh((x + y) @ (x * y)), rtol=1e-6)
    slope = lm.grad(f)(x, y)
    np.testing.assert_allclose(slope, (1 - np.tanh((x + y) @ (x * y)) ** 2) * (x * y + (x + y) * y), rtol=1e-5)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            (lambda x: x[:, :2], detector()),
            r"stage 2 of 2, graph, given float32\[1, 2, 16, 16\]: graph takes image: float32\[n, 3, 16, 16\]",
        ),
        ((lambda x: x.astype(np.float64), detector()), "stage 2 of 2, graph, given float64.*got dtype float64"),
        ((lambda x: (x, x), lambda y: y), r"stage 2 of 2, <lambda>, given .*takes 1 positional argument but 2 were given"),
        ((lambda x: x @ x[0, 0, 0], lambda y: y @ np.ones((9, 9), np.float32)), "stage 2 of 2, <lambda>"),
        ((lambda x: x.reshape(7), lambda y: y), "stage 1 of 2, <lambda>"),
    ],
)  # fmt: skip
def test_what_does_not_fit_names_the_stage(stages: Any, message: str) -> None:
    with pytest.raises(lm.ShapeError, match=message):
        lm.chain(*stages)(np.ones((1, 3, 16, 16), np.float32))


def test_results_that_depend_on_values_are_named() -> None:
    chosen = lm.from_onnx(model([node("NonZero", "x", "i")], [value("x", [4])], [value("i", None, 7)]))
    with pytest.raises(lm.ShapeError, match=r"stage 2 of 2, graph, given float32\[4\]: node NonZero of i"):
        lm.chain(lnp.tanh, chosen)(np.ones(4, np.float32))


def test_no_function() -> None:
    with pytest.raises(TypeError, match="at least one"):
        lm.chain()
    with pytest.raises(TypeError, match="stage 2 is int"):
        lm.chain(lnp.tanh, 3)


def suppressed(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float, threshold: float) -> list[int]:
    """By definition, one box after the other."""
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) == most or not scores[i] > threshold:
            continue
        if all(float(lm.nn.box_iou(boxes[i][None], boxes[k][None])[0, 0]) <= overlap for k in kept):
            kept.append(int(i))
    return kept


@pytest.mark.parametrize(("n", "most"), [(1, 1), (2, 3), (7, 4), (40, 40)])
def test_suppression_is_that_of_the_definition(n: int, most: int) -> None:
    boxes = rng.random((n, 4)).astype(np.float32)
    scores = rng.random(n).astype(np.float32)
    places, count = lm.nn.non_max_suppression(boxes, scores, most, overlap=0.3, threshold=0.1)
    wanted = suppressed(boxes, scores, most, 0.3, 0.1)
    assert count == len(wanted)
    np.testing.assert_array_equal(places, [*wanted, *[-1] * (most - len(wanted))])


def test_suppression_at_the_edges() -> None:
    places, count = lm.nn.non_max_suppression(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), 2)
    assert list(places) == [-1, -1] and count == 0
    places, count = lm.nn.non_max_suppression(np.ones((2, 4), np.float32), np.float32([np.nan, 1]), 2)
    assert list(places) == [1, -1] and count == 1
    with pytest.raises(lm.ShapeError, match=r"got \[3, 4\] and \[2\]"):
        lm.nn.non_max_suppression(np.zeros((3, 4), np.float32), np.zeros(2, np.float32), 1)
    np.testing.assert_array_equal(lm.nn.box_iou(np.zeros((2, 4), np.float32), np.zeros((1, 4), np.float32)), np.zeros((2, 1)))
