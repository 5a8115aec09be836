"""The values that one trace of a region reads from objects that existed before it: each read becomes a guard or an argument.

Such an object is known by its identity and by the access path that led to it. An unknown object was made in the region, and the
region may change it.
"""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from ....runtime.array import Array
from ...trace.program import Aval, abstract
from ...trace.promotion import INT64
from ...trace.pytree import flatten, is_registered
from ...trace.tracer import Tracer
from ...trace.tracing import Deferred, Trace
from ..capture.session import Reader
from .breaks import VALUES, GraphBreak, SpecializeError, is_users
from .effects import Effects
from .guards import Guards, Path, short
from .symbolic_ints import Number

CONTAINERS = (list, tuple, dict)

_LARGEST = 4096
"""Items of containers that are read as a whole."""


class Leaf(str):
    """An argument of the graph that a path leads to; as a text, why it has no value while tracing."""

    __slots__ = ("aval", "code", "convert", "kind", "text")

    code: str
    text: str
    aval: Aval
    convert: bool
    kind: type


class Reading(Reader):
    """The objects that one trace of a region has read.

    Attributes:
        guards: its assumptions.
        constants: the paths of numbers that must be constants; other floats are arguments.
        varying: the paths of integers that are arguments, having differed; others are constants.
        sizes: shapes with symbols, by path.
        from_source: whether control flow is captured.
    """

    def __init__(
        self, trace: Trace, constants: set[str], varying: set[str], from_source: bool, sizes: dict[str, tuple[Any, ...]]
    ):
        self.guards = Guards()
        self.trace = trace
        self.constants, self.varying = constants, varying
        self.sizes = sizes
        self.from_source = from_source
        self.known: dict[int, tuple[Any, Path]] = {}
        self.shadows: dict[int, tuple[Any, Any]] = {}
        """The shadows in the trace of objects that were read as a whole."""
        self.originals: dict[int, Any] = {}
        """The objects that shadows stand for."""
        self.adopted: set[int] = set()
        """Shadows of the contents of modules."""
        self.effects = Effects(self)
        self.covered: dict[int, Any] = {}
        """These, which need no further guards."""
        self.leaves: dict[str, Tracer] = {}
        self.outside: dict[int, tuple[Tracer, Path]] = {}
        """Tracers of arguments of the graph, as long as nothing has changed them."""
        self.is_numpy = True
        """Whether only NumPy's arrays and functions have been read: a value without dims is then NumPy's scalar."""
        self.views: dict[int, tuple[Tracer, Path]] = {}
        """Tracers of parts of such arrays."""
        self.numbers: dict[int, tuple[Tracer, tuple[str, ...]]] = {}
        """Tracers of Python's numbers, with the paths that they come from."""
        self.integers: dict[int, tuple[Path, Any]] = {}
        """The path and the current value of each traced Python integer."""
        self.booleans: dict[int, Tracer] = {}
        """Tracers that are bools of Python."""
        self.codes: set[types.CodeType] = set()
        self.read: dict[int, tuple[Any, ...]] = {}
        """Tuples that stand for those of which they hold the items."""

    # -- objects at paths

    def load(self, value: Any, path: Path) -> Any:
        """A value that Python has read at a path, as the trace sees it."""
        kind = type(value)
        if path.text not in self.constants and kind is float:
            return self.leaf(value, path)
        if kind is int and path.text in self.varying and path.text not in self.constants:
            self.guards.of_type(path, int)
            return Number(self, path, value, (path.text,))
        if kind in VALUES:
            if kind not in (range, slice, np.dtype):
                self.guards.equal(path, value)
            else:
                self.guards.of_type(path, kind)
                self.guards.require(f"{path.code} == {self.guards.constant(value)}", f"{path.text} == {value!r}", path.code)
            return value
        if isinstance(value, Tracer):
            return value
        if isinstance(value, np.ndarray | np.generic | Deferred):
            return self.leaf(value, path)
        return self.register(value, path)

    def pass_on(self, path: Path) -> Any:
        """The placeholder for a value that the region only returns."""
        made = object()
        self.known[id(made)] = made, path
        return made

    def register(self, value: Any, path: Path) -> Any:
        """An object that is read by parts."""
        known = self.known.get(id(value))
        if known is not None:
            if known[1].code != path.code:
                self.guards.require(f"{path.code} is {known[1].code}", f"{path.text} is {known[1].text}")
            shadow = self.shadows.get(id(value))
            return value if shadow is None or type(value) in CONTAINERS else shadow[1]
        self.known[id(value)] = value, path
        kind = type(value)
        if isinstance(value, enum.Enum | types.ModuleType | types.FunctionType | types.BuiltinFunctionType | type | np.ufunc):
            self.guards.same(path, value)
        elif isinstance(value, types.MethodType):
            self.guards.of_type(path, kind)
            func = self.guards.path(f"{path.code}.__func__", path.text)
            self.guards.same(func, value.__func__)
            owner = self.load(value.__self__, self.guards.path(f"{path.code}.__self__", f"{path.text}.__self__"))
            return types.MethodType(value.__func__, owner)
        elif isinstance(value, set | frozenset):
            if not all(type(x) in VALUES for x in value):
                raise GraphBreak(f"{path.text} is a set of objects", "use a list or a dict")
            self.guards.of_type(path, kind)
            copy = self.guards.constant(frozenset(value))
            types_ = self.guards.constant(sorted(repr(x) for x in value))
            self.guards.require(
                f"{path.code} == {copy} and sorted(map(repr, {path.code})) == {types_}", f"{path.text} == {kind.__name__}(...)"
            )
        elif is_registered(kind) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return self.tree(value, path)
        elif not is_users(kind) and kind not in CONTAINERS:
            self.guards.same(path, value)
        return value

    def leaf(self, value: Any, path: Path, typed: bool = True) -> Tracer:
        """An array or number as an argument of the graph, whose type is guarded if `typed`."""
        found = self.leaves.get(path.code)
        if found is not None:
            return found
        kind = type(value)
        if isinstance(value, np.ndarray) and kind not in (np.ndarray, Array):
            raise GraphBreak(f"{path.text} is an array of the class {kind.__name__}", "use np.asarray of it")
        try:
            aval = abstract(value)
        except TypeError as error:
            raise GraphBreak(str(error), "keep arrays of numbers and other objects apart") from None
        if typed:
            self.guards.of_type(path, kind)
        if kind is int:
            self.fits(path, value, INT64)
        self.is_numpy &= kind is not Array
        shape = self.sizes.get(path.text, aval.shape)
        held = Leaf(f"which {path.text} will have when it is called")
        held.kind, held.code, held.text, held.aval = kind, path.code, path.text, Aval(aval.dtype, shape, aval.weak)
        held.convert = not isinstance(value, np.ndarray)
        tracer = self.trace._capture(held, held, aval.dtype, shape)
        tracer.weak = aval.weak
        name = "".join(c if c.isalnum() else "_" for c in path.text).strip("_")
        if name.isidentifier():
            tracer.value.name_hint = name
        self.leaves[path.code] = tracer
        self.outside[id(tracer)] = tracer, path
        if aval.weak:
            self.numbers[id(tracer)] = tracer, (path.text,)
        if kind is int:
            self.integers[id(tracer)] = path, value
        return tracer

    def narrowed(self, x: Tracer, dtype: np.dtype[Any]) -> None:
        """A traced integer meets integers of another dtype, which take it only if they hold it: NumPy raises OverflowError."""
        if dtype.kind in "iu" and (found := self.integers.get(id(x))) is not None:
            self.fits(*found, dtype)

    def fits(self, path: Path, value: Any, dtype: np.dtype[Any]) -> None:
        """Guard that a Python integer is one of a dtype.

        Raises:
            GraphBreak: it is none now, and Python runs this call.
        """
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            error = GraphBreak(f"{path.text} is no number of {dtype}")
            error.is_out_of_range = True
            raise error
        test = f"{limits.min} <= {path.code} <= {limits.max}"
        self.guards.require(test, f"{path.text} fits {dtype}", path.code, listed=False)

    def viewed(self, array: Tracer, view: Any, step: str) -> Any:
        """A part of an array: of one that was there before, Python takes the same part where it leaves the region."""
        of = self.outside.get(id(array)) or self.views.get(id(array))
        if of is not None and of[0] is array and isinstance(view, Tracer) and not view.weak and view is not array:
            self.views[id(view)] = view, Path(of[1].code + step, of[1].text + step)
        return view

    def tree(self, value: Any, path: Path) -> Any:
        """A module, or another class that is a pytree: read as a whole, its structure guarded, its arrays arguments."""
        leaves, structure = flatten(value)
        guards = self.guards
        flat = guards.path(f"{guards.constant(flatten)}({path.code})", f"leaves of {path.text}")
        guards.require(f"{flat.code}[1] == {guards.constant(structure)}", f"structure of {path.text}")
        made = []
        for k, (leaf, name) in enumerate(zip(leaves, structure.paths(path.text), strict=True)):
            made.append(self.load(leaf, guards.path(f"{flat.code}[0][{k}]", name)))
        shadow = structure.unflatten(made)
        self.adopt(value, shadow, path)
        return shadow

    def adopt(self, value: Any, shadow: Any, path: Path) -> None:
        """The objects of a shadow are as known as their originals, and need no guards of their own."""
        if isinstance(shadow, Tracer) or type(shadow) in VALUES or type(value) is not type(shadow) or id(shadow) in self.known:
            return
        code, text = path.code, path.text
        self.known[id(shadow)] = shadow, path
        self.stand_in(value, shadow)
        self.adopted.add(id(shadow))
        self.covered[id(shadow)] = shadow
        if isinstance(shadow, dict):
            steps = [(f"[{self.key(k)}]", f"[{k!r}]", value.get(k), part) for k, part in shadow.items()]
        elif hasattr(shadow, "_fields"):
            steps = [(f".{name}", f".{name}", getattr(value, name), getattr(shadow, name)) for name in shadow._fields]
        elif isinstance(shadow, list | tuple):
            steps = [(f"[{k}]", f"[{k}]", value[k], part) for k, part in enumerate(shadow)]
        else:
            inside = getattr(shadow, "__dict__", {})
            steps = [(f".{name}", f".{name}", getattr(value, name, None), part) for name, part in inside.items()]
        for step, shown, old, new in steps:
            self.adopt(old, new, Path(code + step, text + shown))

    def variable(self, value: Any) -> Any:
        """A tuple of arrays and numbers is read, item by item; other objects are chosen as a whole."""
        known = self.known.get(id(value))
        if known is None or type(value) is not tuple or value is not known[0]:
            return value
        if not all(type(item) in VALUES or isinstance(item, Tracer | np.ndarray | np.generic) for item in value):
            return value
        path, guards = known[1], self.guards
        if id(value) not in self.covered:
            guards.of_type(path, tuple)
            guards.require(f"len({path.code}) == {len(value)}", f"len({path.text}) == {len(value)}", f"len({path.code})")
        read = (self.load(item, guards.path(f"{path.code}[{k}]", f"{path.text}[{k}]")) for k, item in enumerate(value))
        made = tuple(read)
        self.read[id(made)] = made
        return made

    def stand_in(self, value: Any, shadow: Any) -> None:
        """Let a shadow stand for an object."""
        self.shadows[id(value)] = value, shadow
        self.originals[id(shadow)] = value

    def original(self, value: Any) -> Any:
        """The object that a shadow stands for; any other as it is."""
        return self.originals.get(id(value), value)

    def require_alike(self, a: Any, b: Any) -> None:
        kinds = [self.kind(x) for x in (a, b)]
        if kinds[0] != kinds[1] and "b" not in kinds:
            raise GraphBreak("a value chooses between a number and an array, or numbers of two types", "make both arrays")

    def kind(self, x: Any) -> str:
        """The type that Python gives a value: the letter of a number, an empty text for arrays."""
        if isinstance(x, Tracer):
            is_bool = id(x) in self.booleans or x.dtype.kind == "b"
            return "b" if is_bool else x.dtype.kind if x.weak else ""
        return {bool: "b", int: "i", float: "f", complex: "c", Number: "i", np.bool_: "b"}.get(type(x), "")

    def is_whole(self, value: Any) -> bool:
        return id(value) in self.known and not isinstance(value, Tracer)

    def key(self, key: Any) -> str:
        return repr(key) if type(key) in (int, str, bool, type(None)) else self.guards.constant(key)

    def whole(self, value: Any, depth: int = 0) -> Any:
        """A container with everything in it read, where it was there before the region."""
        kind = type(value)
        if kind not in CONTAINERS or id(value) in self.covered:
            return value
        shadow = self.shadows.get(id(value))
        if shadow is not None:
            return shadow[1]
        known = self.known.get(id(value))
        if known is None:
            if depth > 8:
                raise GraphBreak("lists are nested too deeply")
            return self._fresh(value, depth)
        path = known[1]
        if len(value) > _LARGEST:
            raise GraphBreak(f"{path.text} has {len(value)} items, which are read as a whole", "give it as an array")
        guards = self.guards
        guards.of_type(path, kind)
        if kind is dict:
            keys = list(value)
            if not all(type(k) in VALUES or isinstance(k, tuple) for k in keys):
                raise GraphBreak(f"{path.text} has keys that are objects", "use strings or numbers as keys")
            shown = f"{path.text} has the keys {short(tuple(keys))}"
            guards.require(f"list({path.code}) == {guards.constant(keys)}", shown, f"tuple({path.code})")
            made: Any = {}
            self.stand_in(value, made)
            self.known[id(made)] = made, path
            for k in keys:
                part = guards.path(f"{path.code}[{self.key(k)}]", f"{path.text}[{k!r}]")
                made[k] = self.whole(self.load(value[k], part), depth)
            self.covered[id(made)] = made
            if (changes := self.effects.of(value)) is not None:
                self.effects.apply(changes, made)
            return made
        guards.require(f"len({path.code}) == {len(value)}", f"len({path.text}) == {len(value)}", f"len({path.code})")
        made = []
        if kind is list:
            self.stand_in(value, made)
            self.known[id(made)] = made, path
        for k, item in enumerate(value):
            made.append(self.whole(self.load(item, guards.path(f"{path.code}[{k}]", f"{path.text}[{k}]")), depth))
        if kind is tuple:
            made = tuple(made)
            self.stand_in(value, made)
            if made:
                self.known[id(made)] = made, path
        if made or kind is list:
            self.covered[id(made)] = made
        if (changes := self.effects.of(value)) is not None:
            self.effects.apply(changes, made)
        return made

    def _fresh(self, value: Any, depth: int) -> Any:
        """A container that the region made: the same, unless something in it must be read."""
        if type(value) is dict:
            parts = {k: self.whole(v, depth + 1) for k, v in value.items()}
            changed = any(parts[k] is not v for k, v in value.items())
        else:
            parts = type(value)(self.whole(v, depth + 1) for v in value)
            changed = any(a is not b for a, b in zip(parts, value, strict=True))
        return parts if changed else value

    def is_known(self, value: Any) -> bool:
        return id(value) in self.known

    def boolean(self, value: Any) -> Any:
        """A value that Python makes a bool."""
        if isinstance(value, Tracer):
            value = Tracer(value.within, value.value, value.shape, value.dtype, value.weak)
            self.booleans[id(value)] = value
        return value

    def number(self, what: str, *values: Any) -> None:
        """Refuse ops whose errors depend on the values of Python's numbers, where the graph has only their dtypes."""
        for value in values:
            if isinstance(value, Tracer) and value.weak:
                known = self.numbers.get(id(value))
                if known is not None:
                    self.constants.update(known[1])
                    raise SpecializeError
                raise GraphBreak(f"{what} of a number that was made of an array", "keep it an array")
