"""ATen's ops: the core ones are all there; promotion; special numbers; and samples of torch's own table of ops."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.interop.torch.nodes import HANDLERS, promoted
from lamina.interop.torch.run import load_ops, run_graph
from lamina.interop.torch.tensors import as_numpy, numpy_dtype
from oracles import import_torch

torch = import_torch()
CONFORMANCE = Path(__file__).parents[2] / "conformance"
aten = torch.ops.aten


def test_all_core_ops_have_a_function() -> None:
    load_ops()
    missing = []
    for name in dir(aten):
        packet = getattr(aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            core = torch.Tag.core in getattr(packet, overload).tags
            if core and name not in HANDLERS and f"{name}.{overload}" not in HANDLERS:
                missing.append(f"{name}.{overload}")
    assert not missing


DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def test_promotion_is_that_of_torch() -> None:
    """Of arrays with and without dims, and Python's numbers."""
    values: list[Any] = [True, 3, 2.5, 1j]
    values += [torch.ones(n, dtype=getattr(torch, d)) for d in DTYPES for n in ((2,), ())]
    for x in values:
        for y in values:
            if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
                a, b = (as_numpy(v) if isinstance(v, torch.Tensor) else v for v in (x, y))
                wanted = torch.result_type(x, y)
                assert wanted == torch.complex32 or promoted(a, b) == numpy_dtype(wanted), (x, y)


def compare(function: Any, *tensors: Any) -> None:
    """A function of tensors as torch computes it, and its ops as we do."""
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda *t: tuple(torch.utils._pytree.tree_leaves(function(*t))), tracing_mode="fake")(*tensors)
    got = lm.jit(lambda *a: tuple(run_graph(graph, a)), capture="trace")(*map(as_numpy, tensors))
    wanted = torch.utils._pytree.tree_leaves(function(*tensors))
    for g, w in zip(got, map(as_numpy, wanted), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=1e-6, equal_nan=True)


NAN = float("nan")
SPECIAL = torch.tensor([[1.0, NAN, -0.0, float("inf")], [NAN, -2.5, 2.5, -float("inf")], [0.5, 0.5, 3.0, 3.0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [
            aten.sign(x),
            aten.relu(x),
            aten.clamp(x, -1, 1),
            aten.round(x),
            aten.amax(x, [1]),
            aten.maximum(x, x.flip(1)),
        ],
        lambda x: [aten.sort.stable(x, stable=True, dim=1, descending=True), aten.max.dim(x[2:], 1), aten.argmin(x, 1)],
        lambda x: [
            aten.leaky_relu(x, 0.1),
            aten.elu(x, 0.7),
            aten.hardtanh(x),
            aten.gelu(x.clamp(-9, 9)),  # at inf torch gives NaN on some CPUs
            aten.sigmoid(x),
            aten.cummax(x, 1),
        ],
        lambda x: [aten.nan_to_num(x), aten.isinf(x), aten.remainder(x, 2), aten.fmod(x, -2), aten.var.correction(x[2:], [1])],
    ],
    ids=["bounds", "order", "activations", "numbers"],
)
def test_special_numbers(function: Any) -> None:
    compare(function, SPECIAL)


def test_division_of_integers() -> None:
    def function(x: Any, y: Any) -> Any:
        modes = [aten.div.Tensor_mode(x, y, rounding_mode=m) for m in ("floor", "trunc")]
        return [*modes, aten.div.Tensor(x, y), aten.remainder(x, y), aten.fmod(x, y), aten.floor_divide(x, y), x // 2.5]

    compare(function, torch.tensor([7, -7, 7, -7, 0]), torch.tensor([2, 2, -2, -2, 5]))


def test_windows_that_reach_over_the_edge() -> None:
    def function(x: Any) -> Any:
        made = [aten.max_pool2d_with_indices(x, [3, 2], [2, 2], [1, 1], [1, 1], ceil) for ceil in (False, True)]
        for options in ((False, True, None), (True, True, None), (True, False, None), (True, False, 5)):
            made.append(aten.avg_pool2d(x, [3, 2], [2, 2], [1, 1], *options))
        return [made, aten._adaptive_avg_pool2d(x, [3, 2])]

    compare(function, torch.randn(2, 3, 7, 6, generator=torch.Generator().manual_seed(0)))


def test_elements_written_several_times() -> None:
    def function(x: Any, i: Any, s: Any) -> Any:
        made = [aten.index_put(x, [i[0], None], s[0], True), aten.scatter_add(x, 0, i, s), aten.gather(x, 1, i % 2)]
        for how in ("sum", "prod", "mean", "amax", "amin"):
            made += [aten.scatter_reduce(x, 0, i, s, how, include_self=kept) for kept in (True, False)]
        return made

    torch.manual_seed(0)
    compare(function, torch.randn(3, 4), torch.tensor([[0, 2, 2, 1], [0, 0, 2, 1]]), torch.randn(2, 4))


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """torch's table of ops, whose samples take a while to make."""
    sys.path.insert(0, str(CONFORMANCE))
    import torch_child

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch_child.names_of(torch_child.op_db())


PASSES = (CONFORMANCE / "torch_passes.txt").read_text(encoding="utf-8").splitlines()
STEP = 12
"""One of so many ops is in this sample."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", PASSES[::STEP])
def test_samples_of_torch(table: dict[str, Any], name: str) -> None:
    import torch_child

    op, dtype = name.split()
    if op not in table:
        pytest.skip("an op of another release of torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = list(torch_child.outcomes(table[op], getattr(torch, dtype)))
    assert not [one for one in made if one[0] != "pass"]
