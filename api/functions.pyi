# from the table names.toml by `make names`: do not edit
"""Functions of functions: compilation, derivatives, batching, control flow, and rules of their own."""

from typing import Any

from ..frontend.functions.alike import traced_once as traced_once
from ..frontend.functions.autodiff import function_name as function_name
from ..frontend.functions.autodiff import jvp as jvp
from ..frontend.functions.autodiff import stop_gradient as stop_gradient
from ..frontend.functions.autodiff import trainable as trainable
from ..frontend.functions.autodiff import value_and_grad as value_and_grad
from ..frontend.functions.axes import named as named_axis
from ..frontend.functions.batching import vmap as vmap
from ..frontend.functions.conditional import cond as cond
from ..frontend.functions.conditional import switch as switch
from ..frontend.functions.conditional import while_loop as while_loop
from ..frontend.functions.control import fori_loop as fori_loop
from ..frontend.functions.control import scan as scan
from ..frontend.functions.custom import BothModes as BothModes
from ..frontend.functions.custom import custom_jvp as custom_jvp
from ..frontend.functions.custom import custom_vjp as custom_vjp
from ..frontend.functions.custom import with_slopes as with_slopes
from ..frontend.functions.effects import check as check
from ..frontend.functions.implicit import custom_linear_solve as custom_linear_solve
from ..frontend.functions.implicit import custom_root as custom_root
from ..frontend.run.jit import jit as jit
from ..frontend.run.jit import make_graph as make_graph
from ..frontend.run.retrace import each_call as each_call

__all__ = [
    "BothModes", "check", "cond", "custom_jvp", "custom_linear_solve", "custom_root", "custom_vjp", "each_call", "fori_loop",
    "function_name", "jit", "jvp", "make_graph", "named_axis", "scan", "stop_gradient", "switch", "traced_once", "trainable",
    "value_and_grad", "vmap", "while_loop", "with_slopes",
]
