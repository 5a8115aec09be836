# from the table names.toml by `make names`: do not edit
"""`lamina.lax`: the names of jax.lax, over the functions of `lamina.numpy`; dtypes promote as there."""

from typing import Any

from . import linalg as linalg
from ....frontend.functions.autodiff import stop_gradient as stop_gradient
from ....frontend.functions.conditional import cond as cond
from ....frontend.functions.conditional import switch as switch
from ....frontend.functions.conditional import while_loop as while_loop
from ....frontend.functions.control import fori_loop as fori_loop
from ....frontend.functions.control import scan as scan
from ....frontend.functions.implicit import custom_linear_solve as custom_linear_solve
from ....frontend.functions.implicit import custom_root as custom_root
from ....library.nn.activations import erf as erf
from ....library.numpy.bits import nextafter as nextafter
from ....library.numpy.complex import conjugate as conj
from ....library.numpy.complex import imag as imag
from ....library.numpy.complex import real as real
from ....library.numpy.contract import dot_general as dot_general
from ....library.numpy.create import full as full
from ....library.numpy.create import full_like as full_like
from ....library.numpy.dtypes import broadcast_shapes as broadcast_shapes
from ....library.numpy.edit import unstack as unstack
from ....library.numpy.hyperbolic import arccos as acos
from ....library.numpy.hyperbolic import arccosh as acosh
from ....library.numpy.hyperbolic import arcsin as asin
from ....library.numpy.hyperbolic import arcsinh as asinh
from ....library.numpy.hyperbolic import arctanh as atanh
from ....library.numpy.hyperbolic import cosh as cosh
from ....library.numpy.hyperbolic import sinh as sinh
from ....library.numpy.join import stack as stack
from ....library.numpy.join import tile as tile
from ....library.numpy.logic import isfinite as is_finite
from ....library.numpy.math import power as pow
from ....library.numpy.ufuncs import abs as abs
from ....library.numpy.ufuncs import add as add
from ....library.numpy.ufuncs import multiply as mul
from ....library.numpy.ufuncs import square as square
from ....library.special.bessel import i0e as bessel_i0e
from ....library.special.bessel import i1e as bessel_i1e
from ....library.special.gamma_products import polygamma as polygamma
from ....library.special.gammas import gammaln as lgamma
from ....library.special.gammas import zeta as zeta
from ....library.special.incomplete import betainc as betainc
from ....library.special.incomplete import gamma_sample_slope as random_gamma_grad
from ....library.special.incomplete import gammainc as igamma
from ....library.special.incomplete import gammainc_slope as igamma_grad_a
from ....library.special.incomplete import gammaincc as igammac
from ....library.special.normal import erfinv as erf_inv
from ....library.special.polygammas import digamma as digamma
from .conv import ConvDimensionNumbers as ConvDimensionNumbers
from .conv import conv as conv
from .conv import conv_dimension_numbers as conv_dimension_numbers
from .conv import conv_general_dilated as conv_general_dilated
from .conv import conv_general_dilated_local as conv_general_dilated_local
from .conv import conv_general_dilated_patches as conv_general_dilated_patches
from .conv import conv_transpose as conv_transpose
from .conv import conv_with_general_padding as conv_with_general_padding
from .conv import padtype_to_pads as padtype_to_pads
from .elementwise import Precision as Precision
from .elementwise import RoundingMethod as RoundingMethod
from .elementwise import bitcast_convert_type as bitcast_convert_type
from .elementwise import clamp as clamp
from .elementwise import clz as clz
from .elementwise import complex as complex
from .elementwise import convert_element_type as convert_element_type
from .elementwise import div as div
from .elementwise import dtype as dtype
from .elementwise import integer_pow as integer_pow
from .elementwise import mulhi as mulhi
from .elementwise import optimization_barrier as optimization_barrier
from .elementwise import population_count as population_count
from .elementwise import reciprocal as reciprocal
from .elementwise import reduce_precision as reduce_precision
from .elementwise import round as round
from .elementwise import rsqrt as rsqrt
from .elementwise import select as select
from .elementwise import select_n as select_n
from .elementwise import shift_right_arithmetic as shift_right_arithmetic
from .elementwise import shift_right_logical as shift_right_logical
from .fourier import FftType as FftType
from .fourier import fft as fft
from .indexing import GatherDimensionNumbers as GatherDimensionNumbers
from .indexing import GatherScatterMode as GatherScatterMode
from .indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from .indexing import gather as gather
from .indexing import scatter_apply as scatter_apply
from .parallel import all_gather as all_gather
from .parallel import all_to_all as all_to_all
from .parallel import axis_index as axis_index
from .parallel import axis_size as axis_size
from .parallel import pmean as pmean
from .parallel import ppermute as ppermute
from .parallel import pshuffle as pshuffle
from .parallel import psum as psum
from .parallel import psum_scatter as psum_scatter
from .parallel import pswapaxes as pswapaxes
from .reductions import reduce as reduce
from .reductions import reduce_window as reduce_window
from .reductions import reduce_window_shape_tuple as reduce_window_shape_tuple
from .reductions import reduce_xor as reduce_xor
from .reductions import select_and_scatter_add as select_and_scatter_add
from .sequences import approx_max_k as approx_max_k
from .sequences import approx_min_k as approx_min_k
from .sequences import argmax as argmax
from .sequences import argmin as argmin
from .sequences import associative_scan as associative_scan
from .sequences import batch_matmul as batch_matmul
from .sequences import cumlogsumexp as cumlogsumexp
from .sequences import dot as dot
from .sequences import map as map
from .sequences import ragged_dot as ragged_dot
from .sequences import sort as sort
from .sequences import sort_key_val as sort_key_val
from .sequences import top_k as top_k
from .shapes import broadcast as broadcast
from .shapes import broadcast_in_dim as broadcast_in_dim
from .shapes import broadcast_to_rank as broadcast_to_rank
from .shapes import broadcasted_iota as broadcasted_iota
from .shapes import collapse as collapse
from .shapes import concatenate as concatenate
from .shapes import dynamic_index_in_dim as dynamic_index_in_dim
from .shapes import dynamic_slice as dynamic_slice
from .shapes import dynamic_slice_in_dim as dynamic_slice_in_dim
from .shapes import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from .shapes import dynamic_update_slice as dynamic_update_slice
from .shapes import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from .shapes import empty as empty
from .shapes import expand_dims as expand_dims
from .shapes import index_in_dim as index_in_dim
from .shapes import index_take as index_take
from .shapes import iota as iota
from .shapes import pad as pad
from .shapes import reshape as reshape
from .shapes import rev as rev
from .shapes import shape_as_value as shape_as_value
from .shapes import slice as slice
from .shapes import slice_in_dim as slice_in_dim
from .shapes import split as split
from .shapes import squeeze as squeeze
from .shapes import transpose as transpose

