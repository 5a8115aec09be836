"""Calls, branches and loops: functions of the module become bodies, which see the values around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .writer import INT64, Writer, dtype_of, number_of, rule, shape_of, values_of


def _callee(op: Any, name: str) -> str:
    return op.properties[name].root_reference.data


def _types(values: Any) -> list[tuple[Any, Any]]:
    return [(dtype_of(v), shape_of(v)) for v in values]


@rule("call", "func.call")
def call(w: Writer, op: Any, *xs: str) -> list[str]:
    return w.inline(_callee(op, "callee"), xs)


@rule("case")
def case(w: Writer, op: Any, index: str, *xs: str) -> list[str]:
    """`If`, one in the other; below 0 the first branch, past the end the last."""
    v = op.operands[0]
    names = [each.root_reference.data for each in op.properties["branches"]]
    types = _types(op.results)

    def branch(k: int) -> Any:
        def make(inner: Writer, _: Any) -> Any:
            made = inner.inline(names[k], xs) if k == len(names) - 1 else chosen(inner, k)
            return [(x, *t) for x, t in zip(made, types, strict=True)]

        return make

    def chosen(w: Writer, k: int) -> list[str]:
        def first(inner: Writer, _: Any) -> Any:
            return [(x, *t) for x, t in zip(inner.inline(names[k], xs), types, strict=True)]

        if dtype_of(v).kind == "b":
            test = w.one("Not", index)
        else:
            test = w.one("LessOrEqual", index, w.scalar(k, v))
        bodies = {"then_branch": w.body("then", (), first), "else_branch": w.body("else", (), branch(k + 1))}
        return w.op("If", [test], len(types), **bodies)

    return w.inline(names[0], xs) if len(names) == 1 else chosen(w, 0)


def _segments(op: Any, names: Any) -> list[list[tuple[Any, str]]]:
    found, at = [], 0
    pairs = list(zip(op.operands, names, strict=True))
    for size in values_of(op, "operandSegmentSizes"):
        found.append(pairs[at : at + size])
        at += size
    return found


@rule("while")
def while_(w: Writer, op: Any, *xs: str) -> list[str]:
    consts, carried = _segments(op, xs)
    held = [x for _, x in consts]
    types = _types(v for v, _ in carried)
    start = w.inline(_callee(op, "condition"), [*held, *(x for _, x in carried)])[0]

    def make(inner: Writer, names: list[str]) -> Any:
        new = inner.inline(_callee(op, "callee"), [*held, *names[2:]])
        goes_on = inner.inline(_callee(op, "condition"), [*held, *new])[0]
        return [(goes_on, np.bool_, ()), *[(x, *t) for x, t in zip(new, types, strict=True)]]

    inputs = [("i", INT64, ()), ("goes_on", np.bool_, ()), *[("state", *t) for t in types]]
    return w.op("Loop", ["", start, *(x for _, x in carried)], len(types), body=w.body("loop", inputs, make))


@rule("for")
def for_(w: Writer, op: Any, *xs: str) -> list[str]:
    """`Loop`: slices of stacks are gathered by the iteration, results are collected by it."""
    segments = _segments(op, xs)
    consts, carried, stacks = segments[-3:]
    trips, backwards = number_of(op, "trips"), "reverse" in op.properties
    count = w.constant(np.int64(trips)) if trips >= 0 else segments[0][0][1]
    types = _types(v for v, _ in carried)
    slices = [(dtype, sizes[1:]) for dtype, sizes in _types(op.results[len(carried) :])]

    def make(inner: Writer, names: list[str]) -> Any:
        i, going, *state = names
        k = inner.one("Sub", inner.one("Sub", count, inner.constant(np.int64(1))), i) if backwards else i
        rows = [inner.one("Gather", x, k, axis=0) for _, x in stacks]
        made = inner.inline(_callee(op, "callee"), [k, *(x for _, x in consts), *state, *rows])
        return [(going, np.bool_, ()), *[(x, *t) for x, t in zip(made, (*types, *slices), strict=True)]]

    inputs = [("i", INT64, ()), ("going", np.bool_, ()), *[("state", *t) for t in types]]
    body = w.body("loop", inputs, make)
    made = w.op("Loop", [count, w.constant(np.asarray(True)), *(x for _, x in carried)], len(types) + len(slices), body=body)
    if backwards:
        low = w.ints(np.iinfo(np.int64).min)
        made[len(types) :] = [w.one("Slice", x, w.ints(-1), low, w.ints(0), w.ints(-1)) for x in made[len(types) :]]
    return made
