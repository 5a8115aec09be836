# from the table names.toml by `make names`: do not edit
"""lamina: a multi-level tensor compiler in Python.

>>> import numpy as np, lamina as lm
>>> lm.jit(lambda x: lm.numpy.tanh(x).sum())(np.zeros(4, np.float32))
array(0., dtype=float32)

Everything loads on first use: importing the package costs a few milliseconds."""

from typing import Any

from .codegen.targets import get as target
from .compat.jax import dtypes as dtypes
from .compat.jax import flatten_util as flatten_util
from .compat.jax import image as image
from .compat.jax import ops as ops
from .compat.jax import scipy as scipy
from .compat.jax import tree as tree
from .compat.jax import tree_util as tree_util
from .compat.jax.lax import namespace as lax
from .compat.jax.lax.sequences import associative_scan as associative_scan
from .compat.jax.lax.sequences import map as map
from .errors import BoundsError as BoundsError
from .errors import CheckError as CheckError
from .errors import CompileError as CompileError
from .errors import DTypeError as DTypeError
from .errors import DeviceError as DeviceError
from .errors import DifferentiationError as DifferentiationError
from .errors import ExtensionError as ExtensionError
from .errors import GraphBreakError as GraphBreakError
from .errors import InternalError as InternalError
from .errors import LaminaError as LaminaError
from .errors import RecompileError as RecompileError
from .errors import ScheduleError as ScheduleError
from .errors import ShapeError as ShapeError
from .errors import SizeError as SizeError
from .errors import TracingError as TracingError
from .frontend import extend as extend
from .frontend import testing as testing
from .frontend.extend import call_op as call_op
from .frontend.extend import register_kernel as register_kernel
from .frontend.extend import register_op as register_op
from .frontend.extend import register_pass as register_pass
from .frontend.extend import register_primitive as register_primitive
from .frontend.extend import register_rule as register_rule
from .frontend.extend import register_step as register_step
from .frontend.extend import register_strategy as register_strategy
from .frontend.extend import register_target as register_target
from .frontend.functions import debug as debug
from .frontend.functions.autodiff import grad as grad
from .frontend.functions.autodiff import jvp as jvp
from .frontend.functions.autodiff import stop_gradient as stop_gradient
from .frontend.functions.autodiff import value_and_grad as value_and_grad
from .frontend.functions.batching import vmap as vmap
from .frontend.functions.conditional import cond as cond
from .frontend.functions.conditional import switch as switch
from .frontend.functions.conditional import while_loop as while_loop
from .frontend.functions.control import fori_loop as fori_loop
from .frontend.functions.control import scan as scan
from .frontend.functions.custom import custom_gradient as custom_gradient
from .frontend.functions.custom import custom_jvp as custom_jvp
from .frontend.functions.custom import custom_vjp as custom_vjp
from .frontend.functions.effects import after as after
from .frontend.functions.effects import check as check
from .frontend.functions.effects import error_if as error_if
from .frontend.functions.effects import io_callback as io_callback
from .frontend.functions.effects import pure_callback as pure_callback
from .frontend.functions.implicit import closure_convert as closure_convert
from .frontend.functions.jacobians import ShapeDtypeStruct as ShapeDtypeStruct
from .frontend.functions.jacobians import block_until_ready as block_until_ready
from .frontend.functions.jacobians import checkpoint as checkpoint
from .frontend.functions.jacobians import device_get as device_get
from .frontend.functions.jacobians import device_put as device_put
from .frontend.functions.jacobians import eval_shape as eval_shape
from .frontend.functions.jacobians import hessian as hessian
from .frontend.functions.jacobians import jacfwd as jacfwd
from .frontend.functions.jacobians import jacobian as jacobian
from .frontend.functions.jacobians import jacrev as jacrev
from .frontend.functions.jacobians import remat as remat
from .frontend.functions.jacobians import typeof as typeof
from .frontend.functions.unjitted import disable_jit as disable_jit
from .frontend.functions.vjp import fwd_and_bwd as fwd_and_bwd
from .frontend.functions.vjp import linear_transpose as linear_transpose
from .frontend.functions.vjp import linearize as linearize
from .frontend.functions.vjp import vjp as vjp
from .frontend.kernel.annotations import bf16 as bf16
from .frontend.kernel.annotations import bool_ as bool_
from .frontend.kernel.annotations import complex128 as complex128
from .frontend.kernel.annotations import complex64 as complex64
from .frontend.kernel.annotations import dtype as dtype
from .frontend.kernel.annotations import empty as empty
from .frontend.kernel.annotations import f16 as f16
from .frontend.kernel.annotations import f32 as f32
from .frontend.kernel.annotations import f64 as f64
from .frontend.kernel.annotations import grid as grid
from .frontend.kernel.annotations import i16 as i16
from .frontend.kernel.annotations import i32 as i32
from .frontend.kernel.annotations import i64 as i64
from .frontend.kernel.annotations import i8 as i8
from .frontend.kernel.annotations import parallel as parallel
from .frontend.kernel.annotations import ui16 as ui16
from .frontend.kernel.annotations import ui32 as ui32
from .frontend.kernel.annotations import ui64 as ui64
from .frontend.kernel.annotations import ui8 as ui8
from .frontend.kernel.annotations import zeros as zeros
from .frontend.kernel.assumptions import assume as assume
from .frontend.kernel.assumptions import disjoint as disjoint
from .frontend.kernel.assumptions import increasing as increasing
from .frontend.kernel.assumptions import permutation as permutation
from .frontend.kernel.borders import pad_read as pad_read
from .frontend.kernel.call_kernel import call_kernel as call_kernel
from .frontend.kernel.decorator import kernel as kernel
from .frontend.kernel.made import kernel_from_ir as kernel_from_ir
from .frontend.kernel.made import kernel_from_source as kernel_from_source
from .frontend.kernel.philox import philox as philox
from .frontend.kernel.philox import philox_normal as philox_normal
from .frontend.kernel.philox import philox_uniform as philox_uniform
from .frontend.kernel.saturating import add_sat as add_sat
from .frontend.kernel.saturating import convert_sat as convert_sat
from .frontend.kernel.saturating import sub_sat as sub_sat
from .frontend.kernel.schedules import parse_schedule as parse_schedule
from .frontend.kernel.tune import tune as tune
from .frontend.python.compile.compiled import compile as compile
from .frontend.python.compile.compiled import no_breaks as no_breaks
from .frontend.python.compile.compiled import no_recompile as no_recompile
from .frontend.python.compile.report import explain as explain
from .frontend.run.devices import Device as Device
from .frontend.run.devices import DeviceArray as DeviceArray
from .frontend.run.devices import register_device as register_device
from .frontend.run.jit import jit as jit
from .frontend.run.jit import make_graph as make_graph
from .frontend.run.jit import make_jaxpr as make_jaxpr
from .frontend.run.lowered import Compiled as Compiled
from .frontend.run.lowered import Lowered as Lowered
from .frontend.run.record import Record as Record
from .frontend.run.record import record as record
from .frontend.run.watching import debug_nans as debug_nans
from .frontend.run.watching import watch as watch
from .frontend.trace.config import config as config
from .frontend.trace.dynamic import dim as dim
from .frontend.trace.program import TensorSpec as TensorSpec
from .frontend.trace.pytree import register_dataclass as register_dataclass
from .frontend.trace.pytree import register_pytree_node as register_pytree_node
from .frontend.trace.scopes import named_scope as named_scope
from .interop.chain import chain as chain
from .interop.onnx import from_onnx as from_onnx
from .interop.onnx.to_model import to_onnx as to_onnx
from .interop.stablehlo.from_text import from_stablehlo as from_stablehlo
from .interop.stablehlo.to_text import to_stablehlo as to_stablehlo
from .interop.torch import from_torch as from_torch
from .library import fft as fft
from .library.linalg import namespace as linalg
from .library.nn import namespace as nn
from .library.numpy import namespace as numpy
from .library.numpy.at import segment_mean as segment_mean
from .library.numpy.info import from_dlpack as from_dlpack
from .library.random import namespace as random
from .library.special import namespace as special
from .runtime.array import Array as Array
from .runtime.pool import get_result_pool as get_result_pool
from .runtime.pool import set_result_pool as set_result_pool
from .runtime.threads import get_threads as get_threads
from .runtime.threads import set_threads as set_threads
from .train.files import save as save
from .train.modules.module import Module as Module
from .train.modules.module import buffer as buffer
from .train.modules.module import static as static

