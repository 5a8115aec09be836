"""Products of matrices in kernels, `c += a @ b`, and arithmetic with complex numbers: as in Python."""

from __future__ import annotations

from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError

T = lm.dtype("T")
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def normal(*shape: int, dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((seed, *shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def agree(generic: Any, *args: np.ndarray, tolerance: float = 100) -> None:
    """The machine code of a kernel changes arrays as Python does."""
    python, native = ([x.copy() for x in args] for _ in range(2))
    with np.errstate(all="ignore"):
        generic.__wrapped__(*python)
    generic(*native)
    for x, y in zip(python, native, strict=True):
        size = np.nanmax(np.abs(x[np.isfinite(x)]), initial=1.0)
        assert np.allclose(x, y, rtol=0, atol=tolerance * np.finfo(x.dtype).eps * size, equal_nan=True)


@lm.kernel
def adds(a: T["M", "K"], b: T["K", "N"], c: T["M", "N"]):
    c += a @ b


@lm.kernel
def twice_transposed(a: T["K", "M"], b: T["N", "K"], c: T[2, "M", "N"]):
    c[0] -= np.conjugate(a.T) @ b.T
    c[1, 1:, :2] += a[:, 1:].T @ np.conjugate(b[:2].T)


@pytest.mark.parametrize("dtype", [*DTYPES, np.int32])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (17, 1, 33), (2, 0, 3), (0, 2, 3)], ids=str)
def test_products(sizes: tuple[int, int, int], dtype: Any) -> None:
    m, k, n = sizes
    if dtype is np.int32:
        a, b, c = (np.arange(p * q, dtype=dtype).reshape(p, q) for p, q in ((m, k), (k, n), (m, n)))
        want = c + a @ b
        adds(a, b, c)
        assert (c == want).all()
        return
    agree(adds, normal(m, k, dtype=dtype), normal(k, n, dtype=dtype, seed=1), normal(m, n, dtype=dtype, seed=2))
    if m > 1:
        agree(twice_transposed, *(normal(*s, dtype=dtype) for s in ((k, m), (n, k), (2, m, n))))


@lm.kernel
def sums(x: T["N"], y: T["N"], out: T[4]):
    total = T(0)
    for i in range(x.shape[0]):
        total += x[i] * np.conjugate(y[i])
    less = T(1)
    for i in range(x.shape[0]):
        less -= x[i]
    out[0] = total
    out[1] = less
    out[2] = np.where(x.shape[0] > 3, total, 0.0)
    out[3] = np.where(total.real > less.real, np.nan, less)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_sums(n: int, dtype: Any) -> None:
    agree(sums, normal(n, dtype=dtype), normal(n, dtype=dtype, seed=1), np.zeros(4, dtype))


def test_sums_of_complex_numbers_are_reductions() -> None:
    assert sums.specialize(T=lm.complex64).as_text().count("reduce<add>") == 2


@lm.kernel
def divides(x: T["N"], y: T["N"], z: T["N"]):
    for i in range(x.shape[0]):
        z[i] = x[i] / y[i]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_quotients_of_complex_numbers_are_those_of_numpy(dtype: Any) -> None:
    special = np.array([0, 1, -2, 1e30, -1e-30, np.inf, np.nan])
    parts = np.array([complex(a, b) for a in special for b in special])
    x, y = (np.concatenate([m.ravel(), normal(500, dtype=dtype, seed=k)]) for k, m in enumerate(np.meshgrid(parts, parts)))
    x, y = x.astype(dtype), y.astype(dtype)
    z = np.empty_like(x)
    divides(x, y, z)
    with np.errstate(all="ignore"):
        want = x / y
    plain = (y != 0) | np.isfinite(x)  # of an infinity by zero one part may be NaN here
    for got, expected in ((z.real, want.real), (z.imag, want.imag)):
        assert np.array_equal(got[plain], expected[plain], equal_nan=True)
        assert not np.isfinite(got[~plain]).any()


WRONG = {
    "c += x @ c": "a product is of two matrices",
    "c += c @ d": "'c' is changed and read",
    "c += np.conjugate(d) @ e": "the matrices of a product have one element type",
    "c += d @ f": "the sizes of a product must agree for all sizes",
    "c *= d @ d": "a product of matrices is added to an array or a view",
    "t = 0.0\n    t += d @ d": "a product of matrices is added to an array or a view",
    "c += (d + d) @ d": "the factors are arrays, views, or np.conjugate of them",
    "c += z @ d": "the product is complex and 'c' is real",
}


@pytest.mark.parametrize("body", WRONG)
def test_refused(body: str, tmp_path: Any) -> None:
    text = (
        "import lamina as lm, numpy as np\n"
        "def k(x: lm.f32['N'], c: lm.f32['N', 'N'], d: lm.f32['N', 'N'], e: lm.f64['N', 'N'], f: lm.f32['M', 'N'],\n"
        f"      z: lm.complex64['N', 'N']):\n    {body}\n"
    )
    path = tmp_path / "wrong.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    with pytest.raises(KernelError, match=WRONG[body]):
        _ = lm.kernel(names["k"]).module
