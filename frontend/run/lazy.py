"""`lm.config(lazy=True)`: elementwise functions outside of a trace are deferred until a value is read, then computed together.

A deferred call is a node: a recorded program of one function (`eager.py`) and the nodes that it reads. Shapes and dtypes are
known, and errors in them are raised at the call. A node is computed together with its pending inputs, by one program in which
the programs of the functions follow each other, each simplified by itself before: no rule sees two of them, so that each
operation returns the bits that it returns alone, and loops without sums may be fused. Only functions that would be compiled by
themselves are deferred: smaller ones are NumPy's.

Operators of arrays are NumPy's outside of a trace, and so they are here: operators that are exact in both are deferred.
"""

from __future__ import annotations

import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from threading import RLock
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ...dialects.operations import clone
from ...dialects.types import element_type, tensor
from ...runtime.array import as_array
from ...runtime.scalars import is_a
from ..trace.array_functions import arrays as lnp
from ..trace.config import config
from ..trace.tracing import Deferred
from .eager_programs import EagerProgram

Array = np.ndarray[Any, Any]

MOST_OPS = 64
"""Largest number of deferred functions behind one array; with more, its inputs are computed first."""

MOST_BYTES = 1 << 28
"""Largest arrays, in bytes, that one deferred array keeps alive; likewise."""

_KEPT = 256
_lock = RLock()
_native: OrderedDict[Hashable, Callable[..., Any]] = OrderedDict()


class _Node:
    """A computed array (`value`), or a deferred one: a program and the nodes that it reads."""

    __slots__ = ("__weakref__", "dtype", "handle", "inputs", "program", "shape", "users", "value")

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...]):
        self.dtype, self.shape = dtype, shape
        self.value: Array | None = None
        self.program: EagerProgram | None = None
        self.inputs: Sequence[_Node] = ()
        self.users: list[weakref.ref[_Node]] = []
        self.handle: Callable[[], Lazy | None] = lambda: None

    @staticmethod
    def of(value: Array) -> _Node:
        """Of an array that does not change."""
        node = _Node(value.dtype, value.shape)
        node.value = value
        return node

    def is_needed_outside(self, computed: set[_Node]) -> bool:
        """Whether it may still be read once the nodes of a program are computed."""
        return self.handle() is not None or any((user := ref()) is not None and user not in computed for ref in self.users)


