# from the table names.toml by `make names`: do not edit
"""Programs as text and as IR, for readers and writers of other systems' programs."""

from typing import Any

from ..diagnostics import message_of as message_of
from ..diagnostics import position_of_op as position_of_op
from ..dialects.context import make_context as make_context
from ..dialects.dominance import verify_module as verify_module
from ..dialects.foreign.attribute_text import enumerated as enumerated
from ..dialects.foreign.attribute_text import structured as structured
from ..dialects.graph.builder import dense as dense
from ..dialects.graph.builder import dense_array as dense_array
from ..dialects.parsing import parse_module as parse_module
from ..frontend.trace.program import Aval as Aval
from ..frontend.trace.program import Program as Program
from ..frontend.trace.program import trace_function as trace_function
from ..passes import run_passes as run_passes

__all__ = [
    "Aval", "Program", "dense", "dense_array", "enumerated", "make_context", "message_of", "parse_module", "position_of_op",
    "run_passes", "structured", "trace_function", "verify_module",
]
