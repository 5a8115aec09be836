"""Replace each complex value by its real and its imaginary part: later passes see floats alone.

    %z = graph.mul %x, %y : tensor<4xcomplex<f32>>      %0 = graph.mul %x_re, %y_re : tensor<4xf32>
                                                        %1 = graph.mul %x_im, %y_im : tensor<4xf32>
                                                        %z_re = graph.sub %0, %1 : tensor<4xf32> ...

Complex arguments and results of functions are memory of pairs. Public functions keep their types, and see the pairs by
`graph.as_pairs`; functions that ops name (bodies of loops) take and return pairs themselves, so that operands and results stay
one each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ..dialects import complex_arithmetic as arithmetic
from ..dialects.facts import Parts
from ..dialects.graph.base import CompositeOp, GraphOp, integer, ints, word
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.complex import first_of_pairs, pairs_type
from ..dialects.graph.control import ControlOp
from ..dialects.graph.effects import EffectOp
from ..dialects.graph.matrices import MatrixOp
from ..dialects.types import DYNAMIC, element_of, is_bool, is_complex, part_of, shape_of, tensor
from ..errors import CompileError
from . import _fourier as fourier
from ._functions import error_at, named_functions


def has_complex(op: Operation) -> bool:
    """Whether an operand or a result of an op is complex."""
    return any(_is_complex(value) for value in (*op.operands, *op.results))


def _is_complex(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_complex(value.type.element_type)


class _Splitter:
    """Splits the values of one function."""

    def __init__(self, function: FuncOp, keeps_types: bool):
        self.function = function
        self.keeps_types = keeps_types
        self.block = function.body.block
        self.parts: dict[SSAValue, Parts] = {}
        self.pairs: dict[SSAValue, SSAValue] = {}
        """Complex values that are in memory already, as pairs."""
        self.done: list[Operation] = []
        """Ops that are no longer used, each after those whose results it uses."""
        first = self.block.first_op
        assert first is not None
        self.b = GraphBuilder(InsertPoint.before(first), function.location)

    def run(self) -> None:
        ops = [op for op in self.block.ops if has_complex(op)]
        arguments = [argument for argument in self.block.args if _is_complex(argument)]
        for argument in arguments:
            self._argument(argument)
        for op in ops:
            self.b = GraphBuilder(InsertPoint.before(op), op.location)
            if isinstance(op, ReturnOp):
                self._return(op)
            else:
                self._op(op)
                self.done.append(op)
        for op in reversed(self.done):
            op.detach()
            op.erase()
        for argument in () if self.keeps_types else arguments:
            self.block.erase_arg(argument)
        last = self.block.last_op
        assert last is not None
        types = [a.type for a in self.block.args], [o.type for o in last.operands]
        self.function.properties["function_type"] = FunctionType.from_lists(*types)

    def _argument(self, argument: BlockArgument) -> None:
        if DYNAMIC in shape_of(argument):
            rule = "has complex numbers of symbolic size: run graph-specialize first"
            raise error_at(self.function, CompileError, rule)
        if self.keeps_types:
            pairs = self.b.as_pairs(argument)
        else:
            type = argument.type
            assert isinstance(type, TensorType)
            pairs = self.block.insert_arg(pairs_type(type), argument.index)
            pairs.name_hint = argument.name_hint
        self._known(argument, pairs)

    def _known(self, value: SSAValue, pairs: SSAValue) -> None:
        """A complex value that is in memory."""
        self.pairs[value] = pairs
        self.parts[value] = first_of_pairs(self.b, pairs), first_of_pairs(self.b, pairs, 1)

    def _in_pairs(self, value: SSAValue) -> SSAValue:
        """A value for an op that takes it unsplit: a complex one as pairs."""
        if value not in self.parts:
            return value
        if value not in self.pairs:
            self.pairs[value] = self.b.interleave(*self.parts[value])
        return self.pairs[value]

    def _return(self, op: ReturnOp) -> None:
        values = []
        for operand in op.operands:
            pairs = self._in_pairs(operand)
            values.append(self.b.from_pairs(pairs) if pairs is not operand and self.keeps_types else pairs)
        op.operands = values

    def _op(self, op: Operation) -> None:
        if any(DYNAMIC in shape_of(value) for value in (*op.operands, *op.results) if _is_complex(value)):
            raise error_at(op, CompileError, "has complex numbers of symbolic size: run graph-specialize first")
        name = op.name.removeprefix("graph.")
        if isinstance(op, ControlOp) or "callee" in op.properties:
            self._opaque(op)
        elif isinstance(op, EffectOp):
            self._effect(op)
        elif not isinstance(op, GraphOp):
            raise error_at(op, CompileError, "takes no complex numbers")
        elif op.facts.on_parts == "each":
            self._each(op)
        elif op.facts.on_parts is not None:
            self.parts[op.results[0]] = op.facts.on_parts(self.b, *(self.parts[o] for o in op.operands))
        elif (rule := getattr(self, f"_{name}", None)) is not None:
            rule(op)
        elif isinstance(op, CompositeOp):
            self._by(op, lambda b: op.decompose(b, op.properties, *op.operands))
        elif isinstance(op, MatrixOp):
            self._matrices(op)
        else:
            raise error_at(op, CompileError, "takes no complex numbers")

    def _opaque(self, op: Operation) -> None:
        """An op that names a function, which takes and returns pairs."""
        types = [pairs_type(r.type) if _is_complex(r) else r.type for r in op.results]  # pyright: ignore[reportArgumentType]
        operands = [self._in_pairs(o) for o in op.operands]
        new = type(op).create(
            operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
        )
        new.location = op.location
        self.b.insert(new)
        for old, result in zip(op.results, new.results, strict=True):
            if _is_complex(old):
                self._known(old, result)
            else:
                old.replace_all_uses_with(result)

    def _effect(self, op: EffectOp) -> None:
        """An effect takes and gives complex arrays, which are views of pairs."""
        operands = [self.b.from_pairs(self._in_pairs(o)) if o in self.parts else o for o in op.operands]
        new = type(op).create(
            operands=operands,
            result_types=[r.type for r in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        self.b.insert(new)
        for old, result in zip(op.results, new.results, strict=True):
            if _is_complex(old):
                self._known(old, self.b.as_pairs(result))
            else:
                old.replace_all_uses_with(result)

    def _by(self, op: Operation, build: Callable[[GraphBuilder], SSAValue | Sequence[SSAValue] | None]) -> bool:
        """Replace an op by the ops that `build` inserts, which are split in turn; returns whether it inserted any."""
        before = op.prev_op
        found = build(GraphBuilder(InsertPoint.before(op), op.location))
        if found is None:
            return False
        inner = self.block.first_op if before is None else before.next_op
        made: list[Operation] = []
        while inner is not None and inner is not op:
            made.append(inner)
            inner = inner.next_op
        results = list(zip(op.results, [found] if isinstance(found, SSAValue) else found, strict=True))
        for old, new in results:
            if not _is_complex(new):  # before its op is split, which replaces it
                old.replace_all_uses_with(new)
        for part in made:
            if has_complex(part):
                self.b = GraphBuilder(InsertPoint.before(part), op.location)
                self._op(part)
                self.done.append(part)
        for old, new in results:
            if _is_complex(new):
                self.parts[old] = self.parts[new]
                if new in self.pairs:
                    self.pairs[old] = self.pairs[new]
        self.b = GraphBuilder(InsertPoint.before(op), op.location)
        return True

    def _matrices(self, op: MatrixOp) -> None:
        """A factorization on planes."""
        operands = [self.parts[o][k] for k in range(2) for o in op.operands]
        new = type(op).make(operands, op.properties)
        self.b.insert(new)
        for old, places in zip(op.results, new.split_results(), strict=True):
            if len(places) == 2:
                self.parts[old] = new.results[places[0]], new.results[places[1]]
            else:
                old.replace_all_uses_with(new.results[places[0]])

    # -- ops on parts

    def _on(self, op: Operation, operands: list[SSAValue]) -> SSAValue:
        """The same op on real operands."""
        types = [tensor(part_of(element_of(r)), shape_of(r)) for r in op.results]
        return self.b.insert(type(op).create(operands=operands, result_types=types, properties=dict(op.properties)))

    def _each(self, op: Operation) -> None:
        re, im = (self._on(op, [self.parts[o][k] if o in self.parts else o for o in op.operands]) for k in range(2))
        self.parts[op.results[0]] = re, im

    def _const(self, op: Any) -> None:
        (z,) = op.evaluate()
        self.parts[op.results[0]] = self.b.const(z.real), self.b.const(z.imag)

    def _complex(self, op: Operation) -> None:
        self.parts[op.results[0]] = op.operands[0], op.operands[1]

    def _real(self, op: Operation) -> None:
        op.results[0].replace_all_uses_with(self.parts[op.operands[0]][0])

    def _imag(self, op: Operation) -> None:
        op.results[0].replace_all_uses_with(self.parts[op.operands[0]][1])

    def _as_pairs(self, op: Operation) -> None:
        op.results[0].replace_all_uses_with(self._in_pairs(op.operands[0]))

    def _from_pairs(self, op: Operation) -> None:
        self._known(op.results[0], op.operands[0])

    def _cmp(self, op: Any) -> None:
        x, y = (self.parts[o] for o in op.operands)
        predicate = op.predicate.data
        both = self.b.and_ if predicate == "eq" else self.b.or_
        re, im = (self.b.cmp(p, q, predicate=predicate) for p, q in zip(x, y, strict=True))
        op.results[0].replace_all_uses_with(both(re, im))

    def _convert(self, op: Operation) -> None:
        (x,), element = op.operands, element_of(op.results[0])
        if not is_complex(element):
            re, im = self.parts[x]
            found = self.b.convert(re, element)
            if is_bool(element):
                found = self.b.or_(found, self.b.convert(im, element))
            op.results[0].replace_all_uses_with(found)
        elif x in self.parts:
            re, im = (self.b.convert(part, part_of(element)) for part in self.parts[x])
            self.parts[op.results[0]] = re, im
        else:
            re = self.b.convert(x, part_of(element))
            self.parts[op.results[0]] = re, self.b.zeros_like(re)

    def _dot(self, op: Operation) -> None:
        (a, b), (c, d) = (self.parts[o] for o in op.operands)
        re = self.b.sub(self._on(op, [a, c]), self._on(op, [b, d]))
        self.parts[op.results[0]] = re, self.b.add(self._on(op, [a, d]), self._on(op, [b, c]))

    def _fft(self, op: Operation) -> None:
        dim, direction = integer(op.properties["dim"]), word(op.properties["direction"])
        x = op.operands[0]
        given = fourier.Operand(self.parts[x], self.pairs.get(x))
        self._known(op.results[0], fourier.transform(self.b, given, dim, direction))

    def _scatter(self, op: Operation) -> None:
        if (kind := word(op.properties["kind"])) not in ("set", "add"):
            raise error_at(op, CompileError, f"combines complex numbers by set and add, not by {kind}")
        self._each(op)

    def _reduce(self, op: Operation) -> None:
        if word(op.properties["kind"]) == "add":
            self._each(op)
        else:
            self.parts[op.results[0]] = self._product(self.parts[op.operands[0]], ints(op.properties["dims"]))

    def _product(self, x: Parts, dims: tuple[int, ...]) -> Parts:
        """The product along dims: of halves with each other, as long as there are two."""
        b = self.b
        shape = list(shape_of(x[0]))
        kept = [n for d, n in enumerate(shape) if d not in dims]
        for dim in dims:
            if not shape[dim]:
                whole = tensor(element_of(x[0]), kept)
                return b.full(1, whole), b.full(0, whole)
            while (n := shape[dim]) > 1:
                half = n // 2
                low, high, rest = (self._cut(x, dim, *ends) for ends in ((0, half), (half, 2 * half), (2 * half, n)))
                x = arithmetic.multiply(b, low, high)
                if n % 2:
                    x = b.concat(x[0], rest[0], dim=dim), b.concat(x[1], rest[1], dim=dim)
                shape[dim] = half + n % 2
        return b.reshape(x[0], kept), b.reshape(x[1], kept)

    def _cut(self, x: Parts, dim: int, start: int, stop: int) -> Parts:
        """The elements from `start` up to `stop` along a dim."""
        shape = list(shape_of(x[0]))
        low, high = [0] * len(shape), list(shape)
        low[dim], high[dim] = start, stop
        re, im = (self.b.slice(part, start=low, stop=high, step=[1] * len(shape)) for part in x)
        return re, im

    def _scan(self, op: Operation) -> None:
        p = op.properties
        if word(p["kind"]) == "add":
            self._each(op)
            return
        dim = integer(p["dim"])
        sign = 1 if word(p["direction"]) == "forward" else -1
        x = self.parts[op.operands[0]]
        if word(p["bound"]) == "exclusive":
            x = self._shifted(x, dim, sign)
        step, size = 1, shape_of(x[0])[dim]
        while step < size:  # each element is the product of the `step` elements that end with it
            x = arithmetic.multiply(self.b, self._shifted(x, dim, sign * step), x)
            step *= 2
        self.parts[op.results[0]] = x

    def _recurrence(self, op: Operation) -> None:
        dim = integer(op.properties["dim"])
        sign = 1 if word(op.properties["direction"]) == "forward" else -1
        factor, term = (self.parts[o] for o in op.operands)
        step, size = 1, shape_of(term[0])[dim]
        while step < size:  # each element is the composition of the `step` maps that end with it
            before = self._shifted(term, dim, sign * step, 0)
            term = arithmetic.add(self.b, arithmetic.multiply(self.b, factor, before), term)
            factor = arithmetic.multiply(self.b, self._shifted(factor, dim, sign * step), factor)
            step *= 2
        self.parts[op.results[0]] = term

    def _shifted(self, x: Parts, dim: int, by: int, fill: float = 1) -> Parts:
        """Elements shifted along a dim; `fill` is inserted."""
        rank = len(shape_of(x[0]))
        low, high = [0] * rank, [0] * rank
        low[dim], high[dim] = by, -by
        element = element_of(x[0])
        fills = self.b.const(fill, element), self.b.const(0, element)
        re, im = (self.b.pad(p, v, low=low, high=high, interior=[0] * rank) for p, v in zip(x, fills, strict=True))
        return re, im


@dataclass(frozen=True)
class GraphSplitComplexPass(ModulePass):
    """Split the complex values of all functions."""

    name = "graph-split-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.body.block.ops if isinstance(f, FuncOp) and f.body.blocks]
        if not any(has_complex(inner) for f in functions for inner in f.body.block.ops) and not any(
            _is_complex(a) for f in functions for a in f.body.block.args
        ):
            return
        named = {callee for function in functions for callee in named_functions(function)}
        for function in functions:
            _Splitter(function, keeps_types=function not in named).run()
