"""Loops as users write them: `@lm.kernel` without a schedule, beside numba with fast math on the same function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from . import lazy
from .case import Case, Row, floats


@dataclass(frozen=True)
class Loops(Case):
    """A function of `plain_loops.py`, whose last `results` arguments it writes."""

    name: str
    n: int
    results: int = 1
    as_kernel = True
    rtol: float = 1e-4
    atol: float = 1e-5

    def has(self, method: str) -> bool:
        return method in ("lamina", "numba")  # as Python it only serves as the reference of tests

    def inputs(self, rng: np.random.Generator) -> list[Any]:
        return INPUTS[self.name](rng, self.n)

    def numpy(self, *inputs: Any) -> Any:
        with np.errstate(over="ignore"):
            return self._run(_form(self.name, "python"), inputs)

    def kernel(self, *inputs: Any) -> Any:
        return self._run(_form(self.name, "kernel"), inputs)

    def numba(self, *inputs: Any) -> Any:
        return self._run(_form(self.name, "numba"), inputs)

    def _run(self, function: Callable[..., None], inputs: Sequence[Any]) -> np.ndarray:
        """The arrays that the function writes, in copies of the arguments."""
        arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in inputs]
        function(*arguments)
        written = [np.asarray(x, np.float64) for x in arguments[-self.results :]]
        return written[0] if len(written) == 1 else np.concatenate([x.ravel() for x in written])


@cache
def _form(name: str, form: str) -> Callable[..., None]:
    function = getattr(lazy.plain_loops, name)
    if form == "kernel":
        return lazy.lm.kernel(function)
    made = lazy.loop_forms.plain(function)
    return lazy.numba.njit(fastmath=True, error_model="numpy")(made) if form == "numba" else made


def _grid(rng: np.random.Generator, n: int) -> list[Any]:
    return [floats(rng, n, n), np.zeros((n, n), np.float32)]


def _bytes(rng: np.random.Generator, most: int, *shape: int) -> np.ndarray:
    return rng.integers(0, most, shape).astype(np.uint8)


def _warping(rng: np.random.Generator, n: int) -> list[Any]:
    costs = np.zeros((n + 1, n + 1))
    costs[0], costs[:, 0] = 1e30, 1e30
    costs[0, 0] = 0
    return [rng.standard_normal(n), rng.standard_normal(n), costs]


def _tridiagonal(rng: np.random.Generator, n: int) -> list[Any]:
    a, b, c, d = rng.standard_normal((4, n, n // 3 + 2))
    return [a, b + 9, c, d, np.zeros_like(a), np.zeros_like(a)]


def _tree(rng: np.random.Generator, n: int) -> list[Any]:
    count = (1 << n.bit_length() - 1) - 1
    tree = np.zeros((count, 3), np.float32)

    def build(points: np.ndarray, node: int, axis: int) -> None:
        if len(points):
            points = points[np.argsort(points[:, axis], kind="stable")]
            half = len(points) // 2
            tree[node] = points[half]
            build(points[:half], 2 * node + 1, (axis + 1) % 3)
            build(points[half + 1 :], 2 * node + 2, (axis + 1) % 3)

    build(floats(rng, count, 3), 0, 0)
    return [tree, floats(rng, n, 3), np.zeros(n, np.float32)]


def _sparse(rng: np.random.Generator, n: int) -> list[Any]:
    lengths = rng.integers(0, 20, n)
    start = np.concatenate([[0], np.cumsum(lengths)])
    columns = rng.integers(0, n, start[-1])
    return [start, columns, rng.standard_normal(start[-1]), rng.standard_normal(n), np.zeros(n)]


_LETTERS = np.arange(33, 97, dtype=np.uint8)
_FILTER = np.array([0.2, 0.3, 0.2, -0.4, 0.1], np.float32)

INPUTS: dict[str, Callable[[np.random.Generator, int], list[Any]]] = {
    "median3": _grid,
    "trsm": lambda r, n: [np.tril(floats(r, n, n)) + 8 * np.eye(n, dtype=np.float32), floats(r, n, n // 2 + 1)],
    "boxblur8": lambda r, n: [_bytes(r, 256, n, n), np.zeros((n, n), np.uint8)],
    "dtw": _warping,
    "gauss_seidel": lambda r, n: [r.standard_normal((n, n)), r.standard_normal((n, n)), 4],
    "thomas": _tridiagonal,
    "radix": lambda r, n: [
        r.integers(0, 2**32, n).astype(np.uint32),
        np.zeros(n, np.uint32),
        np.zeros(256, np.int64),
        np.uint32(8),
    ],
    "horner": lambda r, n: [r.standard_normal(n) / 2, r.standard_normal(12), np.zeros(n)],
    "i8dot": lambda r, n: [*r.integers(-128, 128, (2, n, n)).astype(np.int8), np.zeros((n, n), np.int32)],
    "covariance": lambda r, n: [r.standard_normal((4 * n, n)), np.zeros((n, n))],
    "biquad": lambda r, n: [floats(r, n, 50 * n), np.zeros((n, 50 * n), np.float32), _FILTER],
    "hist2d": lambda r, n: [r.random(n) * 1.1, r.random(n) * 1.1, np.zeros((32, 32), np.int64)],
    "popcount": lambda r, n: [r.integers(0, 2**63, n).astype(np.uint64), np.zeros(n, np.int64)],
    "base64": lambda r, n: [_bytes(r, 256, 3 * n), _LETTERS, np.zeros(4 * n, np.uint8), n],
    "floyd": lambda r, n: [r.random((n, n)).astype(np.float32)],
    "smith_waterman": lambda r, n: [_bytes(r, 4, n), _bytes(r, 4, n), np.zeros((n + 1, n + 1), np.int32)],
    "kdsearch": _tree,
    "crc": lambda r, n: [_bytes(r, 256, n), r.integers(0, 2**32, 256).astype(np.uint32), np.zeros(1, np.uint32)],
    "csr": _sparse,
    "life": lambda r, n: [_bytes(r, 2, n, n), np.zeros((n, n), np.uint8)],
    "levenshtein": lambda r, n: [_bytes(r, 4, n), _bytes(r, 4, n), np.zeros(n + 1, np.int32)],
    "fir": lambda r, n: [floats(r, n + 31), floats(r, 32), np.zeros(n, np.float32)],
    "lu": lambda r, n: [r.standard_normal((n, n)) + n * np.eye(n)],
    "prefix": lambda r, n: [r.standard_normal(n), np.zeros(n)],
    "merge": lambda r, n: [np.sort(floats(r, n)), np.sort(floats(r, n + 3)), np.zeros(2 * n + 3, np.float32)],
    "julia": lambda r, n: [np.linspace(-1.5, 1.5, n), np.linspace(-1.5, 1.5, n), np.zeros((n, n), np.int32)],
    "collatz": lambda r, n: [r.integers(1, 10**6, n), np.zeros(n, np.int64)],
    "deposit": lambda r, n: [r.random(n), r.standard_normal(n), np.zeros(1000)],
    "heat3d": lambda r, n: [floats(r, n, n, n), np.zeros((n, n, n), np.float32)],
    "softmax": lambda r, n: [floats(r, n, 5 * n), np.zeros((n, 5 * n), np.float32)],
    "argmin_rows": lambda r, n: [floats(r, n, 5 * n), np.zeros(n, np.int64)],
    "isum": lambda r, n: [r.integers(-9, 9, n).astype(np.int32), np.zeros(1, np.int64)],
}
"""The arguments by the name of the function, for one size."""

_SIZES = {
    "median3": 400, "trsm": 200, "boxblur8": 600, "dtw": 1000, "gauss_seidel": 700, "thomas": 800, "radix": 500_000,
    "horner": 100_000, "i8dot": 256, "covariance": 96, "biquad": 80, "hist2d": 300_000, "popcount": 100_000, "base64": 200_000,
    "floyd": 256, "smith_waterman": 700, "kdsearch": 1500, "crc": 300_000, "csr": 20_000, "life": 600, "levenshtein": 1000,
    "fir": 60_000, "lu": 200, "prefix": 300_000, "merge": 100_000, "julia": 200, "collatz": 20_000, "deposit": 200_000,
    "heat3d": 96, "softmax": 200, "argmin_rows": 200, "isum": 100_000,
}  # fmt: skip
_WRITTEN = {"gauss_seidel": 3, "radix": 3, "biquad": 2, "base64": 2}
"""From which argument on, counted from the last, what is written is found, if not in the last."""

ROWS = [
    Row(f"kernel/{name}", f"{n}", Loops(name, n, _WRITTEN.get(name, 1)), Loops(name, 11, _WRITTEN.get(name, 1)), 0.9)
    for name, n in _SIZES.items()
]
