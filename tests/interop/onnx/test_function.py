"""`from_onnx`: calls, symbolic sizes, derivatives, batches, ops that need values, and errors."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
import lamina as lm
import lamina.numpy as lnp
from lamina.interop.onnx.errors import OnnxError
from onnx_models import FLOAT, INT64, model, node, value

rng = np.random.default_rng(0)
W = rng.normal(size=(3, 4)).astype(np.float32)
B = rng.normal(size=4).astype(np.float32)


def layer() -> bytes:
    nodes = [node("Gemm", "x w b", "h"), node("Tanh", "h", "y")]
    return model(nodes, [value("x", ["batch", 3])], [value("y", ["batch", 4])], {"w": W, "b": B})


def test_a_symbolic_dim_has_one_compilation() -> None:
    f = lm.from_onnx(layer())
    for n in (1, 2, 7, 0):
        x = rng.normal(size=(n, 3)).astype(np.float32)
        np.testing.assert_allclose(f(x), np.tanh(x @ W + B), rtol=2e-6)
    (segment,) = f.segments
    assert len(segment.program._dispatcher.specializations) <= 2  # of all sizes, and of none


def test_arguments_go_by_name() -> None:
    f = lm.from_onnx(layer())
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(f(x=x), f(x))


def test_it_is_a_function_as_any_other() -> None:
    f = lm.from_onnx(layer())
    x = rng.normal(size=(2, 3)).astype(np.float32)
    jitted = lm.jit(lambda x: lnp.sum(f(x) * 2))
    np.testing.assert_allclose(jitted(x), 2 * np.tanh(x @ W + B).sum(), rtol=1e-5)
    slope = lm.grad(lambda x: lnp.sum(f(x)))(x)
    np.testing.assert_allclose(slope, (1 - np.tanh(x @ W + B) ** 2) @ W.T, rtol=1e-5)
    batched = lm.vmap(f)(np.stack([x, x + 1]))
    np.testing.assert_allclose(batched[1], f(x + 1), rtol=1e-6)
    assert "graph.tanh" in f.lower(x).as_text("graph")


def test_derivatives_by_weights() -> None:
    f = lm.from_onnx(layer())
    x = rng.normal(size=(2, 3)).astype(np.float32)
    slopes = lm.grad(lambda p: lnp.sum(f.apply(p, x)))(dict(f.parameters))
    np.testing.assert_allclose(slopes["b"], (1 - np.tanh(x @ W + B) ** 2).sum(0), rtol=1e-5)
    with pytest.raises(OnnxError, match="no weights"):
        f.apply({"v": W}, x)


def test_shapes_are_computed_while_tracing() -> None:
    """Flatten by Shape, Gather, Concat and Reshape, as exporters write it."""
    nodes = [
        node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n axis", "n1"),
        node("Concat", "n1 rest", "to", axis=0), node("Reshape", "x to", "y"),
    ]  # fmt: skip
    weights = {"zero": np.asarray(0), "axis": np.asarray([0]), "rest": np.asarray([-1])}
    f = lm.from_onnx(model(nodes, [value("x", ["n", 2, 3])], [value("y", None)], weights))
    for n in (1, 5):
        assert f(np.zeros((n, 2, 3), np.float32)).shape == (n, 6)
    assert len(f.segments) == 1


def test_an_op_that_needs_values_runs_between_programs() -> None:
    nodes = [node("Relu", "x", "r"), node("NonZero", "r", "i"), node("Cast", "i", "f", to=FLOAT), node("Exp", "f", "y")]
    f = lm.from_onnx(model(nodes, [value("x", [6])], [value("y", None)]))
    x = np.float32([1, -1, 0, 2, 3, -4])
    for sign in (1, -1):
        np.testing.assert_allclose(
            f(sign * x), np.exp(np.stack(np.nonzero(np.maximum(sign * x, 0))).astype(np.float32)), rtol=1e-6
        )
    assert [s.alone for s in f.segments] == [False, True, False]
    with pytest.raises(OnnxError, match=r"NonZero.*must be known"):
        lm.jit(f)(x)
    with pytest.raises(OnnxError, match="is not one program"):
        f.lower(x)


def test_results_share_no_memory_with_weights_and_arguments() -> None:
    nodes = [node("NonZero", "x", "i"), node("Identity", "w", "y")]
    f = lm.from_onnx(model(nodes, [value("x", [3])], [value("i", None), value("y", None)], {"w": W}))
    x = np.ones(3, np.float32)
    f(x)[1][:] = 7
    np.testing.assert_array_equal(f(x)[1], W)


def test_a_loop_that_the_inputs_end() -> None:
    """Doubling until 100 is exceeded."""
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [node("Add", "a a", "d"), node("Less", "d most", "go")],
        "body",
        [value("i", [], INT64), value("c", [], TensorProto.BOOL), value("a", [])],
        [value("go", [], TensorProto.BOOL), value("d", [])],
    )
    f = lm.from_onnx(
        model(
            [node("Less", "x most", "c"), node("Loop", "_ c x", "y", body=body)],
            [value("x", [])], [value("y", [])], {"most": np.float32(100)},
        )
    )  # fmt: skip
    assert [float(f(np.float32(v))) for v in (3, 60, 100)] == [192, 120, 100]
    assert "graph.while" in f.lower(np.float32(3)).as_text("graph")


def test_external_weights_stay_in_the_folder(tmp_path) -> None:
    import onnx

    proto = onnx.load_from_string(layer())
    folder = tmp_path / "model"
    folder.mkdir()
    onnx.save_model(proto, str(folder / "m.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)
    x = np.ones((1, 3), np.float32)
    np.testing.assert_allclose(lm.from_onnx(folder / "m.onnx")(x), np.tanh(x @ W + B), rtol=1e-6)
    (tmp_path / "w.bin").write_bytes((folder / "w.bin").read_bytes())
    for place in ("../w.bin", str(tmp_path / "w.bin"), "none.bin", ""):
        moved = onnx.load(str(folder / "m.onnx"), load_external_data=False)
        for tensor in moved.graph.initializer:
            next(e for e in tensor.external_data if e.key == "location").value = place
        (folder / "moved.onnx").write_bytes(moved.SerializeToString())
        with pytest.raises(OnnxError, match="no file within the folder"):
            lm.from_onnx(folder / "moved.onnx")
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    for tensor in moved.graph.initializer:
        next(e for e in tensor.external_data if e.key == "location").value = "link.bin"
    (folder / "moved.onnx").write_bytes(moved.SerializeToString())
    with pytest.raises(OnnxError, match="no file within the folder"):
        lm.from_onnx(folder / "moved.onnx")


X, Y = value("x", [2]), value("y", [2])
WRONG = [
    ([node("Foo", "x", "y")], r"Foo.*no op Foo"),
    ([node("Relu", "z", "y")], "'z' is neither an input"),
    ([node("Relu", "y", "y")], "depends on its own result"),
    ([node("Relu", "x", "y"), node("Exp", "x", "y")], "'y' is defined twice"),
    ([node("Relu", "x", "h")], "output 'y' is computed by no node"),
    ([node("Concat", "x x", "y", axis=3)], "axis 3 is none"),
    ([node("StringConcat", "x x", "y")], "StringConcat is not supported"),
    ([node("Transpose", "x", "y", perm=[0, 1])], "Transpose"),
]


@pytest.mark.parametrize(("nodes", "message"), WRONG)
def test_what_is_wrong_is_named(nodes: list, message: str) -> None:
    with pytest.raises(lm.LaminaError, match=message):
        lm.from_onnx(model(nodes, [X], [Y]))(np.ones(2, np.float32))


def test_wrong_arguments() -> None:
    f = lm.from_onnx(layer())
    for args, message in (
        ((np.ones((2, 4), np.float32),), r"takes x: float32\[batch, 3\], got shape \[2, 4\]"),
        ((np.ones((2, 3), np.float64),), "got dtype float64"),
        ((), "needs x"),
        ((np.ones((2, 3), np.float32),) * 2, "takes 1 arrays"),
    ):
        with pytest.raises(OnnxError, match=message):
            f(*args)


@pytest.mark.parametrize("source", [b"", b"\xff" * 40, "no such file.onnx", 3])
def test_what_is_no_model(source: object) -> None:
    with pytest.raises(OnnxError):
        lm.from_onnx(source)


def test_changed_bytes_are_errors_or_models() -> None:
    """No traceback, and no array that does not fit its bytes."""
    data = bytearray(layer())
    for _ in range(300):
        changed = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            changed[at] = rng.integers(0, 256)
        try:
            lm.from_onnx(bytes(changed))
        except OnnxError:
            pass


@pytest.mark.parametrize(
    ("nodes", "inputs", "message"),
    [
        (
            [node("Identity", "x", "y")],
            [value("x", [2], 8)],
            r"takes input x: object\[2\], and programs have no arrays of object",
        ),
        (
            [node("AveragePool", "x", "y", kernel_shape=[2, 2], pads=[1 << 31] * 4)],
            [value("x", [1, 1, 4, 4])],
            "AveragePool.*at most 67108864 are computed",
        ),
        (
            [node("Pad", "x p", "y", mode="reflect")],
            [value("x", [4])],
            "node Pad of y",
        ),
    ],
)
def test_what_no_memory_holds_is_refused(nodes: list, inputs: list, message: str) -> None:
    f = lm.from_onnx(model(nodes, inputs, [value("y", None)], {"p": np.asarray([1 << 40, 1 << 40])}))
    with pytest.raises(lm.LaminaError, match=message):
        f.module()


def test_a_file_of_weights_has_a_name(tmp_path) -> None:
    import onnx

    proto = onnx.load_from_string(layer())
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "a\0b"
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(OnnxError, match=r"initializer 'w' .* no name of a file"):
        lm.from_onnx(tmp_path / "m.onnx")
