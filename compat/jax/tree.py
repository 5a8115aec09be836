"""`lamina.tree`: functions of pytrees, under the names of jax.tree and jax.tree_util.

The structures themselves, and the definition of nodes, are in `pytree.py`.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...api.trees import LEAF, ClassT, TreeDef, is_node_type, register_pytree_node
from ...api.trees import children_of as tree_children
from ...api.trees import flatten as flatten
from ...api.trees import leaves as leaves
from ...api.trees import map as map
from ...api.trees import node_of as tree_node
from ...api.trees import register_dataclass as register_dataclass
from ...api.trees import structure as structure
from ...api.trees import unflatten as unflatten
from ...api.trees import upto as tree_upto
from ...library.linalg.ravel import ravel_pytree as ravel_pytree
from ...names import public

__all__ = list(public("tree"))

PyTreeDef = TreeDef


_NOTHING: Any = object()


def static(*, metadata: Any = None, **options: Any) -> Any:
    """`dataclasses.field` of a field that is no child: `register_dataclass` keeps it in the structure.

    >>> import dataclasses
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = static(default="dense")
    >>> leaves(Layer(2.0))
    [2.0]
    """
    return dataclasses.field(metadata={"static": True, **(metadata or {})}, **options)


def reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _NOTHING, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`functools.reduce` over the leaves, from `initializer` if there is one."""
    return functools.reduce(function, leaves(tree, is_leaf), *(() if initializer is _NOTHING else (initializer,)))


def all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves are true."""
    return builtins.all(leaves(tree, is_leaf))


def all_leaves(values: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether none of these is a tree of others."""
    return builtins.all((is_leaf is not None and is_leaf(x)) or tree_node(x) is None for x in values)


def transpose(outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any) -> Any:
    """From a tree of the outer structure with trees of the inner one as leaves to one of the inner with trees of the outer.

    >>> transpose(structure([0, 0]), structure((0, 0)), [(1, 2), (3, 4)])
    ([1, 3], [2, 4])
    """
    found = tree_upto(outer_treedef, pytree_to_transpose)
    inner = structure(found[0]) if inner_treedef is None else inner_treedef
    rows = [flatten(part) for part in found]
    if any(shape != inner for _, shape in rows):
        raise ValueError(f"transpose needs trees of the structure {inner}, got {structure(pytree_to_transpose)}")
    return inner.unflatten(outer_treedef.unflatten(column) for column in zip(*[row for row, _ in rows], strict=True))


