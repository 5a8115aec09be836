"""`torch.compile(model, backend="lamina")`: inference, training, open sizes, memory, and what runs in torch."""

from __future__ import annotations

import copy
import importlib
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
from lamina.interop.torch.backend import GraphProgram, LaminaFallback, lamina
from oracles import import_torch

torch = import_torch()
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def anew() -> Any:
    """dynamo forgets what it compiled, and a graph that falls back is an error unless a test says otherwise."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", LaminaFallback)
        yield


class Net(nn.Module):
    """Convolution, statistics, dropout, pooling, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        y = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.head(F.dropout(y, 0.3, self.training).mean((2, 3)))


def trained(model: Any, x: Any, steps: int = 3) -> list[Any]:
    """Losses, parameters and buffers after some steps."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for i in range(steps):
        torch.manual_seed(i)
        loss = (model(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *[p.detach() for p in model.parameters()], *model.buffers()]


def compare(got: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    for g, w in zip(got, wanted, strict=True):
        torch.testing.assert_close(g, w, rtol=tolerance, atol=tolerance)


def test_training_is_that_of_torch() -> None:
    """Random numbers are torch's own, so that dropout is the same as well."""
    model, x = Net(), torch.randn(4, 2, 6, 6)
    compare(trained(torch.compile(copy.deepcopy(model), backend=lamina), x), trained(model, x))


def test_open_sizes_have_one_graph() -> None:
    model, graphs = Net().eval(), []
    compiled = torch.compile(model, backend=lambda g, e: graphs.append(g) or lamina(g, e))
    with torch.no_grad():
        for n in (5, 3, 9):
            x = torch.randn(n, 2, 6, 7)
            torch._dynamo.mark_dynamic(x, 0)
            compare([compiled(x)], [model(x)])
    assert len(graphs) == 1


def test_views_and_arguments_that_change() -> None:
    def function(x: Any, y: Any) -> Any:
        y.add_(1)
        z = x * 2
        return z.t(), z[0], y * 3, x.view(-1), None, x.shape[0]

    a, b = torch.randn(3, 4), torch.randn(3, 4)
    c = b.clone()
    got, wanted = torch.compile(function, backend=lamina)(a, b), function(a, c)
    compare([*got[:4], b], [*wanted[:4], c])
    assert [t.stride() for t in got[:4]] == [t.stride() for t in wanted[:4]] and got[4:] == wanted[4:]
    assert got[3].data_ptr() == a.data_ptr() and got[0].data_ptr() == got[1].data_ptr()


def test_results_keep_the_order_of_memory() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    y = torch.compile(lambda x: torch.relu(x) + 1, backend=lamina)(x)
    assert y.stride() == x.stride()
    compare([y], [torch.relu(x) + 1])


def test_nothing_is_copied_at_the_border() -> None:
    """The program reads and returns arrays of the memory of the tensors."""
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.randn(64, 64)
    program = GraphProgram(make_fx(lambda x: (x * 2,), tracing_mode="fake")(x))
    seen: list[Any] = []
    program._program = lambda fixed, make=program._program: (lambda f: lambda *a: seen.append((a, f(*a))) or seen[-1][1])(
        make(fixed)
    )
    (y,) = program(x)
    (given,), (made,) = seen[0]
    assert given.ctypes.data == x.data_ptr() and made.ctypes.data == y.data_ptr()
    compare([y], [x * 2])


def test_an_op_that_is_refused_runs_in_torch() -> None:
    x = torch.randn(3, 3)
    compiled = torch.compile(lambda x: torch.linalg.ldl_factor(x @ x.mT)[0] * 2, backend=lamina)
    with pytest.warns(LaminaFallback, match=r"linalg_ldl_factor_ex .*: op aten.linalg_ldl_factor_ex.default is not supported"):
        got = compiled(x)
    compare([got], [torch.linalg.ldl_factor(x @ x.mT)[0] * 2])


def test_numbers_that_are_no_sizes() -> None:
    compiled = torch.compile(lambda x, n: x * n + n, backend=lamina, dynamic=True)
    for n in (2, 3, 5):
        x = torch.arange(4.0)
        compare([compiled(x, n)], [x * n + n])


def test_options_are_refused() -> None:
    with pytest.raises(TypeError, match="has no options"):
        lamina(None, (), level=3)


def test_the_entry_point_is_the_backend() -> None:
    table = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = table["project"]["entry-points"]["torch_dynamo_backends"]["lamina"].partition(":")
    assert getattr(importlib.import_module(module), name) is lamina
