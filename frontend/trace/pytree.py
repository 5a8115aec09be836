"""Pytrees: nested dicts, lists, tuples, named tuples, None and registered classes, with arrays as leaves.

`flatten` and `TreeDef.unflatten` are the general functions. `TreeDef.flattener()` and `TreeDef.unflattener()` make Python
functions for one structure, which cost about 0.1 us a leaf; `jit` calls these.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from .generated import function

ClassT = TypeVar("ClassT", bound=type)


@dataclass(frozen=True)
class _Registered:
    to_children: Callable[[Any], tuple[Iterable[Any], Any]]
    from_children: Callable[[Any, Sequence[Any]], Any]
    fields: tuple[str, ...] | None = None
    """The attributes that are the children, where they are."""
    static: tuple[str, ...] = ()
    """The attributes that are the rest, where the children are attributes."""
    buffers: frozenset[str] | None = None
    """The fields that are no parameters. None of a class that says nothing of parameters."""
    attributes: Callable[[Any], dict[str, Any]] | None = None
    """From the rest, all attributes but the children, where an instance is no more than its attributes."""
    keys: Callable[[Any], Iterable[Any]] | None = None
    """From an instance, the names of its children, where the class defines them."""


_registry: dict[type, _Registered] = {}


def register_pytree_node(
    cls: type,
    to_children: Callable[[Any], tuple[Iterable[Any], Any]],
    from_children: Callable[[Any, Sequence[Any]], Any],
    to_keys: Callable[[Any], Iterable[Any]] | None = None,
) -> None:
    """Make a class a pytree node.

    Args:
        cls: the class.
        to_children: from an instance, its children and a hashable rest that is static.
        from_children: from the rest and the children, an instance.
        to_keys: from an instance, the key of each child in paths (`lm.tree.leaves_with_path`).
    """
    _registry[cls] = _Registered(to_children, from_children, keys=to_keys)


def _remake_defaultdict(rest: Any, values: Iterable[Any]) -> Any:
    return defaultdict(rest[0], zip(rest[1], values, strict=True))


register_pytree_node(
    defaultdict, lambda tree: (list(tree.values()), (tree.default_factory, tuple(tree))), _remake_defaultdict, list
)


def register_dataclass(
    cls: ClassT,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
    *,
    static: Sequence[str] = (),
) -> ClassT:
    """Make a dataclass a pytree node (usable as a decorator): its fields are children unless they are static.

    Args:
        data_fields: the fields that are children; by default all others.
        meta_fields: the fields that are static; by default those whose metadata say `static=True`.
        drop_fields: fields that have a default and are left out.
        static: as `meta_fields`, in addition.

    Raises:
        ValueError: a name is no field, or a field is in no group or in two.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class State:
    ...     w: object
    ...     b: object
    >>> flatten(State(1.0, 2.0))[0]
    [1.0, 2.0]
    """
    fields = [field for field in dataclasses.fields(cls) if field.init and field.name not in drop_fields]
    names = [field.name for field in fields]
    if meta_fields is None:
        meta_fields = [field.name for field in fields if field.metadata.get("static") and field.name not in (data_fields or ())]
    fixed = tuple(dict.fromkeys((*meta_fields, *static)))
    moving = tuple(name for name in names if name not in fixed) if data_fields is None else tuple(data_fields)
    if sorted((*moving, *fixed)) != sorted(names):
        raise ValueError(f"register_dataclass of {cls.__name__} needs each of its fields {names} once, got {[*moving, *fixed]}")

    def to_children(node: Any) -> tuple[Iterable[Any], Any]:
        return [getattr(node, name) for name in moving], tuple(getattr(node, name) for name in fixed)

    def from_children(rest: Any, children: Sequence[Any]) -> Any:
        return cls(**dict(zip(moving, children, strict=True)), **dict(zip(fixed, rest, strict=True)))

    _registry[cls] = _Registered(to_children, from_children, moving, fixed)
    return cls


def register_model(
    cls: type, fields: Sequence[str], static: str, buffers: Iterable[str], attributes: Callable[[Any], dict[str, Any]]
) -> None:
    """Make a class of models a pytree node: its children are the attributes `fields`, some of which hold no parameters.

    Args:
        cls: the class, whose instances are no more than their attributes.
        fields: the attributes that are children.
        static: the attribute that holds the rest, hashable.
        buffers: those of `fields` whose leaves are no parameters: `grad` leaves them out.
        attributes: from a tuple with the rest, all attributes but the children.
    """

    def to_children(node: Any) -> tuple[Iterable[Any], Any]:
        values = node.__dict__
        return [values[name] for name in fields], (values[static],)

    def from_children(rest: Any, children: Sequence[Any]) -> Any:
        return _instance(cls, {**attributes(rest), **dict(zip(fields, children, strict=True))})

    _registry[cls] = _Registered(to_children, from_children, tuple(fields), (static,), frozenset(buffers), attributes)


def _instance(cls: type, attributes: dict[str, Any]) -> Any:
    """An instance with these attributes; `__init__` does not run."""
    new = object.__new__(cls)
    object.__setattr__(new, "__dict__", attributes)
    return new


@dataclass(frozen=True)
class TreeDef:
    """The structure of a pytree: a node type with its static data, and its children; `kind` None is a leaf.

    Dicts compare by their keys in sorted order (in insertion order where keys do not sort).
    """

    kind: type | None
    data: Any = None
    children: tuple[TreeDef, ...] = ()

    @cached_property
    def num_leaves(self) -> int:
        return 1 if self.kind is None else sum(child.num_leaves for child in self.children)

    @cached_property
    def _hash(self) -> int:
        try:
            return hash((self.kind, self.data, self.children))
        except TypeError:  # the static data of a class may be comparable without being hashable
            return hash((self.kind, self.children))

    def __hash__(self) -> int:
        return self._hash

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where the structure has leaves, as `upto`."""
        return upto(self, tree)

    def compose(self, inner: TreeDef) -> TreeDef:
        """The structure with another one instead of each leaf."""
        children = tuple([child.compose(inner) for child in self.children])
        return inner if self.kind is None else dataclasses.replace(self, children=children)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves.

        Raises:
            ValueError: too many or too few leaves.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"the tree has {self.num_leaves} leaves, got {len(leaves)}")
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        return _make(self.kind, self.data, [child._build(leaves) for child in self.children])

    def paths(self, root: str = "") -> list[str]:
        """How Python reaches each leaf: `['w1']`, `[0].bias`."""
        if self.kind is None:
            return [root]
        return [p for step, child in zip(_steps(self), self.children, strict=True) for p in child.paths(root + step)]

    def parameters(self, inside: bool | None = None) -> list[bool | None]:
        """For each leaf whether it stands where a model has parameters (True) or buffers (False); None outside of models."""
        if self.kind is None:
            return [inside]
        buffers = _registry[self.kind].buffers if self.kind in _registry else None
        if buffers is None or inside is False:
            return [found for child in self.children for found in child.parameters(inside)]
        names = _registry[self.kind].fields or ()
        return [
            found for name, child in zip(names, self.children, strict=True) for found in child.parameters(name not in buffers)
        ]

    def flattener(self) -> Callable[[Any], tuple[Any, ...]] | None:
        """A fast function from a tree of this structure to its leaves, or None where the structure has no fast form.

        On another structure it raises some exception or returns something else than arrays among the leaves: callers check
        the leaves and fall back to `flatten`.
        """
        lines: list[str] = []
        leaves: list[str] = []
        names: dict[str, Any] = {"list": list, "tuple": tuple, "dict": dict}
        if not _flatten_code(self, "tree", lines, leaves, names):
            return None
        result = ", ".join(leaves) + ("," if len(leaves) == 1 else "")
        return function("flatten", ["tree"], [*lines, f"return ({result})"], names)

    def unflattener(self) -> Callable[[Sequence[Any]], Any]:
        """A fast function from the sequence of leaves to the tree."""
        names: dict[str, Any] = {}
        counter = [0]
        return function("unflatten", ["leaves"], [f"return {_unflatten_code(self, counter, names)}"], names)

    def __str__(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind is type(None):
            return "None"
        inside = [f"{step}: {child}" for step, child in zip(_steps(self), self.children, strict=True)]
        if self.kind in (list, tuple):
            inside = [str(child) for child in self.children]
            return ("[%s]" if self.kind is list else "(%s)") % ", ".join(inside)
        return f"{self.kind.__name__}({', '.join(inside)})"


LEAF = TreeDef(None)
NONE = TreeDef(type(None))


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree and its structure. A node for which `is_leaf` returns true is a leaf.

    >>> leaves, structure = flatten({"b": 1, "a": (2, None)})
    >>> leaves
    [2, 1]
    >>> structure.unflatten(leaves)
    {'a': (2, None), 'b': 1}
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves) if is_leaf is None else _flatten_until(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any]) -> TreeDef:
    kind = type(tree)
    if kind is dict:
        keys = _sorted(tree)
        return TreeDef(dict, keys, tuple([_flatten(tree[key], leaves) for key in keys]))
    if kind is tuple or kind is list:
        return TreeDef(kind, len(tree), tuple([_flatten(child, leaves) for child in tree]))
    if tree is None:
        return NONE
    registered = _registry.get(kind)
    if registered is not None:
        children, rest = registered.to_children(tree)
        return TreeDef(kind, rest, tuple([_flatten(child, leaves) for child in children]))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return TreeDef(kind, len(tree), tuple([_flatten(child, leaves) for child in tree]))
    if isinstance(tree, dict):
        keys = tuple(tree)
        return TreeDef(kind, keys, tuple([_flatten(tree[key], leaves) for key in keys]))
    leaves.append(tree)
    return LEAF


