"""lamina: a multi-level tensor compiler in Python.

>>> import numpy as np, lamina as lm
>>> lm.jit(lambda x: lm.numpy.tanh(x).sum())(np.zeros(4, np.float32))
array(0., dtype=float32)

Everything loads on first use: importing the package costs a few milliseconds.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import train as train
    from .codegen.targets import get as target  # noqa: F401
    from .compat.jax import dtypes as dtypes
    from .compat.jax import flatten_util as flatten_util
    from .compat.jax import image as image
    from .compat.jax import ops as ops
    from .compat.jax import scipy as scipy
    from .compat.jax import tree_util  # noqa: F401
    from .compat.jax.lax import namespace as lax  # noqa: F401
    from .compat.jax.lax.namespace import associative_scan as associative_scan
    from .compat.jax.lax.namespace import map as map
    from .errors import BoundsError as BoundsError
    from .errors import CheckError as CheckError
    from .errors import CompileError as CompileError
    from .errors import DeviceError as DeviceError
    from .errors import DifferentiationError as DifferentiationError
    from .errors import DTypeError as DTypeError
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
    from .frontend.kernel.annotations import bool_ as bool_
    from .frontend.kernel.annotations import empty as empty
    from .frontend.kernel.annotations import f32 as f32
    from .frontend.kernel.annotations import f64 as f64
    from .frontend.kernel.annotations import grid as grid
    from .frontend.kernel.annotations import i8 as i8
    from .frontend.kernel.annotations import i16 as i16
    from .frontend.kernel.annotations import i32 as i32
    from .frontend.kernel.annotations import i64 as i64
    from .frontend.kernel.annotations import parallel as parallel
    from .frontend.kernel.annotations import ui8 as ui8
    from .frontend.kernel.annotations import ui16 as ui16
    from .frontend.kernel.annotations import ui32 as ui32
    from .frontend.kernel.annotations import ui64 as ui64
    from .frontend.kernel.annotations import zeros as zeros
    from .frontend.kernel.call_kernel import call_kernel as call_kernel
    from .frontend.kernel.decorator import kernel as kernel
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
    from .library import fft as fft
    from .library.linalg import namespace as linalg  # noqa: F401
    from .library.nn import namespace as nn  # noqa: F401
    from .library.numpy import namespace as numpy  # noqa: F401
    from .library.numpy.at import segment_max as segment_max
    from .library.numpy.at import segment_mean as segment_mean
    from .library.numpy.at import segment_min as segment_min
    from .library.numpy.at import segment_prod as segment_prod
    from .library.numpy.at import segment_sum as segment_sum
    from .library.random import namespace as random  # noqa: F401
    from .library.special import namespace as special  # noqa: F401
    from .runtime.array import Array as Array
    from .runtime.pool import get_result_pool as get_result_pool
    from .runtime.pool import set_result_pool as set_result_pool
    from .runtime.threads import get_threads as get_threads
    from .runtime.threads import set_threads as set_threads
    from .train.files import save as save
    from .train.modules.module import Module as Module
    from .train.modules.module import buffer as buffer
    from .train.modules.module import static as static

__version__ = "0.1.0"

# public name -> module that defines it
_HOMES = {
    **dict.fromkeys(
        (
            "BoundsError",
            "CheckError",
            "CompileError",
            "DTypeError",
            "DifferentiationError",
            "DeviceError",
            "ExtensionError",
            "GraphBreakError",
            "InternalError",
            "LaminaError",
            "RecompileError",
            "ScheduleError",
            "ShapeError",
            "SizeError",
            "TracingError",
        ),
        ".errors",
    ),
    **dict.fromkeys(("grad", "jvp", "stop_gradient", "value_and_grad"), ".frontend.functions.autodiff"),
    **dict.fromkeys(
        (
            *(
                "ShapeDtypeStruct",
                "block_until_ready",
                "checkpoint",
                "device_get",
                "device_put",
                "eval_shape",
                "hessian",
                "typeof",
            ),
            *("jacfwd", "jacobian", "jacrev", "remat"),
        ),
        ".frontend.functions.jacobians",
    ),
    **dict.fromkeys(("fwd_and_bwd", "linear_transpose", "linearize", "vjp"), ".frontend.functions.vjp"),
    **dict.fromkeys(("custom_gradient", "custom_jvp", "custom_vjp"), ".frontend.functions.custom"),
    **dict.fromkeys(("Record", "record"), ".frontend.run.record"),
    "tune": ".frontend.kernel.tune",
    "vmap": ".frontend.functions.batching",
    **dict.fromkeys(("segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum"), ".library.numpy.at"),
    "kernel": ".frontend.kernel.decorator",
    "call_kernel": ".frontend.kernel.call_kernel",
    "config": ".frontend.trace.config",
    **dict.fromkeys(("fori_loop", "scan"), ".frontend.functions.control"),
    **dict.fromkeys(("cond", "switch", "while_loop"), ".frontend.functions.conditional"),
    **dict.fromkeys(("associative_scan", "map"), ".compat.jax.lax.namespace"),
    **dict.fromkeys(
        (
            *("f32", "f64", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "bool_"),
            *("empty", "grid", "parallel", "zeros"),
        ),
        ".frontend.kernel.annotations",
    ),
    **dict.fromkeys(("Compiled", "Lowered"), ".frontend.run.lowered"),
    **dict.fromkeys(("Device", "DeviceArray", "register_device"), ".frontend.run.devices"),
    "dim": ".frontend.trace.dynamic",
    "disable_jit": ".frontend.functions.unjitted",
    "debug_nans": ".frontend.run.watching",
    "watch": ".frontend.run.watching",
    "named_scope": ".frontend.trace.scopes",
    **dict.fromkeys(("after", "check", "error_if", "io_callback", "pure_callback"), ".frontend.functions.effects"),
    **dict.fromkeys(
        (
            *("call_op", "register_kernel", "register_op", "register_pass", "register_primitive", "register_rule"),
            *("register_step", "register_strategy", "register_target"),
        ),
        ".frontend.extend",
    ),
    **dict.fromkeys(("jit", "make_graph", "make_jaxpr"), ".frontend.run.jit"),
    "closure_convert": ".frontend.functions.implicit",
    **dict.fromkeys(("compile", "no_breaks", "no_recompile"), ".frontend.python.compile.compiled"),
    "explain": ".frontend.python.compile.report",
    "Array": ".runtime.array",
    "save": ".train.files",
    **dict.fromkeys(("Module", "buffer", "static"), ".train.modules.module"),
    "TensorSpec": ".frontend.trace.program",
    **dict.fromkeys(("register_dataclass", "register_pytree_node"), ".frontend.trace.pytree"),
    **dict.fromkeys(("get_result_pool", "set_result_pool"), ".runtime.pool"),
    **dict.fromkeys(("get_threads", "set_threads"), ".runtime.threads"),
}
# No module of the root may be called numpy, so the submodules that users import are aliases of modules of the frontend.
_ALIASES = {
    "debug": ".frontend.functions.debug",
    "dtypes": ".compat.jax.dtypes",
    "extend": ".frontend.extend",
    "fft": ".library.fft",
    "flatten_util": ".compat.jax.flatten_util",
    "image": ".compat.jax.image",
    "lax": ".compat.jax.lax.namespace",
    "linalg": ".library.linalg.namespace",
    "numpy": ".library.numpy.namespace",
    "nn": ".library.nn.namespace",
    "ops": ".compat.jax.ops",
    "random": ".library.random.namespace",
    "scipy": ".compat.jax.scipy",
    "special": ".library.special.namespace",
    "testing": ".frontend.testing",
    "tree": ".compat.jax.tree_util",
    "tree_util": ".compat.jax.tree_util",
}

# the parts of scipy, which `import lamina.scipy.stats` finds, too
_PARTS = ("cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats")

__all__ = [*_HOMES, *_ALIASES]

_ALIASES |= {f"scipy.{part}": f".compat.jax.scipy.{part}" for part in _PARTS} | {"scipy.special": _ALIASES["special"]}


def _import(module: str) -> Any:
    """Import a part of the package with garbage collection off, which would take a sixth more time: nearly all objects stay."""
    from .runtime.gc_pause import collecting_later  # here: pytest imports this file without a package for tests below it

    with collecting_later(all_stays=True):
        return importlib.import_module(module, __name__)


class _Alias(ModuleType):
    """A submodule by another name, loaded on first use."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__all__", "__array_api_version__", "__array_namespace_info__"):
            raise AttributeError(name)
        home = _import(_ALIASES[self.__name__.partition(".")[2]])
        value = getattr(home, name)  # which may import a part of it
        self.__dict__.update({key: value for key, value in vars(home).items() if not key.startswith("__")})
        self.__doc__ = home.__doc__
        return value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(_ALIASES[self.__name__.partition(".")[2]], __name__))


