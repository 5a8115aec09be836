"""Functions of rows of leaves, many of which are alike, as of the layers of a model: traced once for each row of types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..trace.program import Aval, TracedFunction, abstract, call_function, is_staging, staging, trace_function
from ..trace.pytree import structure
from ..trace.tracer import Tracer


def traced_once(function: Callable[..., Any], rows: Iterable[Sequence[Any]], least: int, name: str) -> Callable[..., Any]:
    """A function of the rows as a function of the program, for types that at least `least` of the rows have.

    Elsewhere, and outside of a trace, it is the function itself.
    """
    if not is_staging():
        return function
    counts = Counter(map(_types, rows))
    traced: dict[Any, TracedFunction] = {}

    def called(*row: Any) -> Any:
        types = _types(row)
        if types is None or counts[types] < least:
            return function(*row)
        if types not in traced:
            program = staging().program
            assert program is not None
            traced[types] = trace_function(program, function, structure((row, {})), types, name=name)
        return call_function(traced[types], row)

    return called


def _types(row: Sequence[Any]) -> tuple[Aval, ...] | None:
    """The key of the trace of a function of leaves; None where some are no traced arrays."""
    return tuple([abstract(x) for x in row]) if all(type(x) is Tracer for x in row) else None
