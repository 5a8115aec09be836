# from the table names.toml by `make names`: do not edit
"""The interface of the compiler for libraries of functions, ours (`library/`, `compat/`, `train/`) and others'.

Here are the functions that trace ops; what else a library needs is in modules by subject: `dtypes`, `errors`, `functions`,
`ops`, `programs`, `sizes`, `tracing`, `trees`. Libraries import these and each other, nothing else of the package; a test in
`tests/meta` enforces it. The functions that register ops, rules, kernels, passes and targets are in `lamina.extend`.
docs/extending.md describes each name, the table `names.toml` lists them."""

from typing import Any

from ..frontend.run.eager import api as array_function
from ..frontend.run.eager import creation as creation
from ..frontend.run.eager import edit as edit
from ..frontend.run.eager import operation as operation
from ..frontend.run.ufunc_keywords import changing as changing
from ..frontend.trace.array_functions import arrays as arrays
from ..frontend.trace.config import config as config
from ..frontend.trace.filling import broadcast_tracer as broadcast_tracer
from ..frontend.trace.filling import filled as filled
from ..frontend.trace.filling import full_like_tracer as full_like_tracer
from ..frontend.trace.locations import located as located
from ..frontend.trace.program import TensorSpec as TensorSpec
from ..frontend.trace.tracer import Tracer as Tracer
from ..frontend.trace.tracing import build as build
from ..frontend.trace.tracing import concrete_array as concrete_array
from ..frontend.trace.tracing import is_array_like as is_array_like
from ..frontend.trace.tracing import is_traced as is_traced
from ..frontend.trace.tracing import lift as lift
from ..frontend.trace.tracing import lift_as as lift_as
from ..frontend.trace.tracing import lift_float as lift_float
from ..frontend.trace.tracing import lift_into as lift_into
from ..frontend.trace.tracing import lift_operands as lift_operands
from ..frontend.trace.tracing import operand as operand
from ..frontend.trace.tracing import sequence_of_operands as sequence_of_operands
from ..frontend.trace.tracing import several as several
from ..frontend.trace.tracing import token as token
from ..runtime.array import as_array as as_array
from ..runtime.dlpack import array_from_dlpack as array_from_dlpack

from . import dtypes as dtypes
from . import errors as errors
from . import functions as functions
from . import kernels as kernels
from . import ops as ops
from . import programs as programs
from . import sizes as sizes
from . import tracing as tracing
from . import trees as trees
__all__ = [
    "TensorSpec", "Tracer", "array_from_dlpack", "array_function", "arrays", "as_array", "broadcast_tracer", "build",
    "changing", "concrete_array", "config", "creation", "dtypes", "edit", "errors", "filled", "full_like_tracer", "functions",
    "is_array_like", "is_traced", "kernels", "lift", "lift_as", "lift_float", "lift_into", "lift_operands", "located",
    "operand", "operation", "ops", "programs", "sequence_of_operands", "several", "sizes", "token", "tracing", "trees",
]