def broadcast(prefix: Any, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Each leaf of a tree, repeated for all leaves of `tree` below it, of which it is a prefix.

    Args:
        is_leaf: which further nodes are leaves of `prefix`.

    >>> broadcast([1, 2], [{"a": 0, "b": 0}, 0])
    [{'a': 1, 'b': 1}, 2]
    """
    found, outer = flatten(prefix, is_leaf)
    parts = tree_upto(outer, tree)
    return outer.unflatten(map(lambda _, value=value: value, part) for value, part in zip(found, parts, strict=True))


def reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = None, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """As `reduce`, in pairs: the depth is the logarithm of the number of leaves.

    Raises:
        ValueError: there is no leaf, and no `identity`.
    """
    level = leaves(tree, is_leaf)
    if not level:
        if identity is None:
            raise ValueError("reduce_associative of no leaves needs identity=")
        return identity
    while len(level) > 1:
        paired = [operation(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = paired + level[2 * len(paired) :]
    return level[0]


# --------------------------------------------------------------------------------------------------------------------
# Paths


@dataclass(frozen=True)
class SequenceKey:
    """An index in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute of a dataclass or named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """A child of a registered class that does not name its children."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = SequenceKey | DictKey | GetAttrKey | FlattenedIndexKey | Any
KeyPath = tuple[KeyEntry, ...]


def _keys(tree: Any, steps: Sequence[Any], are_attributes: bool) -> list[KeyEntry]:
    """The keys of a node's children, from their names."""
    if are_attributes:
        return [GetAttrKey(name) for name in steps]
    if isinstance(tree, dict):
        return [DictKey(key) for key in steps]
    make = SequenceKey if isinstance(tree, list | tuple) else FlattenedIndexKey
    return [make(step) if type(step) is int else step for step in steps]


def leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the keys that lead to it.

    >>> leaves_with_path({"w": [1, 2]})[1]
    ((DictKey(key='w'), SequenceKey(idx=1)), 2)
    """
    found: list[tuple[KeyPath, Any]] = []

    def visit(part: Any, path: KeyPath) -> None:
        node = None if is_leaf is not None and is_leaf(part) else tree_children(part)
        if node is None:
            found.append((path, part))
            return
        children, steps, are_attributes = node
        for key, child in zip(_keys(part, steps, are_attributes), children, strict=True):
            visit(child, (*path, key))

    visit(tree, ())
    return found


def flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeDef]:
    """The leaves, each with the keys that lead to it, and the structure."""
    return leaves_with_path(tree, is_leaf), structure(tree, is_leaf)


def map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`map` of a function that gets the keys to each leaf, too.

    >>> map_with_path(lambda path, x: f"{keystr(path)} = {x}", {"a": [1]})
    {'a': ["['a'][0] = 1"]}
    """
    found, shape = flatten_with_path(tree, is_leaf)
    columns = [tree_upto(shape, other) for other in rest]
    return shape.unflatten(f(path, x, *row) for (path, x), *row in zip(found, *columns, strict=True))


def keystr(path: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """How Python reaches a leaf, as `['w1'].bias[0]`; or with `simple` the keys alone, with a separator.

    >>> ((path, _),) = leaves_with_path({"w": [1]})
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['w'][0]", 'w/0')
    """
    return separator.join(str(_plain(key)) if simple else str(key) for key in path)


def _plain(key: KeyEntry) -> Any:
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return getattr(key, name)
    return key


# --------------------------------------------------------------------------------------------------------------------
# Nodes


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]],
    unflatten_func: Callable[[Any, Sequence[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a tree whose children have keys.

    Args:
        flatten_with_keys: from an instance, pairs of keys and children, and a hashable rest that is static.
        unflatten_func: from the rest and the children, an instance.
        flatten_func: as `flatten_with_keys` without the keys, where that is faster.
    """

    def plain(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, rest = flatten_with_keys(node)
        return [child for _, child in pairs], rest

    register_pytree_node(
        nodetype, flatten_func or plain, unflatten_func, lambda node: [key for key, _ in flatten_with_keys(node)[0]]
    )


def register_pytree_node_class(cls: ClassT) -> ClassT:
    """Make a class with `tree_flatten(self)` and the class method `tree_unflatten(data, children)` a tree."""
    register_pytree_node(cls, lambda tree: tree.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: ClassT) -> ClassT:
    """As `register_pytree_node_class`, with `tree_flatten_with_keys(self)`; `tree_flatten` may be there, too."""
    plain = cls.tree_flatten if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda tree: tree.tree_flatten_with_keys(), cls.tree_unflatten, plain)
    return cls


def register_static(cls: ClassT) -> ClassT:
    """Make a class a tree without leaves: instances, which must compare and hash, are part of the structure."""
    register_pytree_node(cls, lambda tree: ((), tree), lambda tree, _: tree)
    return cls


def is_tree_node(cls: type) -> bool:
    """Whether instances of a class are trees of others, also where they hold nothing."""
    return is_node_type(cls)


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """The children of a node and its static data.

    Raises:
        ValueError: it is a leaf.
    """
    node = tree_node(tree)
    if node is None:
        raise ValueError(f"flatten_one_level needs a tree of others, got {tree!r:.60}")
    return node[2], node[1]


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    """The children of a node with their keys, and its static data."""
    _, data = flatten_one_level(tree)
    node = tree_children(tree)
    assert node is not None
    children, steps, are_attributes = node
    return list(zip(_keys(tree, steps, are_attributes), children, strict=True)), data


def treedef_children(treedef: TreeDef) -> list[TreeDef]:
    """The structures of the children."""
    return list(treedef.children)


def treedef_is_leaf(treedef: TreeDef) -> bool:
    """Whether it is the structure of a leaf."""
    return treedef == LEAF


def treedef_tuple(treedefs: Iterable[TreeDef]) -> TreeDef:
    """The structure of a tuple of trees of these structures."""
    parts = tuple(treedefs)
    return TreeDef(tuple, len(parts), parts)


# --------------------------------------------------------------------------------------------------------------------
# Trees as vectors


class Partial(functools.partial[Any]):
    """`functools.partial` as a tree, whose leaves are those of its arguments."""


register_pytree_node(Partial, lambda p: ((p.args, p.keywords), p.func), lambda f, parts: Partial(f, *parts[0], **parts[1]))
