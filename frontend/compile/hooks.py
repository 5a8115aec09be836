"""What instrumented code calls while a region is traced: every read of an object becomes a guard or an argument, and what could
be seen outside is refused before it happens.

An object that was there before the region is known by its identity and by the path that led to it. What is not known was made
in the region, and may be changed by it.
"""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.array import Array
from .. import lnp
from ..capture import writes
from ..capture.branches import compare, not_
from ..capture.session import Reader
from ..effects import check
from ..functions import Aval, abstract
from ..pytree import flatten, is_registered
from ..tracer import Tracer, asked
from ..tracing import Deferred, Trace
from .guards import Guards, Path, short

VALUES = (int, bool, str, bytes, complex, float, type(None), type(Ellipsis), type(NotImplemented), range, slice, np.dtype)
"""Types of values that are guarded by being equal."""

CONTAINERS = (list, tuple, dict)

LIBRARIES = {"numpy", "lamina", "math", "cmath", "operator", "itertools", "functools", "builtins"}
"""Modules whose functions and constants are taken to stay as they are."""

_LARGEST = 4096
"""Items of containers that are read as a whole."""


class GraphBreak(Exception):
    """A region ends here: why, and what to write instead."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class SpecializeError(Exception):
    """A float that was an argument must be a constant: the trace begins again."""


class SourceError(Exception):
    """The trace needs capture from source."""


class Leaf(str):
    """An argument of the graph that a path leads to; as a text, why it has no value while tracing."""

    __slots__ = ("aval", "code", "convert", "kind", "text")

    code: str
    text: str
    aval: Aval
    convert: bool
    kind: type


class Reading(Reader):
    """What one trace of a region has read.

    Attributes:
        guards: what it takes for granted.
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
        """What stands in the trace for objects that were read as a whole."""
        self.covered: dict[int, Any] = {}
        """These, which need no further guards."""
        self.leaves: dict[str, Tracer] = {}
        self.outside: dict[int, tuple[Tracer, Path]] = {}
        """Tracers of arguments of the graph, as long as nothing has changed them."""
        self.numbers: dict[int, tuple[Tracer, str]] = {}
        """Tracers of Python's floats, with their paths."""
        self.booleans: dict[int, Tracer] = {}
        """Tracers that are bools of Python."""
        self.codes: set[types.CodeType] = set()
        self.read: dict[int, tuple[Any, ...]] = {}
        """Tuples that stand for those of which they hold the items."""

    # -- what paths lead to

    def load(self, value: Any, path: Path) -> Any:
        """A value that Python has read at a path, as the trace sees it."""
        kind = type(value)
        if path.text not in self.constants and (kind is float or (kind is int and path.text in self.varying)):
            return self.leaf(value, path)
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
        """What stands for a value that the region only gives back."""
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
        if isinstance(value, types.ModuleType | types.FunctionType | types.BuiltinFunctionType | type | np.ufunc):
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

    def leaf(self, value: Any, path: Path) -> Tracer:
        """An array or float as an argument of the graph."""
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
        self.guards.of_type(path, kind)
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
            self.numbers[id(tracer)] = tracer, path.text
        return tracer

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
        """The objects of a shadow are as known as what they stand for, and need no guards of their own."""
        if isinstance(shadow, Tracer) or type(shadow) in VALUES or type(value) is not type(shadow) or id(shadow) in self.known:
            return
        code, text = path.code, path.text
        self.known[id(shadow)] = shadow, path
        self.shadows[id(value)] = value, shadow
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
            self.shadows[id(value)] = value, made
            self.known[id(made)] = made, path
            for k in keys:
                part = guards.path(f"{path.code}[{self.key(k)}]", f"{path.text}[{k!r}]")
                made[k] = self.whole(self.load(value[k], part), depth)
            self.covered[id(made)] = made
            return made
        guards.require(f"len({path.code}) == {len(value)}", f"len({path.text}) == {len(value)}", f"len({path.code})")
        made = []
        if kind is list:
            self.shadows[id(value)] = value, made
            self.known[id(made)] = made, path
        for k, item in enumerate(value):
            made.append(self.whole(self.load(item, guards.path(f"{path.code}[{k}]", f"{path.text}[{k}]")), depth))
        if kind is tuple:
            made = tuple(made)
            self.shadows[id(value)] = value, made
            if made:
                self.known[id(made)] = made, path
        if made:
            self.covered[id(made)] = made
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
        """What Python makes a bool."""
        if isinstance(value, Tracer):
            value = Tracer(value.within, value.value, value.shape, value.dtype, value.weak)
            self.booleans[id(value)] = value
        return value

    def number(self, *values: Any) -> None:
        """Refuse what would raise, or not, with Python's numbers, where the graph has only their dtypes."""
        for value in values:
            if isinstance(value, Tracer) and value.weak:
                known = self.numbers.get(id(value))
                if known is not None:
                    self.constants.add(known[1])
                    raise SpecializeError
                raise GraphBreak("a number made of an array meets Python's numbers alone", "keep it an array")


