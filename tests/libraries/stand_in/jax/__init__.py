"""A package `jax` that is lamina: libraries written for jax import it instead of jax (`tests/libraries/run.py`).

Names that lamina has under another module are found there; what it has no name for is `Missing`, which a library may import and
which raises when it is called. Dtypes and promotion are jax's.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina.frontend.functions.custom import CustomVJPPrimal, may_change
from lamina.frontend.trace import tracer
from lamina.frontend.trace.program import is_staging
from lamina.frontend.trace.tracer import Tracer
from lamina.frontend.trace.tracing import current
from lamina.library.random.keys import KeyArray

__version__ = "0.10.0"
__version_info__ = (0, 10, 0)


LIBRARIES = {f"jax.{name}" for name in ("example_libraries.optimizers", "example_libraries.stax")}
"""Modules of jax that are Python on its public functions."""


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
        if f"{name}.{attribute}" in LIBRARIES:
            return importlib.import_module(f"{name}.{attribute}")
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
    """Parts of jax that are libraries themselves are the installed ones; others that nobody here knows have missing names."""

    def find_spec(self, name, path, target=None):
        if name in LIBRARIES:
            elsewhere = [place for place in sys.path if not __file__.startswith(f"{place}/")]
            found = importlib.machinery.PathFinder.find_spec("jax", elsewhere)
            source = f"{found.submodule_search_locations[0]}/{'/'.join(name.split('.')[1:])}.py"
            return importlib.util.spec_from_file_location(name, source)
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
    jax_numpy_dtype_promotion = "standard"

    def __getattr__(self, name):
        return False

    def read(self, name):
        return getattr(self, name)

    def update(self, name, value):
        if name == "jax_enable_x64":
            self.jax_enable_x64 = self.x64_enabled = value
            lm.config.update(x64=value)


class _AnyArray(type):
    def __instancecheck__(cls, x):
        return isinstance(x, lm.Array | Tracer | KeyArray)

    def __getattr__(cls, name):
        return getattr(lm.Array, name)


class Array(metaclass=_AnyArray):
    """A result or a traced array."""


class JVPTracer(metaclass=type("_Floats", (type,), {"__instancecheck__": lambda cls, x: type(x) is Tracer and may_change(x)})):
    """A traced array that may be differentiated."""


Tracer._trace = property(lambda self: types.SimpleNamespace(main=self.within))
Tracer.aval = property(lambda self: ShapedArray(self.shape, self.dtype))
tracer.Array = Array  # what a traced array is beside a tracer: not one of NumPy's, which libraries take for known values
config = _Config()
lm.config.update(promotion="jax", x64=False)


class ShapedArray(lm.ShapeDtypeStruct):
    def __init__(self, shape, dtype, weak_type=False, *, sharding=None, **options):
        super().__init__(shape, dtype, sharding=sharding, weak_type=weak_type)

    def to_tangent_aval(self):
        return self


def typeof(x):
    aval = lm.typeof(x)
    return ShapedArray(aval.shape, aval.dtype)


def _named(*names):
    return {name: type(name, (), {}) for name in names}


def _nothing(*args, **kwargs):
    return None


def _itself(function):
    return function


def _zipped(*lists):
    return list(zip(*lists, strict=True))


def _mapped(function, *lists):
    return [function(*row) for row in _zipped(*lists)]


def _unzipped(pairs):
    return tuple(zip(*pairs, strict=True)) or ((), ())


class _Wrapped:
    """A function of arrays, as `linear_util` has it."""

    def __init__(self, function, *args, **options):
        self.call_wrapped = function


def _flat_function(wrapped, in_tree):
    """A function of leaves, and what then gives the structure of its result."""
    structures = []

    def of_leaves(*leaves):
        found, structure = lm.tree.flatten(wrapped.call_wrapped(*in_tree.unflatten(leaves)))
        structures.append(structure)
        return found

    return _Wrapped(of_leaves), lambda: structures[-1]


class Zero:
    """The tangent of what does not change."""

    def __init__(self, aval):
        self.aval = aval

    from_primal_value = classmethod(lambda cls, x: cls(lm.typeof(x)))


def _instantiated(tangent):
    return lnp.zeros(tangent.aval.shape, tangent.aval.dtype) if isinstance(tangent, Zero) else tangent


_jvps = {}


class Primitive:
    """An op of a library's own: its `impl`, with the derivative that the library registers. Batching is that of `impl`."""

    multiple_results = False

    def __init__(self, name):
        self.name = name

    def def_impl(self, impl):
        self.impl = impl
        return impl

    def_abstract_eval = _nothing

    def bind(self, *args, **params):
        moving = [type(x) is Tracer and may_change(x) for x in args]
        if self not in _jvps or not any(moving):
            return self.impl(*args, **params)
        function = lm.custom_jvp(lambda *xs: self.impl(*xs, **params))

        @function.defjvp
        def rule(primals, tangents):
            tangents = [t if moves else Zero(lm.typeof(t)) for t, moves in zip(tangents, moving, strict=True)]
            value, tangent = _jvps[self](primals, tangents, **params)
            return value, lm.tree.map(_instantiated, tangent, is_leaf=lambda t: isinstance(t, Zero))

        return function(*args)


class SymbolicZero:
    def __init__(self, aval):
        self.shape, self.dtype = aval.shape, aval.dtype

    def __array__(self, *args, **kwargs):
        return np.zeros(self.shape, self.dtype)


def _zeros(tree, symbolic_zeros=False):
    return lm.tree.map(lnp.zeros_like, tree)


