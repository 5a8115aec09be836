# from the table names.toml by `make names`: do not edit
"""`lamina.numpy`: NumPy's names and meanings over graph ops, on arrays and on traced arrays."""

from typing import Any

import builtins
from .. import fft as fft
from ..linalg import namespace as linalg
from ..special.bessel import i0 as i0
from .along_axes import apply_over_axes as apply_over_axes
from .along_axes import spacing as spacing
from .along_axes import unwrap as unwrap
from .at import At as At
from .at import dynamic_slice as dynamic_slice
from .at import dynamic_update_slice as dynamic_update_slice
from .at import segment_mean as segment_mean
from .bits import bitwise_count as bitwise_count
from .bits import nextafter as nextafter
from .bits import view as view
from .complex import angle as angle
from .complex import conj as conj
from .complex import conjugate as conjugate
from .complex import imag as imag
from .complex import iscomplex as iscomplex
from .complex import iscomplexobj as iscomplexobj
from .complex import isreal as isreal
from .complex import isrealobj as isrealobj
from .complex import real as real
from .complex import real_if_close as real_if_close
from .contract import cross as cross
from .contract import dot as dot
from .contract import einsum as einsum
from .contract import inner as inner
from .contract import kron as kron
from .contract import matmul as matmul
from .contract import matvec as matvec
from .contract import outer as outer
from .contract import tensordot as tensordot
from .contract import vdot as vdot
from .contract import vecdot as vecdot
from .contract import vecmat as vecmat
from .create import arange as arange
from .create import array as array
from .create import asanyarray as asanyarray
from .create import asarray as asarray
from .create import ascontiguousarray as ascontiguousarray
from .create import copy as copy
from .create import diag as diag
from .create import diagonal as diagonal
from .create import empty as empty
from .create import empty_like as empty_like
from .create import eye as eye
from .create import full as full
from .create import full_like as full_like
from .create import identity as identity
from .create import linspace as linspace
from .create import logspace as logspace
from .create import meshgrid as meshgrid
from .create import ones as ones
from .create import ones_like as ones_like
from .create import trace as trace
from .create import tri as tri
from .create import tril as tril
from .create import triu as triu
from .create import zeros as zeros
from .create import zeros_like as zeros_like
from .divisors import gcd as gcd
from .divisors import lcm as lcm
from .dtypes import bfloat16 as bfloat16
from .dtypes import bool as bool
from .dtypes import bool_ as bool_
from .dtypes import broadcast_shapes as broadcast_shapes
from .dtypes import can_cast as can_cast
from .dtypes import cdouble as cdouble
from .dtypes import character as character
from .dtypes import complex128 as complex128
from .dtypes import complex64 as complex64
from .dtypes import complex_ as complex_
from .dtypes import complexfloating as complexfloating
from .dtypes import csingle as csingle
from .dtypes import double as double
from .dtypes import dtype as dtype
from .dtypes import e as e
from .dtypes import euler_gamma as euler_gamma
from .dtypes import flexible as flexible
from .dtypes import float16 as float16
from .dtypes import float32 as float32
from .dtypes import float64 as float64
from .dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from .dtypes import float8_e4m3fn as float8_e4m3fn
from .dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from .dtypes import float8_e5m2 as float8_e5m2
from .dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from .dtypes import float_ as float_
from .dtypes import floating as floating
from .dtypes import generic as generic
from .dtypes import index_exp as index_exp
from .dtypes import inexact as inexact
from .dtypes import inf as inf
from .dtypes import int16 as int16
from .dtypes import int32 as int32
from .dtypes import int4 as int4
from .dtypes import int64 as int64
from .dtypes import int8 as int8
from .dtypes import int_ as int_
from .dtypes import integer as integer
from .dtypes import nan as nan
from .dtypes import ndarray as ndarray
from .dtypes import newaxis as newaxis
from .dtypes import number as number
from .dtypes import object_ as object_
from .dtypes import pi as pi
from .dtypes import promote_types as promote_types
from .dtypes import result_type as result_type
from .dtypes import s_ as s_
from .dtypes import signedinteger as signedinteger
from .dtypes import single as single
from .dtypes import uint as uint
from .dtypes import uint16 as uint16
from .dtypes import uint32 as uint32
from .dtypes import uint4 as uint4
from .dtypes import uint64 as uint64
from .dtypes import uint8 as uint8
from .dtypes import unsignedinteger as unsignedinteger
from .edit import append as append
from .edit import block as block
from .edit import choose as choose
from .edit import delete as delete
from .edit import diagflat as diagflat
from .edit import fill_diagonal as fill_diagonal
from .edit import insert as insert
from .edit import piecewise as piecewise
from .edit import place as place
from .edit import put as put
from .edit import put_along_axis as put_along_axis
from .edit import repeat as repeat
from .edit import resize as resize
from .edit import select as select
from .edit import unstack as unstack
from .fit import polydiv as polydiv
from .fit import polyfit as polyfit
from .float_parts import frexp as frexp
from .float_parts import ldexp as ldexp
from .float_parts import modf as modf
from .frompyfunc import frompyfunc as frompyfunc
from .frompyfunc import ufunc as ufunc
from .grids import c_ as c_
from .grids import diag_indices as diag_indices
from .grids import diag_indices_from as diag_indices_from
from .grids import fromfunction as fromfunction
from .grids import geomspace as geomspace
from .grids import indices as indices
from .grids import ix_ as ix_
from .grids import mgrid as mgrid
from .grids import ogrid as ogrid
from .grids import r_ as r_
from .grids import ravel_multi_index as ravel_multi_index
from .grids import tril_indices as tril_indices
from .grids import tril_indices_from as tril_indices_from
from .grids import triu_indices as triu_indices
from .grids import triu_indices_from as triu_indices_from
from .grids import unravel_index as unravel_index
from .histograms import histogram2d as histogram2d
from .histograms import histogramdd as histogramdd
from .hyperbolic import arccos as arccos
from .hyperbolic import arccosh as arccosh
from .hyperbolic import arcsin as arcsin
from .hyperbolic import arcsinh as arcsinh
from .hyperbolic import arctanh as arctanh
from .hyperbolic import cbrt as cbrt
from .hyperbolic import cosh as cosh
from .hyperbolic import sinh as sinh
from .index import getitem as getitem
from .index import take as take
from .index import take_along_axis as take_along_axis
from .info import __array_api_version__ as __array_api_version__
from .info import __array_namespace_info__ as __array_namespace_info__
from .info import finfo as finfo
from .info import from_dlpack as from_dlpack
from .info import iinfo as iinfo
from .info import isdtype as isdtype
from .info import issubdtype as issubdtype
from .join import array_split as array_split
from .join import column_stack as column_stack
from .join import concat as concat
from .join import concatenate as concatenate
from .join import dsplit as dsplit
from .join import dstack as dstack
from .join import flip as flip
from .join import fliplr as fliplr
from .join import flipud as flipud
from .join import hsplit as hsplit
from .join import hstack as hstack
from .join import roll as roll
from .join import rot90 as rot90
from .join import split as split
from .join import stack as stack
from .join import tile as tile
from .join import vsplit as vsplit
from .join import vstack as vstack
from .logic import astype as astype
from .logic import clip as clip
from .logic import isclose as isclose
from .logic import isfinite as isfinite
from .logic import isinf as isinf
from .logic import isnan as isnan
from .logic import logical_not as logical_not
from .logic import nan_to_num as nan_to_num
from .logic import where as where
from .math import exp2 as exp2
from .math import float_power as float_power
from .math import heaviside as heaviside
from .math import hypot as hypot
from .math import logaddexp as logaddexp
from .math import logaddexp2 as logaddexp2
from .math import pow as pow
from .math import power as power
from .math import sinc as sinc
from .nonzero import argwhere as argwhere
from .nonzero import compress as compress
from .nonzero import extract as extract
from .nonzero import flatnonzero as flatnonzero
from .nonzero import nonzero as nonzero
from .packed_bits import packbits as packbits
from .packed_bits import unpackbits as unpackbits
from .pad import pad as pad
from .poly import convolve as convolve
from .poly import corrcoef as corrcoef
from .poly import correlate as correlate
from .poly import cov as cov
from .poly import diff as diff
from .poly import ediff1d as ediff1d
from .poly import gradient as gradient
from .poly import interp as interp
from .poly import polyadd as polyadd
from .poly import polyder as polyder
from .poly import polyint as polyint
from .poly import polymul as polymul
from .poly import polysub as polysub
from .poly import polyval as polyval
from .poly import trapezoid as trapezoid
from .poly import vander as vander
from .reduce import all as all
from .reduce import allclose as allclose
from .reduce import any as any
from .reduce import argmax as argmax
from .reduce import argmin as argmin
from .reduce import array_equal as array_equal
from .reduce import array_equiv as array_equiv
from .reduce import average as average
from .reduce import count_nonzero as count_nonzero
from .reduce import max as max
from .reduce import mean as mean
from .reduce import min as min
from .reduce import nanargmax as nanargmax
from .reduce import nanargmin as nanargmin
from .reduce import nanmax as nanmax
from .reduce import nanmin as nanmin
from .reduce import prod as prod
from .reduce import ptp as ptp
from .reduce import std as std
from .reduce import sum as sum
from .reduce import var as var
from .roots import poly as poly
from .roots import roots as roots
from .scan import cummax as cummax
from .scan import cummin as cummin
from .scan import cumprod as cumprod
from .scan import cumsum as cumsum
from .scan import cumulative_prod as cumulative_prod
from .scan import cumulative_sum as cumulative_sum
from .scan import nancumprod as nancumprod
from .scan import nancumsum as nancumsum
from .sets import intersect1d as intersect1d
from .sets import setdiff1d as setdiff1d
from .sets import setxor1d as setxor1d
from .sets import union1d as union1d
from .sets import unique as unique
from .shape import broadcast_arrays as broadcast_arrays
from .shape import broadcast_to as broadcast_to
from .shape import expand_dims as expand_dims
from .shape import matrix_transpose as matrix_transpose
from .shape import moveaxis as moveaxis
from .shape import ndim as ndim
from .shape import permute_dims as permute_dims
from .shape import ravel as ravel
from .shape import reshape as reshape
from .shape import rollaxis as rollaxis
from .shape import shape as shape
from .shape import size as size
from .shape import squeeze as squeeze
from .shape import swapaxes as swapaxes
from .shape import transpose as transpose
from .slices import apply_along_axis as apply_along_axis
from .slices import vectorize as vectorize
from .sort import argpartition as argpartition
from .sort import argsort as argsort
from .sort import bincount as bincount
from .sort import digitize as digitize
from .sort import histogram as histogram
from .sort import histogram_bin_edges as histogram_bin_edges
from .sort import isin as isin
from .sort import lexsort as lexsort
from .sort import median as median
from .sort import nanmedian as nanmedian
from .sort import partition as partition
from .sort import searchsorted as searchsorted
from .sort import sort as sort
from .sort import sort_complex as sort_complex
from .sort import top_k as top_k
from .ufuncs import abs as abs
from .ufuncs import absolute as absolute
from .ufuncs import add as add
from .ufuncs import copysign as copysign
from .ufuncs import divmod as divmod
from .ufuncs import fabs as fabs
from .ufuncs import floor_divide as floor_divide
from .ufuncs import mod as mod
from .ufuncs import multiply as multiply
from .ufuncs import positive as positive
from .ufuncs import reciprocal as reciprocal
from .ufuncs import remainder as remainder
from .ufuncs import rint as rint
from .ufuncs import round as around
from .ufuncs import round as round
from .ufuncs import signbit as signbit
from .ufuncs import square as square
from .ufuncs import trunc as trunc

