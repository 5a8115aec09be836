# from the table names.toml by `make names`: do not edit
"""The interface of the compiler for libraries of functions, ours (`library/`, `compat/`, `train/`) and others'.

Libraries import this module and each other, nothing else of the package; a test in `tests/meta` enforces it. The functions
that register ops, rules, kernels, passes and targets are in `lamina.extend` (docs/extending.md). The table `names.toml` lists
the names."""

from typing import Any

from .dialects.element_types import Kind as ElementKind
from .dialects.element_types import TABLE as ELEMENT_TYPES
from .dialects.functions import FUNCTIONS as scalar_functions
from .dialects.graph.convolution import dilated as dilated_size
from .dialects.graph.convolution import windows as conv_windows
from .dialects.graph.factor import permuted as permuted_rows
from .dialects.graph.factor import permuted_back as permuted_back
from .dialects.graph.fft import roots_of_unity as roots_of_unity
from .dialects.rounding import cast as rounded_cast
from .dialects.sizes.polynomial import Size as Size
from .dialects.sizes.polynomial import ceil_quotient as ceil_quotient
from .dialects.sizes.polynomial import greatest as greatest
from .dialects.sizes.polynomial import is_at_least as is_at_least
from .dialects.sizes.polynomial import least as least
from .dialects.sizes.polynomial import positive as positive
from .dialects.sizes.polynomial import require_at_least as require_at_least
from .dialects.types import INDICES as INDICES
from .dialects.types import element_type as element_type
from .dialects.types import numpy_dtype as numpy_dtype
from .dialects.types import tensor as tensor
from .errors import BoundsError as BoundsError
from .errors import DTypeError as DTypeError
from .errors import ShapeError as ShapeError
from .errors import SizeError as SizeError
from .errors import TracingError as TracingError
from .frontend.functions.autodiff import function_name as function_name
from .frontend.functions.autodiff import jvp as jvp
from .frontend.functions.autodiff import stop_gradient as stop_gradient
from .frontend.functions.autodiff import trainable as trainable
from .frontend.functions.autodiff import value_and_grad as value_and_grad
from .frontend.functions.axes import named as named_axis
from .frontend.functions.batching import vmap as vmap
from .frontend.functions.conditional import cond as cond
from .frontend.functions.conditional import switch as switch
from .frontend.functions.conditional import while_loop as while_loop
from .frontend.functions.control import fori_loop as fori_loop
from .frontend.functions.control import scan as scan
from .frontend.functions.custom import BothModes as BothModes
from .frontend.functions.custom import custom_jvp as custom_jvp
from .frontend.functions.custom import custom_vjp as custom_vjp
from .frontend.functions.custom import with_slopes as with_slopes
from .frontend.functions.implicit import bicgstab as bicgstab
from .frontend.functions.implicit import cg as cg
from .frontend.functions.implicit import custom_linear_solve as custom_linear_solve
from .frontend.functions.implicit import custom_root as custom_root
from .frontend.functions.implicit import gmres as gmres
from .frontend.functions.ravel import ravel_pytree as ravel_pytree
from .frontend.run.eager import EagerTrace as EagerTrace
from .frontend.run.eager import api as array_function
from .frontend.run.eager import creation as creation
from .frontend.run.eager import edit as edit
from .frontend.run.eager import operation as operation
from .frontend.run.jit import jit as jit
from .frontend.run.looped import looped as looped
from .frontend.run.retrace import each_call as each_call
from .frontend.run.ufunc_keywords import changing as changing
from .frontend.trace import complex_formulas as complex_formulas
from .frontend.trace import pytree as pytree
from .frontend.trace.array_functions import arrays as arrays
from .frontend.trace.axes_and_shapes import broadcast_tracer as broadcast_tracer
from .frontend.trace.axes_and_shapes import concat_tracers as concat_tracers
from .frontend.trace.axes_and_shapes import filled as filled
from .frontend.trace.axes_and_shapes import nonnegative as nonnegative
from .frontend.trace.axes_and_shapes import normalize_axes as normalize_axes
from .frontend.trace.axes_and_shapes import normalize_axis as normalize_axis
from .frontend.trace.axes_and_shapes import reshape_tracer as reshape_tracer
from .frontend.trace.axes_and_shapes import reverse_tracer as reverse_tracer
from .frontend.trace.axes_and_shapes import slice_axis as slice_axis
from .frontend.trace.axes_and_shapes import slice_tracer as slice_tracer
from .frontend.trace.axes_and_shapes import static_int as static_int
from .frontend.trace.axes_and_shapes import static_shape as static_shape
from .frontend.trace.axes_and_shapes import transpose_tracer as transpose_tracer
from .frontend.trace.complex_formulas import conjugate as complex_conjugate
from .frontend.trace.complex_formulas import joined as complex_joined
from .frontend.trace.complex_formulas import parts as complex_parts
from .frontend.trace.config import config as config
from .frontend.trace.elementwise import binary as binary_operation
from .frontend.trace.elementwise import bitcast as bitcast
from .frontend.trace.elementwise import broadcast_shapes as broadcast_shapes
from .frontend.trace.elementwise import compare as compare
from .frontend.trace.elementwise import full_like_tracer as full_like_tracer
from .frontend.trace.elementwise import named as named_operation
from .frontend.trace.elementwise import prepare as prepare
from .frontend.trace.elementwise import select as select
from .frontend.trace.elementwise import ufunc_op as ufunc_op
from .frontend.trace.elementwise import unary as unary_operation
from .frontend.trace.locations import located as located
from .frontend.trace.program import Aval as Aval
from .frontend.trace.program import TensorSpec as TensorSpec
from .frontend.trace.program import TracedFunction as TracedFunction
from .frontend.trace.program import abstract as abstract
from .frontend.trace.program import call_function as call_function
from .frontend.trace.program import is_staging as is_staging
from .frontend.trace.program import staging as staging
from .frontend.trace.program import trace_function as trace_function
from .frontend.trace.promotion import BOOL as BOOL
from .frontend.trace.promotion import COMPLEX128 as COMPLEX128
from .frontend.trace.promotion import COMPLEX64 as COMPLEX64
from .frontend.trace.promotion import FLOAT32 as FLOAT32
from .frontend.trace.promotion import FLOAT64 as FLOAT64
from .frontend.trace.promotion import INT32 as INT32
from .frontend.trace.promotion import INT64 as INT64
from .frontend.trace.promotion import STORED as STORED
from .frontend.trace.promotion import canonical as canonical
from .frontend.trace.promotion import common_dtype as common_dtype
from .frontend.trace.promotion import computed as computed
from .frontend.trace.promotion import dtype_of as dtype_of
from .frontend.trace.promotion import float0 as float0
from .frontend.trace.promotion import inexact as inexact
from .frontend.trace.promotion import is_complex_dtype as is_complex_dtype
from .frontend.trace.promotion import is_float_dtype as is_float_dtype
from .frontend.trace.promotion import is_inexact_dtype as is_inexact_dtype
from .frontend.trace.promotion import is_integer_dtype as is_integer_dtype
from .frontend.trace.promotion import narrowed as narrowed
from .frontend.trace.promotion import part_dtype as part_dtype
from .frontend.trace.promotion import result_type as result_type
from .frontend.trace.promotion import ufunc_dtypes as ufunc_dtypes
from .frontend.trace.promotion import weak_result as weak_result
from .frontend.trace.pytree import ClassT as ClassT
from .frontend.trace.pytree import LEAF as LEAF
from .frontend.trace.pytree import TreeDef as TreeDef
from .frontend.trace.pytree import children_of as tree_children
from .frontend.trace.pytree import flatten as tree_flatten
from .frontend.trace.pytree import is_node_type as is_node_type
from .frontend.trace.pytree import leaves as tree_leaves
from .frontend.trace.pytree import map as tree_map
from .frontend.trace.pytree import node_of as tree_node
from .frontend.trace.pytree import register_dataclass as register_dataclass
from .frontend.trace.pytree import register_pytree_node as register_pytree_node
from .frontend.trace.pytree import structure as tree_structure
from .frontend.trace.pytree import unflatten as tree_unflatten
from .frontend.trace.pytree import upto as tree_upto
from .frontend.trace.tracer import Tracer as Tracer
from .frontend.trace.tracing import Derived as Derived
from .frontend.trace.tracing import Watched as Watched
from .frontend.trace.tracing import build as build
from .frontend.trace.tracing import concrete_array as concrete_array
from .frontend.trace.tracing import current as current
from .frontend.trace.tracing import here as here
from .frontend.trace.tracing import is_array_like as is_array_like
from .frontend.trace.tracing import is_traced as is_traced
from .frontend.trace.tracing import lift as lift
from .frontend.trace.tracing import lift_as as lift_as
from .frontend.trace.tracing import lift_float as lift_float
from .frontend.trace.tracing import lift_into as lift_into
from .frontend.trace.tracing import lift_operands as lift_operands
from .frontend.trace.tracing import operand as operand
from .frontend.trace.tracing import sequence_of_operands as sequence_of_operands
from .frontend.trace.tracing import several as several
from .frontend.trace.tracing import token as token
from .frontend.trace.wrapped import WrappedArray as WrappedArray
from .frontend.trace.wrapped import wrapped_class as wrapped_class
from .runtime.array import as_array as as_array
from .runtime.scalar_types import scalar_type as scalar_type
from .runtime.scalars import is_a as is_a