class custom_jvp(lm.custom_jvp):
    """Where no argument changes jax does not call the rule; with `symbolic_zeros` rules see which do not."""

    is_symbolic = False

    def defjvp(self, jvp, symbolic_zeros=False):
        self.is_symbolic = symbolic_zeros
        return super().defjvp(jvp)

    def rules(self, function, args, tracers, *more):
        moving, of_library = [may_change(x) for x in tracers], self._rule

        def rule(*given):
            *fixed, primals, tangents = given
            leaves, structure = lm.tree.flatten(tangents)
            if not any(moving):
                value = self.fun(*args.unflatten(lm.tree.leaves(primals)))
                return value, lm.tree.map(lnp.zeros_like, value)
            if self.is_symbolic:
                leaves = [t if moves else SymbolicZero(t) for t, moves in zip(leaves, moving, strict=True)]
            return of_library(*fixed, primals, structure.unflatten(leaves))

        self._rule = rule
        try:
            return super().rules(function, args, tracers, *more)
        finally:
            self._rule = of_library


class Jaxpr:
    """A function with what it closes over as `consts`."""

    def __init__(self, function, args):
        converted, self.consts = lm.closure_convert(function, *args)
        self.function = converted if self.consts else function  # which any trace may call
        self.jaxpr = self


def make_jaxpr(function, return_shape=False):
    if not return_shape:
        return lm.make_jaxpr(function)
    return lambda *args: (Jaxpr(function, args), lm.eval_shape(function, *args))


def _eval_jaxpr(jaxpr, consts, *args):
    return lm.tree.leaves(jaxpr.function(*args, *consts))


class _PartialValue:
    unknown = staticmethod(_itself)


def _evaluated(wrapped, avals):
    """What a library takes of a partial evaluation: results that do not depend on the arguments, which are zeros here."""
    return None, [(None, x) for x in wrapped.call_wrapped(*(lnp.zeros(a.shape, a.dtype) for a in avals))], ()


def _trace_state(**kwargs):
    """What a library compares to see that it has come into another transformation."""
    return current() if is_staging() else None


_module("numpy", lnp, ndarray=Array)
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
_module("dtypes", lm.dtypes)
_core = {
    **_named("JaxprEqn", "Literal", "Var", "Trace"),
    "Jaxpr": Jaxpr,
    "ClosedJaxpr": Jaxpr,
    "eval_jaxpr": _eval_jaxpr,
    "raise_to_shaped": _itself,
    "find_top_trace": lambda xs: types.SimpleNamespace(main=current()),
    "Tracer": Tracer,
    "ShapedArray": ShapedArray,
    "AbstractValue": ShapedArray,
    "get_opaque_trace_state": _trace_state,
    "Primitive": Primitive,
    "trace_state_clean": lambda: not is_staging(),
}
_module("core", **_core)
_module("extend.core", **_core)
_module("_src.core", **_core)
_traced = ("TracerArrayConversionError", "ConcretizationTypeError", "TracerBoolConversionError", "UnexpectedTracerError")
_module("errors", **dict.fromkeys((*_traced, "TracerIntegerConversionError"), lm.TracingError))
sys.modules["jax.errors"].JaxRuntimeError = lm.LaminaError
_module("_src.literals", LiteralArray=Array, TypedNdArray=Array)
_module("_src.dispatch", wait_for_tokens=_nothing)
_module(
    "custom_derivatives",
    lm,
    SymbolicZero=SymbolicZero,
    CustomVJPPrimal=CustomVJPPrimal,
    custom_jvp=custom_jvp,
    zero_from_primal=_zeros,
)
_module("sharding", **_named("Sharding", "NamedSharding", "PartitionSpec", "Mesh", "SingleDeviceSharding"))
_module("experimental.sparse", **_named("BCOO", "BCSR", "JAXSparse"))
_module(
    "interpreters.ad",
    primitive_jvps=_jvps,
    primitive_transposes={},
    defjvp=_nothing,
    deflinear=_nothing,
    Zero=Zero,
    JVPTracer=JVPTracer,
    instantiate_zeros=_instantiated,
)
_module("interpreters.batching", primitive_batchers={}, axis_primitive_batchers={}, not_mapped=None, **_named("NotMapped"))
_module("interpreters.mlir", register_lowering=_nothing, lower_fun=_nothing)
_module("interpreters.xla", apply_primitive=_nothing)
_linear_util = {"transformation": _itself, "transformation2": _itself, "WrappedFun": _Wrapped, "wrap_init": _Wrapped}
_module("extend.linear_util", **_linear_util)
_module("version", __version_info__=__version_info__, __version__=__version__)
_module("api_util", debug_info=_nothing, flatten_fun_nokwargs=_flat_function)
_module("interpreters.partial_eval", PartialVal=_PartialValue, trace_to_jaxpr_nounits=_evaluated)
_module("extend.source_info_util", register_exclusion=_nothing)
_module("_src.traceback_util", include_frame=lambda frame: True, register_exclusion=_nothing, api_boundary=_itself)
_module("_src.util", safe_zip=_zipped, safe_map=_mapped, unzip2=_unzipped)
_module("_src.tree_util", lm.tree)
_module("_src.flatten_util", lm.tree)

float0 = sys.modules["jax.dtypes"].float0


@contextlib.contextmanager
def named_scope(*args):
    yield


default_matmul_precision = default_device = numpy_dtype_promotion = numpy_rank_promotion = named_scope
ensure_compile_time_eval = disable_jit = contextlib.nullcontext
_NOT_OURS = ("inline", "backend", "keep_unused", "device", "compiler_options", "donate_argnums", "donate_argnames")


def jit(function=None, /, **options):
    if function is None:
        return lambda f: jit(f, **options)
    return lm.jit(function, **{name: value for name, value in options.items() if name not in _NOT_OURS})


def named_call(function, *, name=None):
    return function


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
