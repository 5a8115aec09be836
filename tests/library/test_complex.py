"""Complex numbers, against NumPy: eager, compiled, in derivatives and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

RNG = np.random.default_rng(5)
DTYPES = (np.complex64, np.complex128)


def numbers(*shape: int, dtype: Any = np.complex128) -> np.ndarray:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def both(function: Callable[[Any], Callable[..., Any]], *args: np.ndarray, ulp: float = 64) -> None:
    """`function(np)` against `function(lnp)`, eager and compiled; the distance in the plane counts."""
    on_each(function, [args], ulp)


def on_each(function: Callable[[Any], Callable[..., Any]], calls: list[tuple[np.ndarray, ...]], ulp: float = 64) -> None:
    """`both` for the arguments of several calls, which are compiled as one program."""
    ours = function(lnp)
    compiled = lm.jit(lambda calls: [ours(*args) for args in calls])(calls)
    for args, result in zip(calls, compiled, strict=True):
        with np.errstate(all="ignore"):
            want = np.asarray(function(np)(*args))
        for got in (ours(*args), result):
            assert (np.asarray(got).dtype, np.shape(got)) == (want.dtype, want.shape)
            if want.dtype.kind == "b":
                np.testing.assert_array_equal(got, want)
            else:
                eps = np.finfo(want.dtype).eps
                np.testing.assert_array_less(np.abs(got - want), ulp * eps * (np.abs(want) + 1) + eps)


UNARY = (
    "exp log sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh expm1 log1p exp2 log2 log10 abs "
    "angle conj real imag square negative positive sign reciprocal iscomplex isreal isfinite isnan isinf"
).split()


SPECIAL = (0.0, -0.0, 1.0, -1.5, 3.0, 25.0, 100.0, -90.0, 800.0, -800.0, 1e30, np.inf, -np.inf, np.nan)
LIMITS = (
    "exp log sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh expm1 log1p exp2 log2 log10 sign"
).split()


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_limits(name, dtype):
    """C99, Annex G: values, infinities, NaN and signs of both parts where these are specified."""
    z = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL]).astype(dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(z)
    # beside a NaN, and of two infinite parts, C99 leaves signs open
    is_open = np.isnan(z) | (np.isinf(z.real) & np.isinf(z.imag)) | np.isnan(want)
    function = getattr(lnp, name)
    for got in (function(z), lm.jit(function)(z)):
        for mine, theirs in ((np.real(got), want.real), (np.imag(got), want.imag)):
            rtol = 2e-5 if dtype == np.complex64 else 1e-13  # angles of 1e30 and products near the largest number
            np.testing.assert_allclose(np.abs(mine), np.abs(theirs), rtol=rtol, atol=np.finfo(dtype).tiny)
            same = (np.signbit(mine) == np.signbit(theirs)) | is_open | np.isnan(theirs)
            assert same.all(), (z[~same], mine[~same], theirs[~same])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str, dtype: Any) -> None:
    lengths = (0, 67) if dtype == DTYPES[0] else (1, 67)
    on_each(lambda np: getattr(np, name), [(numbers(n, dtype=dtype),) for n in lengths])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "equal", "not_equal", "less", "greater_equal"])
def test_functions_of_two(name: str) -> None:
    x, y = numbers(33), numbers(33)
    y[::4] = x[::4]
    both(lambda np: getattr(np, name), x, y)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumsum", "cumprod"])
def test_reductions(name: str) -> None:
    for shape in ((1,), (7,), (3, 5)):
        both(lambda np: lambda x: getattr(np, name)(x, axis=-1), numbers(*shape), ulp=256)


PROGRAMS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "mixed": lambda np: lambda x: 2 * x + 1j * x.real - 3.5,
    "powers": lambda np: lambda x: x**3 + x**-1 + x ** (0.5 + 1j),
    "where": lambda np: lambda x: np.where(x.real > 0, x, x.conj()),
    "joined": lambda np: lambda x: np.concatenate([x, 1j * x]) * np.stack([x, x], 1).reshape(-1),
    "moved": lambda np: lambda x: np.pad(x[::-1][1:], (1, 2)),
    "taken": lambda np: lambda x: np.take(x, np.array([0, 1, 0])),
    "vdot": lambda np: lambda x: np.vdot(x, 1j * x),
    "matmul": lambda np: lambda x: np.outer(x, x) @ x,
    "converted": lambda np: lambda x: x.real.astype(x.dtype) + x.astype(np.complex128),
    "euler": lambda np: lambda x: np.exp(1j * x.real).imag,
    "itself": lambda np: lambda x: x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    both(PROGRAMS[name], numbers(6), ulp=512)


def test_large_and_small_numbers_do_not_overflow_on_the_way() -> None:
    x = np.array([1e30 + 1e30j, 1e-30 + 1e-30j, 3e38 + 1j, 1e-20j, -1e30 - 1j], np.complex64)
    for name in ("abs", "sqrt", "log", "angle"):
        both(lambda np: getattr(np, name), x)  # noqa: B023
    both(lambda np: lambda x: x / (x * 0.5), x)
    x = np.array([88.9 + 0.785j, -200 + 1j, 0j], np.complex64)
    np.testing.assert_allclose(lm.jit(lnp.exp)(x).astype(complex), np.exp(x.astype(complex)), rtol=1e-6, atol=1e-40)


def test_branch_cuts_go_by_the_sign_of_zero() -> None:
    x = np.array([complex(-4, 0.0), complex(-4, -0.0), complex(0.0, -0.0)])
    for name in ("sqrt", "log", "angle"):
        both(lambda np: getattr(np, name), x[:2])  # noqa: B023
    assert np.signbit(lm.jit(lnp.sqrt)(x).imag).tolist() == [False, True, True]


def test_arguments_in_any_layout() -> None:
    z = np.asfortranarray(numbers(3, 5))
    square = lm.jit(lambda z: z * z)
    for given in (z, z[::-1], z[:, ::2], z.astype(">c16")):
        np.testing.assert_allclose(square(given), given * given, rtol=1e-14)
    first, second, third = lm.jit(lambda z: (z, z, z.T))(z)
    assert first is not second and np.array_equal(first, second) and np.array_equal(third, z.T)
    assert lm.jit(lambda s: s * 2)(1 + 2j) == 2 + 4j


def test_gradients_are_df_dx_minus_i_df_dy() -> None:
    z, step = numbers(4), 1e-6
    for f in (
        lambda z: abs(z).sum(),
        lambda z: lnp.vdot(z, z * z).real,
        lambda z: lnp.angle(lnp.exp(z) + z).sum(),
        lambda z: lnp.var(z),
        lambda z: (lnp.cumprod(z) * np.array([1, 2j, -1, 3])).imag.sum(),
        lambda z: lnp.sqrt(z).real.sum() / abs(lnp.prod(z)),
    ):
        gradient = lm.grad(f)(z)
        for k in range(4):
            e = np.eye(4)[k] * step
            dx, dy = (f(z + e) - f(z - e)) / (2 * step), (f(z + 1j * e) - f(z - 1j * e)) / (2 * step)
            np.testing.assert_allclose(gradient[k], dx - 1j * dy, rtol=1e-6, atol=1e-8)  # of a difference quotient


def test_holomorphic_derivatives() -> None:
    z = numbers(3)
    np.testing.assert_allclose(lm.grad(lambda z: lnp.sin(z * z), holomorphic=True)(z[0]), 2 * z[0] * np.cos(z[0] ** 2))
    wanted = np.diag(np.full(3, z.sum())) + z[:, None]
    for jacobian in (lm.jacfwd, lm.jacrev):
        np.testing.assert_allclose(jacobian(lambda z: z * z.sum(), holomorphic=True)(z), wanted)
    _, pushed = lm.jvp(lambda z: lnp.conj(z) * z, (z,), (1j * z,))
    np.testing.assert_allclose(pushed, 0, atol=1e-15)
    np.testing.assert_allclose(lm.vmap(lambda a: lnp.exp(a) * abs(a))(z), np.exp(z) * abs(z), rtol=1e-14)


def test_what_has_no_gradient_is_refused() -> None:
    z = numbers(3)
    with pytest.raises(lm.DifferentiationError, match="needs a real result"):
        lm.grad(lambda z: (z * z).sum())(z)
    with pytest.raises(lm.DifferentiationError, match="needs complex inputs"):
        lm.grad(lambda x: x * 1j, holomorphic=True)(1.0)
    with pytest.raises(lm.DifferentiationError, match="say holomorphic=True"):
        lm.jacfwd(lambda z: z * z)(z)
    with pytest.raises(lm.DTypeError, match="no meaning for complex128"):
        lnp.arctan2(z, z)


def test_loops_carry_complex_numbers() -> None:
    z = numbers(5)

    @lm.jit
    def powers(z: Any) -> Any:
        return lm.scan(lambda c, x: (c * x, c + x), 1 + 0j, z)

    last, sums = powers(z)
    products = np.concatenate([[1], np.cumprod(z)])
    np.testing.assert_allclose(last, products[-1], rtol=1e-13)
    np.testing.assert_allclose(sums, products[:-1] + z, rtol=1e-13)
    np.testing.assert_allclose(lm.fori_loop(0, 5, lambda i, c: c * 1j, z), z * 1j, rtol=1e-14)


@pytest.mark.parametrize("function", [lm.nn.softmax, lm.nn.gelu, lnp.cbrt, lm.special.erf])
def test_no_function_drops_imaginary_parts(function: Any) -> None:
    with pytest.raises(lm.DTypeError, match="complex"):
        function(np.array([1 + 2j, 3 - 1j]))


def test_astype_drops_imaginary_parts() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    for run in (lambda f: f, lm.jit):
        np.testing.assert_array_equal(run(lambda z: lnp.astype(z, np.float32))(z), np.float32([1, 3]))
        np.testing.assert_array_equal(run(lambda z: lnp.astype(z, np.int64))(z), [1, 3])


@pytest.mark.parametrize("order", ["fro", 1, -1, np.inf, -np.inf])
def test_norms(order: Any) -> None:
    z = np.array([[1 + 2j, 3], [4j, 5]])
    np.testing.assert_allclose(lm.linalg.matrix_norm(z, ord=order), np.linalg.matrix_norm(z, ord=order), rtol=1e-14)
    for of_values in ("nuc", 2, -2):
        want = np.linalg.matrix_norm(z, ord=of_values)
        np.testing.assert_allclose(lm.linalg.matrix_norm(z, ord=of_values), want, rtol=1e-13)
    if order != "fro":
        np.testing.assert_allclose(lm.linalg.vector_norm(z, ord=order), np.linalg.vector_norm(z, ord=order), rtol=1e-14)


_INVERSE = ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_inverse_functions_at_their_limits(dtype: str) -> None:
    """Infinities, NaN, zeros of both signs, branch cuts, and far from 1 where formulas cancel: as C99 and NumPy have them."""
    few = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, np.inf, -np.inf, np.nan, 1e-20, 1e10]
    z = np.array([complex(a, b) for a in few for b in few], dtype)
    close = 1e-12 if dtype == "complex128" else 2e-6
    for name in _INVERSE:
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(z)
        for found in (getattr(lnp, name)(z), lm.jit(getattr(lnp, name))(z)):
            for part in ("real", "imag"):
                x, y = getattr(np.asarray(found), part), getattr(wanted, part)
                # C99 leaves the sign of an infinity or zero open where the other part is NaN
                open_ = np.isnan(wanted) if part == "real" else np.isnan(z)
                x, y = (np.where(open_, np.abs(p), p) for p in (x, y))
                np.testing.assert_allclose(x, y, rtol=close, atol=1e-37, err_msg=f"{name} {part}")
                number = ~np.isnan(y) & ~open_
                np.testing.assert_array_equal(np.signbit(x[number]), np.signbit(y[number]), f"sign of {name} {part}")


def test_variance_of_one_element() -> None:
    for x in (np.array(2.0), np.array(np.nan), np.array(np.inf), np.array([1.0, np.nan])):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(lnp.var(x, axis=()), np.var(x, axis=()))
    assert np.isnan(lnp.var(np.array(2.0), ddof=1)) and np.isnan(lnp.std(np.array(np.nan)))
    np.testing.assert_array_equal(np.signbit(np.asarray(lnp.sign(np.array([complex(-0.0, -0.0)]))).real), [False])


@pytest.mark.thorough
def test_order_is_by_real_then_by_imaginary_parts() -> None:
    rng = np.random.default_rng(7)
    z = np.round(rng.normal(size=(5, 6)) * 2) + 1j * np.round(rng.normal(size=(5, 6)) * 2)
    broken = z.copy()
    broken[1, 2], broken[3, 4], broken[1, 4], broken[4] = complex(np.nan, 1), complex(0, np.nan), complex(np.nan, 0), np.nan
    for x in (z.astype(np.complex64), broken):
        for axis in (0, 1, None):
            for name in ("sort", "argsort", "max", "min", "argmax", "argmin"):
                want = getattr(np, name)(x, axis=axis, **({"stable": True} if "sort" in name else {}))
                got = np.asarray(getattr(lnp, name)(x, axis=axis))
                assert got.dtype == want.dtype, name
                assert np.array_equal(np.isnan(got), np.isnan(want)), (name, axis)
                assert np.array_equal(got[~np.isnan(got)], want[~np.isnan(want)]), (name, axis)
    assert lnp.max(z, axis=1, keepdims=True).shape == (5, 1)
    assert np.array_equal(lnp.sort_complex(np.array([3.0, 1.0])), np.sort_complex(np.array([3.0, 1.0])))
    assert np.array_equal(lm.jit(lm.vmap(lnp.argmax))(z), np.argmax(z, 1))
    assert np.array_equal(lm.grad(lambda x: lnp.max(x * (1 + 1j)).real)(np.array([1.0, 3.0, 2.0])), [0, 1, 0])


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "greater", "greater_equal", "less", "less_equal"])
def test_of_two_numbers_one_comes_first(name: str) -> None:
    """As in NumPy, bit for bit: a comparison with a NaN in either part is false."""
    z = np.array([complex(a, b) for a in (1, 2, np.nan, np.inf, -0.0, 0.0) for b in (0, 1, np.nan, -np.inf)])
    with np.errstate(all="ignore"):
        want = getattr(np, name)(z[:, None], z)
    for got in (getattr(lnp, name)(z[:, None], z), lm.jit(getattr(lnp, name))(z[:, None], z)):
        assert got.dtype == want.dtype
        assert np.asarray(got).tobytes() == want.tobytes()
    assert (
        getattr(lnp, name)(z.astype(np.complex64), np.float32(1)).dtype
        == getattr(np, name)(np.complex64(1), np.float32(1)).dtype
    )


def test_extremes_from_an_initial_value() -> None:
    z = np.array([[1 + 2j, 3 - 1j], [3 + 1j, np.nan]])
    for name in ("max", "min"):
        want = getattr(np, name)(z, axis=1, initial=2 + 5j)
        np.testing.assert_array_equal(getattr(lnp, name)(z, axis=1, initial=2 + 5j), want)
        want = getattr(np, name)(z, initial=2j, where=np.isfinite(z))
        np.testing.assert_array_equal(getattr(lnp, name)(z, initial=2j, where=np.isfinite(z)), want)
        assert getattr(lnp, name)(z[:0], initial=2j) == 2j


def test_slopes_of_the_greater_number() -> None:
    f = lm.grad(lambda z, w: (lnp.maximum(z, w) * (2 - 1j)).real.sum(), (0, 1))
    for got, want in zip(f(np.array([1 + 1j, 2j]), np.array([1 + 2j, -1j])), ([0, 2 - 1j], [2 - 1j, 0]), strict=True):
        np.testing.assert_array_equal(got, want)
