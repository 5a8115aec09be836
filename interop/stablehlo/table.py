"""The ops of StableHLO and CHLO, a row each: which function evaluates one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import build, lift, lift_as
from ...api.programs import dense_array
from ...compat.jax.lax import linalg
from ...compat.jax.lax import namespace as lax
from ...library.numpy import namespace as lnp
from ...library.special import namespace as special
from . import arithmetic, broadcasting, calls, contractions, control, indexing, quantized, random, reductions, sorting
from .faults import UnsupportedError
from .rows import Row, graph_op, of, typed
from .values import known


def _constant(site: Any, operands: Sequence[Any]) -> Any:
    value = site.op.properties.get("value", site.op.attributes.get("value"))
    if not hasattr(value, "type") or not hasattr(value, "data"):
        raise UnsupportedError("needs a dense value")
    type = site.op.results[0].type
    if quantized.is_quantized(type):  # its integers are written
        return quantized.Quantized(dense_array(value).astype(quantized.storage_dtype(type)), type)
    return dense_array(value)


def _iota(site: Any, operands: Sequence[Any]) -> Any:
    shape, dim = site.shape(), site.required("iota_dimension")
    if not 0 <= dim < len(shape):
        raise UnsupportedError(f"counts along dim {dim} of {len(shape)}")
    return lift_as(lax.broadcasted_iota(np.int64, shape, dim), lift_dtype(site))


def lift_dtype(site: Any) -> Any:
    """The dtype of the result, in which numbers are converted to it."""
    return site.dtype()


def _broadcast_in_dim(site: Any, operands: Sequence[Any]) -> Any:
    return lax.broadcast_in_dim(operands[0], site.shape(), site.required("broadcast_dimensions"))


def _reshape(site: Any, operands: Sequence[Any]) -> Any:
    return lnp.reshape(operands[0], site.shape())


def _dynamic_iota(site: Any, operands: Sequence[Any]) -> Any:
    return lax.broadcasted_iota(np.int64, known(operands[0], "sizes"), site.required("iota_dimension"))


def _dynamic_broadcast_in_dim(site: Any, operands: Sequence[Any]) -> Any:
    return lax.broadcast_in_dim(operands[0], known(operands[1], "sizes"), site.required("broadcast_dimensions"))


def _dynamic_pad(site: Any, operands: Sequence[Any]) -> Any:
    rows = [known(x, "padding") for x in operands[2:]]
    return lax.pad(operands[0], operands[1], list(zip(*rows, strict=True)))


def _real_dynamic_slice(site: Any, operands: Sequence[Any]) -> Any:
    return lax.slice(operands[0], *(known(x, "bounds") for x in operands[1:]))


def _slice(site: Any, operands: Sequence[Any]) -> Any:
    return lax.slice(operands[0], *(site.required(name) for name in ("start_indices", "limit_indices", "strides")))


def _pad(site: Any, operands: Sequence[Any]) -> Any:
    rows = [site.required(name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    return lax.pad(operands[0], operands[1], list(zip(*rows, strict=True)))


def _concatenate(site: Any, operands: Sequence[Any]) -> Any:
    return lax.concatenate(list(operands), site.required("dimension"))


def _dynamic_slice(site: Any, operands: Sequence[Any]) -> Any:
    return lax.dynamic_slice(operands[0], operands[1:], site.required("slice_sizes"), allow_negative_indices=False)


def _dynamic_update_slice(site: Any, operands: Sequence[Any]) -> Any:
    return lax.dynamic_update_slice(operands[0], operands[1], operands[2:], allow_negative_indices=False)


def _fft(site: Any, operands: Sequence[Any]) -> Any:
    return lax.fft(operands[0], site.required("fft_type"), site.required("fft_length"))


def _cholesky(site: Any, operands: Sequence[Any]) -> Any:
    x = operands[0]
    if site.get("lower", False):
        return linalg.cholesky(x, symmetrize_input=False)
    return lnp.conjugate(lnp.matrix_transpose(linalg.cholesky(lnp.conjugate(lnp.matrix_transpose(x)), symmetrize_input=False)))


def _triangular_solve(site: Any, operands: Sequence[Any]) -> Any:
    form = site.get("transpose_a", "NO_TRANSPOSE")
    return linalg.triangular_solve(
        *operands,
        left_side=site.required("left_side"),
        lower=site.required("lower"),
        unit_diagonal=site.required("unit_diagonal"),
        transpose_a=form in ("TRANSPOSE", "ADJOINT"),
        conjugate_a=form == "ADJOINT",
    )


def _reduce_precision(site: Any, operands: Sequence[Any]) -> Any:
    return lax.reduce_precision(operands[0], site.required("exponent_bits"), site.required("mantissa_bits"))


def _top_k(site: Any, operands: Sequence[Any]) -> Any:
    return list(lax.top_k(operands[0], site.required("k")))


def _tuple(site: Any, operands: Sequence[Any]) -> Any:
    return tuple(operands)


def _get_tuple_element(site: Any, operands: Sequence[Any]) -> Any:
    return operands[0][site.required("index")]


def _set_dimension_size(site: Any, operands: Sequence[Any]) -> Any:
    x, dim = operands[0], site.required("dimension")
    (size,) = known(operands[1], "a size")
    if not 0 <= dim < len(x.shape) or not 0 <= size <= x.shape[dim]:
        raise UnsupportedError(f"gives dim {dim} of {list(x.shape)} the size {size}, which must not be above the size it has")
    return x[(slice(None),) * dim + (slice(size),)]


def _get_dimension_size(site: Any, operands: Sequence[Any]) -> Any:
    return lift_as(operands[0].shape[site.required("dimension")], site.dtype())


def _batch_norm(site: Any, operands: Sequence[Any]) -> Any:
    x, scale, offset, mean, variance = operands
    return _normalized(site, x, scale, offset, mean, variance)


def _along(site: Any, x: Any, v: Any) -> Any:
    """A vector of features as an array of the shape of x."""
    return lax.broadcast_in_dim(v, x.shape, (site.required("feature_index"),))


def _normalized(site: Any, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    scale, offset, mean, variance = (_along(site, x, v) for v in (scale, offset, mean, variance))
    return (x - mean) / lnp.sqrt(variance + site.required("epsilon")) * scale + offset


def _batch_norm_training(site: Any, operands: Sequence[Any]) -> Any:
    x, scale, offset = operands
    dims = tuple(d for d in range(x.ndim) if d != site.required("feature_index"))
    mean = lnp.mean(x, dims)
    centred = x - _along(site, x, mean)
    variance = lnp.mean(centred * centred, dims)
    return [_normalized(site, x, scale, offset, mean, variance), mean, variance]


def _batch_norm_grad(site: Any, operands: Sequence[Any]) -> Any:
    x, scale, mean, variance, slopes = operands
    dims = tuple(d for d in range(x.ndim) if d != site.required("feature_index"))
    count = np.prod([x.shape[d] for d in dims])
    deviation = lnp.sqrt(_along(site, x, variance) + site.required("epsilon"))
    normal = (x - _along(site, x, mean)) / deviation
    of_offset, of_scale = lnp.sum(slopes, dims), lnp.sum(slopes * normal, dims)
    centred = slopes - _along(site, x, of_offset) / count - normal * _along(site, x, of_scale) / count
    return [_along(site, x, scale) / deviation * centred, of_scale, of_offset]


ELEMENTWISE: dict[str, Any] = {
    "abs": lnp.abs,
    "add": arithmetic.add,
    "and": lnp.bitwise_and,
    "atan2": lnp.arctan2,
    "cbrt": lnp.cbrt,
    "ceil": lnp.ceil,
    "clamp": arithmetic.clamp,
    "complex": lax.complex,
    "cosine": lnp.cos,
    "count_leading_zeros": lax.clz,
    "divide": arithmetic.divide,
    "exponential": lnp.exp,
    "exponential_minus_one": lnp.expm1,
    "floor": lnp.floor,
    "imag": arithmetic.imag,
    "is_finite": lnp.isfinite,
    "log": lnp.log,
    "log_plus_one": lnp.log1p,
    "logistic": lax.logistic,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "multiply": arithmetic.multiply,
    "negate": lnp.negative,
    "not": lnp.bitwise_not,
    "or": lnp.bitwise_or,
    "popcnt": lax.population_count,
    "power": lnp.power,
    "real": lnp.real,
    "remainder": arithmetic.remainder,
    "round_nearest_afz": lax.round,
    "round_nearest_even": lnp.rint,
    "rsqrt": arithmetic.rsqrt,
    "select": arithmetic.select,
    "shift_left": lnp.left_shift,
    "shift_right_arithmetic": arithmetic.shift_right_arithmetic,
    "shift_right_logical": arithmetic.shift_right_logical,
    "sign": arithmetic.sign,
    "sine": lnp.sin,
    "sqrt": lnp.sqrt,
    "subtract": arithmetic.subtract,
    "tan": lnp.tan,
    "tanh": lnp.tanh,
    "xor": lnp.bitwise_xor,
}
"""Ops that are one function of their operands."""

CHLO: dict[str, Any] = {
    "acos": lnp.arccos,
    "acosh": lnp.arccosh,
    "asin": lnp.arcsin,
    "asinh": lnp.arcsinh,
    "atan": lnp.arctan,
    "atanh": lnp.arctanh,
    "bessel_i1e": special.i1e,
    "conj": lnp.conjugate,
    "cosh": lnp.cosh,
    "digamma": special.digamma,
    "erf": special.erf,
    "erf_inv": special.erfinv,
    "erfc": special.erfc,
    "is_inf": lnp.isinf,
    "is_neg_inf": lnp.isneginf,
    "is_pos_inf": lnp.isposinf,
    "lgamma": special.gammaln,
    "mulhi": lax.mulhi,
    "next_after": lnp.nextafter,
    "polygamma": arithmetic.polygamma,
    "sinh": lnp.sinh,
    "square": lnp.square,
    "tan": lnp.tan,
    "zeta": special.zeta,
}

STRUCTURAL: dict[str, Row] = {
    "constant": Row(_constant, raw=True),
    "iota": Row(_iota),
    "convert": Row(arithmetic.convert, raw=True),
    "bitcast_convert": Row(arithmetic.bitcast_convert, raw=True, bits=True),
    "compare": Row(arithmetic.compare_op),
    "broadcast_in_dim": Row(_broadcast_in_dim),
    "reshape": Row(_reshape),
    "transpose": typed(lnp.transpose, "permutation"),
    "reverse": typed(lax.rev, "dimensions"),
    "slice": Row(_slice),
    "pad": Row(_pad),
    "concatenate": Row(_concatenate),
    "dynamic_slice": Row(_dynamic_slice),
    "dynamic_update_slice": Row(_dynamic_update_slice),
    "gather": Row(indexing.gather),
    "dynamic_gather": Row(indexing.dynamic_gather),
    "scatter": Row(indexing.scatter, several=True),
    "dot_general": Row(contractions.dot_general),
    "dot": Row(contractions.dot),
    "convolution": Row(contractions.convolution),
    "reduce": Row(reductions.reduce, several=True),
    "reduce_window": Row(reductions.reduce_window, several=True),
    "select_and_scatter": Row(reductions.select_and_scatter),
    "map": Row(reductions.map),
    "sort": Row(sorting.sort, several=True),
    "while": Row(control.while_, several=True, raw=True),
    "case": Row(control.case, several=True, raw=True),
    "if": Row(control.if_, several=True, raw=True),
    "optimization_barrier": Row(lambda site, operands: list(operands), several=True, raw=True),
    "composite": Row(control.composite, several=True, raw=True),
    "custom_call": Row(calls.custom_call, several=True, raw=True),
    "tuple": Row(_tuple, raw=True),
    "get_tuple_element": Row(_get_tuple_element, raw=True),
    "after_all": Row(lambda site, operands: None, raw=True),
    "create_token": Row(lambda site, operands: None, raw=True),
    "fft": Row(_fft),
    "cholesky": Row(_cholesky),
    "triangular_solve": Row(_triangular_solve),
    "reduce_precision": Row(_reduce_precision),
    "get_dimension_size": Row(_get_dimension_size),
    "set_dimension_size": Row(_set_dimension_size),
    "batch_norm_inference": Row(_batch_norm),
    "batch_norm_training": Row(_batch_norm_training, several=True),
    "batch_norm_grad": Row(_batch_norm_grad, several=True),
    "rng_bit_generator": Row(random.rng_bit_generator, several=True),
    "partition_id": Row(lambda site, operands: np.zeros((), np.uint32)),
    "replica_id": Row(lambda site, operands: np.zeros((), np.uint32)),
    "dynamic_reshape": Row(lambda site, operands: lnp.reshape(operands[0], known(operands[1], "sizes"))),
    "dynamic_iota": Row(_dynamic_iota),
    "dynamic_broadcast_in_dim": Row(_dynamic_broadcast_in_dim),
    "dynamic_pad": Row(_dynamic_pad),
    "dynamic_conv": Row(contractions.convolution),
    "real_dynamic_slice": Row(_real_dynamic_slice),
    "broadcast": Row(broadcasting.broadcast),
    "einsum": Row(broadcasting.einsum),
    "unary_einsum": Row(broadcasting.einsum),
    "torch_index_select": Row(broadcasting.index_select),
    "collective_permute": Row(broadcasting.permute),
    **dict.fromkeys(
        ("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "reduce_scatter"),
        Row(broadcasting.of_one_device, several=True),
    ),
    "uniform_quantize": Row(quantized.quantize, raw=True),
    "uniform_dequantize": Row(quantized.dequantize, raw=True),
}
"""Ops with attributes, regions or other kinds of values."""


def _of_two() -> dict[str, Row]:
    """The ops that `chlo.broadcast_*` are of."""
    names = """
        add and atan2 complex divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic
        shift_right_logical subtract xor select
    """.split()
    rows = {name: STRUCTURAL.get(name) or of(ELEMENTWISE[name]) for name in (*names, "compare")}
    return rows | {name: of(CHLO[name]) for name in ("next_after", "polygamma", "zeta")}


TABLE: dict[str, Row] = {
    **{f"stablehlo.{name}": of(function) for name, function in ELEMENTWISE.items()},
    **{f"chlo.{name}": of(function) for name, function in CHLO.items()},
    **{f"stablehlo.{name}": row for name, row in STRUCTURAL.items()},
    **{
        f"check.{name}{of}": Row(calls.expect(name == "expect_eq"), several=True)
        for name in ("expect_eq", "expect_almost_eq", "expect_close")
        for of in ("", "_const")
    },
    **{f"chlo.broadcast_{name}": broadcasting.broadcasting(row.evaluate) for name, row in _of_two().items()},
    "chlo.constant": Row(_constant, raw=True),
    "chlo.constant_like": Row(broadcasting.constant_like),
    "chlo.scan": Row(control.scan_, several=True),
    "chlo.top_k": Row(_top_k, several=True),
    "chlo.ragged_dot": Row(contractions.ragged_dot),
}
"""The row of each op that is evaluated, by its whole name."""

__all__ = ["TABLE", "build", "graph_op", "lift"]
