"""Control flow: If, Loop and Scan, whose bodies are graphs that see the values around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....api.errors import DTypeError, ShapeError
from ....api.functions import cond, while_loop
from ....api.functions import scan as scan_over
from ....library.numpy import namespace as lnp
from ..errors import NeedsSize, OnnxError, UnknownValue
from ..nodes import Graph, Node, normalized, op
from ..run import Scope, run_graph
from ..values import is_constant, known, lifted, settled

UNROLLED = 4096
"""Most iterations of a loop that is unrolled because what it carries changes its shape."""


def _arrays(values: Any) -> tuple[Any, ...]:
    """Values as branches and loops return them: arrays of the program."""
    if any(isinstance(v, list) or v is None for v in values):
        raise UnknownValue("a branch or loop that depends on the inputs cannot return sequences")
    return tuple(lnp.asarray(lifted(v)) for v in values)


@op("If", body=True)
def if_(node: Node, scope: Scope, condition: Any) -> Any:
    then, other = node.need("then_branch"), node.need("else_branch")
    if is_constant(condition):
        return run_graph(then if bool(np.asarray(condition).reshape(-1)[0]) else other, [], scope)
    try:
        made = cond(
            lnp.asarray(condition).reshape(()),
            lambda: _arrays(run_graph(then, [], scope)),
            lambda: _arrays(run_graph(other, [], scope)),
        )
    except (ShapeError, DTypeError) as error:
        raise UnknownValue(f"the branches return arrays of different shapes: {error}") from error
    return tuple(made)


def _goes_on(body: Graph) -> bool:
    """Whether the condition that a body returns is the one that it is given, or true."""
    name = body.outputs[0].name
    makers = {o: n for n in body.nodes for o in n.outputs}
    while name in makers and makers[name].op == "Identity":
        name = makers[name].inputs[0]
    if name in makers and makers[name].op == "Constant":
        return bool(np.all(makers[name].get("value", False)))
    if name in body.constants:
        return bool(np.all(body.constants[name]))
    return name == body.inputs[1].name


@op("Loop", body=True)
def loop(node: Node, scope: Scope, most: Any = None, condition: Any = None, *carried: Any) -> Any:
    """Iterate at most so many times while the condition holds.

    A loop with a known number of iterations is a loop of the program. So is one that a traced condition ends, unless it
    collects results, whose number is then known when it runs only.
    """
    body = node.need("body")
    count = (
        None if most is None else int(np.asarray(most).reshape(-1)[0]) if is_constant(most) else lnp.asarray(most).reshape(())
    )
    start = True if condition is None else bool(np.asarray(condition).reshape(-1)[0]) if is_constant(condition) else condition
    collects = len(body.outputs) - 1 - len(carried)
    if collects < 0:
        raise OnnxError(f"the body returns {len(body.outputs)} values for {len(carried)} that are carried, and a condition")
    if start is False:
        count, start = 0, True
    eager = all(is_constant(v) for v in carried) and all(is_constant(_value(scope, n)) for n in body.free_names())
    if start is True and isinstance(count, int) and _goes_on(body) and not eager and count > 0 and not _has_lists(carried):
        try:
            return _counted(body, scope, count, carried)
        except (ShapeError, DTypeError, UnknownValue):
            if count > UNROLLED:
                raise
    if start is True and (isinstance(count, int) or count is None) and (eager or _goes_on(body)):
        return _unrolled(body, scope, count, carried, collects)
    if collects or _has_lists(carried):
        raise UnknownValue("how many iterations a loop makes, and so how many results it collects, is known when it runs only")
    return _while(body, scope, count, start, carried)


def _value(scope: Scope, name: str) -> Any:
    return scope[name]


def _has_lists(values: Any) -> bool:
    return any(isinstance(v, list) for v in values)


def _counted(body: Graph, scope: Scope, count: int, carried: Any) -> Any:
    def step(state: Any, i: Any) -> Any:
        _, *rest = run_graph(body, [i, np.asarray(True), *state], scope)
        made = _arrays(rest)
        return made[: len(carried)], made[len(carried) :]

    last, collected = scan_over(step, _arrays(carried), lnp.arange(count))
    return (*last, *collected)


def _unrolled(body: Graph, scope: Scope, count: int | None, carried: Any, collects: int) -> Any:
    state = list(carried)
    found: list[list[Any]] = [[] for _ in range(collects)]
    i = 0
    while count is None or i < count:
        going, *rest = run_graph(body, [np.asarray(i, np.int64), np.asarray(True), *state], scope)
        state = rest[: len(carried)]
        for held, x in zip(found, rest[len(carried) :], strict=True):
            held.append(x)
        i += 1
        if not is_constant(going):
            raise UnknownValue("the condition of a loop depends on the inputs")
        if not bool(np.asarray(going).reshape(-1)[0]):
            break
    return (*state, *[_stacked(xs, spec) for xs, spec in zip(found, body.outputs[1 + len(carried) :], strict=True)])


def _stacked(xs: list[Any], spec: Any) -> Any:
    if not xs:
        sizes = [n if isinstance(n, int) else 0 for n in spec.shape or ()]
        return np.zeros((0, *sizes), spec.dtype or np.float32)
    if all(is_constant(x) for x in xs):
        return settled(np.stack([np.asarray(x) for x in xs]))
    return lnp.stack([lnp.asarray(lifted(x)) for x in xs])


def _while(body: Graph, scope: Scope, count: Any, start: Any, carried: Any) -> Any:
    def goes_on(state: Any) -> Any:
        i, going, *_ = state
        return going if count is None else going & (i < count)

    def step(state: Any) -> Any:
        i, going, *rest = state
        new, *values = run_graph(body, [i, going, *rest], scope)
        return (i + 1, lnp.asarray(new).reshape(()).astype(bool), *_arrays(values))

    first = (lnp.asarray(0, dtype=np.int64), lnp.asarray(start).reshape(()).astype(bool), *_arrays(carried))
    return tuple(while_loop(goes_on, step, first)[2:])


@op("Scan", body=True)
def scan(node: Node, scope: Scope, *inputs: Any) -> Any:
    """Iterate over slices of arrays; opset 8 has a batch, and its sequences one length."""
    body, scanned = node.need("body"), node.need("num_scan_inputs")
    if node.version < 9:
        if inputs[0] is not None:
            raise OnnxError("sequence_lens of opset 8 are not supported")
        return _batched(body, scope, inputs[1:], scanned, node.get("directions", [0] * scanned))
    count = len(inputs) - scanned
    states, arrays = inputs[:count], inputs[count:]
    collected = len(body.outputs) - count
    axes = node.get("scan_input_axes", [0] * scanned)
    backwards = node.get("scan_input_directions", [0] * scanned)
    xs = [lnp.moveaxis(lnp.asarray(lifted(x)), normalized(a, x.ndim), 0) for x, a in zip(arrays, axes, strict=True)]
    xs = [lnp.flip(x, 0) if back else x for x, back in zip(xs, backwards, strict=True)]
    last, ys = _scanned(body, scope, states, xs)
    out_back, out_axes = node.get("scan_output_directions", [0] * collected), node.get("scan_output_axes", [0] * collected)
    ys = [lnp.flip(y, 0) if back else y for y, back in zip(ys, out_back, strict=True)]
    ys = [lnp.moveaxis(y, 0, normalized(a, y.ndim)) for y, a in zip(ys, out_axes, strict=True)]
    return (*last, *ys)


def _scanned(body: Graph, scope: Scope, states: Any, xs: Any) -> Any:
    def step(state: Any, slices: Any) -> Any:
        made = _arrays(run_graph(body, [*state, *slices], scope))
        return made[: len(states)], made[len(states) :]

    return scan_over(step, _arrays(states), tuple(xs))


def _batched(body: Graph, scope: Scope, inputs: Any, scanned: int, backwards: Any) -> Any:
    count = len(inputs) - scanned
    if not known(inputs[0].shape[0]):
        raise NeedsSize("a batch of symbolic size")
    found = []
    for b in range(inputs[0].shape[0]):
        xs = [lnp.flip(x[b], 0) if back else lnp.asarray(x[b]) for x, back in zip(inputs[count:], backwards, strict=True)]
        last, ys = _scanned(body, scope, [s[b] for s in inputs[:count]], xs)
        found.append((*last, *ys))
    return tuple(lnp.stack(parts) for parts in zip(*found, strict=True))