def acos(x: Any, /) -> Any:
    """`np.arccos`: NaN outside [-1, 1]."""

def acosh(x: Any, /) -> Any:
    """`np.arccosh`: NaN below 1."""

def amax(a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.max`; NaN if any is NaN. Complex numbers are ordered by their real parts, then by the imaginary ones."""

def amin(a: Any, axis: Any = None, *, keepdims: builtins.bool = False, initial: Any = None, where: Any = None) -> Any:
    """`np.min`; NaN if any is NaN; complex numbers as in `max`."""

def arctan(x: Any, /) -> Any:
    """`np.arctan`, on arrays and traced arrays."""

def arctan2(x1: Any, x2: Any, /) -> Any:
    """`np.arctan2`, on arrays and traced arrays."""

def array2string(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None, separator: Any = ' ', prefix: Any = '', *, formatter: Any = None, threshold: Any = None, edgeitems: Any = None, sign: Any = None, floatmode: Any = None, suffix: Any = '', legacy: Any = None) -> Any:
    """`np.array2string`."""

def array_repr(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> Any:
    """`np.array_repr`."""

def array_str(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> Any:
    """`np.array_str`."""

def asin(x: Any, /) -> Any:
    """`np.arcsin`: NaN outside [-1, 1]."""

def asinh(x: Any, /) -> Any:
    """`np.arcsinh`."""

def atan(x: Any, /) -> Any:
    """`np.arctan`, on arrays and traced arrays."""

def atan2(x1: Any, x2: Any, /) -> Any:
    """`np.arctan2`, on arrays and traced arrays."""

def atanh(x: Any, /) -> Any:
    """`np.arctanh`: NaN outside [-1, 1]."""

def atleast_1d(*arys: Any) -> Any:
    """`np.atleast_1d`."""

def atleast_2d(*arys: Any) -> Any:
    """`np.atleast_2d`."""

def atleast_3d(*arys: Any) -> Any:
    """`np.atleast_3d`."""

def bartlett(M: Any) -> Any:
    """`np.bartlett`."""

def base_repr(number: Any, base: Any = 2, padding: Any = 0) -> Any:
    """`np.base_repr`."""

def binary_repr(num: Any, width: Any = None) -> Any:
    """`np.binary_repr`."""

def bitwise_and(x1: Any, x2: Any, /) -> Any:
    """`np.bitwise_and`, on arrays and traced arrays."""

def bitwise_invert(x: Any, /) -> Any:
    """`np.invert`, on arrays and traced arrays."""

def bitwise_left_shift(x1: Any, x2: Any, /) -> Any:
    """`np.left_shift`, on arrays and traced arrays."""

def bitwise_not(x: Any, /) -> Any:
    """`np.invert`, on arrays and traced arrays."""

def bitwise_or(x1: Any, x2: Any, /) -> Any:
    """`np.bitwise_or`, on arrays and traced arrays."""

def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """`np.right_shift`, on arrays and traced arrays."""

def bitwise_xor(x1: Any, x2: Any, /) -> Any:
    """`np.bitwise_xor`, on arrays and traced arrays."""

def blackman(M: Any) -> Any:
    """`np.blackman`."""

def ceil(x: Any, /) -> Any:
    """`np.ceil`, on arrays and traced arrays."""

def cos(x: Any, /) -> Any:
    """`np.cos`, on arrays and traced arrays."""

def deg2rad(x: Any, /) -> Any:
    """`np.radians`, on arrays and traced arrays."""

def degrees(x: Any, /) -> Any:
    """`np.degrees`, on arrays and traced arrays."""

def divide(x1: Any, x2: Any, /) -> Any:
    """`np.divide`, on arrays and traced arrays."""

def einsum_path(*operands: Any, optimize: Any = 'greedy', einsum_call: Any = False) -> Any:
    """`np.einsum_path`."""

def equal(x1: Any, x2: Any, /) -> Any:
    """`np.equal`, on arrays and traced arrays."""

def errstate(*, call: Any = Ellipsis, all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None) -> Any:
    """`np.errstate`."""

def exp(x: Any, /) -> Any:
    """`np.exp`, on arrays and traced arrays."""

def expm1(x: Any, /) -> Any:
    """`np.expm1`, on arrays and traced arrays."""

def floor(x: Any, /) -> Any:
    """`np.floor`, on arrays and traced arrays."""

def fmax(x1: Any, x2: Any, /) -> Any:
    """`np.fmax`, on arrays and traced arrays."""

def fmin(x1: Any, x2: Any, /) -> Any:
    """`np.fmin`, on arrays and traced arrays."""

def fmod(x1: Any, x2: Any, /) -> Any:
    """`np.fmod`, on arrays and traced arrays."""

def format_float_positional(x: Any, precision: Any = None, unique: Any = True, fractional: Any = True, trim: Any = 'k', sign: Any = False, pad_left: Any = None, pad_right: Any = None, min_digits: Any = None) -> Any:
    """`np.format_float_positional`."""

def format_float_scientific(x: Any, precision: Any = None, unique: Any = True, trim: Any = 'k', sign: Any = False, pad_left: Any = None, exp_digits: Any = None, min_digits: Any = None) -> Any:
    """`np.format_float_scientific`."""

def frombuffer(buffer: Any, dtype: Any = None, count: Any = -1, offset: Any = 0, *, like: Any = None) -> Any:
    """`np.frombuffer`."""

def fromfile(file: Any, dtype: Any = None, count: Any = -1, sep: Any = '', offset: Any = 0, *, like: Any = None) -> Any:
    """`np.fromfile`."""

def fromiter(iter: Any, dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    """`np.fromiter`."""

def fromstring(*args: Any, **kwargs: Any) -> Any:
    """`np.fromstring`."""

def get_printoptions() -> Any:
    """`np.get_printoptions`."""

def greater(x1: Any, x2: Any, /) -> Any:
    """`np.greater`, on arrays and traced arrays."""

def greater_equal(x1: Any, x2: Any, /) -> Any:
    """`np.greater_equal`, on arrays and traced arrays."""

def hamming(M: Any) -> Any:
    """`np.hamming`."""

def hanning(M: Any) -> Any:
    """`np.hanning`."""

def invert(x: Any, /) -> Any:
    """`np.invert`, on arrays and traced arrays."""

def isneginf(x: Any, /) -> Any:
    """`np.isneginf`."""

def isposinf(x: Any, /) -> Any:
    """`np.isposinf`."""

def isscalar(element: Any) -> Any:
    """`np.isscalar`."""

def iterable(y: Any) -> Any:
    """`np.iterable`."""

def kaiser(M: Any, beta: Any) -> Any:
    """`np.kaiser`."""

def left_shift(x1: Any, x2: Any, /) -> Any:
    """`np.left_shift`, on arrays and traced arrays."""

def less(x1: Any, x2: Any, /) -> Any:
    """`np.less`, on arrays and traced arrays."""

def less_equal(x1: Any, x2: Any, /) -> Any:
    """`np.less_equal`, on arrays and traced arrays."""

def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = False, fix_imports: Any = True, encoding: Any = 'ASCII', *, max_header_size: Any = 10000) -> Any:
    """`np.load`."""

def log(x: Any, /) -> Any:
    """`np.log`, on arrays and traced arrays."""

def log10(x: Any, /) -> Any:
    """`np.log10`, on arrays and traced arrays."""

def log1p(x: Any, /) -> Any:
    """`np.log1p`, on arrays and traced arrays."""

def log2(x: Any, /) -> Any:
    """`np.log2`, on arrays and traced arrays."""

def logical_and(x1: Any, x2: Any, /) -> Any:
    """`np.logical_and`, on arrays and traced arrays."""

def logical_or(x1: Any, x2: Any, /) -> Any:
    """`np.logical_or`, on arrays and traced arrays."""

def logical_xor(x1: Any, x2: Any, /) -> Any:
    """`np.logical_xor`, on arrays and traced arrays."""

def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    """`np.mask_indices`."""

def maximum(x1: Any, x2: Any, /) -> Any:
    """`np.maximum`, on arrays and traced arrays."""

def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> Any:
    """`np.may_share_memory`."""

def minimum(x1: Any, x2: Any, /) -> Any:
    """`np.minimum`, on arrays and traced arrays."""

def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = None, **options: Any) -> Any:
    """`np.nanmean`, over the elements that are not NaN."""

def nanpercentile(a: Any, q: Any, axis: Any = None, *, overwrite_input: builtins.bool = False, method: str = 'linear', keepdims: builtins.bool = False, weights: Any = None) -> Any:
    """`np.nanpercentile`, over the elements that are not NaN."""

def nanprod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = None, **options: Any) -> Any:
    """`np.nanprod`, over the elements that are not NaN."""

def nanquantile(a: Any, q: Any, axis: Any = None, *, overwrite_input: builtins.bool = False, method: str = 'linear', keepdims: builtins.bool = False, weights: Any = None) -> Any:
    """`np.nanquantile`, over the elements that are not NaN."""

def nanstd(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = None, **options: Any) -> Any:
    """`np.nanstd`, over the elements that are not NaN."""

def nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = None, **options: Any) -> Any:
    """`np.nansum`, over the elements that are not NaN."""

def nanvar(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: builtins.bool = False, where: Any = None, **options: Any) -> Any:
    """`np.nanvar`, over the elements that are not NaN."""

def negative(x: Any, /) -> Any:
    """`np.negative`, on arrays and traced arrays."""

def not_equal(x1: Any, x2: Any, /) -> Any:
    """`np.not_equal`, on arrays and traced arrays."""

def percentile(a: Any, q: Any, axis: Any = None, *, overwrite_input: builtins.bool = False, method: str = 'linear', keepdims: builtins.bool = False, weights: Any = None) -> Any:
    """`np.percentile`: `quantile` in percent."""

def printoptions(*args: Any, **kwargs: Any) -> Any:
    """`np.printoptions`."""

def quantile(a: Any, q: Any, axis: Any = None, *, overwrite_input: builtins.bool = False, method: str = 'linear', keepdims: builtins.bool = False, weights: Any = None) -> Any:
    """`np.quantile`; NaN where an element is. The methods are NumPy's: linear, hazen, weibull, nearest ..."""

def rad2deg(x: Any, /) -> Any:
    """`np.degrees`, on arrays and traced arrays."""

def radians(x: Any, /) -> Any:
    """`np.radians`, on arrays and traced arrays."""

def right_shift(x1: Any, x2: Any, /) -> Any:
    """`np.right_shift`, on arrays and traced arrays."""

def save(file: Any, arr: Any, allow_pickle: Any = True) -> Any:
    """`np.save`."""

def savez(file: Any, *args: Any, allow_pickle: Any = True, **kwds: Any) -> Any:
    """`np.savez`."""

def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: builtins.bool = False, unique_indices: builtins.bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, the greatest; minus infinity (the least integer) for an id that no row has."""

def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: builtins.bool = False, unique_indices: builtins.bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, the least; infinity (the greatest integer) for an id that no row has."""

def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: builtins.bool = False, unique_indices: builtins.bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, products; 1 for an id that no row has."""

def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: builtins.bool = False, unique_indices: builtins.bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """The sums of the rows of `data` with one id each: `result[s]` is the sum of all `data[k]` with `segment_ids[k] == s`."""

def set_printoptions(precision: Any = None, threshold: Any = None, edgeitems: Any = None, linewidth: Any = None, suppress: Any = None, nanstr: Any = None, infstr: Any = None, formatter: Any = None, sign: Any = None, floatmode: Any = None, *, legacy: Any = None, override_repr: Any = None) -> Any:
    """`np.set_printoptions`."""

def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> Any:
    """`np.shares_memory`."""

def sign(x: Any, /) -> Any:
    """`np.sign`, on arrays and traced arrays."""

def sin(x: Any, /) -> Any:
    """`np.sin`, on arrays and traced arrays."""

def sqrt(x: Any, /) -> Any:
    """`np.sqrt`, on arrays and traced arrays."""

def subtract(x1: Any, x2: Any, /) -> Any:
    """`np.subtract`, on arrays and traced arrays."""

def tan(x: Any, /) -> Any:
    """`np.tan`, on arrays and traced arrays."""

def tanh(x: Any, /) -> Any:
    """`np.tanh`, on arrays and traced arrays."""

def trim_zeros(filt: Any, trim: Any = 'fb', axis: Any = None) -> Any:
    """`np.trim_zeros` of arrays whose values are known: the size of the result depends on them."""

def true_divide(x1: Any, x2: Any, /) -> Any:
    """`np.divide`, on arrays and traced arrays."""

def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.unique_all`; NaN are different elements. `size` and `fill_value` as for `unique`."""

def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.unique_counts`; NaN are different elements. `size` and `fill_value` as for `unique`."""

def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.unique_inverse`; NaN are different elements. `size` and `fill_value` as for `unique`."""

def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """`np.unique_values`; NaN are different elements. `size` and `fill_value` as for `unique`."""

def function_counterpart(function: Any) -> Any:
    """The function here that stands for a NumPy function."""

def ufunc_counterpart(ufunc: Any, method: str) -> Any:
    """The function here that stands for a NumPy ufunc or one of its methods."""

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any", "append", "apply_along_axis",
    "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin",
    "argpartition", "argsort", "argwhere", "around", "array", "array2string", "array_equal", "array_equiv", "array_repr",
    "array_split", "array_str", "asanyarray", "asarray", "ascontiguousarray", "asin", "asinh", "astype", "atan", "atan2",
    "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "base_repr", "bfloat16", "binary_repr",
    "bincount", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "blackman", "block", "bool", "bool_", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "c_", "can_cast", "cbrt", "cdouble", "ceil", "character", "choose", "clip", "column_stack", "complex128",
    "complex64", "complex_", "complexfloating", "compress", "concat", "concatenate", "conj", "conjugate", "convolve", "copy",
    "copysign", "corrcoef", "correlate", "cos", "cosh", "count_nonzero", "cov", "cross", "csingle", "cummax", "cummin",
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices",
    "diag_indices_from", "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot", "double", "dsplit", "dstack",
    "dtype", "dynamic_slice", "dynamic_update_slice", "e", "ediff1d", "einsum", "einsum_path", "empty", "empty_like", "equal",
    "errstate", "euler_gamma", "exp", "exp2", "expand_dims", "expm1", "extract", "eye", "fabs", "fft", "fill_diagonal", "finfo",
    "flatnonzero", "flexible", "flip", "fliplr", "flipud", "float16", "float32", "float64", "float8_e4m3b11fnuz",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float_", "float_power", "floating", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "format_float_positional", "format_float_scientific", "frexp", "from_dlpack",
    "frombuffer", "fromfile", "fromfunction", "fromiter", "frompyfunc", "fromstring", "full", "full_like", "gcd", "generic",
    "geomspace", "get_printoptions", "gradient", "greater", "greater_equal", "hamming", "hanning", "heaviside", "histogram",
    "histogram2d", "histogram_bin_edges", "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag",
    "index_exp", "indices", "inexact", "inf", "inner", "insert", "int16", "int32", "int4", "int64", "int8", "int_", "integer",
    "interp", "intersect1d", "invert", "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isin", "isinf", "isnan",
    "isneginf", "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "kron", "lcm",
    "ldexp", "left_shift", "less", "less_equal", "lexsort", "linalg", "linspace", "load", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "logspace", "mask_indices", "matmul",
    "matrix_transpose", "matvec", "max", "maximum", "may_share_memory", "mean", "median", "meshgrid", "mgrid", "min", "minimum",
    "mod", "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax",
    "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ndarray",
    "ndim", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "number", "object_", "ogrid", "ones", "ones_like",
    "outer", "packbits", "pad", "partition", "percentile", "permute_dims", "pi", "piecewise", "place", "poly", "polyadd",
    "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "positive", "pow", "power", "printoptions",
    "prod", "promote_types", "ptp", "put", "put_along_axis", "quantile", "r_", "rad2deg", "radians", "ravel",
    "ravel_multi_index", "real", "real_if_close", "reciprocal", "remainder", "repeat", "reshape", "resize", "result_type",
    "right_shift", "rint", "roll", "rollaxis", "roots", "rot90", "round", "s_", "save", "savez", "searchsorted", "segment_max",
    "segment_mean", "segment_min", "segment_prod", "segment_sum", "select", "set_printoptions", "setdiff1d", "setxor1d",
    "shape", "shares_memory", "sign", "signbit", "signedinteger", "sin", "sinc", "single", "sinh", "size", "sort",
    "sort_complex", "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "top_k", "trace", "transpose", "trapezoid", "tri", "tril",
    "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices", "triu_indices_from", "true_divide", "trunc",
    "ufunc", "uint", "uint16", "uint32", "uint4", "uint64", "uint8", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unpackbits", "unravel_index", "unsignedinteger", "unstack", "unwrap", "vander", "var",
    "vdot", "vecdot", "vecmat", "vectorize", "vsplit", "vstack", "where", "zeros", "zeros_like",
]
