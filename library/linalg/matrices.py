"""Matrices of a form, as `scipy.linalg` has them: Toeplitz, Hankel, circulant, block diagonal and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, array_function, broadcast_tracer, creation, lift
from ...api.dtypes import is_complex_dtype
from ...api.errors import ShapeError
from ...api.sizes import Size, require_at_least
from ..numpy.axes_and_shapes import static_int
from ..numpy.complex import conj
from ..numpy.contract import matmul
from ..numpy.create import counting, eye, zeros, zeros_like
from ..numpy.elementwise import broadcast_shapes
from ..numpy.index import take
from ..numpy.join import concatenate
from ..numpy.shape import matrix_transpose
from .factors import expm, svd


def _row(x: Any, name: str, least: int = 1, stacked: bool = False) -> Tracer:
    """A value as one row of elements, or as many if they may be `stacked`.

    Raises:
        ShapeError: it has another rank, or fewer elements.
    """
    row = lift(x)
    row = row.reshape(1) if row.ndim == 0 else row
    size: Any = row.shape[-1]
    if isinstance(size, Size):
        require_at_least(size, least)
    if (row.ndim != 1 and not stacked) or size < least:
        raise ShapeError(f"{name} needs a row of at least {least} elements, got {row.shape}")
    return row


@array_function
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix of equal diagonals, with the first column `c` and the first row `r`, `conj(c)` by default.

    >>> import lamina as lm
    >>> lm.linalg.toeplitz([1, 2, 3], [1, 4])
    array([[1, 4],
           [2, 1],
           [3, 2]])
    """
    column = _row(c, "toeplitz()", 0, stacked=True)
    mirrored = conj(column) if is_complex_dtype(column.dtype) else column
    row = mirrored if r is None else _row(r, "toeplitz()", 0, stacked=True)
    m, n = column.shape[-1], row.shape[-1]
    stack = broadcast_shapes([column.shape[:-1], row.shape[:-1]])
    column, row = broadcast_tracer(column, (*stack, m)), broadcast_tracer(row, (*stack, n))
    return take(concatenate([column[..., ::-1], row[..., 1:]], -1), m - 1 - counting(m)[:, None] + counting(n), -1)


@array_function
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix of equal antidiagonals, with the first column `c` and the last row `r`, zeros by default.

    >>> import lamina as lm
    >>> lm.linalg.hankel([1, 2, 3])
    array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]])
    """
    column = _row(c, "hankel()", 0)
    row = zeros_like(column) if r is None else _row(r, "hankel()", 0)
    m, n = column.shape[0], row.shape[0]
    return take(concatenate([column, row[1:]]), counting(m)[:, None] + counting(n))


@array_function
def circulant(c: Any) -> Any:
    """The matrix whose columns are the first one, `c`, shifted by one element after the other.

    >>> import lamina as lm
    >>> lm.linalg.circulant([1, 2, 3])
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    column = _row(c, "circulant()", 0, stacked=True)
    n = column.shape[-1]
    return take(column, (counting(n)[:, None] - counting(n)) % n, -1)


@array_function
def block_diag(*arrs: Any) -> Any:
    """The matrix with matrices along its diagonal; numbers and rows are matrices of one row.

    >>> import lamina as lm
    >>> lm.linalg.block_diag([[1, 2]], 3)
    array([[1, 2, 0],
           [0, 0, 3]])
    """
    blocks = [lift(x) for x in (arrs or ([],))]
    if any(x.ndim > 2 for x in blocks):
        raise ShapeError(f"block_diag() needs matrices, got {[x.shape for x in blocks]}")
    blocks = [x.reshape(1, -1) if x.ndim < 2 else x for x in blocks]
    width, rows, first = sum(x.shape[1] for x in blocks), [], 0
    for x in blocks:
        sides = [zeros((x.shape[0], n), x.dtype) for n in (first, width - first - x.shape[1])]
        rows.append(concatenate([sides[0], x, sides[1]], 1))
        first += x.shape[1]
    return concatenate(rows, 0)


@array_function
def companion(a: Any) -> Any:
    """The companion matrix of a polynomial: its eigenvalues are the roots.

    >>> import lamina as lm
    >>> lm.linalg.companion([1., -10, 31, -30])
    array([[ 10., -31.,  30.],
           [  1.,   0.,   0.],
           [  0.,   1.,   0.]])
    """
    row = _row(a, "companion()", 2)
    first = (-1.0 * row[1:]) / row[0]
    n = first.shape[0]
    return concatenate([first.reshape(1, n), eye(n - 1, n, dtype=first.dtype)], 0)


@array_function
def leslie(f: Any, s: Any) -> Any:
    """The Leslie matrix of fecundities `f` and survivals `s`, of which there is one less.

    >>> import lamina as lm
    >>> lm.linalg.leslie([0.1, 2.0], [0.2])
    array([[0.1, 2. ],
           [0.2, 0. ]])
    """
    births, lives = _row(f, "leslie()", 2), _row(s, "leslie()")
    n = births.shape[0]
    if lives.shape[0] != n - 1:
        raise ShapeError(f"leslie() needs one survival less than fecundities, got {lives.shape[0]} and {n}")
    return concatenate([births.reshape(1, n), eye(n - 1, n, dtype=lives.dtype) * lives.reshape(n - 1, 1)], 0)