__all__ = [
    "Aval", "BOOL", "BothModes", "BoundsError", "COMPLEX128", "COMPLEX64", "ClassT", "DTypeError", "Derived", "ELEMENT_TYPES",
    "EagerTrace", "ElementKind", "FLOAT32", "FLOAT64", "INDICES", "INT32", "INT64", "LEAF", "STORED", "ShapeError", "Size",
    "SizeError", "TensorSpec", "TracedFunction", "Tracer", "TracingError", "TreeDef", "Watched", "WrappedArray", "abstract",
    "array_function", "arrays", "as_array", "bicgstab", "binary_operation", "bitcast", "broadcast_shapes", "broadcast_tracer",
    "build", "call_function", "canonical", "ceil_quotient", "cg", "changing", "common_dtype", "compare", "complex_conjugate",
    "complex_formulas", "complex_joined", "complex_parts", "computed", "concat_tracers", "concrete_array", "cond", "config",
    "conv_windows", "creation", "current", "custom_jvp", "custom_linear_solve", "custom_root", "custom_vjp", "dilated_size",
    "dtype_of", "each_call", "edit", "element_type", "filled", "float0", "fori_loop", "full_like_tracer", "function_name",
    "gmres", "greatest", "here", "inexact", "is_a", "is_array_like", "is_at_least", "is_complex_dtype", "is_float_dtype",
    "is_inexact_dtype", "is_integer_dtype", "is_node_type", "is_staging", "is_traced", "jit", "jvp", "least", "lift", "lift_as",
    "lift_float", "lift_into", "lift_operands", "located", "looped", "named_axis", "named_operation", "narrowed", "nonnegative",
    "normalize_axes", "normalize_axis", "numpy_dtype", "operand", "operation", "part_dtype", "permuted_back", "permuted_rows",
    "positive", "prepare", "pytree", "ravel_pytree", "register_dataclass", "register_pytree_node", "require_at_least",
    "reshape_tracer", "result_type", "reverse_tracer", "roots_of_unity", "rounded_cast", "scalar_functions", "scalar_type",
    "scan", "select", "sequence_of_operands", "several", "slice_axis", "slice_tracer", "staging", "static_int", "static_shape",
    "stop_gradient", "switch", "tensor", "token", "trace_function", "trainable", "transpose_tracer", "tree_children",
    "tree_flatten", "tree_leaves", "tree_map", "tree_node", "tree_structure", "tree_unflatten", "tree_upto", "ufunc_dtypes",
    "ufunc_op", "unary_operation", "value_and_grad", "vmap", "weak_result", "while_loop", "with_slopes", "wrapped_class",
]
