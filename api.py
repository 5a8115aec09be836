"""The interface of the compiler for libraries of functions, ours (`library/`, `compat/`, `train/`) and others'.

Libraries import this module and each other, nothing else of the package; a test in `tests/meta` enforces it. The functions
that register ops, rules, kernels, passes and targets are in `lamina.extend` (docs/extending.md).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any


# Tracing: values become ops of the program that is recorded.
from .frontend.trace.tracer import Tracer as Tracer
from .frontend.trace.tracing import (
    Derived as Derived,
    Watched as Watched,
    build as build,
    concrete_array as concrete_array,
    current as current,
    here as here,
    is_array_like as is_array_like,
    is_traced as is_traced,
    lift as lift,
    lift_as as lift_as,
    lift_float as lift_float,
    lift_into as lift_into,
    lift_operands as lift_operands,
    operand as operand,
    sequence_of_operands as sequence_of_operands,
    several as several,
    token as token,
)
from .frontend.trace.program import (
    Aval as Aval,
    TensorSpec as TensorSpec,
    TracedFunction as TracedFunction,
    abstract as abstract,
    call_function as call_function,
    is_staging as is_staging,
    staging as staging,
    trace_function as trace_function,
)
from .frontend.trace.wrapped import WrappedArray as WrappedArray, wrapped_class as wrapped_class
from .frontend.trace.array_functions import arrays as arrays
from .frontend.trace.locations import located as located

# Functions of arrays: decorators that make a function of traced values callable on arrays, too.
from .frontend.run.eager import (
    EagerTrace as EagerTrace,
    api as array_function,
    creation as creation,
    edit as edit,
    operation as operation,
)
from .frontend.run.ufunc_keywords import changing as changing
from .frontend.run import lazy as lazy

# Elementwise operations, axes and shapes of traced arrays.
from .frontend.trace.elementwise import (
    binary as binary_operation,
    bitcast as bitcast,
    broadcast_shapes as broadcast_shapes,
    compare as compare,
    full_like_tracer as full_like_tracer,
    named as named_operation,
    prepare as prepare,
    select as select,
    ufunc_op as ufunc_op,
    unary as unary_operation,
)
from .frontend.trace.axes_and_shapes import (
    broadcast_tracer as broadcast_tracer,
    concat_tracers as concat_tracers,
    filled as filled,
    nonnegative as nonnegative,
    normalize_axes as normalize_axes,
    normalize_axis as normalize_axis,
    reshape_tracer as reshape_tracer,
    reverse_tracer as reverse_tracer,
    slice_axis as slice_axis,
    slice_tracer as slice_tracer,
    static_int as static_int,
    static_shape as static_shape,
    transpose_tracer as transpose_tracer,
)
from .frontend.trace import complex_formulas as complex_formulas
from .frontend.trace.complex_formulas import (
    conjugate as complex_conjugate,
    joined as complex_joined,
    parts as complex_parts,
)

# Dtypes and promotion.
from .frontend.trace.promotion import (
    BOOL as BOOL,
    COMPLEX128 as COMPLEX128,
    COMPLEX64 as COMPLEX64,
    FLOAT32 as FLOAT32,
    FLOAT64 as FLOAT64,
    INT32 as INT32,
    INT64 as INT64,
    STORED as STORED,
    canonical as canonical,
    common_dtype as common_dtype,
    computed as computed,
    dtype_of as dtype_of,
    float0 as float0,
    inexact as inexact,
    is_complex_dtype as is_complex_dtype,
    is_float_dtype as is_float_dtype,
    is_inexact_dtype as is_inexact_dtype,
    is_integer_dtype as is_integer_dtype,
    narrowed as narrowed,
    part_dtype as part_dtype,
    result_type as result_type,
    ufunc_dtypes as ufunc_dtypes,
    weak_result as weak_result,
)
from .frontend.trace.config import config as config
from .dialects.element_types import Kind as ElementKind, TABLE as ELEMENT_TYPES
from .dialects.types import (
    INDICES as INDICES,
    element_type as element_type,
    numpy_dtype as numpy_dtype,
    tensor as tensor,
)
from .dialects.rounding import cast as rounded_cast
from .runtime import scalar_types as scalar_types
from .runtime.scalar_types import scalar_type as scalar_type
from .runtime.scalars import is_a as is_a
from .runtime.array import as_array as as_array

# Symbolic sizes.
from .dialects.sizes.polynomial import (
    Size as Size,
    ceil_quotient as ceil_quotient,
    greatest as greatest,
    is_at_least as is_at_least,
    least as least,
    positive as positive,
    require_at_least as require_at_least,
)

# Trees of arrays.
from .frontend.trace import pytree as pytree
from .frontend.trace.pytree import (
    ClassT as ClassT,
    LEAF as LEAF,
    TreeDef as TreeDef,
    children_of as tree_children,
    flatten as tree_flatten,
    is_node_type as is_node_type,
    leaves as tree_leaves,
    map as tree_map,
    node_of as tree_node,
    register_dataclass as register_dataclass,
    register_pytree_node as register_pytree_node,
    structure as tree_structure,
    unflatten as tree_unflatten,
    upto as tree_upto,
)

# Helpers shared by NumPy meanings of ops and formulas over them.
from .dialects.graph.convolution import dilated as dilated_size, windows as conv_windows
from .dialects.graph.factor import permuted as permuted_rows, permuted_back as permuted_back
from .dialects.graph.fft import roots_of_unity as roots_of_unity
from .dialects.functions import FUNCTIONS as scalar_functions

# Errors.
from .errors import (
    BoundsError as BoundsError,
    DTypeError as DTypeError,
    ShapeError as ShapeError,
    SizeError as SizeError,
    TracingError as TracingError,
)

# Transformations, control flow, programs: loaded on first use.
if TYPE_CHECKING:
    from .frontend.run.looped import looped as looped
    from .frontend.run.retrace import each_call as each_call
    from .frontend.run.jit import jit as jit
    from .frontend.functions.ravel import ravel_pytree as ravel_pytree
    from .frontend.functions.autodiff import (
        function_name as function_name,
        jvp as jvp,
        stop_gradient as stop_gradient,
        trainable as trainable,
        value_and_grad as value_and_grad,
    )
    from .frontend.functions.axes import named as named_axis
    from .frontend.functions.batching import vmap as vmap
    from .frontend.functions.custom import (
        BothModes as BothModes,
        custom_jvp as custom_jvp,
        custom_vjp as custom_vjp,
        with_slopes as with_slopes,
    )
    from .frontend.functions.implicit import (
        bicgstab as bicgstab,
        cg as cg,
        custom_linear_solve as custom_linear_solve,
        custom_root as custom_root,
        gmres as gmres,
    )
    from .frontend.functions.conditional import cond as cond, switch as switch, while_loop as while_loop
    from .frontend.functions.control import fori_loop as fori_loop, scan as scan

_LATER = {
    "looped": (".frontend.run.looped", "looped"),
    "each_call": (".frontend.run.retrace", "each_call"),
    "jit": (".frontend.run.jit", "jit"),
    "ravel_pytree": (".frontend.functions.ravel", "ravel_pytree"),
    "function_name": (".frontend.functions.autodiff", "function_name"),
    "jvp": (".frontend.functions.autodiff", "jvp"),
    "stop_gradient": (".frontend.functions.autodiff", "stop_gradient"),
    "trainable": (".frontend.functions.autodiff", "trainable"),
    "value_and_grad": (".frontend.functions.autodiff", "value_and_grad"),
    "named_axis": (".frontend.functions.axes", "named"),
    "vmap": (".frontend.functions.batching", "vmap"),
    "BothModes": (".frontend.functions.custom", "BothModes"),
    "custom_jvp": (".frontend.functions.custom", "custom_jvp"),
    "custom_vjp": (".frontend.functions.custom", "custom_vjp"),
    "with_slopes": (".frontend.functions.custom", "with_slopes"),
    "bicgstab": (".frontend.functions.implicit", "bicgstab"),
    "cg": (".frontend.functions.implicit", "cg"),
    "custom_linear_solve": (".frontend.functions.implicit", "custom_linear_solve"),
    "custom_root": (".frontend.functions.implicit", "custom_root"),
    "gmres": (".frontend.functions.implicit", "gmres"),
    "cond": (".frontend.functions.conditional", "cond"),
    "switch": (".frontend.functions.conditional", "switch"),
    "while_loop": (".frontend.functions.conditional", "while_loop"),
    "fori_loop": (".frontend.functions.control", "fori_loop"),
    "scan": (".frontend.functions.control", "scan"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _LATER[name]
    value = globals()[name] = getattr(import_module(module, __package__), original)
    return value