def is_users(cls: type) -> bool:
    return cls.__module__.split(".")[0] not in LIBRARIES


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "MatMult": operator.matmul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitOr": operator.or_, "BitXor": operator.xor, "BitAnd": operator.and_,
}  # fmt: skip
MISSING: Any = object()
_DEFINED = (
    "__add__ __radd__ __sub__ __mul__ __rmul__ __truediv__ __matmul__ __pow__ __neg__ __lt__ __gt__ __le__ __ge__ "
    "__contains__ __format__ __str__"
).split()


class Hooks:
    """The hooks of the code of one function: its globals and cells, in a trace."""

    slice = builtins.slice

    def __init__(self, reading: Reading, scope: dict[str, Any], cells: dict[str, Any], call: Any):
        self.reading = reading
        self.scope = scope
        self.cells = cells
        self._call = call

    def name(self, name: str) -> Any:
        """A variable of the module, or of a function around."""
        reading, guards = self.reading, self.reading.guards
        if name in self.cells:
            cell = self.cells[name]
            value = cell.cell_contents
            return reading.load(value, guards.path(f"{guards.constant(cell)}.cell_contents", name))
        if name in self.scope:
            value = self.scope[name]
            return reading.load(value, guards.path(f"{guards.constant(self.scope)}[{name!r}]", name))
        value = getattr(builtins, name, MISSING)
        if value is MISSING:
            raise NameError(f"name {name!r} is not defined")
        guards.require(f"{name!r} not in {guards.constant(self.scope)}", f"no global hides {name}", listed=False)
        guards.require(
            f"{guards.constant(vars(builtins))}[{name!r}] is {guards.constant(value)}", f"{name} is Python's", listed=False
        )
        return value

    def attribute(self, owner: Any, name: str) -> Any:
        reading, guards = self.reading, self.reading.guards
        if isinstance(owner, Tracer):
            value = getattr(owner, name)
            return writes.view(owner, value) if name in ("T", "mT", "real", "imag") else value
        if isinstance(owner, types.ModuleType):
            value = getattr(owner, name)
            if owner.__name__.split(".")[0] in LIBRARIES and owner.__name__ != "lamina.config":
                return value
            return reading.load(value, self._attribute_path(owner, name)) if reading.is_known(owner) else value
        known = reading.known.get(id(owner))
        if known is None:
            if type(owner) is super:
                return self._inherited(owner, name)
            if is_users(type(owner)) and not isinstance(owner, tuple | types.FunctionType | types.MethodType):
                raise GraphBreak(f"an object of {type(owner).__name__} whose origin is not known is read")
            return getattr(owner, name)
        path = known[1]
        if type(owner) in (list, dict, tuple, set, frozenset) or hasattr(owner, "_fields"):
            return getattr(owner, name)
        if isinstance(owner, type):
            value = getattr(owner, name)
            if isinstance(value, types.MethodType):
                bound = guards.path(f"{path.code}.{name}", f"{path.text}.{name}")
                guards.require(f"{bound.code}.__func__ is {guards.constant(value.__func__)}", f"{bound.text} is the same")
                return value
            return reading.load(value, self._attribute_path(owner, name))
        cls = type(owner)
        if any(isinstance(vars(c).get("__getattribute__"), types.FunctionType) for c in cls.__mro__):
            raise GraphBreak(f"{cls.__name__} defines __getattribute__")
        found = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)
        own = getattr(owner, "__dict__", {})
        if found is MISSING and name not in own:
            if hasattr(cls, "__getattr__"):
                raise GraphBreak(f"{cls.__name__} defines __getattr__", "read the attribute before, as an argument")
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        guards.of_type(path, cls)
        if isinstance(found, property):
            guards.require(f"{guards.constant(cls)}.{name} is {guards.constant(found)}", f"{cls.__name__}.{name} is the same")
            return self.call(found.fget, owner)
        if name in own:
            if id(owner) in reading.covered:
                return own[name]
            return reading.load(own[name], self._attribute_path(owner, name))
        if isinstance(found, types.FunctionType):
            bound = guards.path(f"{path.code}.{name}", f"{path.text}.{name}")
            guards.require(f"{bound.code}.__func__ is {guards.constant(found)}", f"{bound.text} is the same method")
            return types.MethodType(found, owner)
        if isinstance(found, classmethod | staticmethod):
            value = getattr(owner, name)
            return reading.load(value, self._attribute_path(owner, name))
        if isinstance(found, types.MethodDescriptorType | types.WrapperDescriptorType):
            return getattr(owner, name)
        if isinstance(found, types.MemberDescriptorType) or not hasattr(type(found), "__get__"):
            return reading.load(getattr(owner, name), self._attribute_path(owner, name))
        raise GraphBreak(f"{cls.__name__}.{name} is a {type(found).__name__}", "read it before, as an argument")

    def _attribute_path(self, owner: Any, name: str) -> Path:
        path = self.reading.known[id(owner)][1]
        return self.reading.guards.path(f"{path.code}.{name}", f"{path.text}.{name}")

    def _inherited(self, owner: Any, name: str) -> Any:
        guards = self.reading.guards
        value = getattr(owner, name)
        mro = type(owner.__self__).__mro__ if not isinstance(owner.__self__, type) else owner.__self__.__mro__
        for cls in mro[mro.index(owner.__thisclass__) + 1 :]:
            if name in vars(cls):
                key = f"{guards.constant(cls)}.__dict__[{name!r}]"
                guards.require(f"{key} is {guards.constant(vars(cls)[name])}", f"{cls.__name__}.{name} is the same")
                break
        return value

    def item(self, owner: Any, index: Any) -> Any:
        reading, guards = self.reading, self.reading.guards
        kind = type(owner)
        known = reading.known.get(id(owner))
        if known is not None and kind in CONTAINERS:
            if id(owner) in reading.covered:
                return self._element(owner, index)
            if isinstance(index, Tracer) or isinstance(index, slice) or (kind is not dict and not isinstance(index, int)):
                return self._element(reading.whole(owner), index)
            value = owner[index]
            path = known[1]
            guards.of_type(path, kind)
            return reading.load(value, guards.path(f"{path.code}[{reading.key(index)}]", f"{path.text}[{index!r}]"))
        if known is not None and not isinstance(owner, type):
            found = next((vars(c)["__getitem__"] for c in kind.__mro__ if "__getitem__" in vars(c)), None)
            if isinstance(found, types.FunctionType):
                return self.call(self.attribute(owner, "__getitem__"), index)
            raise GraphBreak(f"an item of a {kind.__name__} is read", "make it a list, a dict or an array")
        return self._element(owner, index)

    def _element(self, owner: Any, index: Any) -> Any:
        check_index(owner, index)
        if self.reading.from_source:
            return writes.item(owner, index)
        if isinstance(index, Tracer) and not isinstance(owner, Tracer):
            asked.values = True
            raise SourceError
        return owner[index]

    def iterated(self, value: Any) -> Any:
        """What a loop goes over, or a target unpacks."""
        value = self.reading.whole(value)
        if self.reading.is_known(value) and type(value) not in (*CONTAINERS, set, frozenset) and not isinstance(value, tuple):
            raise GraphBreak(f"items of a {type(value).__name__} are made by Python", "make it a list or an array")
        if isinstance(value, set | frozenset):
            raise GraphBreak("the items of a set are read in an order of their own", "use a list, or sorted()")
        return value

    def plain(self, value: Any) -> Any:
        """An operand: what it does is Python's own or the graph's."""
        value = self.reading.whole(value)
        if self.reading.is_known(value):
            kind = type(value)
            if is_users(kind) and any(
                vars(c).get(n) is not None for c in kind.__mro__ if c is not object for n in ("__eq__", *_DEFINED)
            ):
                if is_users(kind) and not isinstance(value, tuple):
                    raise GraphBreak(f"{kind.__name__} defines operators of its own", "compute with its arrays or numbers")
        return value

    def truth(self, value: Any) -> Any:
        reading = self.reading
        known = reading.known.get(id(value))
        if known is not None:
            path, kind = known[1], type(value)
            if kind in (*CONTAINERS, set, frozenset):
                reading.guards.require(f"(not {path.code}) is {not value}", f"{path.text} is {'' if value else 'not '}empty")
            elif any(n in vars(c) for c in kind.__mro__ for n in ("__bool__", "__len__")) and not isinstance(value, tuple):
                raise GraphBreak(f"{kind.__name__} defines whether it is true", "compare with `is None`")
        return value

    def negated(self, value: Any) -> Any:
        """`not value`."""
        value = self.truth(value)
        if isinstance(value, Tracer) and self.reading.from_source:
            return self.reading.boolean(not_(value))
        return not value

    def identical(self, a: Any, b: Any, negated: bool) -> bool:
        result = (a is b) is not negated
        known = [self.reading.known.get(id(x)) or self.reading.outside.get(id(x)) for x in (a, b)]
        if known[0] is not None and known[1] is not None:
            p, q = known[0][1], known[1][1]
            if p.code != q.code:
                same = "is" if a is b else "is not"
                self.reading.guards.require(f"{p.code} {same} {q.code}", f"{p.text} {same} {q.text}")
        return result

    def inside(self, value: Any, container: Any, negated: bool) -> Any:
        reading = self.reading
        known = reading.known.get(id(container))
        if known is not None and type(container) is dict and type(value) in VALUES:
            path, found = known[1], value in container
            reading.guards.of_type(path, dict)
            said = "in" if found else "not in"
            reading.guards.require(f"({reading.key(value)} in {path.code}) is {found}", f"{value!r} {said} {path.text}")
            return found is not negated
        value, container = self.plain(value), self.plain(container)
        if isinstance(value, Tracer) or (isinstance(container, list | tuple) and any(isinstance(x, Tracer) for x in container)):
            if not reading.from_source:
                raise SourceError
            return reading.boolean(compare(True, value, ("NotIn" if negated else "In", lambda: container)))
        if is_users(type(container)) and type(container) not in (list, tuple, dict, set, frozenset, str):
            raise GraphBreak(f"`in` of a {type(container).__name__}", "make it a list, a set or a dict")
        return (value in container) is not negated

    def binary(self, operation: str, a: Any, b: Any) -> Any:
        a, b = self.plain(a), self.plain(b)
        if _is_number(a) and _is_number(b):
            if operation in ("Div", "FloorDiv", "Mod", "Pow"):  # may raise
                self.reading.number(a, b)
            self.reading.number(*(x for x in (a, b) if isinstance(x, Tracer) and x.dtype.kind == "i"))  # may leave int64
        return _OPERATORS[operation](a, b)

    # -- changes

    def changed(self, owner: Any, *index: Any) -> None:
        """An attribute or item of an object is assigned."""
        reading = self.reading
        if index:
            check_index(owner, index[0])
        if isinstance(owner, Tracer):
            if not reading.from_source:
                raise SourceError
            root = writes._root(owner)
            known = reading.outside.get(id(root)) or reading.outside.get(id(owner))
            if known is not None:
                raise GraphBreak(
                    f"{known[1].text} is changed in place", "make a new array: x = x.at[i].set(v), or x.copy() first"
                )
        elif reading.is_known(owner):
            path = reading.known[id(owner)][1]
            raise GraphBreak(f"{path.text} is changed, which others see", "return the new value instead")
        elif isinstance(owner, np.ndarray) or type(owner) in (list, dict, set):
            return
        else:
            raise GraphBreak(f"an object of {type(owner).__name__} is changed")

    def augmented(self, value: Any) -> None:
        """`x += v`: arrays and lists change in place."""
        if isinstance(value, Tracer):
            known = self.reading.outside.get(id(writes._root(value)))
            if known is not None and not value.weak:
                if isinstance(known[0].shape, tuple) and (value.ndim or not self._is_scalar(known[1])):
                    raise GraphBreak(f"{known[1].text} is changed in place", "write x = x + v")
            elif value.ndim and not self.reading.from_source:
                raise SourceError
        elif self.reading.is_known(value) and not isinstance(value, tuple | frozenset):
            raise GraphBreak(f"{self.reading.known[id(value)][1].text} is changed, which others see", "write x = x + v")

    def _is_scalar(self, path: Path) -> bool:
        return any(isinstance(h, Leaf) and h.code == path.code and h.convert for h, _ in self.reading.trace.captured)

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self._call(self, function, args, kwargs)


def check_index(owner: Any, index: Any) -> None:
    """Let the graph check indices that it computes: NumPy raises where one is out of range, and then Python does."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(p, Tracer) and p.dtype.kind in "iu" for p in parts):
        return
    shape = getattr(owner, "shape", None) or (len(owner),)
    consuming = [p for p in parts if p is not None and p is not Ellipsis]
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis = len(shape) - (len(consuming) - axis)
            continue
        if part is None:
            continue
        if isinstance(part, Tracer) and part.dtype.kind in "iu" and axis < len(shape):
            n = shape[axis]
            check(lnp.all(lnp.logical_and(part >= -n, part < n)), "an index is out of range")
        axis += 1


def _is_number(x: Any) -> bool:
    return type(x) in (int, float, bool, complex) or (isinstance(x, Tracer) and x.weak)
