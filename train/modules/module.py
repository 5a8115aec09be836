"""`Module`: a dataclass whose instances are trees of arrays, as the models of jit, grad, vmap and scan."""

from __future__ import annotations

import dataclasses
import re
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast, dataclass_transform

import numpy as np

from ...api import TensorSpec, Tracer, trees
from ...api.functions import trainable
from ...compat.jax.tree import keystr, leaves_with_path
from .text import tree_text

Self = TypeVar("Self", bound="Module")

_ROLE, _OPEN, _STATIC = "lamina.role", "_open", "_static"
_ARRAYS = (np.ndarray, np.generic, Tracer, TensorSpec)


def buffer(default: Any = dataclasses.MISSING, *, default_factory: Any = dataclasses.MISSING) -> Any:
    """A field of a `Module` with arrays that are no parameters, as running statistics: gradients leave them out.

    Args:
        default, default_factory: as of `dataclasses.field`.
    """
    return _field("buffer", default, default_factory)


def static(default: Any = dataclasses.MISSING, *, default_factory: Any = dataclasses.MISSING) -> Any:
    """A field of a `Module` that holds no arrays but a hashable Python value: `jit` compiles anew for each of its values.

    Args:
        default, default_factory: as of `dataclasses.field`.
    """
    return _field("static", default, default_factory)


def _field(role: str, default: Any, default_factory: Any) -> Any:
    return dataclasses.field(default=default, default_factory=default_factory, metadata={_ROLE: role})


@dataclass_transform(field_specifiers=(buffer, static))
class _ModuleType(ABCMeta):
    """Makes classes of modules dataclasses and trees, and freezes the fields that `__init__` has set. They may be abstract."""

    __instancecheck__ = type.__instancecheck__  # without the registry of abstract classes

    _fields: tuple[str, ...]
    _static_fields: tuple[str, ...]
    _buffers: frozenset[str]
    _own_init: bool

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._own_init = "__init__" in namespace or any(getattr(base, "_own_init", False) for base in bases)
        dataclasses.dataclass(init=not cls._own_init, eq=False, repr=False)(cls)
        by_role: dict[str, list[str]] = {"parameter": [], "buffer": [], "static": []}
        for field in dataclasses.fields(cast(Any, cls)):
            if field.name in _RESERVED:
                raise TypeError(f"{name} has a field {field.name!r}, which is a name of lm.Module")
            by_role[field.metadata.get(_ROLE, "parameter")].append(field.name)
        cls._buffers = frozenset(by_role["buffer"])
        cls._static_fields = tuple(by_role["static"])
        cls._fields = (*by_role["parameter"], *by_role["buffer"])
        trees.register_model(cls, cls._fields, _STATIC, cls._buffers, cls._attributes)

    def _attributes(cls, rest: Any) -> dict[str, Any]:
        """The static data of an instance."""
        (fixed,) = rest
        return {"training": fixed[0], _STATIC: fixed, **dict(zip(cls._static_fields, fixed[1], strict=True))}

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        new = cast(Any, object.__new__(cls))
        vars(new).update({"training": True, _OPEN: True})
        new.__init__(*args, **kwargs)
        del vars(new)[_OPEN]
        new._close()
        return new


_RESERVED = frozenset({"training", _OPEN, _STATIC})


