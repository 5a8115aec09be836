"""Control flow: branches and loops whose bodies are graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....api.functions import cond, scan, while_loop
from ....library.numpy import namespace as lnp
from ..nodes import Call, is_constant, op
from ..run import run_graph


def _arrays(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(lnp.asarray(v) for v in values)


@op("higher_order.cond")
def cond_(call: Call, condition: Any, then: Any, other: Any, operands: Sequence[Any] = ()) -> Any:
    if isinstance(condition, bool) or is_constant(condition):
        return tuple(run_graph(then if bool(condition) else other, operands))
    made = cond(
        lnp.asarray(condition).reshape(()),
        lambda: _arrays(run_graph(then, operands)),
        lambda: _arrays(run_graph(other, operands)),
    )
    return tuple(made)


@op("higher_order.while_loop")
def while_(call: Call, goes_on: Any, body: Any, carried: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    """Iterate while the first graph holds; both see the arrays that are carried and others."""
    return tuple(
        while_loop(
            lambda state: lnp.asarray(run_graph(goes_on, [*state, *more])[0]).reshape(()).astype(bool),
            lambda state: _arrays(run_graph(body, [*state, *more])),
            _arrays(carried),
        )
    )


@op("higher_order.scan")
def scan_(call: Call, body: Any, first: Sequence[Any], rows: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    """Iterate over the first dim of arrays; what is not carried is collected."""
    count = len(first)

    def step(state: Any, row: Any) -> Any:
        made = _arrays(run_graph(body, [*state, *row, *more]))
        return made[:count], made[count:]

    last, collected = scan(step, _arrays(first), _arrays(rows))
    return (*last, *collected)


@op("higher_order.map_impl")
def map_(call: Call, body: Any, rows: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    _, collected = scan(lambda _, row: ((), _arrays(run_graph(body, [*row, *more]))), (), _arrays(rows))
    return tuple(collected)


@op("higher_order.wrap_with_set_grad_enabled", "higher_order.wrap_with_autocast")
def wrapped(call: Call, *args: Any) -> Any:
    """Graphs within modes of torch's own."""
    at = next(i for i, x in enumerate(args) if hasattr(x, "graph"))
    return tuple(run_graph(args[at], args[at + 1 :]))


@op("higher_order.invoke_subgraph")
def invoke_subgraph(call: Call, body: Any, name: Any, *operands: Any) -> Any:
    return tuple(run_graph(body, operands))
