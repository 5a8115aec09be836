"""Registrations of other packages: refusals, taken names, order, keys of the cache. The example's tests do the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import extend, extensions, passes, pipeline
from lamina.codegen.targets.base import TARGETS
from lamina.codegen.version import version
from lamina.dialects.graph.base import OPS
from lamina.dialects.graph.rules import RULES, rules_by_root
from lamina.lowering import op_kernels, strategies
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it."""
    for home, name in (
        *((extensions, "_added"), (passes, "_registered"), (pipeline, "_added"), (strategies, "_added")),
        (op_kernels, "_called"),
    ):
        monkeypatch.setattr(home, name, dict(getattr(home, name)))
    ops, targets, rules = set(OPS), set(TARGETS), list(RULES)
    yield
    RULES[:] = rules
    rules_by_root.cache_clear()
    for name in set(OPS) - ops:
        del OPS[name]
    for name in set(TARGETS) - targets:
        del TARGETS[name]


class Twice(extend.CompositeOp):
    """x + x."""

    name = "mine.twice"
    x = operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "$x"
    types = "same"

    @classmethod
    def infer_types(cls, operands: Sequence[TensorType], props: Any, results: Any = None) -> Sequence[TensorType]:
        return operands

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (operands[0] + operands[0],)

    @classmethod
    def decompose(cls, b: Any, props: Any, *operands: Any) -> Any:
        return b.add(operands[0], operands[0])


def like(**members: Any) -> type[extend.GraphOp]:
    """A class as `Twice`, with other members."""
    return type("Other", (extend.CompositeOp,), {**{k: v for k, v in vars(Twice).items() if k[:2] != "__"}, **members})


def test_a_composite_needs_no_more() -> None:
    op = extend.register_op(like(name="mine.twice"))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def f(x: Any) -> Any:
        return extend.call_op(op, x)

    np.testing.assert_array_equal(f(x), 2 * x)
    np.testing.assert_array_equal(lm.jit(f)(x), 2 * x)
    np.testing.assert_array_equal(lm.vmap(f)(x), 2 * x)
    np.testing.assert_array_equal(lm.jit(lm.vmap(lm.grad(lambda x: f(f(x)).sum())))(x), np.full_like(x, 4))
    np.testing.assert_array_equal(lm.jit(lambda x: f(x) - 1, dynamic={"x": ("n", None)})(x), 2 * x - 1)
    assert "mine.twice" in str(lm.make_graph(f)(x))
    np.testing.assert_array_equal(extend.call_op("mine.twice", 3), 6)
    assert version() != _version_without()


def _version_without() -> str:
    known, extensions._added = extensions._added, {}
    try:
        return version()
    finally:
        extensions._added = known


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (like(name="twice"), "needs a name of a dialect and an op"),
        (like(name="graph.twice"), "dialect 'graph' belongs to others"),
        (like(name="arith.twice"), "dialect 'arith' belongs to others"),
        (type("Other", (), {"name": "mine.twice"}), "must derive from GraphOp or CompositeOp"),
        (type("Other", (extend.CompositeOp,), {"name": "mine.other"}), "needs a syntax"),
        (type("Other", (extend.CompositeOp,), {"name": "mine.other", "syntax": "$x"}), "needs infer_types"),
        (like(decompose=extend.CompositeOp.__dict__["decompose"]), "needs decompose"),
        (
            type("Other", (extend.GraphOp,), {k: v for k, v in vars(Twice).items() if k[:2] != "__" and k != "decompose"}),
            "says nowhere how it is computed",
        ),
    ],
)
def test_ops_that_lack_something(cls: Any, message: str) -> None:
    before = list(extensions._added)
    with pytest.raises(lm.ExtensionError, match=message):
        extend.register_op(cls)
    assert list(extensions._added) == before


def test_names_that_are_taken() -> None:
    extend.register_op(like(name="mine.twice"))
    extend.register_op(like(name="mine.twice"))  # a notebook's cell that runs again
    with pytest.raises(lm.ExtensionError, match=r"op 'mine.twice' is registered by"):
        extend.register_op(like(name="mine.twice", __module__="another"))
    with pytest.raises(lm.ExtensionError, match="there is a target 'x86-64-v3' already"):
        extend.register_target("x86-64-v3", like="x86-64-v3")
    with pytest.raises(lm.ExtensionError, match="there is no target 'x86-64-v9' to begin with"):
        extend.register_target("mine", like="x86-64-v9")
    with pytest.raises(lm.CompileError, match="has no option"):
        extend.register_target("mine", like="x86-64-v3", options="color=red")
    with pytest.raises(lm.ExtensionError, match="there is a pass 'graph-cse' already"):
        extend.register_pass(dataclass(frozen=True)(type("P", (extend.ModulePass,), {"name": "graph-cse"})))
    with pytest.raises(lm.ExtensionError, match="needs a name of words with dashes"):
        extend.register_pass(dataclass(frozen=True)(type("P", (extend.ModulePass,), {"name": "My Pass"})))
    with pytest.raises(lm.ExtensionError, match="there is a strategy 'lanes' already"):
        extend.register_strategy(extend.KernelStrategy(schedule_lanes, leaves=frozenset()), before="loops")
    with pytest.raises(lm.ExtensionError, match="cannot stand before 'nothing'"):
        extend.register_strategy(extend.KernelStrategy(schedule_lanes, leaves=frozenset()), before="nothing")
    with pytest.raises(lm.ExtensionError, match="must derive from Primitive"):
        extend.register_primitive(Twice)  # pyright: ignore[reportArgumentType]  not a primitive


def schedule_lanes(kernel: Any, target: Any, take: Any) -> None:
    """Of a name that is taken."""


