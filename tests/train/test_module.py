"""`lm.Module`: a tree that does not change, in every transformation; its parts, its names and its text."""

from __future__ import annotations

import abc
import copy
import dataclasses
import doctest
import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import lamina as lm
import numpy as np
import pytest

F32 = np.float32
T = TypeVar("T")


class Affine(lm.Module):
    weight: Any
    bias: Any
    calls: Any = lm.buffer(default_factory=lambda: np.zeros((), np.int32))
    power: Any = lm.static(1)

    def __call__(self, x: Any) -> Any:
        return (x @ self.weight + self.bias) ** self.power


class Model(lm.Module):
    layers: list[Affine]
    named: dict[str, Affine]
    scale: Any
    mean: Any = lm.buffer()
    activation: Callable[[Any], Any] = lm.static()

    def __init__(self, rng: np.random.Generator, activation: Any = lm.nn.relu):
        self.layers = [affine(rng, 3, 4), affine(rng, 4, 2)]
        self.named = {"out": affine(rng, 2, 2)}
        self.scale = F32(0.5)
        self.mean = np.ones(3, F32)
        self.activation = activation

    def __call__(self, x: Any) -> Any:
        x = x - self.mean
        for layer in self.layers:
            x = self.activation(layer(x))
        return self.named["out"](x) * self.scale


def affine(rng: np.random.Generator, n: int, m: int, **fields: Any) -> Affine:
    return Affine(rng.normal(size=(n, m)).astype(F32), rng.normal(size=m).astype(F32), **fields)


@pytest.fixture
def model() -> Model:
    return Model(np.random.default_rng(0))


X = np.random.default_rng(1).normal(size=(5, 3)).astype(F32)


def by_hand(model: Model, x: np.ndarray) -> np.ndarray:
    x = x - model.mean
    for layer in model.layers:
        x = np.maximum(x @ layer.weight + layer.bias, 0)
    out = model.named["out"]
    return (x @ out.weight + out.bias) * model.scale


def loss(model: Model, x: Any) -> Any:
    return (model(x) ** 2).mean()


@pytest.mark.parametrize(
    "name", ["module", "linear", "norms", "containers", "attention", "recurrent"]
)  # fmt: skip
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"lamina.train.modules.{name}"))
    assert result.failed == 0 and result.attempted > 0


def test_documentation() -> None:
    pytest.importorskip("safetensors", reason="safetensors is not installed (extra lamina[models])")
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / "models.md"), module_relative=False)
    assert found.failed == 0 and found.attempted > 20


