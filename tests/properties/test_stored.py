"""Floats of 8 bits and integers of 4: converted bit for bit as ml_dtypes does, moved, computed in f32 and i8, and rounded."""

from __future__ import annotations

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest
from lamina.codegen.targets.host import host
from lamina.codegen.targets.x86_64_v2 import TARGET as OLDEST
from lamina.dialects.element_types import TABLE, computed_in, numpy_dtype

from tests.properties.test_half import run, same_bits

FLOATS = [row.dtype for row in TABLE if row.is_narrow_float]
NIBBLES = [np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)]
TARGETS = [host(), *([OLDEST] if "x86" in host().triple else [])]


def bits(dtype):
    """All values of a dtype."""
    every = np.arange(256, dtype=np.uint8)
    return every.view(dtype) if dtype in FLOATS else np.arange(-8, 8).astype(dtype)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_are_converted_as_by_ml_dtypes(dtype, target):
    x = bits(dtype)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32)
        same_bits(run(lambda x: x.astype(np.float32), target, x), wide)
        exact = wide[np.isfinite(wide)].view(np.uint32).astype(np.int64)
        steps = np.array([0, *(s * (1 << k) + e for k in (18, 19, 20, 21) for s in (1, -1) for e in (0, 1, -1))])
        near = (exact[:, None] + steps).astype(np.uint32).view(np.float32).ravel()
        random = np.random.default_rng(0).integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
        special = np.float32(
            [np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1e30, -1e30, 1e-40, 448, 464, 465, 57344, 61440, 61441]
        )
        y = np.concatenate([near, random, special])
        same_bits(run(lambda x: x.astype(dtype), target, y), y.astype(dtype))


@pytest.mark.parametrize("dtype", NIBBLES, ids=str)
def test_integers_keep_their_low_bits(dtype):
    x = np.arange(256, dtype=np.uint8).view(dtype)
    wide = np.arange(-128, 128).astype(np.int8)
    for target in TARGETS:
        same_bits(run(lambda x: x.astype(np.int32), target, x), x.astype(np.int32))
        same_bits(run(lambda x: x.astype(dtype), target, wide).view(np.uint8), wide.astype(dtype).view(np.uint8))
    same_bits(lm.jit(lambda x: (x + x).astype(np.int32))(x), ((x.astype(int) * 2).astype(dtype)).astype(np.int32))


@pytest.mark.parametrize("dtype", [*FLOATS, *NIBBLES], ids=str)
def test_arrays_are_moved_and_computed_with(dtype):
    computed = numpy_dtype(computed_in(next(row.type for row in TABLE if row.dtype == dtype)))
    x = np.arange(6).astype(computed).reshape(2, 3)
    given = x.astype(dtype)
    moves = {
        "T": lambda x: x.T, "slice": lambda x: x[:, 1:], "take": lambda x: lnp.take(x, np.array([1, 0]), 0), "flip": lnp.flip,
        "stack": lambda x: lnp.stack([x, x]), "where": lambda x: lnp.where(x > 2, x, 0), "sort": lambda x: lnp.sort(x, axis=0),
        "add": lambda x: x + x, "max": lambda x: lnp.max(x, 0), "pad": lambda x: lnp.pad(x, 1), "same": lambda x: x,
    }  # fmt: skip
    compiled = lm.jit(lambda x: [f(x) for f in moves.values()])(given)
    for (name, f), found in zip(moves.items(), compiled, strict=True):
        wanted = np.asarray(f(lnp.asarray(x))).astype(computed).astype(dtype).astype(computed)
        for y in (found, f(lnp.asarray(given)) if name not in ("add", "where", "T", "slice", "same") else found):
            assert y.dtype == dtype, name
            np.testing.assert_array_equal(y.astype(computed), wanted, err_msg=name)
    assert lm.jit(lambda x: x.astype(computed) @ x.astype(computed).T)(given).dtype == computed
    empty, one = np.zeros((0, 3), dtype), np.ones((), dtype)
    assert lm.jit(lambda x: x.T)(empty).shape == (3, 0)
    assert lm.jit(lambda x: x)(one).dtype == dtype


def test_scales_of_weights_in_8_bits_have_derivatives():
    rng = np.random.default_rng(1)
    w = rng.normal(size=(16, 8)).astype(ml_dtypes.float8_e4m3fn)
    x, scale = rng.normal(size=(4, 16)).astype(np.float32), np.float32(0.5)

    def loss(scale, x):
        return lnp.sum((x @ (w.astype(np.float32) * scale)) ** 2)

    found = lm.grad(loss)(scale, x)
    y = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(found, 2 * 0.5 * (y * y).sum(), rtol=1e-5)
    rounded = lm.grad(lambda x: lnp.sum(x.astype(ml_dtypes.float8_e5m2).astype(np.float32) * 3))(x)
    assert (rounded == 3).all()  # cotangents are rounded to the type, and 3 is one of it
    found = lm.vmap(lambda row: lnp.sum(row.astype(np.float32)))(w)
    np.testing.assert_allclose(found, w.astype(np.float32).sum(1), rtol=1e-5)


def test_what_has_no_common_dtype_is_refused():
    small = np.ones(3, ml_dtypes.float8_e4m3fn)
    with pytest.raises(lm.DTypeError, match=r"float8_e4m3fn and float8_e5m2 have no common dtype.*convert with .astype"):
        lnp.add(small, np.ones(3, ml_dtypes.float8_e5m2))
    with lm.config(promotion="jax"), pytest.raises(lm.DTypeError, match="float8_e4m3fn and float32 have no common dtype"):
        lnp.add(small, np.ones(3, np.float32))
    with pytest.raises(lm.DTypeError, match="view takes a computed dtype"):
        lm.jit(lambda x: x.view(np.int8))(small)


def test_constants_of_what_is_only_stored_are_valid_text() -> None:
    from lamina.dialects.context import make_context
    from lamina.dialects.dominance import verify_module
    from lamina.dialects.parsing import parse_module

    programs = (lambda x: x + lnp.full((3,), 2, x.dtype), lambda x: lnp.zeros(3, x.dtype), lambda x: x + np.ones(3, x.dtype))
    for dtype in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        x = np.ones(3, dtype)
        for program in programs:
            verify_module(parse_module(make_context(), str(lm.make_graph(program)(x))))
            np.testing.assert_array_equal(np.asarray(lm.jit(program)(x), float), np.asarray(program(x), float))
