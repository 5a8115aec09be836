"""Arguments of symbolic sizes, for functions of every namespace, and what their results are compared with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
from lamina.errors import FixedSizeError

N, M = "n", None
"""A dim that is open, and one that is known."""

Call = tuple[list[Any], dict[str, tuple[Any, ...]]]


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(0.2, 0.9, shape)


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 4, shape)


def bools(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2, shape).astype(bool)


def definite(rng: np.random.Generator, n: int, _: int) -> np.ndarray:
    a = rng.uniform(0.2, 0.9, (n, n))
    return a @ a.T + n * np.eye(n)


def complexes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(0.2, 0.9, shape) + 0.5j


def rising(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.sort(rng.uniform(0.2, 0.9, shape))


F, J, B, S, C, R = floats, integers, bools, definite, complexes, rising
FORMS: dict[str, tuple[Any, ...]] = {
    "x": ((F, N),),
    "x y": ((F, N), (F, N)),
    "rising x": ((R, N), (F, N)),
    "x rising": ((F, N), (R, N)),
    "rows": ((F, N, 3),),
    "columns": ((F, 3, N),),
    "square": ((S, N, N),),
    "square x": ((S, N, N), (F, N)),
    "rows columns": ((F, N, 3), (F, 3, N)),
    "i": ((J, N),),
    "i j": ((J, N), (J, N)),
    "b": ((B, N),),
    "b x y": ((B, N), (F, N), (F, N)),
    "x y z": ((F, N), (F, N), (F, N)),
    "x i": ((F, N), (J, N)),
    "i x": ((J, N), (F, N)),
    "i j k": ((J, N), (J, N), (J, N)),
    "w x y z": ((F, N), (F, N), (F, N), (F, N)),
    "rows rows": ((F, N, 2), (F, N, 2)),
    "boxes boxes": ((F, N, 4), (F, N, 4)),
    "boxes x 3": ((F, N, 4), (F, N), 3),
    "stack": ((F, N, 3, 3),),
    "stack stack stack": ((F, 2, N, 4), (F, 2, N, 4), (F, 2, N, 4)),
    "z": ((C, N),),
    "x 2": ((F, N), 2),
    "x 1": ((F, N), 1),
    "2 x": (2, (F, N)),
    "i 3": ((J, N), 3),
    "rows 1": ((F, N, 3), 1),
    "x .5": ((F, N), 0.5),
    "x 0 1": ((F, N), 0, 1),
    "x .1 .7": ((F, N), 0.1, 0.7),
    "[x y]": ([(F, N), (F, N)],),
    "[rows rows]": ([(F, N, 2), (F, N, 2)],),
    "x shape": ((F, N), "shape"),
    "x places": ((F, N), np.array([0, 2])),
    "images": ((F, N, 4, 4, 2),),
    "images kernel": ((F, N, 4, 4, 2), np.ones((3, 3, 2, 3)) / 9),
}
"""Arguments by name: a kind of array with its dims, a list of such, a value, or the open size as a shape."""


def call(form: str, function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[[int], list[Any]], dict[str, Any]]:
    """A function of the arrays alone, what makes these of a size, and which of their dims are open."""
    parts = FORMS[form]
    is_array = [isinstance(p, list) or (isinstance(p, tuple)) for p in parts]
    dynamic: dict[str, Any] = {}
    for k, part in enumerate(p for p, chosen in zip(parts, is_array, strict=True) if chosen):
        if isinstance(part, list):
            dynamic |= {f"arrays[{k}][{j}]": tuple(N if d == N else None for d in one[1:]) for j, one in enumerate(part)}
        else:
            dynamic[f"arrays[{k}]"] = tuple(N if d == N else None for d in part[1:])

    def of_arrays(arrays: Any) -> Any:
        given = iter(arrays)
        full = [next(given) if chosen else part for part, chosen in zip(parts, is_array, strict=True)]
        first = full[0]
        return function(*(first.shape[:1] if isinstance(part, str) and part == "shape" else part for part in full))

    def arrays(n: int) -> list[Any]:
        rng = np.random.default_rng(n)

        def one(part: Any) -> Any:
            return part[0](rng, *(n if d == N else d for d in part[1:]))

        chosen = [p for p, taken in zip(parts, is_array, strict=True) if taken]
        return [[one(x) for x in p] if isinstance(p, list) else one(p) for p in chosen]

    return of_arrays, arrays, dynamic


def leaves(x: Any) -> list[np.ndarray]:
    """The results as arrays."""
    return [np.asarray(leaf) for leaf in lm.tree.leaves(x)]


def compare(form: str, function: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    """One compilation for open sizes has the values that the function has on arrays."""
    of_arrays, arrays, dynamic = call(form, function)
    compiled = lm.jit(of_arrays, dynamic=dynamic)
    for n in sizes:
        given = arrays(n)
        wanted, found = leaves(of_arrays(given)), leaves(compiled(given))
        assert len(wanted) == len(found)
        for a, b in zip(wanted, found, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


def trace(form: str, function: Callable[..., Any]) -> None:
    """It is traced for open sizes, or says that it is compiled for each by itself."""
    of_arrays, arrays, dynamic = call(form, function)
    with contextlib.suppress(FixedSizeError):
        lm.jit(of_arrays, dynamic=dynamic).lower(arrays(5))
