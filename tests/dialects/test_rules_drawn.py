"""Every rewrite rule on random graphs: it fires where it should and nowhere else, and keeps types, shapes and numbers.

Draws have random ranks, sizes (0 and 1 too), permutations, strides, paddings, element types and forms of known numbers, and
come close to a rule's pattern without matching it. LAMINA_TEST_EXAMPLES says how many there are for each rule (times 8),
LAMINA_TEST_SEED from which seed on.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "transforms"))
import rule_draws_contract
import rule_draws_elementwise
import rule_draws_shape
from graphs import function_of
from lamina.dialects.dominance import verify_module
from lamina.dialects.graph import OPS
from lamina.dialects.graph.base import GraphOp, ints
from lamina.dialects.graph.rules import EXACT, REASSOCIATING, RULES, Rule, rules_by_root
from lamina.runtime.interpreter import interpret
from lamina.transforms.graph_simplify import simplify_block
from sketches import Sketch, edges, infinite, inputs, usual, whole
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

DRAWS = {**rule_draws_elementwise.DRAWS, **rule_draws_shape.DRAWS, **rule_draws_contract.DRAWS}
EXAMPLES = int(os.environ.get("LAMINA_TEST_EXAMPLES", "320")) // 8
FIRST_SEED = int(os.environ.get("LAMINA_TEST_SEED", "0"))
EACH_ROOT = 8
"""Draws for each op of a rule that has several."""
LOOSENESS = (EXACT, "ulp(1)", "ulp(2)", "ulp(4)", REASSOCIATING)
MORE = {
    "pad_that_cuts": 4,
    "convert_and_back": 4,
    "choose_from_repeated": 2,
    "sum_of_repeated": 2,
    "conv_of_points": 2,
    "conv_of_patches": 2,
    "attention_over_batch": 2,
    "dot_with_ones": 2,
}
"""Times as many draws for rules with many cases."""
ROUNDED = ("graph.dot", "graph.conv", "graph.attention")
"""Ops whose meaning in NumPy adds in an order that depends on the layout."""

rules_by_root()
BY_NAME: dict[str, list[Rule]] = {}
for _rule in RULES:
    BY_NAME.setdefault(_rule.name, []).append(_rule)


def test_every_rule_is_drawn() -> None:
    assert {*DRAWS} == {*BY_NAME}


def idle(op: Any) -> bool:
    """Whether an op gives its operand as it is."""
    name = op.name.removeprefix("graph.")
    if name in ("reshape", "broadcast", "slice", "convert"):
        return op.x.type == op.y.type
    if name == "transpose":
        return ints(op.perm) == tuple(range(len(ints(op.perm))))
    return name in ("reduce", "reverse") and not ints(op.dims)


MAY_GIVE_IT_BACK = {
    "reshape_of_reshape",
    "reshape_of_broadcast",
    "transpose_of_transpose",
    "transpose_of_broadcast",
    "transpose_of_unit_dims",
    "broadcast_of_broadcast",
    "broadcast_of_unit_dims",
    "slice_of_slice",
    "slice_of_concat",
    "pad_that_cuts",
    "reduce_of_reduce",
    "reduce_of_transpose",
    "sum_of_neg",
    "dot_with_ones",
    "elementwise_of_broadcasts",
    "elementwise_of_transposes",
}
"""Rules whose result may be an op that another rule drops; what stands under it may not."""
ORDERED = {"reduce_of_reduce", "reduce_of_transpose", "choose_from_repeated", "dot_with_ones"}
"""Rules that give the dims of a reduction in order, so that equal ones are found."""


def in_order(a: np.ndarray) -> np.ndarray:
    """Floats as integers whose difference counts the floats between them."""
    bits = a.view(np.int32 if a.dtype.itemsize == 4 else np.int64).astype(np.int64)
    limit = np.int64(2**31 - 1 if a.dtype.itemsize == 4 else 2**63 - 1)
    return np.where(bits < 0, -(bits & limit), bits)


def same(got: np.ndarray, want: np.ndarray, numerics: str) -> None:
    """Equal as a rule promises it; signs of zeros and NaN too, unless sums are taken in another order."""
    assert got.shape == want.shape and got.dtype == want.dtype
    if got.dtype.itemsize == 2:  # stored floats: f32 holds them all
        got, want = got.astype(np.float32), want.astype(np.float32)
    if got.dtype.kind in "biu" or numerics == EXACT:
        np.testing.assert_array_equal(got, want)
        if got.dtype.kind not in "biu":
            number = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
    elif numerics == REASSOCIATING:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        number = ~np.isnan(want)
        k = int(numerics.removeprefix("ulp(").removesuffix(")"))
        assert np.all(np.abs(in_order(got[number]) - in_order(want[number])) <= k), (got, want)


def compare(before: ModuleOp, after: ModuleOp, seed: int, numerics: str) -> None:
    """Both give the same numbers, on edge values, or on such whose sums are the same in every order."""
    rounded = numerics == REASSOCIATING or any(op.name in ROUNDED for op in before.walk())
    types = [a.type for a in function_of(before, "main").body.block.args]
    plain = any(op.name == "graph.attention" for op in before.walk())
    for draw in (whole,) if plain else (whole, infinite) if rounded else (usual, edges):
        arguments = inputs(types, seed, draw)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = interpret(after, "main", arguments), interpret(before, "main", arguments)
        for got, want in zip(*found, strict=True):
            same(np.asarray(got), np.asarray(want), numerics)


def check(name: str, root: str, seed: int) -> bool:
    """One draw: whether the rule fired on it."""
    sketch = Sketch(seed)
    value, fires = DRAWS[name](sketch, root)
    before = sketch.function(value)
    verify_module(before)
    after = before.clone()
    block = function_of(after, "main").body.block
    hits: dict[str, int] = {}
    simplify_block(block, {f"graph.{rule.root}": [rule] for rule in BY_NAME[name]}, hits)
    verify_module(after)
    assert fires is None or fires == (name in hits), f"{'fires' if name in hits else 'does not fire'} on\n{before}"
    if name in hits:
        root_op: Any = block.last_op.operands[0].owner  # pyright: ignore
        skipped = root_op if name in MAY_GIVE_IT_BACK else None
        graph = [op for op in block.ops if isinstance(op, GraphOp) and op is not skipped]
        already = Counter(op.name for op in before.walk() if isinstance(op, GraphOp) and idle(op))
        assert not Counter(op.name for op in graph if idle(op)) - already, f"does nothing:\n{after}"
        if name in ORDERED and getattr(root_op, "name", "") == "graph.reduce":
            assert list(ints(root_op.dims)) == sorted(ints(root_op.dims))
        compare(before, after, seed, BY_NAME[name][0].numerics)
    return name in hits


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", DRAWS)
def test_drawn(name: str) -> None:
    roots = [rule.root for rule in BY_NAME[name]]
    fired: Counter[str] = Counter()
    count = max(EXAMPLES * MORE.get(name, 1), EACH_ROOT * EXAMPLES // 40 * len(roots))
    for k in range(count):
        root = roots[k % len(roots)]
        try:
            fired[root] += check(name, root, FIRST_SEED + k)
        except Exception as error:
            error.add_note(f"LAMINA_TEST_SEED={FIRST_SEED + k} {name} of {root}")
            raise
    assert all(fired[root] for root in roots) and fired.total() > count // 20, fired


@pytest.mark.parametrize("root", sorted({rule.root for rule in RULES}))
def test_canonicalize_applies_the_rules(root: str) -> None:
    """xDSL's own driver rewrites what the rules of an op match, by the patterns that the op gives it."""
    (first, *_) = [rule.name for rule in RULES if rule.root == root]
    for seed in range(FIRST_SEED, FIRST_SEED + 40):
        sketch = Sketch(seed)
        value, fires = DRAWS[first](sketch, root)
        if not fires or value.owner.name != f"graph.{root}":  # pyright: ignore
            continue
        before = sketch.function(value)
        after = before.clone()
        patterns = OPS[root].get_canonicalization_patterns()
        walker = PatternRewriteWalker(GreedyRewritePatternApplier(list(patterns)))
        assert walker.rewrite_module(after), f"stays:\n{after}"
        verify_module(after)
        compare(before, after, seed, max((rule.numerics for rule in RULES if rule.root == root), key=LOOSENESS.index))
        return
    pytest.fail(f"no draw of {first} fires")