def atan(x: Any, /) -> Any:
    """`np.arctan`, on arrays and traced arrays."""

def atan2(x1: Any, x2: Any, /) -> Any:
    """`np.arctan2`, on arrays and traced arrays."""

def bitwise_and(x1: Any, x2: Any, /) -> Any:
    """`np.bitwise_and`, on arrays and traced arrays."""

def bitwise_not(x: Any, /) -> Any:
    """`np.invert`, on arrays and traced arrays."""

def bitwise_or(x1: Any, x2: Any, /) -> Any:
    """`np.bitwise_or`, on arrays and traced arrays."""

def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    """`np.bitwise_xor`, on arrays and traced arrays."""

def cbrt(x: Any, /) -> Any:
    """`lamina.numpy.cbrt`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def ceil(x: Any, /) -> Any:
    """`np.ceil`, on arrays and traced arrays."""

def cos(x: Any, /) -> Any:
    """`lamina.numpy.cos`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """`lamina.numpy.cummax` along an axis, in the dtype of the operand."""

def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """`lamina.numpy.cummin` along an axis, in the dtype of the operand."""

def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """`lamina.numpy.cumprod` along an axis, in the dtype of the operand."""

def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """`lamina.numpy.cumsum` along an axis, in the dtype of the operand."""

def eq(x1: Any, x2: Any, /) -> Any:
    """`np.equal`, on arrays and traced arrays."""

def erfc(x: Any, /) -> Any:
    """Complement of the error function, `1 - erf(x)`, accurate until it vanishes."""

def exp(x: Any, /) -> Any:
    """`lamina.numpy.exp`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def exp2(x: Any, /) -> Any:
    """`lamina.numpy.exp2`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def expm1(x: Any, /) -> Any:
    """`lamina.numpy.expm1`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def floor(x: Any, /) -> Any:
    """`np.floor`, on arrays and traced arrays."""

def ge(x1: Any, x2: Any, /) -> Any:
    """`np.greater_equal`, on arrays and traced arrays."""

def gt(x1: Any, x2: Any, /) -> Any:
    """`np.greater`, on arrays and traced arrays."""

def le(x1: Any, x2: Any, /) -> Any:
    """`np.less_equal`, on arrays and traced arrays."""

def log(x: Any, /) -> Any:
    """`lamina.numpy.log`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def log1p(x: Any, /) -> Any:
    """`lamina.numpy.log1p`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def logistic(x: Any) -> Any:
    """`lamina.numpy.sigmoid`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def lt(x1: Any, x2: Any, /) -> Any:
    """`np.less`, on arrays and traced arrays."""

def max(x1: Any, x2: Any, /) -> Any:
    """`np.maximum`, on arrays and traced arrays."""

def min(x1: Any, x2: Any, /) -> Any:
    """`np.minimum`, on arrays and traced arrays."""

def ne(x1: Any, x2: Any, /) -> Any:
    """`np.not_equal`, on arrays and traced arrays."""

def neg(x: Any, /) -> Any:
    """`np.negative`, on arrays and traced arrays."""

def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The max over all elements of a mapped axis, or of several; of trees leaf by leaf."""

def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The min over all elements of a mapped axis, or of several; of trees leaf by leaf."""

def reduce_and(operand: Any, axes: Any) -> Any:
    """`lamina.numpy.all` over axes, in the dtype of the operand."""