@pytest.mark.thorough
def test_values_and_gradients(model: Model) -> None:
    np.testing.assert_allclose(model(X), by_hand(model, X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(lm.jit(lambda m, x: m(x))(model, X), by_hand(model, X), rtol=1e-5, atol=1e-6)

    def of_tree(tree: Any, x: Any) -> Any:  # the same function of a dict of arrays
        for w, b in tree["layers"]:
            x = lm.nn.relu(x @ w + b)
        return (((x @ tree["out"][0] + tree["out"][1]) * tree["scale"]) ** 2).mean()

    tree = {
        "layers": [(layer.weight, layer.bias) for layer in model.layers],
        "out": (model.named["out"].weight, model.named["out"].bias),
        "scale": model.scale,
    }
    expected = lm.grad(of_tree)(tree, X - model.mean)
    for differentiated in (lm.grad(loss), lm.jit(lm.grad(loss)), lambda *args: lm.value_and_grad(loss)(*args)[1]):
        slopes = differentiated(model, X)
        assert type(slopes) is Model and slopes.activation is lm.nn.relu
        assert slopes.mean is None and all(layer.calls is None for layer in slopes.layers)
        np.testing.assert_allclose(slopes.scale, expected["scale"], rtol=1e-5)
        for layer, (w, b) in zip([*slopes.layers, slopes.named["out"]], [*expected["layers"], expected["out"]], strict=True):
            np.testing.assert_allclose(layer.weight, w, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(layer.bias, b, rtol=1e-5, atol=1e-7)
    # by several arguments, with an auxiliary result, and in a gradient of a gradient
    by_both, aux = lm.grad(lambda m, x: (loss(m, x), m.scale), (0, 1), has_aux=True)(model, X)
    assert by_both[0].mean is None and by_both[1].shape == X.shape and aux == model.scale
    second = lm.grad(lambda m: lm.grad(loss)(m, X).scale)(model)
    np.testing.assert_allclose(second.scale, lm.grad(loss)(model, X).scale / model.scale, rtol=1e-4)


@pytest.mark.thorough
def test_other_derivatives(model: Model) -> None:
    """All leave out what `grad` does; tangents have None there."""
    slopes = lm.grad(loss)(model, X)
    pull = lm.vjp(lambda m: loss(m, X), model)[1]
    jitted = lm.jit(lambda m: lm.vjp(lambda m: loss(m, X), m)[1](F32(1))[0])(model)
    for found in (pull(F32(1))[0], jitted, lm.jacrev(lambda m: loss(m, X))(model), lm.jacfwd(lambda m: loss(m, X))(model)):
        assert lm.tree.structure(found) == lm.tree.structure(slopes)
        for ours, expected in zip(lm.tree.leaves(found), lm.tree.leaves(slopes), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
    params, _ = model.partition()
    along = sum((np.asarray(a) * b).sum() for a, b in zip(slopes.parameters(), params.parameters(), strict=True))
    for derivative in (
        lm.jvp(lambda m: loss(m, X), (model,), (params,))[1],
        lm.linearize(lambda m: loss(m, X), model)[1](params),
    ):
        np.testing.assert_allclose(derivative, along, rtol=1e-4)
    second = lm.hessian(lambda m: loss(m, X))(model)
    assert second.scale.layers[0].weight.shape == (3, 4) and second.layers[0].bias.scale.shape == (4,) and second.mean is None
    with pytest.raises(lm.DifferentiationError, match=r"jvp tangents must have the structure .*\.mean: None"):
        lm.jvp(lambda m: loss(m, X), (model,), ({"scale": F32(1)},))
    with pytest.raises(lm.DifferentiationError, match="no float parameters"):
        lm.grad(lambda m: m.a.sum() * 1.0)(Sets(a=np.arange(3)))


def test_through_vmap_scan_and_cond(model: Model) -> None:
    stacked = lm.tree.map(lambda a: np.stack([a, 2 * a]), model)
    each = lm.vmap(lambda m, x: m(x), in_axes=(0, None))(stacked, X)
    np.testing.assert_allclose(each[0], model(X), rtol=1e-5, atol=1e-6)
    axes = lm.tree.map(lambda a: None, model)  # one model for all rows
    np.testing.assert_allclose(lm.vmap(lambda m, x: m(x), in_axes=(axes, 0))(model, X), model(X), rtol=1e-5, atol=1e-6)
    mapped = lm.tree.map(lambda a: 0 if np.ndim(a) == 2 else None, model)  # some leaves are, the first dims of weights
    sums = lm.vmap(lambda m: m.named["out"].weight @ m.named["out"].bias, in_axes=(mapped.named["out"],))
    with pytest.raises(lm.ShapeError, match="in_axes"):
        sums(model)
    np.testing.assert_allclose(each[1], lm.tree.map(lambda a: 2 * a, model)(X), rtol=1e-5, atol=1e-6)

    def step(m: Model, x: Any) -> tuple[Model, Any]:
        slopes = lm.grad(loss)(m, x[None])
        return m.replace(scale=m.scale - F32(0.1) * slopes.scale, mean=m.mean + 1), m.scale

    last, scales = lm.jit(lambda m, xs: lm.scan(step, m, xs))(model, X)
    expected = model
    for k, x in enumerate(X):
        np.testing.assert_allclose(scales[k], expected.scale, rtol=1e-5)
        expected, _ = step(expected, x)
    np.testing.assert_allclose(last.scale, expected.scale, rtol=1e-5)
    np.testing.assert_array_equal(last.mean, model.mean + 5)
    chosen = lm.jit(lambda p, m: lm.cond(p, lambda m: m, lambda m: m.replace(scale=-m.scale), m))(False, model)
    assert chosen.scale == -model.scale
    with pytest.raises(Exception, match=r"training|structure"):
        lm.jit(lambda p, m: lm.cond(p, lambda m: m, lambda m: m.eval(), m))(True, model)


def test_it_is_traced_once_for_what_is_equal() -> None:
    traced = []

    @lm.jit
    def f(m: Affine, x: Any) -> Any:
        traced.append(m.power)
        return m(x)

    rng = np.random.default_rng(0)
    given = affine(rng, 3, 3)
    for m in (given, given.replace(weight=given.weight + 1), affine(rng, 3, 3), copy.deepcopy(given)):
        np.testing.assert_allclose(f(m, X), X @ m.weight + m.bias, rtol=1e-5, atol=1e-6)
    assert traced == [1]
    f(given.replace(power=2), X)
    f(given, X)
    assert traced == [1, 2]
    f(given.replace(power=1.0), X)  # another type, which may compute in another dtype
    assert traced == [1, 2, 1.0] and type(traced[-1]) is float
    f(given.eval(), X)
    assert len(traced) == 4
    assert lm.tree.structure(given) == lm.tree.structure(given.replace(bias=given.bias * 2))
    assert lm.tree.structure(given) != lm.tree.structure(given.eval())


def test_it_does_not_change(model: Model) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"model = model\.replace\(scale=\.\.\.\)"):
        model.scale = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot be deleted"):
        del model.scale
    other = model.replace(scale=F32(3))
    assert other.scale == 3 and model.scale == 0.5 and other.layers is model.layers
    with pytest.raises(TypeError, match=r"Model has no field 'skale', its fields are layers, named, scale, mean, activation"):
        model.replace(skale=1)
    with pytest.raises(TypeError, match=r"Model\.scale holds float, which is no array"):
        model.replace(scale=1.0)


class Sets(lm.Module):
    a: Any
    b: Any = lm.static(3)

    def __init__(self, **values: Any):
        for name, value in values.items():
            setattr(self, name, value)


def test_what_a_field_may_hold() -> None:
    assert Sets(a=[F32(1), None, {"x": (np.ones(2), Affine(np.ones(2), np.ones(2)))}]).b == 3
    with pytest.raises(TypeError, match=r"Sets\.a\[1\]\['f'\] holds builtin_function_or_method.*lm\.static\(\)"):
        Sets(a=[np.ones(2), {"f": abs}])
    with pytest.raises(TypeError, match="does not set the field 'a'"):
        Sets(b=1)
    with pytest.raises(AttributeError, match=r"Sets has no field 'c'.*`c: int = lm\.static\(\)`"):
        Sets(a=None, c=1)
    with pytest.raises(TypeError, match=r"Sets\.b is static and must be hashable, got list.*make it a tuple"):
        Sets(a=None, b=[1])
    with pytest.raises(TypeError, match=r"got ndarray.*declare it lm\.buffer\(\)"):
        Sets(a=None, b=np.ones(1))
    with pytest.raises(TypeError, match="training"):
        type("Bad", (lm.Module,), {"__annotations__": {"training": "bool"}})
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'bias'"):
        Affine(np.ones(2))  # pyright: ignore[reportCallIssue]


def test_inherited_fields() -> None:
    class Shifted(Affine):
        shift: Any = lm.buffer(None)

        def __call__(self, x: Any) -> Any:
            return super().__call__(x) + self.shift

    m = Shifted(np.eye(3, dtype=F32), np.zeros(3, F32), shift=F32(2))
    np.testing.assert_allclose(lm.jit(lambda m, x: m(x))(m, X), X + 2)
    assert [name for name, _ in m.named_parameters()] == ["weight", "bias"]
    assert [name for name, _ in m.named_buffers()] == ["calls", "shift"]


def test_abstract_and_generic_classes() -> None:
    class Layer(lm.Module, Generic[T]):
        weight: Any

        @abc.abstractmethod
        def __call__(self, x: T) -> T: ...

    class Scaled(Layer[Any]):
        def __call__(self, x: Any) -> Any:
            return self.weight * x

    with pytest.raises(TypeError, match="abstract"):
        Layer(np.ones(3))  # pyright: ignore[reportAbstractUsage]
    assert isinstance(Scaled(np.ones(3)), Layer) and not isinstance(X, lm.Module)
    np.testing.assert_array_equal(lm.jit(lambda m, x: m(x))(Scaled(F32(2)), X), 2 * X)


def test_copies_and_pickles(model: Model) -> None:
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), lm.tree.map(lambda a: a, model)):
        assert type(other) is Model and lm.tree.structure(other) == lm.tree.structure(model)
        np.testing.assert_array_equal(other(X), model(X))
        with pytest.raises(dataclasses.FrozenInstanceError):
            other.scale = 1


def test_names_and_states(model: Model) -> None:
    names = [name for name, _ in model.named_parameters()]
    assert names == [
        "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "named.out.weight", "named.out.bias", "scale",
    ]  # fmt: skip
    assert model.count_parameters() == sum(np.size(p) for p in model.parameters()) == 3 * 4 + 4 + 4 * 2 + 2 + 6 + 1
    assert [name for name, _ in model.named_buffers()] == ["layers.0.calls", "layers.1.calls", "named.out.calls", "mean"]
    state = model.state_dict()
    assert set(state) == {*names, "layers.0.calls", "layers.1.calls", "named.out.calls", "mean"}
    other = Model(np.random.default_rng(7)).load_state_dict({k: np.asarray(v, np.float64) for k, v in state.items()})
    np.testing.assert_array_equal(other(X), model(X))
    assert other.scale.dtype == F32 and other.layers[0].calls.dtype == np.int32
    state["scale"], state["extra"] = np.ones(2), state.pop("mean")
    with pytest.raises(ValueError, match=r"mean is missing; extra is unknown; scale is \[\] here and \[2\] in the state"):
        model.load_state_dict(state)
    part = model.load_state_dict({"mean": np.zeros(3), "more": np.ones(1)}, strict=False)
    assert (part.mean == 0).all() and part.scale == model.scale
    assert len(list(model.modules())) == 4


def test_training_and_inference(model: Model) -> None:
    quiet = model.eval()
    assert model.training and not quiet.training
    assert not any(m.training for m in quiet.modules()) and all(m.training for m in model.modules())
    assert lm.tree.structure(quiet.train()) == lm.tree.structure(model)
    assert lm.jit(lambda m: m)(quiet).named["out"].training is False


def test_partition_and_combine(model: Model) -> None:
    params, rest = model.partition()
    assert params.mean is None and rest.scale is None and len(lm.tree.leaves(params)) == 7
    np.testing.assert_array_equal(params.combine(rest)(X), model(X))
    small, large = model.partition(lambda leaf: leaf.ndim < 2)
    assert small.layers[0].weight is None and large.layers[0].bias is None
    np.testing.assert_array_equal(lm.train.modules.combine(large, small)(X), model(X))
    np.testing.assert_allclose(
        lm.grad(lambda p, r: loss(p.combine(r), X))(params, rest).scale, lm.grad(loss)(model, X).scale, rtol=1e-6
    )
    value, tangent = lm.jvp(lambda p: loss(p.combine(rest), X), (params,), (params,))
    slopes = lm.grad(loss)(model, X)
    along = sum((np.asarray(a) * b).sum() for a, b in zip(slopes.parameters(), params.parameters(), strict=True))
    np.testing.assert_allclose(value, loss(model, X), rtol=1e-6)
    np.testing.assert_allclose(tangent, along, rtol=1e-4)
    with pytest.raises(ValueError, match="combine needs trees of one structure"):
        params.combine(rest.eval())
    ints = {"a": np.arange(3), "b": np.ones(2)}
    assert lm.train.modules.partition(ints)[0]["a"] is None
    with pytest.raises(lm.DifferentiationError, match=r"argument t\['a'\]"):  # outside of models integers are a mistake
        lm.grad(lambda t: t["b"].sum())(ints)
    table = Sets(a={"index": np.arange(3), "rows": np.ones(2, F32)})
    assert lm.grad(lambda t: (t.a["rows"][t.a["index"] % 2] ** 2).sum())(table).a["index"] is None


def test_text(model: Model) -> None:
    assert repr(model.layers[0]) == "Affine(weight=float32[3, 4], bias=float32[4], calls=int32[], power=1)"
    assert str(model.eval()).splitlines() == [
        "Model(",
        "  layers=[",
        "    Affine(weight=float32[3, 4], bias=float32[4], calls=int32[], power=1, training=False),",
        "    Affine(weight=float32[4, 2], bias=float32[2], calls=int32[], power=1, training=False),",
        "  ],",
        "  named={'out': Affine(weight=float32[2, 2], bias=float32[2], calls=int32[], power=1, training=False)},",
        "  scale=float32[],",
        "  mean=float32[3],",
        "  activation=relu,",
        "  training=False,",
        ")  # 33 parameters",
    ]
    assert "weight=None" in repr(
        lm.grad(lambda m: m.scale * 2)(model).replace(layers=[affine(np.random.default_rng(0), 1, 1).replace(weight=None)])
    )
    assert repr(lm.tree.map(lambda a: lm.TensorSpec(a.shape, a.dtype), model.layers[1])).startswith(
        "Affine(weight=float32[4, 2]"
    )


def test_messages_name_the_leaf(model: Model) -> None:
    with pytest.raises(TypeError, match=r"m\.layers\[0\]\.bias"):
        lm.jit(lambda m: m)(lm.tree.map(lambda a: "text" if np.shape(a) == (4,) else a, model))
    assert "model.layers[1].weight" in lm.tree.structure(model).paths("model")
    dynamic = lm.jit(lambda m, x: m(x), dynamic={"x": ("n", None)})
    for n in (2, 5):
        np.testing.assert_allclose(dynamic(model, X[:n]), model(X[:n]), rtol=1e-6)


def test_donated(model: Model) -> None:
    step = lm.jit(lambda m: lm.tree.map(lambda a: a * 2, m), donate_argnums=0)
    given = lm.jit(lambda m: lm.tree.map(lambda a: a + 0, m))(model)
    where = given.layers[0].weight
    assert np.shares_memory(step(given).layers[0].weight, where)
    np.testing.assert_array_equal(where, 2 * model.layers[0].weight)
