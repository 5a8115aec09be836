"""Conversions between all element types: rounded once, and the same bits eager, compiled and by the ops' meaning."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina.dialects.graph.elementwise import convert_array

FLOATS8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"]
STORED_FLOATS = ["float16", "bfloat16", *FLOATS8]
INTEGERS = [f"{kind}{width}" for kind in ("int", "uint") for width in (8, 16, 32, 64)]
SMALL = ["bool", "int8", "uint8", "int16", "uint16", "int4", "uint4", *STORED_FLOATS]
WIDE = ["int32", "uint32", "int64", "uint64", "float32", "float64"]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def every(name: str) -> np.ndarray:
    """All values of a small type, every bit pattern once."""
    dtype = dtype_of(name)
    if name in ("bool", "int4", "uint4"):
        low, high = {"bool": (0, 2), "int4": (-8, 8), "uint4": (0, 16)}[name]
        return np.arange(low, high).astype(dtype)
    return np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)


def grid(name: str) -> np.ndarray:
    """The finite numbers that are not negative of a float type, by their bits, and the one that would come next."""
    dtype = dtype_of(name)
    with np.errstate(invalid="ignore"):
        values = every(name)[: 1 << 8 * dtype.itemsize - 1].astype(np.float64)
    values = values[np.isfinite(values)]
    return np.append(values, 2 * values[-1] - values[-2])


def hard(name: str) -> np.ndarray:
    """Values of a wide type: at, just above and just below each tie of the small types, random ones, and the ends."""
    dtype, rng = dtype_of(name), np.random.default_rng(8)
    ties = np.concatenate([np.concatenate([g, (g[1:] + g[:-1]) / 2]) for g in map(grid, STORED_FLOATS)])
    if dtype.kind == "f":
        beside = np.concatenate(
            [ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), ties * (1 + 2.0**-40), ties * (1 - 2.0**-40)]
        )
        ends = np.array([0.0, 5e-324, 1e-310, 1e-45, 1.4e-45, 1e-38, 3.4e38, 3.5e38, 1.7e308, np.inf, np.nan])
        bits = rng.integers(0, 1 << 8 * dtype.itemsize, 3001, f"u{dtype.itemsize}").view(dtype)
        with np.errstate(all="ignore"):
            found = np.concatenate([beside, ends, rng.uniform(0, 70000, 500)]).astype(dtype)
        return np.concatenate([found, -found, bits])
    limits = np.iinfo(dtype)
    inside = [int(t) for t in ties[ties < 2.0**63] if t >= 1]
    beside = (
        {t + d for t in inside for d in (-1, 0, 1)} | {limits.max - d for d in range(3)} | {limits.min + d for d in range(3)}
    )
    beside |= {((257 + 2 * k) << 54) + d for k in range(0, 120, 7) for d in (-1025, -1024, -1, 0, 1, 1024, 1025)}
    beside |= {-b for b in beside} | {int(v) for v in rng.integers(limits.min, limits.max, 1001, dtype)}
    return np.array(sorted(v for v in beside if limits.min <= v <= limits.max), dtype)


def values_of(name: str) -> np.ndarray:
    return every(name) if name in SMALL else hard(name)


def nearest(x: np.ndarray, name: str) -> np.ndarray:
    """Numbers rounded once, to nearest even, to a float type, by looking for them among all of its numbers."""
    with np.errstate(invalid="ignore"):
        numbers, wide = grid(name), x.astype(np.longdouble)
    size = np.abs(wide)
    above = np.searchsorted(numbers, np.minimum(size, numbers[-1])).clip(1, len(numbers) - 1)
    low, high = numbers[above - 1].astype(np.longdouble), numbers[above].astype(np.longdouble)
    middle = (low + high) / 2
    up = (size > middle) | ((size == middle) & (above % 2 == 0))
    index = np.where(size == 0, 0, np.where(up, above, above - 1))
    over = np.nan if name.endswith(("fn", "fnuz")) else np.inf
    found = np.append(numbers[:-1], over)[index]
    found = np.where(np.isinf(wide), over, np.where(np.isnan(wide), np.nan, found))
    found = np.copysign(found, np.where(np.isnan(wide), 1, np.signbit(wide) * -2.0 + 1))
    return np.where(found == 0, 0.0, found) if name.endswith("fnuz") else found


@np.errstate(invalid="ignore")
def same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where values are equal, zeros of one sign, or both NaN."""
    x, y = (np.asarray(v).astype(np.float64) if np.asarray(v).dtype.kind in "fV" else np.asarray(v) for v in (x, y))
    if x.dtype.kind != "f":
        return x == y
    return (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))


