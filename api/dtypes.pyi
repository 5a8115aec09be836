# from the table names.toml by `make names`: do not edit
"""Dtypes as arrays, ops and NumPy's promotion know them."""

from typing import Any

from ..dialects.element_types import Kind as ElementKind
from ..dialects.element_types import TABLE as ELEMENT_TYPES
from ..dialects.rounding import cast as rounded_cast
from ..dialects.types import INDICES as INDICES
from ..dialects.types import element_type as element_type
from ..dialects.types import numpy_dtype as numpy_dtype
from ..dialects.types import tensor as tensor_type
from ..frontend.trace.promotion import BOOL as BOOL
from ..frontend.trace.promotion import COMPLEX128 as COMPLEX128
from ..frontend.trace.promotion import COMPLEX64 as COMPLEX64
from ..frontend.trace.promotion import FLOAT32 as FLOAT32
from ..frontend.trace.promotion import FLOAT64 as FLOAT64
from ..frontend.trace.promotion import INT32 as INT32
from ..frontend.trace.promotion import INT64 as INT64
from ..frontend.trace.promotion import STORED as STORED
from ..frontend.trace.promotion import canonical as canonical
from ..frontend.trace.promotion import common_dtype as common_dtype
from ..frontend.trace.promotion import computed as computed
from ..frontend.trace.promotion import dtype_of as dtype_of
from ..frontend.trace.promotion import float0 as float0
from ..frontend.trace.promotion import inexact as inexact
from ..frontend.trace.promotion import is_complex_dtype as is_complex_dtype
from ..frontend.trace.promotion import is_inexact_dtype as is_inexact_dtype
from ..frontend.trace.promotion import is_integer_dtype as is_integer_dtype
from ..frontend.trace.promotion import narrowed as narrowed
from ..frontend.trace.promotion import part_dtype as part_dtype
from ..frontend.trace.promotion import result_type as result_type
from ..frontend.trace.promotion import ufunc_dtypes as ufunc_dtypes
from ..frontend.trace.promotion import weak_result as weak_result
from ..runtime.scalar_types import scalar_type as scalar_type

__all__ = [
    "BOOL", "COMPLEX128", "COMPLEX64", "ELEMENT_TYPES", "ElementKind", "FLOAT32", "FLOAT64", "INDICES", "INT32", "INT64",
    "STORED", "canonical", "common_dtype", "computed", "dtype_of", "element_type", "float0", "inexact", "is_complex_dtype",
    "is_inexact_dtype", "is_integer_dtype", "narrowed", "numpy_dtype", "part_dtype", "result_type", "rounded_cast",
    "scalar_type", "tensor_type", "ufunc_dtypes", "weak_result",
]
