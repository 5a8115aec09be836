"""What a rule writes with: nodes of the graph under construction, constants, sizes, and the functions of the module."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....api.dtypes import numpy_dtype
from ....api.errors import CompileError
from ....api.sizes import Size

Rule = Callable[..., Any]
"""From the writer, the graph op and the names of its operands to the name of its result, or a list of them."""
RULES: dict[str, Rule] = {}
INT64 = np.dtype(np.int64)
FOLDED = 1 << 16
"""Elements up to which an op of constants that has no form is computed."""
FILLED = 256
"""Bytes from which on a constant of one number is a node."""


class NoForm(CompileError):
    """An op has no form in ONNX, or not with these types."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Make a function the rule of graph ops of these names."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def shape_of(value: Any) -> tuple[Any, ...]:
    """The sizes of a tensor; some may be symbolic."""
    return tuple(value.type.get_shape())


def dtype_of(value: Any) -> np.dtype[Any]:
    """The dtype of a tensor."""
    return numpy_dtype(value.type.element_type)


def values_of(op: Any, name: str) -> tuple[Any, ...]:
    """A list of numbers or sizes among the properties, empty if there is none."""
    found = op.properties.get(name)
    return () if found is None else tuple(found.get_values() if hasattr(found, "get_values") else found.data)


def word_of(op: Any, name: str) -> str:
    """A word among the properties."""
    return op.properties[name].data


def number_of(op: Any, name: str) -> int:
    """A number among the properties."""
    return op.properties[name].value.data