def _flatten_until(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool]) -> TreeDef:
    node = None if is_leaf(tree) else node_of(tree)
    if node is None:
        leaves.append(tree)
        return LEAF
    kind, data, children = node
    return NONE if tree is None else TreeDef(kind, data, tuple([_flatten_until(child, leaves, is_leaf) for child in children]))


def node_of(tree: Any) -> tuple[type, Any, list[Any]] | None:
    """The kind, data and children of a tree; None for a leaf."""
    kind = type(tree)
    if tree is None:
        return kind, None, []
    if (registered := _registry.get(kind)) is not None:
        children, data = registered.to_children(tree)
        return kind, data, list(children)
    if isinstance(tree, dict):
        keys = _sorted(tree) if kind is dict else tuple(tree)
        return kind, keys, [tree[key] for key in keys]
    if kind in (tuple, list) or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        return kind, len(tree), list(tree)
    return None


def is_node_type(cls: type) -> bool:
    """Whether instances of a class are nodes."""
    return cls in _registry or cls in (type(None), tuple, list) or issubclass(cls, dict) or hasattr(cls, "_fields")


def children_of(tree: Any) -> tuple[list[Any], list[Any], bool] | None:
    """The children of a node, their names, and whether these are names of attributes; None for a leaf."""
    node = node_of(tree)
    if node is None:
        return None
    kind, data, children = node
    registered = _registry.get(kind)
    if registered is not None and registered.keys is not None:
        return children, list(registered.keys(tree)), False
    if isinstance(tree, dict):
        return children, list(data), False
    fields = getattr(kind, "_fields", None) if registered is None else registered.fields
    return (children, list(range(len(children))), False) if fields is None else (children, list(fields), True)


