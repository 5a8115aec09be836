"""The loops of a fusion follow its properties, and whatever these say the kernel computes the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import pipeline
from lamina.dialects.graph.fusion import FusionOp
from lamina.dialects.types import shape_of
from lamina.executor import executor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

lnp = lm.numpy
RNG = np.random.default_rng(0)

Plan = tuple[tuple[int, ...], tuple[int, ...]]


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def columns(np: Any, x: Any) -> Any:
    e = np.exp(x - np.max(x, 0, keepdims=True))
    return e / np.sum(e, 0, keepdims=True)


def product(np: Any, x: Any, w: Any) -> Any:
    return np.tanh(np.exp(x) @ np.abs(w)) + 1


def batches(np: Any, x: Any, w: Any) -> Any:
    return (x * 2) @ np.maximum(w, 0) - x[:, :, :1]


def two_results(np: Any, x: Any) -> Any:
    y = np.exp(x)
    return y, y + np.sum(x, 1, keepdims=True)


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "columns": (columns, (_normal(7, 40),)),
    "columns of planes": (columns, (_normal(5, 2, 33),)),
    "one row": (columns, (_normal(1, 37),)),
    "product": (product, (_normal(17, 9), _normal(9, 33))),
    "a row times a matrix": (product, (_normal(1, 9), _normal(9, 33))),
    "no elements": (product, (_normal(0, 9), _normal(9, 33))),
    "batches": (batches, (_normal(3, 5, 8), _normal(3, 8, 7))),
    "two results": (two_results, (_normal(6, 31),)),
}


def fusions(module: ModuleOp) -> list[FusionOp]:
    return [
        op
        for function in module.body.block.ops
        if isinstance(function, FuncOp)
        for op in function.body.block.ops
        if isinstance(op, FusionOp)
    ]


def plans(fusion: FusionOp) -> Iterator[Plan]:
    """Every order of loops, and then every op stored first: alone, and all of them, from either end."""
    rank = len(shape_of(fusion.yielded()[0]))
    pulled = [k for k, op in enumerate(fusion.body.block.ops) if getattr(op, "single_equation", lambda: None)() is not None]
    yield from ((order, ()) for order in permutations(range(rank)))
    yield from (((), (k,)) for k in pulled)
    yield tuple(reversed(range(rank))), tuple(pulled)
    yield (), tuple(reversed(pulled))


def write(fusion: FusionOp, order: tuple[int, ...], prologues: tuple[int, ...]) -> None:
    ops = list(fusion.body.block.ops)
    fusion.set_order(order)
    fusion.set_prologues([ops[k].results[0] for k in prologues])


def built(f: Callable[..., Any], args: tuple[np.ndarray, ...], change: Callable[[list[FusionOp]], None]) -> list[Any]:
    """The results of a function whose fusions are changed after they are planned."""
    module = lm.jit(lambda *given: f(lnp, *given)).lower(*args).module.clone()

    def each(step: pipeline.Step, module: ModuleOp) -> None:
        if step.name == "graph-fuse":
            change(fusions(module))
            module.verify()

    pipeline.run_to(module, "loop", each=each)
    found = executor.program(module).run([np.array(x) for x in args])
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CASES)
def test_any_plan_computes_the_same(name: str) -> None:
    f, args = CASES[name]
    expected = f(np, *args)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found: list[list[Plan]] = []
    built(f, args, lambda ops: found.extend(list(plans(op)) for op in ops))
    assert found
    for k, choices in enumerate(found):
        for order, prologues in choices:
            got = built(f, args, lambda ops, k=k, o=order, p=prologues: write(ops[k], o, p))
            for one, other in zip(got, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6, err_msg=f"order {order} prologues {prologues}")


def test_the_planner_writes_what_the_loops_follow() -> None:
    written: list[Plan] = []

    def note(ops: list[FusionOp]) -> None:
        for op in ops:
            numbers = list(op.body.block.ops)
            written.append((op.loop_order(), tuple(numbers.index(value.owner) for value in op.stored_first())))

    built(columns, CASES["columns"][1], note)
    built(product, CASES["product"][1], note)
    assert written == [((1, 0), ()), ((0, 1), (0, 1))]
