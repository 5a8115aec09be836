"""A child process with jax: the texts of small programs, their arguments, and jax's results, as one `.npz`.

python jax_programs.py OUTPUT.npz [NAME ...]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4)).astype(np.float32)
Y = RNG.normal(size=(4, 5)).astype(np.float32)
INTS = RNG.integers(-9, 9, (3, 4))


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The programs by name, with their arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_enable_x64", True)

    def mlp(x: Any, w: Any, b: Any, v: Any) -> Any:
        return jax.nn.softmax(jax.nn.relu(x @ w + b) @ v)

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

    def hessenberg(x: Any) -> Any:
        packed, taus = lax.linalg.hessenberg(x)
        h, q = jnp.triu(packed, -1), lax.linalg.householder_product(packed[1:, :-1], taus)
        q = jnp.pad(q, ((1, 0), (1, 0))).at[0, 0].set(1)
        return q @ h @ q.conj().T, jnp.abs(h)

    def tridiagonal(x: Any, lower: bool) -> Any:
        _, d, e, taus = lax.linalg.tridiagonal(x + x.conj().T, lower=lower)
        return d, jnp.abs(e), jnp.abs(taus)

    square = RNG.normal(size=(5, 5)).astype(np.float32)
    heads = RNG.normal(size=(1, 6, 2, 4)).astype(np.float32)
    image = RNG.normal(size=(1, 2, 6, 6)).astype(np.float32)
    filters = RNG.normal(size=(4, 1, 3, 3)).astype(np.float32)
    positive = X @ X.T + np.eye(3, dtype=np.float32)
    weights = (X, Y, Y[0], np.ascontiguousarray(Y[:2].T))
    return {
        "mlp": (mlp, weights),
        "mlp_slopes": (jax.grad(lambda *a: mlp(*a)[:, 0].sum(), (1, 2)), weights),
        "attention": (attention, (heads, heads + 1, heads - 1)),
        "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (X,)),
        "two_reductions": (
            lambda x: lax.reduce((x, x), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
            (X,),
        ),
        "pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "SAME"), (image,)),
        "pool_slope": (
            jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "SAME").sum()),
            (image,),
        ),
        "conv": (
            lambda x, w: lax.conv_general_dilated(x, w, (2, 1), [(1, 0), (0, 2)], (1, 2), (2, 1), feature_group_count=2),
            (image, filters),
        ),
        "while": (lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x)), (X,)),
        "scan": (lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x), (X,)),
        "cond": (lambda x: lax.cond(x[0, 0] > 0, lambda v: v + 1, lambda v: v - 1, x), (X,)),
        "switch": (lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, jnp.exp], x), (np.int32(1), X)),
        "sort": (jnp.sort, (np.array([[3, np.nan, -0.0, 0.0, -np.inf]], np.float32),)),
        "sort_pairs": (lambda k, v: lax.sort((k, v), num_keys=1), (INTS, X)),
        "sort_keys": (lambda a, b, v: lax.sort((a, b, v), dimension=0, num_keys=2), (INTS, INTS[::-1].copy(), X)),
        "sort_complex": (lambda x: jnp.sort(x[0, :3] + 1j * x[1, :3]), (np.float32([[1, 0, 1], [2, 1, -2]]),)),
        "take": (lambda x: x[jnp.array([0, 2, 5])], (X,)),
        "scatter_add": (lambda x: x.at[jnp.array([0, 1, 0]), 1:3].add(1.5), (X,)),
        "scatter_apply": (lambda x: x.at[jnp.array([0, 1, 0])].apply(lambda v: v * 2 + 1), (X,)),
        "top_k": (lambda x: lax.top_k(x, 2), (X,)),
        "cumsum": (lambda x: (jnp.cumsum(x, 0), lax.cumprod(x, 1, reverse=True)), (X,)),
        "fft": (lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.fft.fft2(x)), (X,)),
        "potrf": (lambda x: lax.linalg.cholesky(x, symmetrize_input=False), (positive,)),
        "hessenberg": (lambda x: (*hessenberg(x), *hessenberg(x + 1j * x.T)), (square,)),
        "tridiagonal": (lambda x: (*tridiagonal(x, True), *tridiagonal(x + 1j * x.T, False)), (square,)),
        "cholesky": (jnp.linalg.cholesky, (positive,)),
        "integers": (lambda x: (x // 3, x % 3, x << 2, x >> 1, ~x, lax.population_count(x), lax.clz(x)), (INTS,)),
        "divide_by_zero": (lambda x: (lax.div(x, x * 0), lax.rem(x, x * 0)), (INTS,)),
        "complex": (lambda x: jnp.exp(x.astype(jnp.complex64) * 2j) / (1 + 1j) + jnp.conj(1j * x), (X,)),
        "bytes": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), (X,)),
        "words": (lambda x: lax.bitcast_convert_type(x.reshape(3, 2, 2), jnp.float64), (X,)),
        "halves": (lambda x: jnp.tanh(x.astype(jnp.bfloat16) * 3) + x.astype(jnp.float16).sum().astype(jnp.bfloat16), (X,)),
        "special": (lambda x: (lax.erf_inv(x / 4), lax.digamma(x * x + 1), lax.lgamma(x * x + 1), jnp.nextafter(x, 1)), (X,)),
        "rounding": (lambda x: (lax.round(x * 2) / 2, lax.reduce_precision(x, 5, 10), lax.cbrt(x), lax.sign(x)), (X,)),
        "pad": (lambda x: lax.pad(x, np.float32(7), ((1, -1, 0), (0, 2, 1)))[::2, 1:5], (X,)),
        "dynamic": (
            lambda x, k: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (k, k - 4), (2, 2)), (k * 0, k)),
            (X, np.int32(5)),
        ),
        "least_complex": (lambda x: jnp.min(x + 1j * x, 0), (X,)),
        "philox": (
            lambda k: (lax.rng_bit_generator(k, (7,), np.uint32)[1], lax.rng_bit_generator(k, (3,), np.uint64)),
            (np.array([1, 2, 3, 4], np.uint32),),
        ),
        "threefry": (
            lambda k: [
                lax.rng_bit_generator(k, shape, np.uint32, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
                for shape in ((7,), (2, 3), (3, 4), (2, 4))
            ],
            (np.array([1, 2, 3, 4], np.uint32),),
        ),
        "bits": (lambda x: jax.random.normal(jax.random.key(3), (5,)) + x[0, 0], (X,)),
    }


def main(output: str, names: list[str]) -> None:
    """Write the file."""
    import jax

    found, arrays = programs(), dict[str, np.ndarray]()
    texts = {}
    for name in names or found:
        function, arguments = found[name]
        lowered = jax.jit(function).lower(*arguments)
        module = lowered.compiler_ir()
        texts[name] = [lowered.as_text(), module.operation.get_asm(print_generic_op_form=True)]
        for k, argument in enumerate(arguments):
            arrays[f"{name}:argument:{k}"] = np.asarray(argument)
        for k, leaf in enumerate(jax.tree.leaves(jax.jit(function)(*arguments))):
            array = np.asarray(leaf)
            arrays[f"{name}:result:{k}"] = array.astype(np.float32) if array.dtype.kind == "V" else array
            arrays[f"{name}:dtype:{k}"] = np.array(str(array.dtype))
    np.savez(output, texts=np.array(json.dumps(texts)), **arrays)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