def load(path: Any, like: Any = None) -> Any:
    """Read a file: arrays that `save` wrote, or the functions of a shared object that `lamina-compile` wrote."""

def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, the greatest; minus infinity (the least integer) for an id that no row has."""

def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, the least; infinity (the greatest integer) for an id that no row has."""

def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, products; 1 for an id that no row has."""

def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """The sums of the rows of `data` with one id each: `result[s]` is the sum of all `data[k]` with `segment_ids[k] == s`."""

from . import train as train
__all__ = [
    "Array", "BoundsError", "CheckError", "CompileError", "Compiled", "DTypeError", "Device", "DeviceArray", "DeviceError",
    "DifferentiationError", "ExtensionError", "GraphBreakError", "InternalError", "LaminaError", "Lowered", "Module",
    "RecompileError", "Record", "ScheduleError", "ShapeDtypeStruct", "ShapeError", "SizeError", "TensorSpec", "TracingError",
    "add_sat", "after", "associative_scan", "assume", "bf16", "block_until_ready", "bool_", "buffer", "call_kernel", "call_op",
    "chain", "check", "checkpoint", "closure_convert", "compile", "complex128", "complex64", "cond", "config", "convert_sat",
    "custom_gradient", "custom_jvp", "custom_vjp", "debug", "debug_nans", "device_get", "device_put", "dim", "disable_jit",
    "disjoint", "dtype", "dtypes", "empty", "error_if", "eval_shape", "explain", "extend", "f16", "f32", "f64", "fft",
    "flatten_util", "fori_loop", "from_dlpack", "from_onnx", "from_stablehlo", "from_torch", "fwd_and_bwd", "get_result_pool",
    "get_threads", "grad", "grid", "hessian", "i16", "i32", "i64", "i8", "image", "increasing", "io_callback", "jacfwd",
    "jacobian", "jacrev", "jit", "jvp", "kernel", "kernel_from_ir", "kernel_from_source", "lax", "linalg", "linear_transpose",
    "linearize", "load", "make_graph", "make_jaxpr", "map", "named_scope", "nn", "no_breaks", "no_recompile", "numpy", "ops",
    "pad_read", "parallel", "parse_schedule", "permutation", "philox", "philox_normal", "philox_uniform", "pure_callback",
    "random", "record", "register_dataclass", "register_device", "register_kernel", "register_op", "register_pass",
    "register_primitive", "register_pytree_node", "register_rule", "register_step", "register_strategy", "register_target",
    "remat", "save", "scan", "scipy", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "set_result_pool", "set_threads", "special", "static", "stop_gradient", "sub_sat", "switch", "target", "testing", "to_onnx",
    "to_stablehlo", "train", "tree", "tree_util", "tune", "typeof", "ui16", "ui32", "ui64", "ui8", "value_and_grad", "vjp",
    "vmap", "watch", "while_loop", "zeros",
]
