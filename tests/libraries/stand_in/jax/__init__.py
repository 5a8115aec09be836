"""A package `jax` that is lamina: libraries written for jax import it in the place of jax (`tests/libraries/run.py`).

Names that lamina has under another module are found there; what it has no name for is `Missing`, which a library may import and
which raises when it is called. Dtypes and promotion are jax's.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
import types

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina.frontend.tracer import Tracer

__version__ = "0.10.0"
__version_info__ = (0, 10, 0)


class Missing(dict):
    """A name of jax that lamina does not have."""

    def __init__(self, name):
        super().__init__()
        self.__dict__["name"] = name

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"missing: {self.name}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.name}.{name}")

    def __missing__(self, key):
        return self

    def __mro_entries__(self, bases):
        return ()

    def __hash__(self):
        return hash(self.name)

    def __or__(self, other):
        return self

    __ror__ = __or__


def _found_in(name, places):
    def get(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        for place in places:
            if hasattr(place, attribute):
                return getattr(place, attribute)
        return Missing(f"{name}.{attribute}")

    return get


def _module(name, *places, **own):
    """The module `jax.<name>`, and those around it: what `own` says, then the names of `places`."""
    parent, _, leaf = name.rpartition(".")
    if parent and f"jax.{parent}" not in sys.modules:
        _module(parent)
    module = types.ModuleType(f"jax.{name}")
    module.__path__ = []
    module.__getattr__ = _found_in(module.__name__, places)
    module.__dict__.update(own)
    sys.modules[module.__name__] = module
    setattr(sys.modules[f"jax.{parent}"] if parent else sys.modules["jax"], leaf, module)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Parts of jax that nobody here knows are modules of missing names."""

    def find_spec(self, name, path, target=None):
        is_jax = name.partition(".")[0] in ("jax", "jaxlib")
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_jax else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = _found_in(spec.name, ())
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(_Finder())


class _Config:
    jax_enable_x64 = x64_enabled = False

    def __getattr__(self, name):
        return False

    def read(self, name):
        return getattr(self, name)

    def update(self, name, value):
        if name == "jax_enable_x64":
            self.jax_enable_x64 = self.x64_enabled = value
            lm.config.update(x64=value)


config = _Config()
lm.config.update(promotion="jax", x64=False)


class ShapedArray:
    def __init__(self, shape, dtype, weak_type=False):
        self.shape, self.dtype = shape, dtype


def _named(*names):
    return {name: type(name, (), {}) for name in names}


def _nothing(*args, **kwargs):
    return None


def _itself(function):
    return function


_module("numpy", lnp, ndarray=lm.Array)
_module("numpy.linalg", lm.linalg)
_module("numpy.fft", lm.fft)
_module("nn", lm.nn)
_module("nn.initializers", lm.nn.initializers)
_module("lax", lm.lax)
_module("lax.linalg", lm.lax.linalg, lm.linalg)
_module("random", lm.random)
_module("tree", lm.tree)
_module("tree_util", lm.tree, default_registry=None)
_module("flatten_util", lm.tree)
_module("image", lm.image, lm.nn)
_module("ops", lm)
_module("debug", lm.debug)
_module("scipy", lm.scipy)
for _part in ("special", "linalg", "stats", "signal", "ndimage", "integrate", "interpolate", "fft", "optimize"):
    _module(f"scipy.{_part}", getattr(lm.scipy, _part))
for _part in (
    "norm",
    "beta",
    "gamma",
    "expon",
    "uniform",
    "cauchy",
    "laplace",
    "logistic",
    "t",
    "poisson",
    "multivariate_normal",
):
    _module(f"scipy.stats.{_part}", getattr(lm.scipy.stats, _part))
_module("scipy.cluster.vq", lm.scipy.cluster.vq)
_module("scipy.sparse.linalg", lm.scipy.sparse.linalg)
_module("typing", ArrayLike=object, DTypeLike=object)
_module(
    "dtypes",
    lnp,
    float0=np.dtype([("float0", np.void, 0)]),
    prng_key=type("prng_key", (np.generic,), {}),
    canonicalize_dtype=lambda dtype: lnp.zeros(0, dtype).dtype,
)
_core = {
    **_named("Jaxpr", "JaxprEqn", "Literal", "Var", "ClosedJaxpr", "Trace"),
    "Tracer": Tracer,
    "ShapedArray": ShapedArray,
    "AbstractValue": ShapedArray,
}
_module("core", **_core)
_module("extend.core", **_core)
_module("_src.core", **_core)
_traced = ("TracerArrayConversionError", "ConcretizationTypeError", "TracerBoolConversionError", "UnexpectedTracerError")
_module("errors", **dict.fromkeys((*_traced, "TracerIntegerConversionError"), lm.TracingError))
_module("custom_derivatives", lm, **_named("SymbolicZero"))
_module("sharding", **_named("Sharding", "NamedSharding", "PartitionSpec", "Mesh", "SingleDeviceSharding"))
_module("experimental.sparse", **_named("BCOO", "BCSR", "JAXSparse"))
_module("interpreters.ad", primitive_jvps={}, primitive_transposes={}, defjvp=_nothing, deflinear=_nothing)
_module("interpreters.batching", primitive_batchers={}, axis_primitive_batchers={}, not_mapped=None, **_named("NotMapped"))
_module("interpreters.mlir", register_lowering=_nothing, lower_fun=_nothing)
_module("interpreters.xla", apply_primitive=_nothing)
_module("extend.linear_util", transformation=_itself, transformation2=_itself, **_named("WrappedFun"))
_module("extend.source_info_util", register_exclusion=_nothing)
_module("_src.traceback_util", register_exclusion=_nothing, api_boundary=_itself)
_module("_src.tree_util", lm.tree)
_module("_src.flatten_util", lm.tree)

Array = lm.Array
float0 = sys.modules["jax.dtypes"].float0
named_scope = default_matmul_precision = default_device = lambda *args: contextlib.nullcontext()
ensure_compile_time_eval = disable_jit = contextlib.nullcontext
_NOT_OURS = ("inline", "backend", "keep_unused", "device", "compiler_options", "donate_argnums", "donate_argnames")


def jit(function=None, /, **options):
    if function is None:
        return lambda f: jit(f, **options)
    return lm.jit(function, **{name: value for name, value in options.items() if name not in _NOT_OURS})


def pmap(function, *args, **kwargs):
    return lm.vmap(function)


def enable_x64(is_on=True):
    return lm.config(x64=is_on)


def devices(*args):
    return [types.SimpleNamespace(platform="cpu", id=0, device_kind="cpu")]


def device_count(*args):
    return 1


local_devices, local_device_count, process_count = devices, device_count, device_count


def process_index(*args):
    return 0


def default_backend():
    return "cpu"


__getattr__ = _found_in("jax", (lm, lm.lax, lm.tree))