def upto(outer: TreeDef, tree: Any) -> list[Any]:
    """The parts of a tree that stand where a structure has leaves.

    Raises:
        ValueError: the tree does not begin as the structure does.
    """
    if outer.kind is None:
        return [tree]
    node = node_of(tree)
    kind, data, children = (None, None, []) if node is None else node
    if (kind, data, len(children)) != (outer.kind, outer.data, len(outer.children)):
        found = TreeDef(kind, data, tuple([LEAF] * len(children)))
        raise ValueError(f"a tree begins as {found}, not as {outer}")
    return [part for child, below in zip(outer.children, children, strict=True) for part in upto(child, below)]


def is_registered(cls: type) -> bool:
    """Whether a class was made a pytree node."""
    return cls in _registry


def _sorted(tree: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(tree))
    except TypeError:
        return tuple(tree)


def _make(kind: type, data: Any, children: list[Any]) -> Any:
    if kind is dict:
        return dict(zip(data, children, strict=True))
    if kind is tuple:
        return tuple(children)
    if kind is list:
        return children
    if kind is type(None):
        return None
    registered = _registry.get(kind)
    if registered is not None:
        return registered.from_children(data, children)
    if issubclass(kind, dict):
        result = kind()
        result.update(zip(data, children, strict=True))
        return result
    return kind(*children)


