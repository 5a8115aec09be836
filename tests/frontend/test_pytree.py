"""Pytrees: round trips, key paths, the fast functions for one structure."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple

import lamina as lm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.frontend import pytree


class Point(NamedTuple):
    x: Any
    y: Any


@lm.register_dataclass
@dataclasses.dataclass
class State:
    weights: Any
    bias: Any


TREES = st.recursive(
    st.integers() | st.none(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(), children, max_size=3)
        | st.tuples(children, children).map(lambda pair: Point(*pair))
        | st.tuples(children, children).map(lambda pair: State(*pair))
    ),
    max_leaves=12,
)


@given(TREES)
@settings(max_examples=150, deadline=None)
def test_round_trips(tree: Any) -> None:
    leaves, structure = pytree.flatten(tree)
    assert structure.unflatten(leaves) == tree
    assert structure.num_leaves == len(leaves) == len(structure.paths())
    assert pytree.flatten(tree)[1] == structure and hash(pytree.flatten(tree)[1]) == hash(structure)
    assert structure.unflattener()(leaves) == tree
    fast = structure.flattener()
    if fast is not None:
        assert list(fast(tree)) == leaves


@given(TREES, TREES)
@settings(max_examples=150, deadline=None)
def test_fast_functions_notice_other_structures(a: Any, b: Any) -> None:
    structure, other = pytree.structure(a), pytree.structure(b)
    fast = structure.flattener()
    if fast is None or structure == other:
        return
    try:
        leaves = fast(b)
    except Exception:
        return
    # what it did not notice shows in the leaves: trees where leaves should be
    assert any(pytree.structure(leaf).kind is not None for leaf in leaves)


def test_key_paths() -> None:
    tree = {"w": [1, (2, 3)], "p": Point(4, State(5, None)), 3: 6}
    assert pytree.structure({"w": [1, (2, 3)]}).paths("params") == ["params['w'][0]", "params['w'][1][0]", "params['w'][1][1]"]
    paths = pytree.structure(tree).paths("t")
    assert "t['p'].y.weights" in paths and "t[3]" in paths


def test_dicts_are_ordered_by_key() -> None:
    assert pytree.flatten({"b": 1, "a": 2})[0] == [2, 1]
    assert pytree.structure({"b": 1, "a": 2}) == pytree.structure({"a": 0, "b": 0})
    ordered = OrderedDict(b=1, a=2)
    leaves, structure = pytree.flatten(ordered)
    assert leaves == [1, 2] and structure.unflatten(leaves) == ordered and type(structure.unflatten(leaves)) is OrderedDict


def test_static_fields_and_registered_nodes() -> None:
    @dataclasses.dataclass
    class Layer:
        w: Any
        size: int

    lm.register_dataclass(Layer, static=("size",))
    assert lm.tree.leaves(Layer(1.0, 7)) == [1.0]
    assert pytree.structure(Layer(1.0, 7)) != pytree.structure(Layer(1.0, 8))
    assert lm.tree.map(lambda x: x + 1, Layer(1.0, 7)) == Layer(2.0, 7)

    class Box:
        def __init__(self, inside: Any):
            self.inside = inside

    lm.register_pytree_node(Box, lambda box: ([box.inside], None), lambda rest, children: Box(*children))
    assert lm.tree.map(lambda x: x * 2, Box(3)).inside == 6


def test_map_over_several_trees() -> None:
    assert lm.tree.map(lambda x, y: x - y, {"a": (3, 4)}, {"a": (1, 2)}) == {"a": (2, 2)}
    with pytest.raises(ValueError, match="differ in structure"):
        lm.tree.map(lambda x, y: x, (1, 2), [1, 2])
    with pytest.raises(ValueError, match="the tree has 2 leaves, got 1"):
        pytree.structure((1, 2)).unflatten([1])


def test_trees_in_and_out(interpret: Any) -> None:
    def function(state: State, point: Point, rest: Any) -> Any:
        return State(state.weights + point.x, {"b": state.bias, "n": None}), [point.y, rest["k"][0]]

    args = State(np.ones(2), np.zeros(3)), Point(1.0, np.ones(1)), {"k": (np.ones(2), None)}
    lowered = lm.jit(function).lower(*args)
    assert [str(a) for a in lowered.out_avals] == ["float64[2]", "float64[3]", "float64[1]", "float64[2]"]
    assert lowered.paths == ["state.weights", "state.bias", "point.x", "point.y", "rest['k'][0]"]


TREES: list[Any] = [1, [], None, (1, [2, {"a": 3}]), {"b": 1, "a": (2, None)}, [(1, 2), (3, 4)]]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_names_of_jax(tree: Any) -> None:
    """Against jax.tree."""
    jax = pytest.importorskip("jax")
    assert lm.tree.leaves(tree) == jax.tree.leaves(tree)
    assert lm.tree.unflatten(lm.tree.structure(tree), lm.tree.leaves(tree)) == tree
    assert lm.tree.reduce(lambda a, b: a + b, tree, 0) == jax.tree.reduce(lambda a, b: a + b, tree, 0)
    assert lm.tree.all(tree) == jax.tree.all(tree)
    theirs = [(jax.tree_util.keystr(path), x) for path, x in jax.tree.leaves_with_path(tree)]
    assert [(lm.tree.keystr(path), x) for path, x in lm.tree.tree_leaves_with_path(tree)] == theirs
    doubled = lm.tree.map_with_path(lambda path, x: (path, x), tree)
    assert lm.tree.structure(tree) == lm.tree.structure(lm.tree.map(lambda x: x * 2, tree))
    assert len(lm.tree.leaves(doubled)) == 2 * len(lm.tree.leaves(tree))
    assert lm.tree.broadcast(7, tree) == jax.tree.broadcast(7, tree)


def test_transpose_of_trees() -> None:
    outer, inner = lm.tree.structure({"a": 0, "b": 0}), lm.tree.structure((0, [0]))
    tree = {"a": (1, [2]), "b": (3, [4])}
    assert lm.tree.transpose(outer, inner, tree) == ({"a": 1, "b": 3}, [{"a": 2, "b": 4}])
    assert lm.tree.transpose(outer, None, tree) == lm.tree.transpose(outer, inner, tree)
    with pytest.raises(ValueError, match="begins as"):
        lm.tree.transpose(outer, inner, [1, 2])
    with pytest.raises(ValueError, match="of the structure"):
        lm.tree.transpose(outer, inner, {"a": (1, [2]), "b": 3})


def test_partial_and_classes() -> None:
    f = lm.tree.Partial(lambda w, x: w * x, np.float32(3))
    assert lm.jit(lambda f, x: f(x))(f, np.float32(2)) == 6

    @lm.tree.register_pytree_node_class
    class Pair:
        def __init__(self, a: Any, b: Any):
            self.a, self.b = a, b

        def tree_flatten(self) -> Any:
            return (self.a, self.b), None

        @classmethod
        def tree_unflatten(cls, data: Any, children: Any) -> Any:
            return cls(*children)

    assert lm.tree.leaves(lm.tree.map(lambda x: x + 1, Pair(1, 2))) == [2, 3]


def test_leaves_by_a_predicate() -> None:
    def is_pair(x) -> bool:
        return isinstance(x, tuple)

    tree = {"a": (1, 2), "b": [None, (3, 4)]}
    assert lm.tree.leaves(tree, is_leaf=is_pair) == [(1, 2), (3, 4)]
    assert lm.tree.leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]
    assert lm.tree.map(lambda x: x[::-1], tree, is_leaf=is_pair) == {"a": (2, 1), "b": [None, (4, 3)]}
    assert lm.tree.structure(tree, is_leaf=is_pair).num_leaves == 2
    assert lm.tree.reduce(lambda x, y: x + y, tree, is_leaf=is_pair) == (1, 2, 3, 4)
    assert lm.tree.all([(), (0,)], is_leaf=is_pair) is False
    assert lm.tree.all_leaves([1, 2.0])
    assert not lm.tree.all_leaves([1, ()])
    assert lm.tree.all_leaves([1, ()], is_leaf=is_pair)
    assert [path for path, _ in lm.tree.leaves_with_path(tree, is_leaf=is_pair)] == ["['a']", "['b'][1]"]


def test_trees_that_go_on_below_the_leaves_of_the_first() -> None:
    assert lm.tree.map(lambda x, y: (x, y), [1, 2], [[3, 4], 5]) == [(1, [3, 4]), (2, 5)]
    assert lm.tree.map_with_path(lambda path, x, y: (path, x, y), {"a": 1}, {"a": [2]}) == {"a": ("['a']", 1, [2])}
    for other in ([1], [1, 2, 3], (1, 2), {"a": 1}, None):
        with pytest.raises(ValueError, match="trees differ in structure"):
            lm.tree.map(lambda x, y: x, [1, 2], other)
