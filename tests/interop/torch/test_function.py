"""`from_torch`: calls, symbolic sizes, derivatives, changed buffers, structures, control flow, and errors."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.interop.torch.errors import TorchError, UnsupportedOp
from oracles import import_torch

torch = import_torch()
nn = torch.nn
rng = np.random.default_rng(0)


class Net(nn.Module):
    """Images to classes, with statistics that training moves."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


@pytest.fixture(scope="module")
def net() -> Any:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture(scope="module")
def f(net: Any) -> Any:
    batch = torch.export.Dim("batch", min=1, max=64)
    return lm.from_torch(net, torch.zeros(4, 2, 5, 5), dynamic_shapes={"x": {0: batch}})


def images(n: int) -> np.ndarray:
    return rng.normal(size=(n, 2, 5, 5)).astype(np.float32)


def test_a_symbolic_dim_has_one_compilation(net: Any, f: Any) -> None:
    for n in (2, 5, 64, 1):
        x = images(n)
        np.testing.assert_allclose(f(x), net(torch.from_numpy(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert len(f._compiled._dispatcher.specializations) == 1
    with pytest.raises(ValueError, match="64"):
        f(images(65))


def test_tensors_are_arguments(net: Any, f: Any) -> None:
    x = torch.from_numpy(images(3)).requires_grad_()
    np.testing.assert_allclose(f(x), net(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_it_is_a_function_as_any_other(net: Any, f: Any) -> None:
    x = images(3)
    jitted = lm.jit(lambda x: lnp.sum(f(x) * 2))
    wanted = net(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(jitted(x), 2 * wanted.sum(), rtol=1e-4)
    batched = lm.vmap(f)(np.stack([x, x + 1]))
    np.testing.assert_allclose(batched[0], wanted, rtol=1e-5, atol=1e-6)
    assert "graph.conv" in f.lower(x).as_text("graph")


def test_derivatives_by_parameters(net: Any, f: Any) -> None:
    x = images(3)
    slopes = lm.grad(lambda p: lnp.sum(f.apply(p, x) ** 2))(dict(f.parameters))
    net.zero_grad()
    (net(torch.from_numpy(x)) ** 2).sum().backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(slopes[name], p.grad.numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(TorchError, match="no parameters"):
        f.apply({"v": x}, x)


def test_parameters_are_those_of_the_import(net: Any, f: Any) -> None:
    x, before = images(2), f(images(2))
    before = f(x)
    with torch.no_grad():
        held = net.head.bias.clone()
        net.head.bias += 100
        try:
            np.testing.assert_array_equal(f(x), before)
        finally:
            net.head.bias.copy_(held)


def test_changed_buffers_are_returned() -> None:
    torch.manual_seed(0)
    model = Net().train()
    f = lm.from_torch(model, torch.zeros(4, 2, 5, 5))
    assert f.mutated == ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    x, state = images(4), dict(f.buffers)
    for _ in range(2):
        y, changed = f.apply(state, x)
        state = {**state, **changed}
        np.testing.assert_allclose(y, model(torch.from_numpy(x)).detach().numpy(), rtol=1e-4, atol=1e-5)
    for name, b in model.named_buffers():
        np.testing.assert_allclose(state[name], b.numpy(), rtol=1e-5)


def test_structures_and_keywords() -> None:
    class Pair(nn.Module):
        def forward(self, x: dict[str, Any], scale: float = 2.0, *, bias: Any) -> dict[str, Any]:
            return {"sum": x["a"] + bias, "rest": (x["b"] * scale, None)}

    a, b = rng.normal(size=3).astype(np.float32), rng.normal(size=2)
    f = lm.from_torch(Pair(), {"a": a, "b": b}, 3.0, kwargs={"bias": a})
    made = f({"a": a, "b": b}, 3.0, bias=a)
    np.testing.assert_array_equal(made["sum"], a + a)
    np.testing.assert_array_equal(made["rest"][0], b * 3)
    assert made["rest"][1] is None
    with pytest.raises(TorchError, match=r"was exported for scale = 3.0, got 4.0"):
        f({"a": a, "b": b}, 4.0, bias=a)
    with pytest.raises(TorchError, match="takes arguments of the structure"):
        f({"a": a}, 3.0, bias=a)
    with pytest.raises(TorchError, match=r"takes x_a: float32\[3\], got dtype float64"):
        f({"a": b, "b": b}, 3.0, bias=a)
    with pytest.raises(TorchError, match=r"takes x_a: float32\[3\], got shape \[4\]"):
        f({"a": np.zeros(4, np.float32), "b": b}, 3.0, bias=a)


def test_branches_and_loops_of_values() -> None:
    class Doubles(nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
            return torch._higher_order_ops.while_loop(lambda v: v.abs().max() < 100, lambda v: (v * 2,), (y,))[0]

    f, model = lm.from_torch(Doubles(), torch.ones(3)), Doubles()
    for x in (np.float32([1, 2, 3]), np.float32([-1, 0.2, -3])):
        np.testing.assert_allclose(f(x), model(torch.from_numpy(x)).numpy(), rtol=1e-5)


class Layer(nn.Module):
    """One function as a module."""

    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x: torch.rand(3) + x,
            r"node rand \(aten.rand.default at .*test_function.py:\d+\): rand draws torch's random numbers",
        ),
        (
            lambda x: torch.linalg.ldl_factor(x * x[:, None])[0],
            r"node linalg_ldl_factor_ex .*: op aten.linalg_ldl_factor_ex.default is not supported",
        ),
        (lambda x: torch.nonzero(x), r"node nonzero .*: the shape of the result of nonzero depends on values"),
    ],
)
def test_what_is_refused(function: Any, message: str) -> None:
    with pytest.raises(UnsupportedOp, match=message):
        lm.from_torch(Layer(function), torch.ones(3))(np.ones(3, np.float32))


def test_sources_are_modules_and_programs() -> None:
    program = torch.export.export(nn.Tanh(), (torch.zeros(2),))
    np.testing.assert_allclose(lm.from_torch(program)(np.float32([1, 2])), np.tanh([1, 2]), rtol=1e-6)
    with pytest.raises(TorchError, match="give it alone"):
        lm.from_torch(program, torch.zeros(2))
    with pytest.raises(TorchError, match=r"takes a torch.nn.Module or an ExportedProgram, got function"):
        lm.from_torch(lambda x: x)


def test_stored_types_share_memory_with_tensors() -> None:
    from lamina.interop.torch.tensors import as_numpy, as_tensor

    for dtype in (torch.bfloat16, torch.float16, torch.float8_e5m2, torch.bool, torch.complex64, torch.uint8):
        t = torch.ones(3, 4).to(dtype)
        array = as_numpy(t.T)
        assert array.__array_interface__["data"][0] == t.data_ptr()
        assert as_tensor(array).data_ptr() == t.data_ptr()
        assert as_tensor(array).dtype == dtype and as_tensor(array).stride() == (1, 4)
    with pytest.raises(TorchError, match="dense ones of the CPU"):
        as_numpy(torch.eye(2).to_sparse())
