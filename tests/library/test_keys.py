"""Arrays of keys: functions that move them, against jax, word by word; maps, carried values, and refusals."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.library.random.keys import MOVES, KeyArray

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import by_jax

NAMES = "k = random.key(7)\nks = random.split(k, 3)\ng = random.split(k, (2, 3))\n"
MOVED = (
    *("k", "ks", "g", "ks[1]", "g[...,0]", "g[1,::-1]", "g[:,None]", "ks[np.array([2,0])]", "ks[np.array([True,False,True])]"),
    *("g[0,...]", "g[-1,-1]", "g[np.array([0,1]),np.array([1,2])]", "k[None]", "ks[:0]", "g.T", "g.ravel()", "g.flatten()"),
    *("g.reshape(3,2)", "g.reshape((-1,))", "g.swapaxes(0,1)", "g.transpose(1,0)", "ks.take(np.array([1,1]))", "ks.copy()"),
    *("jnp.stack([k, ks[0]])", "jnp.stack([ks, ks], -1)", "jnp.concatenate([ks, g[0]])", "jnp.concatenate([g, g], 1)"),
    *("jnp.reshape(g, -1)", "jnp.where(np.array([True,False,True]), ks, ks[::-1])", "jnp.where(True, k, ks[1])"),
    *("jnp.take(ks, np.array([0,0]), axis=0)", "jnp.take_along_axis(ks, np.array([1,0]), axis=0)", "jnp.roll(g, 1, -1)"),
    *("jnp.broadcast_to(k, (2,2))", "jnp.moveaxis(g, 0, -1)", "jnp.expand_dims(ks, -1)", "jnp.squeeze(k[None])"),
    *(
        "jnp.tile(ks, 2)",
        "jnp.repeat(ks, 2)",
        "jnp.flip(g, -1)",
        "jnp.swapaxes(g, -1, -2)",
        "jnp.array([k, k])",
        "jnp.asarray(ks)",
    ),
    *("jnp.split(ks, 3)[1]", "jnp.hstack([ks, ks])", "jnp.vstack([ks, ks])", "jnp.broadcast_arrays(k, ks)[0]"),
    *("ks.at[0].set(k)", "ks.at[np.array([0,2])].get()", "lax.select(True, k, ks[0])", "lax.dynamic_index_in_dim(ks, 1)"),
    *("jax.vmap(lambda k: random.split(k, 2), out_axes=-1)(ks)", "jax.vmap(lambda k: k[0], in_axes=-1)(g)"),
    *("jax.vmap(random.key)(np.arange(3))", "random.wrap_key_data(random.key_data(g))", "random.clone(ks)"),
    *(
        "lax.scan(lambda c, k: (random.fold_in(c, 1), k), k, ks)[0]",
        "lax.scan(lambda c, k: (c, random.fold_in(k, c)), 0, ks)[1]",
    ),
    *(
        "lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), k)",
        "lax.cond(True, lambda k: random.split(k)[0], lambda k: k, k)",
    ),
    "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, random.split(c[1])[0]), (0, k))[1]",
)
READ = (
    *("ks == ks[1]", "ks != ks[1]", "jnp.equal(g, k)", "random.uniform(k, (2,))", "random.bits(key=k, shape=(2,))"),
    *(
        "jax.vmap(lambda k: random.bits(k, (2,)))(ks)",
        "jax.vmap(jax.vmap(random.bits))(g)",
        "np.asarray([g.ndim, g.size, len(g)])",
    ),
    *("jax.vmap(lambda k: random.bits(k[0]), in_axes=-1)(g)", "jax.vmap(random.bits)(random.split(k, 0))"),
    "jax.grad(lambda x, k: (x * random.uniform(k, (3,))).sum())(2.0, k)",
)


@pytest.fixture(scope="module")
def of_jax() -> dict[str, np.ndarray]:
    program = "from jax import random\njax.config.update('jax_enable_x64', True)\n" + NAMES
    texts = [*(f"random.key_data({text})" for text in MOVED), *READ]
    return dict(zip((*MOVED, *READ), by_jax(f"{program}results = [{', '.join(texts)}]", {}), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("run", [lambda f: f, lm.jit], ids=["eager", "jit"])
def test_keys_are_as_those_of_jax(run: Callable[..., Any], of_jax: dict[str, np.ndarray]) -> None:
    def function(k: Any, ks: Any, g: Any) -> Any:
        names = {"random": lm.random, "np": np, "jnp": lnp, "lax": lm.lax, "jax": lm, "k": k, "ks": ks, "g": g}
        return {text: eval(text, names) for text in of_jax}

    k = lm.random.key(7)
    for text, got in run(function)(k, lm.random.split(k, 3), lm.random.split(k, (2, 3))).items():
        assert isinstance(got, KeyArray) == (text in MOVED), text
        want, got = of_jax[text], np.asarray(lm.random.key_data(got))
        assert (got.dtype, got.shape) == (want.dtype, want.shape), text
        np.testing.assert_array_equal(got, want, text)


def test_all_names_that_move_keys_are_functions() -> None:
    assert {name for name in MOVES if not hasattr(lnp, name)} <= {"dynamic_index_in_dim"}


def test_kinds() -> None:
    key = lm.random.key(0)
    kinds = lm.dtypes
    assert lnp.issubdtype(key.dtype, kinds.prng_key) and lnp.issubdtype(key.dtype, kinds.extended)
    assert not lnp.issubdtype(key.dtype, np.integer) and not lnp.issubdtype(np.uint32, kinds.prng_key)
    assert str(key.dtype) == "key<fry>" and lm.random.key_impl(key) == "threefry2x32"
    assert lm.eval_shape(lambda k: lm.random.split(k, 4), key).shape == (4,)
    assert lm.tree.map(lambda x: x, {"a": key})["a"] == key


def test_what_is_refused() -> None:
    key = lm.random.key(0)
    keys = lm.random.split(key, 3)
    with pytest.raises(lm.DTypeError, match=r"sin\(\) is not defined for keys, .* lm.random.key_data\(keys\)"):
        lnp.sin(key)
    with pytest.raises(lm.DTypeError, match="sum"):
        lm.jit(lnp.sum)(keys)
    with pytest.raises(lm.DTypeError, match=r"stack\(\) of keys and numbers"):
        lnp.stack([key, 1])
    with pytest.raises(lm.DTypeError, match=r"where\(\) of keys and numbers"):
        lnp.where(True, key, 0)
    with pytest.raises(lm.DTypeError, match="keys are set to other keys, got int"):
        keys.at[0].set(1)
    with pytest.raises(lm.DTypeError, match=r"words of keys are uint32\[..., 2\], got uint32 of shape \[2, 3\]"):
        lm.random.wrap_key_data(np.zeros((2, 3), np.uint32))
    with pytest.raises(ValueError, match="impl='rbg'"):
        lm.random.key(0, impl="rbg")
    with pytest.raises(TypeError, match="keys are no numbers"):
        np.asarray(key)
    for index in ((0, 0), (0, slice(None)), (..., 0, 0)):
        with pytest.raises(IndexError, match=r"too many indices for keys of shape \[3\]"):
            keys[index]
    with pytest.raises(TypeError, match="len"):
        len(key)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16", "int8", "int32", "uint8", "bool_", "complex64"])
def test_scalar_types_convert_traced_arrays(name: str) -> None:
    kind = getattr(lnp, name)
    x = np.array([0, 0.5, 3.75])
    got = lm.jit(lambda x: kind(x))(x)
    assert got.dtype == np.dtype(kind) == kind
    np.testing.assert_array_equal(got, x.astype(np.dtype(kind)))
    assert type(kind(1)) is kind.numpy and isinstance(kind(1), kind) and issubclass(kind.numpy, kind)


def test_scalar_types_are_numpy_s() -> None:
    import pickle

    assert lnp.float32 == np.float32 == lnp.float32 and {np.float32: 1}[lnp.float32] and lnp.float32 != np.float64
    assert pickle.loads(pickle.dumps(lnp.int8)) is lnp.int8 and isinstance(lnp.float32, type)
    assert lnp.int32([1, 2]).dtype == np.int32 and lnp.float32() == 0 and lnp.float64("1.5") == 1.5
    assert lm.grad(lambda x: lnp.float32(x) ** 2)(3.0) == 6