def schedule_unsettled(kernel: Any, target: Any, take: Any) -> None:
    """Leaves vectors after what takes them as settled."""


def test_a_strategy_that_breaks_the_order_is_refused() -> None:
    late = extend.KernelStrategy(schedule_unsettled, leaves=frozenset(("loop-vectorize",)))
    with pytest.raises(lm.ExtensionError, match="unsettled leaves loop-vectorize, settled for"):
        extend.register_strategy(late, before="threads")
    assert "unsettled" not in [strategy.name for strategy in strategies.in_order()]
    extend.register_strategy(late, before="lanes")
    for threads in (True, False):
        names = [strategy.name for strategy in strategies.in_order(threads)]
        assert names.index("unsettled") == names.index("lanes") - 1


def test_unknown_ops() -> None:
    with pytest.raises(lm.ExtensionError, match=r"there is no op 'graph.sofmax', did you mean graph.softmax"):
        extend.register_rule("graph.sofmax", "", lambda b, x, y, i, j: x)
    with pytest.raises(lm.ExtensionError, match="there is no op 'softmax'"):
        extend.call_op("softmax", 1.0)
    with pytest.raises(lm.ExtensionError, match=r"there is no op 'mine.none'"):
        extend.register_kernel("mine.none")
    with pytest.raises(lm.ExtensionError, match=r"put it above @lm.kernel"):
        extend.register_kernel("graph.tanh")(lambda x: x)  # pyright: ignore[reportArgumentType]  not a kernel


@dataclass(frozen=True)
class Spoil(extend.ModulePass):
    """Leave an op that does not verify."""

    name = "graph-spoil"
    wrong: bool = True

    def apply(self, ctx: Any, op: Any) -> None:
        for inner in op.walk():
            if self.wrong and inner.name == "graph.tanh":
                inner.attributes["seen"] = inner.properties.pop("none", None) or inner.results[0].type
                inner.results[0]._type = extend.tensor(inner.results[0].type.element_type, (99,))


def test_steps() -> None:
    with pytest.raises(lm.ExtensionError, match="must be registered first"):
        extend.register_step(Spoil(), after="graph-cse")
    extend.register_pass(Spoil)
    with pytest.raises(lm.ExtensionError, match=r"cannot follow 'graph-none', steps are: .*graph-vmap,"):
        extend.register_step(Spoil(), after="graph-none")
    extend.register_step(Spoil(wrong=False), after="graph-decompose")
    names = [step.name for step in pipeline.steps()]
    assert names.index("graph-spoil") == names.index("graph-decompose") + 1
    x = np.zeros(3, np.float32)
    np.testing.assert_array_equal(lm.jit(lambda x: lm.numpy.tanh(x))(x), x)
    extend.register_step(Spoil(), after="graph-decompose")
    with pytest.raises(lm.InternalError, match="pass 'graph-spoil' left invalid IR"):
        lm.jit(lambda x: lm.numpy.tanh(x) + 1)(x)


def test_the_cheapest_kernel_is_called() -> None:
    @lm.kernel
    def one(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] = 1.0

    @lm.kernel
    def two(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] = 2.0

    x = np.zeros(64, np.float32)
    extend.register_kernel("graph.tanh", cost=lambda op, target: 3.0)(one)
    extend.register_kernel("graph.tanh", cost=lambda op, target: 2.0, when=lambda op, target: op.result_shape() != (8,))(two)
    np.testing.assert_array_equal(lm.jit(lambda x: lm.numpy.tanh(x) * 1)(x), np.full(64, 2))
    np.testing.assert_array_equal(lm.jit(lambda x: lm.numpy.tanh(x) * 2)(np.zeros(8, np.float32)), np.zeros(8))  # own loops: 1
    np.testing.assert_array_equal(lm.jit(lambda x: lm.numpy.tanh(x) * 3)(x.astype(np.float64)), np.zeros(64))  # of f32
    extend.register_kernel("graph.tanh", on="aarch64")(one)  # takes the place of the first one
    np.testing.assert_array_equal(lm.jit(lambda x: lm.numpy.tanh(x) * 4)(x[:8]), np.zeros(8))
    np.testing.assert_array_equal(lm.grad(lambda x: lm.numpy.sin(x).sum())(x), np.ones(64))


def test_the_checks_for_packages_find_faults() -> None:
    x = np.linspace(0.5, 2, 4)
    good = extend.register_op(like(name="mine.twice"))
    lm.testing.check_op(good, x)
    wrong = {
        "mine.meaning": {"evaluate": lambda self, x: (x + x + 1e-3,)},
        "mine.dtype": {"evaluate": lambda self, x: ((x + x).astype(np.float32),)},
        "mine.batches": {"batching": lambda b, op, operands, flags: [b.neg(operands[0])]},
        "mine.slope": {"derivative": extend.Elementwise(lambda b, x, y: b.full_like(x, 3.0))},
    }
    for name, members in wrong.items():
        with pytest.raises(AssertionError, match=name):
            lm.testing.check_op(extend.register_op(like(name=name, **members)), x)

    def bad(op: Any, b: Any) -> Any:
        return op.x if op.name == "graph.cos" else None

    with pytest.raises(lm.ExtensionError, match="is not registered"):
        lm.testing.check_rule(bad)
    extend.register_rule("graph.cos", "cos(x) -> x", lambda b, x, y, i, j: b.cos(x))(bad)
    with pytest.raises(AssertionError, match="bad"):
        lm.testing.check_rule(bad)
    extend.register_rule("graph.sin", "sin(x) -> x", lambda b, x, y, i, j: b.sin(x))(bad)
    with pytest.raises(AssertionError, match="bad does not fire on its example"):
        lm.testing.check_rule(next(rule for rule in RULES if rule.apply is bad and rule.root == "sin"))