@array_function
def fiedler(a: Any) -> Any:
    """The matrix of distances `abs(a[i] - a[j])`.

    >>> import lamina as lm
    >>> lm.linalg.fiedler([1, 4])
    array([[0, 3],
           [3, 0]])
    """
    row = _row(a, "fiedler()")
    return abs(row.reshape(-1, 1) - row)


@array_function
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix that a product with convolves `n` elements with `a`, as `np.convolve` has `mode`.

    >>> import lamina as lm
    >>> lm.linalg.convolution_matrix([1, 2], 2)
    array([[1, 0],
           [2, 1],
           [0, 2]])
    """
    row = _row(a, "convolution_matrix()")
    if n < 1 or mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix() needs n of at least 1 and a mode full, same or valid, got {n} and {mode!r}")
    m = row.shape[0]
    whole = concatenate([row * 0, row, row * 0])
    at = counting(m + n - 1)[:, None] - counting(n)
    full = take(whole, np.clip(at + m, 0, 3 * m - 1))
    if mode == "full":
        return full
    size = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    first = (m + n - 1 - size) // 2
    return full[first : first + size]


@array_function
def fiedler_companion(a: Any) -> Any:
    """A companion matrix of a polynomial with five diagonals (Fiedler, 2003): its eigenvalues are the roots.

    >>> import lamina as lm
    >>> lm.linalg.fiedler_companion([1.0, -10, 31, -30])
    array([[ 10., -31.,   1.],
           [  1.,   0.,   0.],
           [  0.,  30.,   0.]])
    """
    row = _row(a, "fiedler_companion()", 2)
    row, n = row / row[0], row.shape[0] - 1
    # columns and rows take turns: element k + 1 stands above the diagonal at an odd k, below at an even one, a 1 two beside
    c = zeros((n, n), row.dtype).at[0, 0].set(-row[1])
    for k in range(1, n):
        i, j = (k - 1, k) if k % 2 else (k, k - 1)
        c = c.at[i, j].set(-row[k + 1])
        if k > 1:
            i, j = (k, k - 2) if k % 2 else (k - 2, k)
            c = c.at[i, j].set(1)
    return c.at[1, 0].set(1) if n > 1 else c


def _invhilbert(n: int) -> np.ndarray:
    """From exact integers: (-1)^(i+j) (i+j+1) C(n+i, n-j-1) C(n+j, n-i-1) C(i+j, i)^2, of indices from 0."""

    def element(i: int, j: int) -> int:
        size = (i + j + 1) * math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1) * math.comb(i + j, i) ** 2
        return -size if (i + j) % 2 else size

    return np.array([[float(element(i, j)) for j in range(n)] for i in range(n)]).reshape(n, n)


def _invpascal(n: int) -> np.ndarray:
    def element(i: int, j: int) -> int:
        size = sum(math.comb(k, i) * math.comb(k, j) for k in range(max(i, j), n))
        return -size if (i + j) % 2 else size

    return np.array([[element(i, j) for j in range(n)] for i in range(n)], np.int64).reshape(n, n)


def _hilbert(n: int) -> np.ndarray:
    return 1.0 / (1.0 + counting(n)[:, None] + counting(n))


def _hadamard(n: int) -> np.ndarray:
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard() needs a power of 2, got {n}")
    ones = [bin(i & j).count("1") for i in range(n) for j in range(n)]
    return (1 - 2 * (np.array(ones).reshape(n, n) % 2)).astype(np.int64)


def _pascal(n: int) -> np.ndarray:
    return np.array([[math.comb(i + j, j) for j in range(n)] for i in range(n)], np.uint64).reshape(n, n)


def _pascal_lower(n: int) -> np.ndarray:
    return np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], np.uint64).reshape(n, n)


def _invpascal_lower(n: int) -> np.ndarray:
    signs = 1 - 2 * ((counting(n)[:, None] + counting(n)) % 2)
    return signs * _pascal_lower(n).astype(np.int64)


def _dft(n: int) -> np.ndarray:
    return np.exp(-2j * np.pi / n * (np.outer(counting(n), counting(n)) % n))


def _helmert(n: int) -> np.ndarray:
    """All rows but the first one are orthogonal contrasts of an element with those before it."""
    k = counting(n)
    whole = np.tril(np.ones((n, n)), -1) - np.diag(k)
    whole[0] = 1.0
    return whole / np.sqrt(np.where(k == 0, n, k * (k + 1)))[:, None]


_CONSTANTS = {
    **{"dft": _dft, "hadamard": _hadamard, "helmert": _helmert, "hilbert": _hilbert, "invhilbert": _invhilbert},
    **{"invpascal": _invpascal, "invpascal_lower": _invpascal_lower, "pascal": _pascal, "pascal_lower": _pascal_lower},
}


@creation
def _constant(name: str, n: int) -> Tracer:
    return lift(_CONSTANTS[name](n))


def hilbert(n: int) -> Any:
    """The matrix `1 / (1 + i + j)`.

    >>> import lamina as lm
    >>> lm.linalg.hilbert(2)
    array([[1.        , 0.5       ],
           [0.5       , 0.33333333]])
    """
    return _constant("hilbert", static_int(n, "n"))


def invhilbert(n: int) -> Any:
    """The inverse of `hilbert(n)`, rounded from its integers.

    >>> import lamina as lm
    >>> lm.linalg.invhilbert(2)
    array([[ 4., -6.],
           [-6., 12.]])
    """
    return _constant("invhilbert", static_int(n, "n"))


def invpascal(n: int, kind: str = "symmetric") -> Any:
    """The inverse of `pascal(n, kind)`, below 2^63.

    >>> import lamina as lm
    >>> lm.linalg.invpascal(2)
    array([[ 2, -1],
           [-1,  1]])
    """
    return _pascal_of_kind("invpascal", n, kind)


def hadamard(n: int) -> Any:
    """The Hadamard matrix of a power of 2, of elements 1 and -1 (Sylvester's).

    >>> import lamina as lm
    >>> lm.linalg.hadamard(2)
    array([[ 1,  1],
           [ 1, -1]])
    """
    return _constant("hadamard", static_int(n, "n"))


def pascal(n: int, kind: str = "symmetric") -> Any:
    """The symmetric matrix of binomial coefficients `(i + j over i)`, below 2^64.

    With `kind="lower"` that of `(i over j)`, whose product with its transpose it is, and with `"upper"` the transpose.

    >>> import lamina as lm
    >>> lm.linalg.pascal(3)
    array([[1, 1, 1],
           [1, 2, 3],
           [1, 3, 6]], dtype=uint64)
    """
    return _pascal_of_kind("pascal", n, kind)


def _pascal_of_kind(name: str, n: int, kind: str) -> Any:
    if kind not in ("symmetric", "lower", "upper"):
        raise ValueError(f"{name}() kind must be 'symmetric', 'lower' or 'upper', got {kind!r}")
    if kind == "symmetric":
        return _constant(name, static_int(n, "n"))
    lower = _constant(f"{name}_lower", static_int(n, "n"))
    return lower if kind == "lower" else matrix_transpose(lower)


def dft(n: int, scale: str | None = None) -> Any:
    """The matrix of the discrete Fourier transform; `scale` divides it by `"n"` or `"sqrtn"`.

    >>> import lamina as lm
    >>> lm.linalg.dft(2).real
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    if scale not in (None, "n", "sqrtn"):
        raise ValueError(f"dft() scale must be None, 'n' or 'sqrtn', got {scale!r}")
    found = _constant("dft", static_int(n, "n"))
    return found if scale is None else found / (n if scale == "n" else math.sqrt(n))


def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix of contrasts, with `full` below a row of equal elements.

    >>> import lamina as lm
    >>> lm.linalg.helmert(2)
    array([[ 0.70710678, -0.70710678]])
    """
    found = _constant("helmert", static_int(n, "n"))
    return found if full else found[1:]


@array_function
def polar(a: Any, side: str = "right") -> Any:
    """`a = u @ p` of orthonormal columns or rows `u` and a positive semidefinite `p`; `a = p @ u` for `side="left"`.

    Returns:
        The pair `(u, p)`.

    >>> import lamina as lm, numpy as np
    >>> u, p = lm.linalg.polar(np.float64([[0, 2], [1, 0]]))
    >>> abs(u).round(6), abs(p).round(6)
    (array([[0., 1.],
           [1., 0.]]), array([[1., 0.],
           [0., 2.]]))
    """
    if side not in ("left", "right"):
        raise ValueError(f"polar() side must be left or right, got {side!r}")
    w, s, vh = svd(a, full_matrices=False)
    s = s.reshape(*s.shape[:-1], 1, s.shape[-1])
    v = conj(matrix_transpose(vh))
    factor = matmul(v * s, vh) if side == "right" else matmul(w * s, conj(matrix_transpose(w)))
    return matmul(w, vh), factor


@array_function
def expm_frechet(A: Any, E: Any, *, compute_expm: bool = True) -> Any:
    """`expm(A)` and its derivative in the direction `E`, or that alone: `expm` of `A` beside `E` above `A` (Higham, 2008).

    >>> import lamina as lm, numpy as np
    >>> lm.linalg.expm_frechet(np.zeros((1, 1)), np.ones((1, 1)))
    (array([[1.]]), array([[1.]]))
    """
    a, e = lift(A), lift(E)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape != e.shape:
        raise ShapeError(f"expm_frechet() needs two square matrices of one shape, got {a.shape} and {e.shape}")
    n = a.shape[0]
    whole = expm(concatenate([concatenate([a, e], 1), concatenate([a * 0, a], 1)], 0))
    slope = whole[:n, n:]
    return (whole[:n, :n], slope) if compute_expm else slope