class Lazy(Deferred):
    """An array whose elements are computed when they are looked at; attributes and operators are those of `lm.Array`.

    NumPy, `float()`, `print`, `jit` and whatever takes an array see its elements. Its memory is read-only; `y += 1` and
    `y[k] = v` change it as they change an array, by a copy.
    """

    __slots__ = ("__weakref__", "_node")
    __hash__ = None  # pyright: ignore[reportAssignmentType]
    __array_priority__ = 999

    def __init__(self, node: _Node):
        self._node = node
        node.handle = weakref.ref(self)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._node.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def block_until_ready(self) -> Lazy:
        """The array itself, once it is computed."""
        _value(self._node)
        return self

    def is_ready(self) -> bool:
        """Whether it is computed."""
        return self._node.value is not None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(_value(self._node), dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and ufunc.__name__ in _EXACT and _waits(*args):
            return getattr(lnp, ufunc.__name__)(*args)
        out = kwargs.get("out", ())
        if any(isinstance(x, Lazy) for x in (out if isinstance(out, tuple) else (out,))):
            raise TypeError(f"np.{ufunc.__name__}: out= is an array that is computed lazily: give one of np.empty, or .copy()")
        return getattr(ufunc, method)(*map(_seen, args), **{key: _seen(x) for key, x in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(as_array(_value(self._node)), name)

    def _change(self, change: Callable[[Array], Any]) -> Lazy:
        """Change the array in place, visibly to all holders; deferred readers of its elements get the old ones."""
        array = as_array(_value(self._node).copy())
        changed = change(array)
        assert changed is None or changed is array
        array.flags.writeable = False
        self._node = _Node.of(array)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        self._change(lambda array: array.__setitem__(index, _seen(value)))

    def __iter__(self) -> Iterator[Any]:
        return iter(as_array(_value(self._node)))

    def __reduce__(self) -> Any:
        return as_array(_value(self._node)).__reduce__()


def _waits(*operands: Any) -> bool:
    """Whether an operator of NumPy is ours bit for bit: of real numbers, under NumPy's promotion."""
    options = config.options
    if not options.lazy or options.promotion != "numpy" or not options.x64:
        return False
    return all(type(x) in (int, float) or (is_a(x, (Lazy, np.ndarray)) and x.dtype.kind in "fiu") for x in operands)


def _seen(x: Any) -> Any:
    return as_array(_value(x._node)) if isinstance(x, Lazy) else x


_UFUNCS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "neg": "negative",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
"""The deferred functions, by the names of operators."""

_EXACT = frozenset((*_UFUNCS.values(), "sqrt"))
_OTHERS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (bool, float, int, complex, len, repr, str, format, round, abs)},
    **{f.__name__: f for f in (operator.getitem, operator.contains, operator.index, operator.pos, operator.invert)},
}


def _delegating(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: function(_seen(self), *map(_seen, args))


def _operator(name: str, reflected: bool) -> Callable[..., Any]:
    function, ufunc = getattr(operator, f"__{name}__"), _UFUNCS.get(name)

    def call(self: Lazy, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        if ufunc is not None and _waits(*operands):
            return getattr(lnp, ufunc)(*operands)
        return function(*map(_seen, operands))

    return call


def _in_place(name: str) -> Callable[..., Any]:
    function = getattr(operator, f"__i{name}__")

    def call(self: Lazy, other: Any) -> Lazy:
        return self._change(lambda array: function(array, _seen(other)))

    return call


for _name, _function in _OTHERS.items():
    setattr(Lazy, f"__{_name}__", _delegating(_function))
for _name in ("neg", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Lazy, f"__{_name}__", _operator(_name, reflected=False))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
    setattr(Lazy, f"__{_name}__", _operator(_name, reflected=False))
    setattr(Lazy, f"__r{_name}__", _operator(_name, reflected=True))
    setattr(Lazy, f"__i{_name}__", _in_place(_name))
setattr(Lazy, "__divmod__", _delegating(divmod))  # noqa: B010
setattr(Lazy, "__rdivmod__", _delegating(lambda x, y: divmod(y, x)))  # noqa: B010


# --------------------------------------------------------------------------------------------------------------------
# Deferring and computing


def deferred(program: EagerProgram, sources: Sequence[Any]) -> Lazy:
    """The result of a program of arrays and numbers, some of which may be deferred."""
    inputs = [_input(x, dtype) for x, dtype in zip(sources, program.dtypes, strict=True)]
    order, leaves = _waiting(inputs)
    if len(order) >= MOST_OPS or sum(x.value.nbytes for x in leaves if x.value is not None) > MOST_BYTES:
        for node in inputs:
            _value(node)
    made = _Node(*program.result_type())
    made.program, made.inputs = program, inputs
    for node in inputs:
        if node.value is None:
            node.users.append(weakref.ref(made))
    return Lazy(made)


def _input(x: Any, dtype: np.dtype[Any]) -> _Node:
    if isinstance(x, Lazy) and x.dtype == dtype:
        return x._node
    array = np.asarray(x, dtype)
    # the caller may change its array before the elements are read
    return _Node.of(array.copy() if np.may_share_memory(array, x) else array)


def _value(node: _Node) -> Array:
    """The array of a node, read-only."""
    if node.value is None:
        with _lock:
            if node.value is None:
                _compute(node)
    assert node.value is not None
    return node.value


def _waiting(nodes: Sequence[_Node]) -> tuple[list[_Node], dict[_Node, int]]:
    """The deferred nodes among these and their inputs, operands first; and the arrays that they read, numbered."""
    order: list[_Node] = []
    leaves: dict[_Node, int] = {}
    met: set[_Node] = set()
    waiting = [(node, False) for node in reversed(nodes)]
    while waiting:
        node, ready = waiting.pop()
        inputs = node.inputs  # another thread may compute the node
        if ready:
            order.append(node)
        elif node.value is not None:
            leaves.setdefault(node, len(leaves))
        elif node not in met:
            met.add(node)
            waiting += [(node, True), *((x, False) for x in inputs)]
    return order, leaves


def _compute(node: _Node) -> None:
    """Compute a node, and those of its deferred inputs that may be read elsewhere."""
    order, leaves = _waiting([node])
    computed = set(order)
    numbers = {**leaves, **{found: len(leaves) + k for k, found in enumerate(order)}}
    steps = tuple((found.program, *(numbers[x] for x in found.inputs)) for found in order)
    outputs = [found for found in order if found is node or found.is_needed_outside(computed)]
    key = steps, tuple(numbers[x] for x in outputs), len(leaves)
    native = _native.get(key)
    if native is None:
        native = _native[key] = _compiled(order, leaves, numbers, outputs)
        while len(_native) > _KEPT:
            _native.popitem(last=False)
    results = native(*[x.value for x in leaves])
    for found, array in zip(outputs, results if isinstance(results, tuple) else (results,), strict=True):
        array.flags.writeable = False
        found.value, found.program, found.inputs = array, None, ()
        found.users = []


def _compiled(
    order: Sequence[_Node], leaves: dict[_Node, int], numbers: dict[_Node, int], outputs: Sequence[_Node]
) -> Callable[..., Any]:
    """The programs of nodes as one."""
    from ...executor import executor

    types = [tensor(element_type(x.dtype), x.shape) for x in leaves]
    block = Block(arg_types=types)
    values: dict[int, SSAValue] = dict(enumerate(block.args))
    for node in order:
        assert node.program is not None
        body = node.program.simplified()
        mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, (values[numbers[x]] for x in node.inputs), strict=True))
        for op in body.ops:
            if isinstance(op, ReturnOp):
                values[numbers[node]] = mapping[op.operands[0]]
            else:
                block.add_op(clone(op, mapping))
    results = [values[numbers[x]] for x in outputs]
    block.add_op(ReturnOp(*results))
    module = ModuleOp([FuncOp("main", (types, [x.type for x in results]), Region(block), "public")])
    module.attributes["lamina.phase"] = StringAttr("optimized")
    return executor.function(module)