class Module(metaclass=_ModuleType):
    """A part of a model: a dataclass, and a tree of arrays that can be an argument, a result and a carried value.

    A subclass annotates its fields. A field holds parameters: arrays, other modules, lists, tuples and dicts of these, or None.
    `lm.buffer()` says of a field that its arrays are no parameters, `lm.static()` that it holds a hashable Python value. A
    subclass may have an `__init__` of its own, which sets all fields. After it the instance does not change: `replace`,
    `train`, `eval` and `load_state_dict` return others.

    `lm.grad` by a module is a module of the same class, with None where the leaf is no float or stands in a buffer.

    Attributes:
        training: whether layers that differ in training (Dropout, BatchNorm) are in training mode; True at first.

    >>> import lamina as lm, numpy as np
    >>> class Affine(lm.Module):
    ...     weight: lm.Array
    ...     bias: lm.Array
    ...     steps: lm.Array = lm.buffer(default_factory=lambda: np.zeros((), np.int32))
    ...     power: int = lm.static(1)
    ...
    ...     def __call__(self, x):
    ...         return (self.weight * x + self.bias) ** self.power
    >>> model = Affine(np.ones(3, np.float32), np.zeros(3, np.float32), power=2)
    >>> lm.jit(lambda model, x: model(x).sum())(model, np.float32([1, 2, 3]))
    array(14., dtype=float32)
    >>> slopes = lm.grad(lambda model, x: model(x).sum())(model, np.float32([1, 2, 3]))
    >>> slopes.weight, slopes.steps
    (array([ 2.,  8., 18.], dtype=float32), None)
    """

    training = True

    # -- instances do not change

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self)
        if _OPEN not in vars(self):
            raise dataclasses.FrozenInstanceError(
                f"{kind.__name__} cannot be changed: write `model = model.replace({name}=...)`, which makes another one"
            )
        if name not in kind._fields and name not in kind._static_fields:
            raise AttributeError(
                f"{kind.__name__} has no field {name!r}: annotate it in the class, `{name}: lm.Array`, "
                f"or `{name}: {type(value).__name__} = lm.static()` if it holds no arrays"
            )
        vars(self)[name] = value

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"{type(self).__name__} cannot be changed: {name} cannot be deleted")

    def _close(self) -> None:
        """Check the fields, and keep the static ones as jit compares them."""
        kind, values = type(self), vars(self)
        for field in dataclasses.fields(cast(Any, kind)):
            if field.name in values:
                continue
            if field.default is not dataclasses.MISSING:
                values[field.name] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                values[field.name] = field.default_factory()
            else:
                raise TypeError(f"{kind.__name__}.__init__ does not set the field {field.name!r}")
        for name in kind._fields:
            _require_arrays(kind.__name__, name, values[name])
        self._keep_static()

    def _keep_static(self) -> None:
        values = vars(self)
        fixed = tuple([values[name] for name in type(self)._static_fields])
        for name, value in zip(type(self)._static_fields, fixed, strict=True):
            try:
                hash(value)
            except TypeError:
                raise TypeError(
                    f"{type(self).__name__}.{name} is static and must be hashable, got {type(value).__name__}: {value!r:.60}"
                    + ("; make it a tuple" if isinstance(value, list) else "")
                    + ("; declare it lm.buffer()" if isinstance(value, _ARRAYS) else "")
                ) from None
        # equal values of different types (1, 1.0, True) trace differently
        values[_STATIC] = (values["training"], fixed, tuple(map(type, fixed)))

    def _copy(self: Self, changes: Mapping[str, Any]) -> Self:
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        vars(new).update(changes)
        new._keep_static()
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _STATIC}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)
        self._keep_static()

    def replace(self: Self, **changes: Any) -> Self:
        """The module with other values of some fields; `__init__` does not run.

        Raises:
            TypeError: there is no such field, or the value is neither an array nor a module.
        """
        kind = type(self)
        for name, value in changes.items():
            if name in kind._fields:
                _require_arrays(kind.__name__, name, value)
            elif name not in kind._static_fields:
                known = ", ".join([*kind._fields, *kind._static_fields])
                raise TypeError(f"{kind.__name__} has no field {name!r}, its fields are {known}")
        return self._copy(changes)

    def train(self: Self, mode: bool = True) -> Self:
        """The module, and all in it, for training, where Dropout and BatchNorm differ."""

        def switched(part: Any) -> Any:
            return part.train(mode) if isinstance(part, Module) else part

        changes = {name: trees.map(switched, vars(self)[name], is_leaf=_is_module) for name in type(self)._fields}
        return self._copy({**changes, "training": bool(mode)})

    def eval(self: Self) -> Self:
        """The module, and all in it, for inference: `train(False)`."""
        return self.train(False)

    # -- contents

    def leaf_names(self) -> list[str]:
        """The dotted name of each leaf of the tree, as `layers.0.weight`."""
        found = [f"{field}.{name}" for field in type(self)._fields for name in leaf_names(vars(self)[field])]
        return [self.state_name(name.removesuffix(".")) for name in found]

    def state_name(self, name: str) -> str:
        """The name in `state_dict` of the child `name` of this module; for classes whose torch names differ."""
        return name

    def _named(self, wanted: tuple[bool, ...]) -> Iterator[tuple[str, Any]]:
        leaves, structure = trees.flatten(self)
        for name, leaf, inside in zip(self.leaf_names(), leaves, structure.parameters(), strict=True):
            if inside in wanted:
                yield name, leaf

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Name and array of each parameter, in the order of the tree."""
        return list(self._named((True,)))

    def named_buffers(self) -> list[tuple[str, Any]]:
        """Name and array of each buffer."""
        return list(self._named((False,)))

    def parameters(self) -> list[Any]:
        """The parameters' arrays, in the order of the tree."""
        return [leaf for _, leaf in self.named_parameters()]

    def count_parameters(self) -> int:
        """How many numbers the parameters hold."""
        return sum(int(np.prod(np.shape(leaf), dtype=np.int64)) for leaf in self.parameters())

    def modules(self) -> Iterator[Module]:
        """This module and all in it."""
        yield self
        for field in type(self)._fields:
            for part in trees.leaves(vars(self)[field], _is_module):
                if isinstance(part, Module):
                    yield from part.modules()

    # -- parts for derivatives

    def partition(self: Self, keep: Callable[[Any], bool] | None = None) -> tuple[Self, Self]:
        """Two modules, the first with the leaves that are kept, the second with the others; None stands for leaves of the other
        one.

        Args:
            keep: says of a leaf whether it is kept; by default those that `lm.grad` differentiates by: parameters of floats.

        >>> import lamina as lm
        >>> layer = lm.train.modules.BatchNorm(2)
        >>> params, rest = layer.partition()
        >>> params.running_mean, rest.weight
        (None, None)
        >>> params.combine(rest).running_mean
        array([0., 0.], dtype=float32)
        """
        return partition(self, keep)

    def combine(self: Self, *others: Any) -> Self:
        """The module with its missing leaves (None) filled from others of the same structure."""
        return combine(self, *others)

    # -- states by name

    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers by name, as torch names them where a layer is torch's."""
        found: dict[str, Any] = {}
        for name, leaf in self._named((True, False)):
            if name in found:
                raise ValueError(f"two leaves of {type(self).__name__} have the name {name!r}: rename a key")
            found[name] = leaf
        return found

    def load_state_dict(self: Self, state: Mapping[str, Any], strict: bool = True) -> Self:
        """The module with the arrays of a state, in the dtypes that it has.

        Args:
            state: arrays by name, as from `state_dict`, or of torch's (`{k: v.numpy() for k, v in m.state_dict().items()}`).
            strict: whether every name of both sides must be there in the other.

        Raises:
            ValueError: names are missing or unknown, or shapes differ; all of them are listed.
        """
        leaves, structure = trees.flatten(self)
        names = self.leaf_names()
        wrong = [f"{name} is missing" for name in names if name not in state] if strict else []
        wrong += [f"{name} is unknown" for name in state if name not in set(names)] if strict else []
        loaded = []
        for name, leaf in zip(names, leaves, strict=True):
            value = np.asarray(state[name]) if name in state else leaf
            if np.shape(value) != np.shape(leaf):
                wrong.append(f"{name} is {list(np.shape(leaf))} here and {list(np.shape(value))} in the state")
            loaded.append(np.array(value, leaf.dtype) if name in state else leaf)
        if wrong:
            raise ValueError(f"the state does not fit {type(self).__name__}: " + "; ".join(wrong))
        return structure.unflatten(loaded)

    def __repr__(self) -> str:
        return tree_text(self, type(self)._static_fields, type(self)._fields)

    def __str__(self) -> str:
        return f"{self!r}  # {self.count_parameters():,} parameters"


