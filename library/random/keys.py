"""Arrays of keys, as `lamina.random.key` makes them: an element is a key, not the words that it consists of.

A `KeyArray` is a tree with one leaf, uint32[..., 2]. So jit, vmap, loops, branches and files accept keys, and the
compiler sees only integers. Keys have no arithmetic: functions of `lamina.numpy` that only move elements (`MOVES`) are applied
to both words separately.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...api import arrays
from ...api.errors import DTypeError, ShapeError
from ...api.tracing import WrappedArray
from ...api.trees import flatten, register_dataclass


class extended(np.generic):
    """The kind of dtypes that are no numbers (`jax.dtypes.extended`)."""


class prng_key(extended):
    """The kind of dtypes of keys: `lm.numpy.issubdtype(keys.dtype, lm.dtypes.prng_key)`."""


class KeyDType:
    """The dtype of keys, of which there is one: Threefry's."""

    name, itemsize, type, kind = "key<fry>", 8, prng_key, "V"

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType)

    def __hash__(self) -> int:
        return hash(self.name)


KEY = KeyDType()

MOVES = frozenset({
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "concat",
    "concatenate", "delete", "diagonal", "dsplit", "dstack", "dynamic_index_in_dim", "dynamic_slice", "expand_dims",
    "flip", "fliplr", "flipud", "hsplit", "hstack", "insert", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "repeat",
    "reshape", "resize", "roll", "rollaxis", "rot90", "select", "split", "squeeze", "stack", "swapaxes", "take",
    "take_along_axis", "tile", "transpose", "unstack", "vsplit", "vstack", "where",
})  # fmt: skip
"""Functions that move elements, and read none."""