for _key in _ALIASES:
    sys.modules[f"{__name__}.{_key}"] = _Alias(f"{__name__}.{_key}")
    if "." not in _key:
        globals()[_key] = sys.modules[f"{__name__}.{_key}"]


# public names that differ from those of their definitions
_RENAMED = {"target": ("get", ".codegen.targets")}

__all__ += [*_RENAMED]


def load(path: str | os.PathLike[str], like: Any = None) -> Any:
    """Read a file: arrays that `save` wrote, or the functions of a shared object that `lamina-compile` wrote.

    Args:
        path: the path of the file; a name that ends in `.so` is a shared object. It is loaded without the compiler.
        like: for arrays, a tree with the expected structure, shapes and dtypes.

    Returns:
        A tree of arrays as `like`, a dict of arrays by name, or a `runtime.shared_object.SharedObject`:
        `lm.load("mlp.so").main(x)`.

    Raises:
        OSError: the file cannot be read.
        FileError: the arrays are damaged, or differ from `like`.
        ObjectError: the shared object is damaged, not ours, or for another machine.
    """
    if os.fspath(path).endswith(".so"):
        if like is not None:
            raise TypeError("load() of a shared object takes no like=")
        from .runtime.shared_object import load as load_object

        return load_object(path)
    return _import(".train.files").load(path, like)


__all__ += ["load"]


# packages beside the frontend, by their own names
_PACKAGES = ("train",)

__all__ += [*_PACKAGES]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return _import(f".{name}")  # importing a package sets its name here
    if name in _RENAMED:
        original, module = _RENAMED[name]
        value = globals()[name] = getattr(_import(module), original)
        return value
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