def reduce_max(operand: Any, axes: Any) -> Any:
    """The maximum over axes; of no elements what no element is beyond."""

def reduce_min(operand: Any, axes: Any) -> Any:
    """The minimum over axes; of no elements what no element is beyond."""

def reduce_or(operand: Any, axes: Any) -> Any:
    """`lamina.numpy.any` over axes, in the dtype of the operand."""

def reduce_prod(operand: Any, axes: Any) -> Any:
    """`lamina.numpy.prod` over axes, in the dtype of the operand."""

def reduce_sum(operand: Any, axes: Any) -> Any:
    """`lamina.numpy.sum` over axes, in the dtype of the operand."""

def rem(x1: Any, x2: Any, /) -> Any:
    """`np.fmod`, on arrays and traced arrays."""

def scatter(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None) -> Any:
    """`jax.lax.scatter`: `operand` with windows of updates set where indices say."""

def scatter_add(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None) -> Any:
    """`jax.lax.scatter_add`: `operand` with windows of updates added where indices say."""

def scatter_max(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None) -> Any:
    """`jax.lax.scatter_max`: `operand` with windows of updates combined by maximum where indices say."""

def scatter_min(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None) -> Any:
    """`jax.lax.scatter_min`: `operand` with windows of updates combined by minimum where indices say."""

def scatter_mul(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None) -> Any:
    """`jax.lax.scatter_mul`: `operand` with windows of updates multiplied where indices say."""

def scatter_sub(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None) -> Any:
    """`jax.lax.scatter_sub`: `operand` with windows of updates subtracted where indices say."""

def shift_left(x1: Any, x2: Any, /) -> Any:
    """`np.left_shift`, on arrays and traced arrays."""

def sign(x: Any, /) -> Any:
    """`np.sign`, on arrays and traced arrays."""

def sin(x: Any, /) -> Any:
    """`lamina.numpy.sin`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def sqrt(x: Any, /) -> Any:
    """`lamina.numpy.sqrt`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def sub(x1: Any, x2: Any, /) -> Any:
    """`np.subtract`, on arrays and traced arrays."""

def tan(x: Any, /) -> Any:
    """`lamina.numpy.tan`, within the bounds of docs/semantics.md whatever `accuracy` says."""

def tanh(x: Any, /) -> Any:
    """`lamina.numpy.tanh`, within the bounds of docs/semantics.md whatever `accuracy` says."""

__all__ = [
    "ConvDimensionNumbers", "FftType", "GatherDimensionNumbers", "GatherScatterMode", "Precision", "RoundingMethod",
    "ScatterDimensionNumbers", "abs", "acos", "acosh", "add", "all_gather", "all_to_all", "approx_max_k", "approx_min_k",
    "argmax", "argmin", "asin", "asinh", "associative_scan", "atan", "atan2", "atanh", "axis_index", "axis_size",
    "batch_matmul", "bessel_i0e", "bessel_i1e", "betainc", "bitcast_convert_type", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "broadcast", "broadcast_in_dim", "broadcast_shapes", "broadcast_to_rank", "broadcasted_iota", "cbrt", "ceil",
    "clamp", "clz", "collapse", "complex", "concatenate", "cond", "conj", "conv", "conv_dimension_numbers",
    "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches", "conv_transpose",
    "conv_with_general_padding", "convert_element_type", "cos", "cosh", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum",
    "custom_linear_solve", "custom_root", "digamma", "div", "dot", "dot_general", "dtype", "dynamic_index_in_dim",
    "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "empty", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expand_dims", "expm1", "fft",
    "floor", "fori_loop", "full", "full_like", "gather", "ge", "gt", "igamma", "igamma_grad_a", "igammac", "imag",
    "index_in_dim", "index_take", "integer_pow", "iota", "is_finite", "le", "lgamma", "linalg", "log", "log1p", "logistic",
    "lt", "map", "max", "min", "mul", "mulhi", "ne", "neg", "nextafter", "optimization_barrier", "pad", "padtype_to_pads",
    "pmax", "pmean", "pmin", "polygamma", "population_count", "pow", "ppermute", "pshuffle", "psum", "psum_scatter",
    "pswapaxes", "ragged_dot", "random_gamma_grad", "real", "reciprocal", "reduce", "reduce_and", "reduce_max", "reduce_min",
    "reduce_or", "reduce_precision", "reduce_prod", "reduce_sum", "reduce_window", "reduce_window_shape_tuple", "reduce_xor",
    "rem", "reshape", "rev", "round", "rsqrt", "scan", "scatter", "scatter_add", "scatter_apply", "scatter_max", "scatter_min",
    "scatter_mul", "scatter_sub", "select", "select_and_scatter_add", "select_n", "shape_as_value", "shift_left",
    "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "slice", "slice_in_dim", "sort", "sort_key_val",
    "split", "sqrt", "square", "squeeze", "stack", "stop_gradient", "sub", "switch", "tan", "tanh", "tile", "top_k",
    "transpose", "unstack", "while_loop", "zeta",
]