@np.errstate(invalid="ignore")
@pytest.mark.thorough(every=3)
@pytest.mark.parametrize("source", [*SMALL, *WIDE])
def test_every_pair(source: str):
    x = values_of(source)
    targets = [*SMALL, *WIDE]
    nibbles = [name for name in targets if name in ("int4", "uint4")]
    compiled = lm.jit(lambda x: {name: x.astype(dtype_of(name)) for name in targets})(x)
    for name in targets:
        y, dtype = np.asarray(compiled[name]), dtype_of(name)
        assert y.dtype == dtype
        if name in STORED_FLOATS and source not in ("int4", "uint4"):
            expected = nearest(x.astype(np.float64) if x.dtype.kind in "fV" else x, name)
            wrong = ~same(y, expected)
            assert not wrong.any(), (source, name, x[wrong][:5], y[wrong][:5], expected[wrong][:5])
        elif name in nibbles or x.dtype.kind not in "fV" or dtype.kind not in "iu":
            with np.errstate(all="ignore"):
                wide = x.astype(np.float32) if x.dtype.isbuiltin != 1 and source in STORED_FLOATS else x
                if name not in nibbles:
                    assert same(y, wide.astype(dtype)).all(), (source, name)
        eager = np.asarray(lnp.astype(x, dtype))
        assert eager.dtype == dtype and same(y, eager).all(), (source, name)
        if source in WIDE or name in WIDE:
            if name not in nibbles and (source in STORED_FLOATS) <= (name in ("float32", "float64")):
                assert same(y, convert_array(x, dtype)).all(), (source, name)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_each_way_to_make_an_array_rounds_once(name: str):
    dtype = dtype_of(name)
    one, step = 1.0, float(ml_dtypes.finfo(dtype).eps)
    above = one + step / 2 + step * 2.0**-35  # beyond a tie by less than float32 tells
    x, z = np.full(5, above), np.ones(5, dtype)
    ways = {
        "array": lambda: lnp.array([above], dtype=dtype),
        "asarray": lambda: lnp.asarray(x, dtype),
        "astype": lambda: lnp.asarray(x).astype(dtype),
        "type": lambda: getattr(lnp, name)(above),
        "full": lambda: lnp.full(3, above, dtype),
        "full_like": lambda: lnp.full_like(z, above),
        "set": lambda: lnp.asarray(z).at[:].set(x),
        "where": lambda: lnp.where(z > 0, above, z),
        "clip": lambda: lnp.clip(z, above, 3.0),
        "maximum": lambda: lnp.maximum(z, above),
        "pad": lambda: lnp.pad(z[:0], 1, constant_values=above),
        "jit": lambda: lm.jit(lambda x: x.astype(dtype))(x),
        "constant": lambda: lm.jit(lambda z: z * above)(z),
        "argument": lambda: lm.jit(lambda z, n: z * n)(z, above),
        "vmap": lambda: lm.vmap(lambda z: lnp.multiply(z, above))(z),
        "update": lambda: lnp.dynamic_update_slice(z[:2], x[:2], [0]),
    }
    for way, make in ways.items():
        made = np.asarray(make())
        assert made.dtype == dtype and (made.astype(float) == one + step).all(), (name, way, made)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_number_beside_a_half_is_rounded_to_it_first(dtype: str):
    rng = np.random.default_rng(3)
    h = rng.uniform(-4, 4, 257).astype(dtype_of(dtype))
    wide = h.astype(np.float32)
    operations = {
        np.add: (2049, 0.1, -3.3), np.multiply: (0.1, 1 / 3, 257, 12345), np.subtract: (0.3, 4097),
        np.divide: (0.1, 3.3), np.maximum: (0.1, -2.7), np.hypot: (0.1,), np.arctan2: (0.3,),
    }  # fmt: skip
    cases = [(u, number, flipped) for u, numbers in operations.items() for number in numbers for flipped in (False, True)]

    def one(ufunc: Any, number: Any, flipped: bool) -> Any:
        ours = getattr(lnp, ufunc.__name__)
        return (lambda h: ours(number, h)) if flipped else (lambda h: ours(h, number))

    functions = [one(*case) for case in cases]

    def every_case(h: Any) -> list[Any]:
        return [f(h) for f in functions]

    ways = {
        "eager": every_case(h),
        "jit": lm.jit(every_case)(h),
        "vmap": lm.vmap(every_case)(h),
        "compile": [lm.compile(f)(h) for f in functions],
    }
    for way, results in ways.items():
        for (ufunc, number, flipped), got in zip(cases, map(np.asarray, results), strict=True):
            rounded = np.float32(np.asarray(float(number)).astype(dtype_of(dtype)))
            expected = (ufunc(rounded, wide) if flipped else ufunc(wide, rounded)).astype(h.dtype)
            exact = ufunc not in (np.hypot, np.arctan2)
            assert got.dtype == h.dtype, (ufunc, way)
            wrong = got != expected if exact else ~np.isclose(got.astype(float), expected.astype(float), rtol=2**-7)
            assert not wrong.any(), (ufunc.__name__, number, way, h[wrong][:3], got[wrong][:3], expected[wrong][:3])
    if dtype == "float16":

        def by_operators(h: Any) -> tuple[Any, ...]:
            return h * 0.1, 0.1 + h, h - 2049, h / 3.3, h < 0.3, h // 0.3

        for call in (lm.jit(by_operators), lm.vmap(by_operators), lm.compile(by_operators)):
            for got, expected in zip(call(h), by_operators(h), strict=True):
                assert (np.asarray(got) == expected).all()
    half = np.full(3, 0.5, dtype_of(dtype))
    assert (np.asarray(lm.jit(lambda h: h + 2049)(half)) == 2048).all()
    assert (np.asarray(lm.jit(lambda h: h < 0.5000001)(half)) == False).all()  # noqa: E712