def _steps(node: TreeDef) -> list[str]:
    kind, n = node.kind, len(node.children)
    assert kind is not None
    if issubclass(kind, dict):
        return [f"[{key!r}]" for key in (node.data[1] if kind is defaultdict else node.data)]
    registered = _registry.get(kind)
    fields = registered.fields if registered is not None else getattr(kind, "_fields", None)
    return [f"[{k}]" for k in range(n)] if fields is None else [f".{name}" for name in fields]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree of `f(leaf, ...)`; the first tree is a prefix of the others, whose subtrees at its leaves are passed.

    >>> map(lambda x, y: x + y, {"a": 1}, {"a": 2})
    {'a': 3}
    """
    leaves, structure = flatten(tree, is_leaf)
    columns = [leaves]
    for other in rest:
        others, found = flatten(other)
        if found != structure:
            try:
                others = upto(structure, other)
            except ValueError:
                raise ValueError(f"trees differ in structure: {structure} and {found}") from None
        columns.append(others)
    return structure.unflatten(f(*row) for row in zip(*columns, strict=True))


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeDef:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves."""
    return treedef.unflatten(leaves)


# --------------------------------------------------------------------------------------------------------------------
# Functions for one structure


def _name(value: Any, names: dict[str, Any]) -> str:
    name = f"k{len(names)}"
    names[name] = value
    return name


def _flatten_code(node: TreeDef, expression: str, lines: list[str], leaves: list[str], names: dict[str, Any]) -> bool:
    if node.kind is None:
        leaves.append(expression)
        return True
    if node.kind is type(None):
        lines.append(f"if {expression} is not None: raise TypeError")
        return True
    inner = [f"v{len(lines)}_{k}" for k in range(len(node.children))]
    if node.kind is dict:
        lines.append(f"if type({expression}) is not dict or len({expression}) != {len(inner)}: raise TypeError")
        reads = [f"{expression}[{_name(key, names)}]" for key in node.data]
        for name, read, child in zip(inner, reads, node.children, strict=True):
            if child.kind is None:
                leaves.append(read)
                continue
            lines.append(f"{name} = {read}")
            if not _flatten_code(child, name, lines, leaves, names):
                return False
        return True
    registered = _registry.get(node.kind)
    if registered is not None and registered.fields is not None:
        lines.append(f"if type({expression}) is not {_name(node.kind, names)}: raise TypeError")
        if registered.static:
            rest = "".join(f"{expression}.{name}, " for name in registered.static)
            lines.append(f"if ({rest}) != {_name(node.data, names)}: raise TypeError")
        lines += [f"{name} = {expression}.{field}" for name, field in zip(inner, registered.fields, strict=True)]
        return all([_flatten_code(child, name, lines, leaves, names) for name, child in zip(inner, node.children, strict=True)])
    if node.kind not in (tuple, list) and (registered is not None or not issubclass(node.kind, tuple)):
        return False
    lines.append(f"if type({expression}) is not {_name(node.kind, names)}: raise TypeError")
    if inner:
        lines.append(f"{', '.join(inner)}, = {expression}")
    else:
        lines.append(f"if {expression}: raise TypeError")
    return all([_flatten_code(child, name, lines, leaves, names) for name, child in zip(inner, node.children, strict=True)])


def _unflatten_code(node: TreeDef, counter: list[int], names: dict[str, Any]) -> str:
    if node.kind is None:
        counter[0] += 1
        return f"leaves[{counter[0] - 1}]"
    if node.kind is type(None):
        return "None"
    inner = [_unflatten_code(child, counter, names) for child in node.children]
    if node.kind is tuple:
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    if node.kind is list:
        return f"[{', '.join(inner)}]"
    if node.kind is dict:
        return "{" + ", ".join(f"{_name(key, names)}: {value}" for key, value in zip(node.data, inner, strict=True)) + "}"
    registered = _registry.get(node.kind)
    if registered is not None and registered.attributes is not None:
        fixed = registered.attributes(node.data)
        given = {
            **{name: _name(value, names) for name, value in fixed.items()},
            **dict(zip(registered.fields or (), inner, strict=True)),
        }
        attributes = ", ".join(f"{name!r}: {value}" for name, value in given.items())
        return f"{_name(_instance, names)}({_name(node.kind, names)}, {{{attributes}}})"
    make, kind, data = _name(_make, names), _name(node.kind, names), _name(node.data, names)
    return f"{make}({kind}, {data}, [{', '.join(inner)}])"
