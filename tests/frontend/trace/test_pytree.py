"""Pytrees: round trips, key paths, the fast functions for one structure."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import lamina as lm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.frontend.trace import pytree


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
    assert [(lm.tree.keystr(path), x) for path, x in lm.tree.leaves_with_path(tree)] == theirs
    theirs = [(jax.tree_util.keystr(path, simple=True, separator="/"), x) for path, x in jax.tree.leaves_with_path(tree)]
    found, structure = lm.tree.flatten_with_path(tree)
    assert [(lm.tree.keystr(path, simple=True, separator="/"), x) for path, x in found] == theirs
    assert structure == lm.tree.structure(tree) == lm.tree.structure(lm.tree.map(lambda x: x * 2, tree))
    named = lm.tree.map_with_path(lambda path, x: lm.tree.keystr(path), tree)
    assert named == jax.tree.map_with_path(lambda path, x: jax.tree_util.keystr(path), tree)
    if lm.tree.leaves(tree):
        assert lm.tree.reduce_associative(max, tree) == max(jax.tree.leaves(tree))
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
    assert [lm.tree.keystr(path) for path, _ in lm.tree.leaves_with_path(tree, is_leaf=is_pair)] == ["['a']", "['b'][1]"]


class Named(NamedTuple):
    left: Any
    right: Any


def test_keys_of_all_kinds_of_nodes() -> None:
    """Against jax.tree_util, on classes that are registered in both."""
    jax = pytest.importorskip("jax")

    def classes(tree: Any) -> Any:
        class Plain:
            def __init__(self, *parts: Any):
                self.parts = parts

        class Keyed(Plain):
            def tree_flatten_with_keys(self) -> Any:
                return list(zip((tree.GetAttrKey("first"), "second"), self.parts, strict=True)), None

            @classmethod
            def tree_unflatten(cls, data: Any, parts: Any) -> Any:
                return cls(*parts)

        @dataclasses.dataclass
        class State:
            w: Any
            n: int = dataclasses.field(metadata={"static": True})
            dropped: int = 0

        @tree.register_static
        @dataclasses.dataclass(frozen=True)
        class Fixed:
            n: int

        tree.register_pytree_node(Plain, lambda p: (p.parts, None), lambda data, parts: Plain(*parts))
        tree.register_pytree_with_keys_class(Keyed)
        tree.register_dataclass(State, data_fields=["w"], meta_fields=["n"], drop_fields=["dropped"])
        counts = defaultdict(list, {"b": 1, "a": [2]})
        return [Plain(1, (2,)), Keyed([3], 4), State({"k": 5}, 6), Fixed(7), Named(8, {2: 9}), OrderedDict(z=10, a=11), counts]

    ours, theirs = classes(lm.tree), classes(jax.tree_util)
    found = [(lm.tree.keystr(path), x) for path, x in lm.tree.leaves_with_path(ours)]
    wanted = [(jax.tree_util.keystr(path), x) for path, x in jax.tree_util.tree_leaves_with_path(theirs)]
    assert sorted(found) == sorted(wanted) and found[:-2] == wanted[:-2]  # jax sorts a defaultdict
    again = lm.tree.map(lambda x: x, ours)
    assert again[-1] == ours[-1] and again[-1].default_factory is list and list(again[-2]) == ["z", "a"]
    assert again[3] is ours[3] and again[2].n == 6 and lm.tree.leaves(ours[3]) == []
    assert lm.tree.flatten_one_level([1, (2,)]) == ([1, (2,)], 2)
    assert lm.tree.is_tree_node(Named) and not lm.tree.is_tree_node(int)
    assert lm.tree.flatten_one_level_with_keys({"a": [1]})[0] == [(lm.tree.DictKey("a"), [1])]
    with pytest.raises(ValueError, match="needs a tree of others"):
        lm.tree.flatten_one_level(3)
    one = lm.tree.structure([1, 2])
    assert lm.tree.treedef_tuple([one, one]) == lm.tree.structure(([1, 2], [3, 4]))
    assert [lm.tree.treedef_is_leaf(part) for part in lm.tree.treedef_children(one)] == [True, True]
    with pytest.raises(ValueError, match=r"each of its fields \['w', 'n', 'dropped'\] once, got \['w'\]"):
        lm.tree.register_dataclass(type(ours[2]), data_fields=["w"], meta_fields=[])


def test_trees_as_vectors() -> None:
    ravel_pytree = pytest.importorskip("jax.flatten_util").ravel_pytree
    tree = {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "n": np.int32(7),
        "b": [np.float32(0.5), np.zeros((0, 2), np.float32)],
    }
    flat, back = lm.tree.ravel_pytree(tree)
    theirs, _ = ravel_pytree(tree)
    np.testing.assert_array_equal(flat, theirs)
    for one, other in zip(lm.tree.leaves(back(flat)), lm.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype and one.shape == other.shape

    def loss(x: Any) -> Any:
        return (back(x)["w"] ** 2).sum()

    np.testing.assert_array_equal(lm.jit(lm.grad(loss))(flat), np.concatenate([np.zeros(2), 2 * np.arange(6)]))
    assert lm.jit(lambda tree: lm.tree.ravel_pytree(tree)[0])(tree).shape == (8,) and lm.tree.ravel_pytree([])[0].size == 0
    with pytest.raises(lm.errors.ShapeError, match=r"a vector of 8 elements, got shape \[3\]"):
        back(flat[:3])


def test_trees_that_go_on_below_the_leaves_of_the_first() -> None:
    assert lm.tree.map(lambda x, y: (x, y), [1, 2], [[3, 4], 5]) == [(1, [3, 4]), (2, 5)]
    assert lm.tree.map_with_path(lambda path, x, y: (path, x, y), {"a": 1}, {"a": [2]}) == {
        "a": ((lm.tree.DictKey("a"),), 1, [2])
    }
    for other in ([1], [1, 2, 3], (1, 2), {"a": 1}, None):
        with pytest.raises(ValueError, match="trees differ in structure"):
            lm.tree.map(lambda x, y: x, [1, 2], other)