class Writer:
    """Appends nodes to a graph.

    Attributes:
        nodes: of the graph under construction.
        types: dtype and shape of each name that a rule may ask for.
    """

    def __init__(self, onnx: Any, outer: Writer | None = None) -> None:
        self.onnx = onnx
        self.top: Writer = self if outer is None else outer.top
        self.nodes: list[Any] = []
        if outer is None:
            self.count = 0
            self.initializers: list[Any] = []
            self.known: dict[Any, str] = {}
            self.symbols: dict[str, tuple[str, int, int]] = {}
            """For each symbol an input, an axis and the number that its size has more."""
            self.functions: dict[str, Any] = {}
            self.used: set[str] = set()
            self.location = ""

    # -- nodes -----------------------------------------------------------------------------------------------------------

    def fresh(self, hint: str = "v") -> str:
        """A name that no other value has."""
        name = hint
        while name in self.top.used:
            self.top.count += 1
            name = f"{hint}_{self.top.count}"
        self.top.used.add(name)
        return name

    def op(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """A node; the names of its results."""
        made = [self.fresh(kind.lower()) for _ in range(outputs)]
        given = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), made, **given))
        return made

    def one(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one result."""
        return self.op(kind, inputs, **attributes)[0]

    # -- constants ---------------------------------------------------------------------------------------------------------

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant, made once for equal values; one number in a large shape is a node that fills it."""
        array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
        top = self.top
        if array.nbytes > FILLED and _is_one_number(array):
            shape = self.constant(array.shape, INT64)
            fill = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array.reshape(-1)[:1]))
            return self.one("ConstantOfShape", shape, value=fill)
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in top.known:
            name = top.known[key] = self.fresh("c")
            top.initializers.append(self.onnx.numpy_helper.from_array(array, name))
        return top.known[key]

    def ints(self, *values: int) -> str:
        """A vector of int64."""
        return self.constant(np.asarray(values, INT64).reshape(-1))

    def scalar(self, value: Any, like: Any) -> str:
        """A scalar of the dtype of a value of the graph."""
        return self.constant(np.asarray(value).astype(dtype_of(like)))

    # -- sizes -------------------------------------------------------------------------------------------------------------

    def shape(self, sizes: Sequence[Any]) -> str:
        """Sizes as a vector; symbolic ones are computed from the shapes of inputs."""
        if all(isinstance(n, int) for n in sizes):
            return self.ints(*sizes)
        return self.one("Concat", *[self.size(n) for n in sizes], axis=0)

    def size(self, n: Any) -> str:
        """A size as a vector of one element."""
        if isinstance(n, int):
            return self.ints(n)
        total: str | None = None
        for atoms, factor in n.terms:
            product = None
            for atom in atoms:
                one = self.atom(atom)
                product = one if product is None else self.one("Mul", product, one)
            if product is None:
                product = self.ints(factor)
            elif factor != 1:
                product = self.one("Mul", product, self.ints(factor))
            total = product if total is None else self.one("Add", total, product)
        return self.ints(0) if total is None else total

    def atom(self, atom: Any) -> str:
        """A symbol, a quotient or a maximum with 0."""
        kind = type(atom).__name__
        if kind == "Symbol":
            if atom.name not in self.top.symbols:
                raise NoForm(f"size {atom.name!r} is that of no input")
            source, axis, more = self.top.symbols[atom.name]
            found = self.one("Shape", source, start=axis, end=axis + 1)
            return self.one("Sub", found, self.ints(more)) if more else found
        inner = self.size(atom.of)
        if kind == "Quotient":  # of sizes, which are not negative
            return self.one("Div", inner, self.ints(atom.by))
        return self.one("Max", inner, self.ints(0))

    # -- often needed --------------------------------------------------------------------------------------------------------

    def cast(self, x: str, dtype: Any) -> str:
        """`Cast`."""
        return self.one("Cast", x, to=self.type(dtype))

    def type(self, dtype: Any) -> int:
        """The number of an element type.

        Raises:
            NoForm: ONNX has no such type, or only as storage.
        """
        kind = np.dtype(dtype)
        if kind.kind == "c":
            raise NoForm("of complex numbers has no form in ONNX")
        try:
            return int(self.onnx.helper.np_dtype_to_tensor_dtype(kind))
        except (KeyError, ValueError):
            raise NoForm(f"of {kind.name} has no form in ONNX") from None

    def reshape(self, x: str, sizes: Sequence[Any]) -> str:
        """`Reshape`; a size of 0 is one of no elements."""
        return self.one("Reshape", x, self.shape(sizes), allowzero=1)

    def transpose(self, x: str, perm: Sequence[int]) -> str:
        """`Transpose`, or nothing."""
        return x if list(perm) == sorted(perm) else self.one("Transpose", x, perm=list(perm))

    def slice(self, x: str, axis: int, start: Any, stop: Any, step: int = 1) -> str:
        """`Slice` along one axis."""
        return self.one("Slice", x, self.size(start), self.size(stop), self.ints(axis), self.ints(step))

    def pad(self, x: str, low: Sequence[int], high: Sequence[int], fill: str) -> str:
        """`Pad`, or nothing; negative paddings are sliced off."""
        negative = [(d, max(0, -a), max(0, -b)) for d, (a, b) in enumerate(zip(low, high, strict=True)) if a < 0 or b < 0]
        if negative:
            starts, ends = [a for _, a, _ in negative], [-b if b else np.iinfo(np.int64).max for _, _, b in negative]
            x = self.one("Slice", x, self.ints(*starts), self.ints(*ends), self.ints(*[d for d, _, _ in negative]))
        pads = [max(0, n) for n in (*low, *high)]
        return self.one("Pad", x, self.ints(*pads), fill) if any(pads) else x

    def within(self, x: str, dtype: Any, of: Sequence[str], apply: Callable[[str], str]) -> str:
        """Apply a node to x; in a wider type if it is not defined for x's own, which is one of the names in `of` else."""
        kind = np.dtype(dtype)
        if kind.name in of:
            return apply(x)
        wide = wider(kind, of)
        return self.cast(apply(self.cast(x, wide)), kind)

    # -- functions -----------------------------------------------------------------------------------------------------------

    def inline(self, callee: str, arguments: Sequence[str]) -> list[str]:
        """The results of a function of the module, computed here."""
        block = self.top.functions[callee].body.blocks[0]
        names = dict(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op.name == "func.return":
                return [names[x] for x in op.operands]
            names.update(zip(op.results, self.results(op, [names[x] for x in op.operands]), strict=True))
        raise NoForm(f"@{callee} returns nothing")

    def results(self, op: Any, operands: Sequence[str]) -> list[str]:
        """The names of an op's results."""
        from ...stablehlo import faults

        found = RULES.get(op.name.removeprefix("graph."))
        try:
            for value in (*op.operands, *op.results):
                if hasattr(value.type, "element_type"):
                    self.type(dtype_of(value))
            if found is None:
                raise NoForm("has no form in ONNX")
            try:
                made = found(self, op, *operands)
            except NoForm:
                values = constant_results(op)
                if values is None:
                    raise
                made = [self.constant(x) for x in values]
        except Exception as error:
            if not faults.is_fault(error):
                raise
            raise faults.at(op, error) from error
        return [made] if isinstance(made, str) else list(made)

    def body(
        self, name: str, inputs: Sequence[tuple[str, Any, Sequence[Any]]], make: Callable[[Writer, list[str]], Any]
    ) -> Any:
        """A graph that is an attribute: inputs by dtype and shape; `make` writes its nodes and returns outputs like inputs."""
        inner = Writer(self.onnx, self)
        names = [inner.fresh(hint) for hint, _, _ in inputs]
        outputs = make(inner, names)
        made = []
        for x, dtype, sizes in outputs:  # an output is made in its graph
            made.append((inner.one("Identity", x), dtype, sizes))
        given = [(n, dtype, sizes) for n, (_, dtype, sizes) in zip(names, inputs, strict=True)]
        infos = [[self.top.info(*each) for each in side] for side in (given, made)]
        return self.onnx.helper.make_graph(inner.nodes, self.fresh(name), *infos)

    def info(self, name: str, dtype: Any, sizes: Sequence[Any]) -> Any:
        """A value with its type."""
        shown = [n if isinstance(n, int) else _name_of(n) for n in sizes]
        return self.onnx.helper.make_tensor_value_info(name, self.type(dtype), shown)


def constant_results(op: Any) -> Any:
    """The results of an op of constants, or None."""
    arrays = []
    for x in op.operands:
        made = None if getattr(x.owner, "evaluate", None) is None else constant_results(x.owner)
        if made is None:
            return None
        arrays.append(made[list(x.owner.results).index(x)])
    sizes = [n for x in op.results for n in shape_of(x)]
    if not all(isinstance(n, int) for n in sizes) or math.prod(sizes) > FOLDED:
        return None
    return op.evaluate(*arrays)


def wider(kind: np.dtype[Any], of: Sequence[str]) -> Any:
    """The least type of `of` that holds a type.

    Raises:
        NoForm: none does.
    """
    names = ("int32", "int64") if kind.kind in "iub" else ("float32", "float64")  # a float rounds integers of 64 bits
    for name in names:
        if name in of and np.can_cast(kind if kind.isbuiltin == 1 else np.float32, name, "safe"):
            return np.dtype(name)
    raise NoForm(f"of {kind.name} has no form in ONNX")


def _name_of(n: Any) -> str | None:
    """The text of a symbol; None for what is computed of several."""
    return str(n) if isinstance(n, Size) and str(n).isidentifier() else None


def _is_one_number(array: np.ndarray) -> bool:
    data = np.ascontiguousarray(array).reshape(-1)
    step = data.itemsize
    raw = data.view(np.uint8).reshape(-1, step)
    return bool((raw == raw[0]).all())