def _method(name: str) -> Any:
    def method(self: KeyArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(arrays, name)(self, *args, **kwargs)

    method.__doc__ = f"`lamina.numpy.{name}` of the keys."
    return method


@register_dataclass
@dataclass(eq=False, repr=False)
class KeyArray(WrappedArray):
    """Keys of `lamina.random`, as `key`, `split` and `wrap_key_data` make them.

    They are indexed, moved and compared as elements of an array, and mapped over by `vmap`.

    Attributes:
        data: uint32[..., 2], the words of the keys.

    >>> import lamina as lm
    >>> keys = lm.random.split(lm.random.key(0), 3)
    >>> keys.shape, keys.dtype, keys[1:].shape
    ((3,), key<fry>, (2,))
    """

    element_ndim = 1  # the words of a key
    __hash__ = None  # pyright: ignore[reportAssignmentType]
    data: Any

    dtype = property(lambda self: KEY, doc="`key<fry>`.")
    itemsize = property(lambda self: KEY.itemsize, doc="Bytes of a key.")

    shape = property(lambda self: tuple(self.data.shape[:-1]), doc="The sizes.")
    ndim = property(lambda self: len(self.shape), doc="The number of dims.")
    size = property(lambda self: int(np.prod(self.shape)), doc="How many keys there are.")
    nbytes = property(lambda self: self.data.nbytes, doc="Bytes of all words.")
    T = property(lambda self: self.transpose(), doc="The keys with their dims in reverse order.")
    at = property(lambda self: _At(self), doc="`keys.at[index].set(others)`: the keys with some of them changed.")

    flatten = ravel = _method("ravel")
    copy, repeat, squeeze, swapaxes, take = (_method(name) for name in ("copy", "repeat", "squeeze", "swapaxes", "take"))

    def reshape(self, *shape: Any) -> Any:
        """The keys in another shape."""
        return arrays.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """The keys with their dims permuted."""
        return arrays.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def block_until_ready(self) -> KeyArray:
        """The keys themselves."""
        return self

    def __getitem__(self, index: Any) -> KeyArray:
        return KeyArray(arrays.asarray(self.data)[self._place(index)])

    def _place(self, index: Any) -> Any:
        """An index of keys as one of their words."""
        items = index if isinstance(index, tuple) else (index,)
        if sum(_dims(item) for item in items) > self.ndim:
            raise IndexError(f"too many indices for keys of shape {list(self.shape)}: {index!r:.60}")
        return (*items, slice(None)) if any(item is Ellipsis for item in items) else index

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a single key")
        return len(self.data)

    def __iter__(self) -> Iterator[KeyArray]:
        return (self[k] for k in range(len(self)))

    def __eq__(self, other: object) -> Any:
        return _same(self, other)

    def __ne__(self, other: object) -> Any:
        equal = _same(self, other)
        return equal if equal is NotImplemented else arrays.logical_not(equal)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("keys are no numbers: lm.random.key_data(keys) gives their words")

    @classmethod
    def apply_function(cls, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return moved(function, args, kwargs)

    def __repr__(self) -> str:
        return f"KeyArray(shape={self.shape}, dtype={self.dtype}) overlaying:\n{self.data}"


def _dims(item: Any) -> int:
    """How many dims of an array an item of an index takes."""
    if item is None or item is Ellipsis or isinstance(item, bool | np.bool_):
        return 0
    return item.ndim if getattr(item, "dtype", None) == np.bool_ else 1


def _same(keys: KeyArray, other: object) -> Any:
    if not isinstance(other, KeyArray):
        return NotImplemented
    return arrays.all(arrays.equal(keys.data, other.data), axis=-1)


class _At:
    """`keys.at`, of which `[index]` chooses some."""

    def __init__(self, keys: KeyArray, index: Any = None):
        self._keys, self._index = keys, index

    def __getitem__(self, index: Any) -> _At:
        return _At(self._keys, self._keys._place(index))

    def get(self, **options: Any) -> KeyArray:
        """`keys[index]`, as `x.at[index].get`."""
        return KeyArray(arrays.asarray(self._keys.data).at[self._index].get(**options))

    def set(self, values: Any, **options: Any) -> KeyArray:
        """The keys with others at the index, as `x.at[index].set`."""
        if not isinstance(values, KeyArray):
            raise DTypeError(f"keys are set to other keys, got {type(values).__name__}")
        return KeyArray(arrays.asarray(self._keys.data).at[self._index].set(values.data, **options))


def have_keys(values: Iterable[Any]) -> bool:
    """Whether keys stand among arguments or in lists of them."""
    return any([type(x) is KeyArray or (type(x) in (list, tuple) and have_keys(x)) for x in values])


def moved(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A function of `lamina.numpy` of which some arguments are keys.

    Raises:
        DTypeError: the function reads its elements, or mixes keys with numbers.
    """
    name = getattr(function, "__name__", "").removeprefix("_")
    if name in ("equal", "not_equal") and len(args) == 2:
        found = (KeyArray.__eq__ if name == "equal" else KeyArray.__ne__)(*args)
        if found is not NotImplemented:
            return found
    if name not in MOVES:
        raise DTypeError(f"{name}() is not defined for keys, which are no numbers: lm.random.key_data(keys) gives their words")
    _check_mixed(name, args)
    leaves, structure = flatten((args, dict(kwargs)), is_leaf=lambda x: type(x) is KeyArray or x is None)
    of_words = []
    for k in range(2):
        given, named = structure.unflatten([x.data[..., k] if type(x) is KeyArray else x for x in leaves])
        of_words.append(function(*given, **named))
    if isinstance(of_words[0], list | tuple):
        return type(of_words[0])([_joined(*pair) for pair in zip(*of_words, strict=True)])
    return _joined(*of_words)


def _joined(first: Any, second: Any) -> KeyArray:
    return KeyArray(arrays.stack([first, second], -1))


_CHOOSE = {"where": slice(1, None), "select": slice(1, None), "append": slice(0, 2), "insert": slice(0, 3, 2)}
"""The arguments of functions of several arrays that become elements of the result."""


def _check_mixed(name: str, args: tuple[Any, ...]) -> None:
    """Refuse numbers among keys."""
    among = [args[_CHOOSE[name]]] if name in _CHOOSE else [x for x in args if type(x) in (list, tuple) and have_keys(x)]
    for group in among:
        if any(type(x) is not KeyArray for x in group):
            raise DTypeError(f"{name}() of keys and numbers: all arrays must be keys")


def takes_keys(function: Callable[..., Any], gives_keys: bool = False) -> Callable[..., Any]:
    """A function of one key's words as one of a key: `gives_keys` says that of a `KeyArray` it makes others."""

    def called(key: Any, *args: Any, **kwargs: Any) -> Any:
        if type(key) is not KeyArray:
            return function(key, *args, **kwargs)
        if len(key.data.shape) != 1:
            raise ShapeError(
                f"{function.__name__}() takes one key, got keys of shape {list(key.shape)}: map over them with vmap"
            )
        found = function(key.data, *args, **kwargs)
        return KeyArray(found) if gives_keys else found

    return functools.update_wrapper(called, function)