def test_elements_of_another_dtype_become_those_of_the_array():
    z, x, m = np.ones(5, np.float16), np.full(5, 1.1), np.arange(5) > 2
    a: Any = lnp.asarray(z)
    changes = {
        "set": lambda: a.at[:].set(x), "add": lambda: a.at[1:].add(x[1:]), "subtract": lambda: a.at[0].subtract(x[0]),
        "multiply": lambda: a.at[:].multiply(x), "divide": lambda: a.at[:].divide(x), "min": lambda: a.at[:].min(x),
        "fill": lambda: a.at[9].get(mode="fill", fill_value=x[0]), "pad": lambda: lnp.pad(z, 1, constant_values=x[0]),
        "slice": lambda: lnp.dynamic_update_slice(z, x, [0]), "insert": lambda: lnp.insert(z, 1, x[0]),
        "put": lambda: lnp.put(z, [0], x[:1], inplace=False), "place": lambda: lnp.place(z, m, x, inplace=False),
        "put_along": lambda: lnp.put_along_axis(z, np.array([0]), x[:1], 0, inplace=False),
        "diagonal": lambda: lnp.fill_diagonal(np.ones((3, 3), np.float16), x[0], inplace=False),
    }  # fmt: skip
    for name, change in changes.items():
        assert np.asarray(change()).dtype == np.float16, name
    assert np.asarray(lm.jit(lambda z: z.at[:].set(x))(z)).dtype == np.float16


def test_functions_of_ours_compute_with_numbers_of_float32():
    h = np.linspace(-180, 180, 101).astype(np.float16)
    for name in ("deg2rad", "rad2deg", "degrees", "radians", "sinc", "cbrt"):
        expected = getattr(np, name)(h.astype(np.float32)).astype(np.float16)
        got = np.asarray(lm.jit(getattr(lnp, name))(h))
        assert np.abs(got.view(np.int16).astype(int) - expected.view(np.int16)).max() <= 1, name


def test_a_varying_number_beside_a_half():
    g = lm.compile(lambda h, n: h * n)
    h = np.linspace(0, 1, 33).astype(np.float16)
    for n in (0.1, 0.2, 0.3, 0.7, 1 / 3, 5, 2049, 7):
        assert (np.asarray(g(h, n)) == h * n).all(), n


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2"])
def test_gradients_pass_conversions(name: str):
    slope = lm.grad(lambda x: lnp.sum(x.astype(dtype_of(name)).astype("float64") * 3))(np.ones(4))
    assert slope.dtype == np.float64 and (slope == 3).all()
