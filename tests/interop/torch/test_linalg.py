"""torch.linalg through ATen's ops: factors, solutions, and what is multiplied back where signs and orders are free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.interop.torch.run import run_graph
from lamina.interop.torch.tensors import as_numpy
from oracles import import_torch

torch = import_torch()


def compare(function: Any, *tensors: Any) -> None:
    """A function of tensors as torch computes it, and its ops as we do."""
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda *t: tuple(torch.utils._pytree.tree_leaves(function(*t))), tracing_mode="fake")(*tensors)
    got = lm.jit(lambda *a: tuple(run_graph(graph, a)), capture="trace")(*map(as_numpy, tensors))
    wanted = torch.utils._pytree.tree_leaves(function(*tensors))
    for g, w in zip(got, map(as_numpy, wanted), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-10)


def drawn(*shape: int, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=dtype or torch.float64)


def definite(x: Any) -> Any:
    return x @ x.mH + torch.eye(x.shape[-1], dtype=x.dtype)


def back(parts: Any) -> Any:
    """The matrix of a singular value decomposition."""
    u, s, vh = parts
    return u @ (s[..., None] * vh), s


def lu_solved(x: Any, b: Any) -> Any:
    packed, pivots = torch.linalg.lu_factor(x)
    solve = torch.linalg.lu_solve
    return [solve(packed, pivots, b, adjoint=a) for a in (False, True)] + [
        solve(packed, pivots, b.mH, left=False, adjoint=True)
    ]


CASES: dict[str, Callable[[Any], Any]] = {
    "inv, det, slogdet": lambda x: (torch.linalg.inv(x), torch.linalg.det(x), *torch.linalg.slogdet(x)),
    "solve": lambda x: (torch.linalg.solve(x, x[..., :2]), torch.linalg.solve(x, x[..., :2, :], left=False)),
    "solve vectors": lambda x: torch.linalg.solve(x[0], x[0, 0]),
    "lu": lambda x: (*torch.linalg.lu(x), *torch.linalg.lu(x[..., :2])),
    "lu factors": lambda x: lu_solved(x, x[..., :2]),
    "lu unpack": lambda x: torch.lu_unpack(*torch.linalg.lu_factor(x)),
    "cholesky": lambda x: (torch.linalg.cholesky(definite(x)), torch.linalg.cholesky(definite(x), upper=True)),
    "cholesky of a triangle": lambda x: torch.linalg.cholesky_ex(torch.tril(definite(x)))[0],
    "cholesky solve": lambda x: torch.cholesky_solve(x[..., :2], torch.linalg.cholesky(definite(x))),
    "cholesky solve upper": lambda x: torch.cholesky_solve(
        x[..., :2], torch.linalg.cholesky(definite(x), upper=True), upper=True
    ),
    "cholesky inverse": lambda x: torch.cholesky_inverse(torch.linalg.cholesky(definite(x))),
    "triangular": lambda x: [
        torch.linalg.solve_triangular(x, b, upper=up, left=left, unitriangular=unit)
        for left, b in ((True, x[..., :3]), (False, x[..., :3, :]))
        for up in (True, False)
        for unit in (True, False)
    ],
    "qr": lambda x: (*torch.linalg.qr(x[..., :2]), *torch.linalg.qr(x, mode="complete")),
    "svd": lambda x: back(torch.linalg.svd(x[..., :2], full_matrices=False)),
    "singular values": lambda x: torch.linalg.svdvals(x),
    "eigh": lambda x: (torch.linalg.eigh(x).eigenvalues, torch.linalg.eigvalsh(x, "U")),
    "eigvals": lambda x: torch.linalg.eigvals(x).abs().sort().values,
    "pinv": lambda x: (torch.linalg.pinv(x[..., :2]), torch.linalg.pinv(definite(x), hermitian=True)),
    "pinv of rank 1": lambda x: torch.linalg.pinv(x[..., :1] @ x[..., :1, :], rtol=1e-6),
    "rank and cond": lambda x: (torch.linalg.matrix_rank(x), torch.linalg.cond(x)),
    "householder": lambda x: torch.linalg.householder_product(*torch.geqrf(x[..., :2])),
    "powers": lambda x: (torch.linalg.matrix_power(x, -2), torch.linalg.matrix_exp(x)),
}


@pytest.mark.thorough(every=4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_matrices(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        compare(CASES[name], drawn(2, 4, 4, dtype=getattr(torch, dtype)))


class Solver(torch.nn.Module):
    def forward(self, x: Any, b: Any) -> Any:
        return torch.linalg.solve(x, b), torch.linalg.inv(x), torch.linalg.cholesky(definite(x))


def test_exported_checks_are_not_run() -> None:
    """The exporter orders them by tokens, which are inputs and results of its graph."""
    x, b = drawn(3, 3), drawn(3, 2)
    batch = torch.export.Dim("columns", min=1, max=9)
    for f in (lm.from_torch(Solver(), x, b), lm.from_torch(Solver(), x, b, dynamic_shapes={"x": None, "b": {1: batch}})):
        for got, wanted in zip(f(x.numpy(), b.numpy()), Solver()(x, b), strict=True):
            np.testing.assert_allclose(got, wanted.numpy(), 1e-9, 1e-9)


def test_singular_matrices_have_a_number_for_it() -> None:
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64)
    compare(lambda x: (torch.linalg.lu_factor_ex(x).info, torch.linalg.inv_ex(x + 1).info), singular)
    compare(lambda x: torch.linalg.cholesky_ex(x).info > 0, -singular)
