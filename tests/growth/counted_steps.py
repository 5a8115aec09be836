"""How many steps each part of a compilation takes, from the trace to the text of LLVM IR.

Steps are calls of functions, Python's and C's: no load of the machine changes them.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import lamina as lm
import lamina.numpy as lnp
from lamina import pipeline
from lamina.codegen.targets import TARGETS
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.fingerprint import fingerprint
from lamina.dialects.parsing import parse_module
from lamina.lowering.llvm.emit import emit_module
from lamina.lowering.target import set_target, target_of
from shapes import Graph, X
from xdsl.dialects.builtin import ModuleOp


def _total(results: Any) -> Any:
    return sum((result.sum() for result in results), 0.0) if isinstance(results, list) else results.sum()


FORMS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "plain": lambda f: f,
    "vmap": lambda f: lambda x: lm.vmap(f)(lnp.stack([x, x])),
    "jvp": lambda f: lambda x: lm.jvp(f, (x,), (x,)),
    "grad": lambda f: lm.grad(lambda x: _total(f(x))),
    "second": lambda f: lambda x: lm.jvp(lm.grad(lambda x: _total(f(x))), (x,), (x,)),
}
"""What is compiled of a graph."""


class TooManySteps(BaseException):
    """A part of a compilation took more steps than it may; no `Exception`, so that nothing goes on after it."""


class Steps:
    """Counts steps by part, and the ops that each part has read and made.

    Attributes:
        counts: the steps of each part so far.
        ops: the ops of the module before and after each part, together.
    """

    def __init__(self, most: float = math.inf):
        self.counts: Counter[str] = Counter()
        self.ops: Counter[str] = Counter()
        self._most, self._count, self._before = most, 0, 0

    def __enter__(self) -> Steps:
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" or event == "c_call":
            self._count += 1
            if self._count > self._most:
                raise TooManySteps(f"more than {self._most:.0f}, in {frame.f_code.co_qualname} of {frame.f_code.co_filename}")

    def end(self, part: str, module: ModuleOp) -> None:
        """What was counted since the last part was of this one."""
        sys.setprofile(None)
        ops = sum(1 for _ in module.walk())
        self.counts[part] += self._count
        self.ops[part] += ops + (self._before or ops)
        self._count, self._before = 0, ops
        sys.setprofile(self._profile)


def steps_of(graph: Graph, n: int, form: str, most: float = math.inf) -> Steps:
    """The steps of each part of a compilation.

    Args:
        most: how many steps one part may take before it is stopped.

    Raises:
        TooManySteps: a part was stopped.
    """
    function = FORMS[form](graph.of(n))
    with Steps(most) as steps:
        module = lm.jit(function).lower(X).module
        steps.end("trace", module)
        _lowered(module, steps)
    return steps


def steps_of_text(text: str, most: float = math.inf) -> Steps:
    """The steps of each part of a compilation of a text, as `steps_of`."""
    with Steps(most) as steps:
        module = parse_module(make_context(), text)
        steps.end("parse", module)
        _lowered(module, steps)
    return steps


def _lowered(module: ModuleOp, steps: Steps) -> None:
    """Take a graph to LLVM IR."""
    _texts(module, "graph", steps)
    module = module.clone()
    steps.end("clone", module)
    fingerprint(module)
    steps.end("fingerprint", module)
    set_target(module, TARGETS["x86-64-v3"])
    pipeline.run_to(module, "program", each=lambda step, module: steps.end(step.name, module))
    _texts(module, "program", steps)
    emit_module(module, target_of(module))
    steps.end("emit", module)


def _texts(module: ModuleOp, phase: str, steps: Steps) -> None:
    verify_module(module)
    steps.end(f"verify {phase}", module)
    text = str(module)
    steps.end(f"print {phase}", module)
    parse_module(make_context(), text)
    steps.end(f"parse {phase}", module)


RATIO = 1.5
"""How many times as many steps a part may take for each op where a graph has twice as many: 2 if it were quadratic."""

MOST = 9
"""How many times as many as the largest part may take a part takes when it is stopped."""

SLACK = 1500
"""Steps that no part is refused for: what is compiled once, and tables that grow."""


def check_growth(graph: Graph, n: int, form: str) -> None:
    """`check_growth_of` of a graph in a form."""
    check_growth_of(f"{graph.name}, {form}", n, lambda size, most: steps_of(graph, size, form, most))


def check_growth_of(name: str, n: int, measured: Callable[[int, float], Steps]) -> None:
    """Twice as many ops, of the source or as a part reads and makes them, take about twice as many steps in each part.

    What repeats becomes calls of one function, so that a module may have few ops, and a part still as many steps as calls.
    A part that takes more is looked at once more, at twice the size: where a limit decides what is done, as how many ops of a
    body make a function, the steps jump once.
    """
    before = measured(n, math.inf)
    wrong: dict[str, str] = {}
    for k, size in enumerate((2 * n, 4 * n)):
        after = measured(size, MOST * max(before.counts.values()))
        above = {
            part: f"{before.counts[part]} of {before.ops[part]} ops, {count} of {after.ops[part]}"
            for part, count in after.counts.items()
            if count > RATIO * before.counts[part] * max(2, after.ops[part] / max(1, before.ops[part])) + SLACK
        }
        wrong = above if k == 0 else {part: above[part] for part in wrong if part in above}
        if not wrong:
            return
        before = after
    raise AssertionError(f"{name}: steps for {2 * n} and {4 * n} ops: {wrong}")