def _is_module(x: Any) -> bool:
    return isinstance(x, Module)


def leaf_names(tree: Any) -> list[str]:
    """The dotted name of each leaf of a tree with modules in it; that of a single array is empty."""
    if isinstance(tree, Module):
        return tree.leaf_names()
    parts, structure = trees.flatten(tree, _is_module)
    found: list[str] = []
    for path, part in zip(structure.paths(), parts, strict=True):
        stem = re.sub(r"\[(?:'([^']*)'|([^\]]*))\]", r".\1\2", path).removeprefix(".")
        found += [f"{stem}.{name}".removeprefix(".") for name in part.leaf_names()] if isinstance(part, Module) else [stem]
    return found


def _require_arrays(kind: str, name: str, value: Any) -> None:
    """A field that is not static holds arrays, modules, None, and lists, tuples and dicts of these."""
    for path, leaf in leaves_with_path(value, _is_module):
        if not isinstance(leaf, (*_ARRAYS, Module)):
            raise TypeError(
                f"{kind}.{name}{keystr(path)} holds {type(leaf).__name__}, which is no array and no module: {leaf!r:.60}; "
                f"declare the field `{name}: {type(leaf).__name__} = lm.static()`, or make it an array with lnp.asarray"
            )


def _is_none(x: Any) -> bool:
    return x is None


def partition(tree: Any, keep: Callable[[Any], bool] | None = None) -> tuple[Any, Any]:
    """`Module.partition` of any tree of arrays: two trees, with None for leaves of the other one."""
    leaves, structure = trees.flatten(tree)
    kept = trainable(tree) if keep is None else [bool(keep(leaf)) for leaf in leaves]
    first = structure.unflatten(leaf if here else None for leaf, here in zip(leaves, kept, strict=True))
    second = structure.unflatten(None if here else leaf for leaf, here in zip(leaves, kept, strict=True))
    return first, second


def combine(*parts: Any) -> Any:
    """The tree with the first leaf at each position that is not None.

    Raises:
        ValueError: the trees differ in structure.
    """
    flat = [trees.flatten(tree, _is_none) for tree in parts]
    for _, structure in flat[1:]:
        if structure != flat[0][1]:
            raise ValueError(f"combine needs trees of one structure, got {flat[0][1]} and {structure}")
    rows = zip(*[leaves for leaves, _ in flat], strict=True)
    return flat[0][1].unflatten(next((x for x in row if x is not None), None) for row in rows)
