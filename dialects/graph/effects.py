"""Effects: actions on the process that runs a program, in the order of its ops.

graph.print      a line of text with values in it
graph.assert     a condition that ends the program with an error where it does not hold
graph.callback   a Python function of values
graph.after      a value that exists only after others: an edge of control between ops that no data connects

An effect is kept though nothing uses its results, is not merged with an equal one, and stays before the effects that stood
after it; other ops move freely around it. An op that runs functions with effects has these. There are no tokens: order is the
order of the text, as in MLIR, so that what carries values (loops, branches, functions) has nothing more to carry.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from string import Formatter
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr, TensorType, UnitAttr, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from ...errors import ShapeError
from ..element_types import STORED
from ..facts import OpFacts, OwnDerivative, Rounding
from ..symbols import find_symbol
from ..syntax import TextOp
from ..types import COMPLEX, element_of, shape_of
from .base import GraphOp, Linear, Props, Types, graph_op

if TYPE_CHECKING:
    from .builder import GraphBuilder

METHODS = ("none", "sequential", "expand_dims", "broadcast_all")
"""How a callback takes a batch: not at all, element by element, or whole, where what is the same for all has a first dim of 1,
or is repeated."""

_WRITE: frozenset[EffectInstance] = frozenset((EffectInstance(MemoryEffectKind.WRITE),))
_NONE: frozenset[EffectInstance] = frozenset()


class OwnEffect(MemoryEffect):
    """The trait of an op that is an effect, unless a property says that it is pure."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return _WRITE if isinstance(op, EffectOp) and op.is_effect else _NONE


class EffectsOfFunctions(MemoryEffect):
    """The trait of an op that runs functions of the module: it has their effects."""

    @classmethod
    def get_effects(cls, op: Operation) -> Set[EffectInstance]:
        return _WRITE if has_effects(op) else _NONE


class EffectOp(TextOp):
    """Base of the effects. With `batch n` it happens for each element of the first `n` dims, which all values and results have,
    one after the other; `where` says for which ones."""

    SYNTAX: ClassVar[str] = "(where $mask)? 'text'(values) (batch #batch)?"
    mask = opt_operand_def(TensorType)
    values = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    text = prop_def(StringAttr)
    batch = prop_def(IntegerAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(OwnEffect())

    @property
    def is_effect(self) -> bool:
        """Whether the op must run, in order with the effects around it."""
        return True

    @property
    def batch_dims(self) -> int:
        """How many first dims are a batch."""
        return self.batch.value.data

    def with_operands(
        self, mask: SSAValue | None, values: Sequence[SSAValue], results: Sequence[Attribute], batch: int
    ) -> EffectOp:
        """The same effect of other values."""
        properties = {**self.properties, "batch": IntegerAttr(batch, i64)}
        return type(self)(operands=[mask, values], result_types=[results], properties=properties)

    def verify_(self) -> None:
        n = self.batch_dims
        if n < 0:
            raise VerifyException(f"'{self.name}' op batch must not be negative, got {n}")
        shapes = [shape_of(v) for v in (*self.operands, *self.results)]
        first = shapes[0][:n] if shapes else ()
        if n and (not shapes or len(first) < n or any(shape[:n] != first for shape in shapes)):
            raise VerifyException(f"'{self.name}' op needs values and results that begin with the {n} dims of one batch")
        if self.mask is not None and (element_of(self.mask) != i1 or len(shape_of(self.mask)) != n):
            raise VerifyException(f"'{self.name}' op condition must be of i1, of the dims of the batch, got {self.mask.type}")


def _unbatched(text: str) -> dict[str, Attribute | None]:
    return {"text": StringAttr(text), "batch": IntegerAttr(0, i64)}


@irdl_op_definition
class PrintOp(EffectOp):
    """Print a line: text in the form of Python's `str.format`, with the values by position.

    ```mlir
    graph.print "step {0}: {1:.3f}"(%step, %loss) : (tensor<i64>, tensor<f32>) -> ()
    graph.print where %taken "x = {0}"(%x) batch 1 : (tensor<8xi1>, tensor<8x4xf32>) -> ()
    ```

    (C1) The text names values by position, and each of these exists.
    (C2) A batch is the first dims of all values, and of the condition all dims, which is of i1.
    (C3) There are no results.
    """

    name = "graph.print"

    @staticmethod
    def make(text: str, values: Sequence[SSAValue]) -> PrintOp:
        """The op; it raises nothing before it is verified."""
        return PrintOp(operands=[None, values], result_types=[[]], properties=_unbatched(text))

    def verify_(self) -> None:
        _verify_text(self)  # C1
        super().verify_()  # C2
        if self.results:  # C3
            raise VerifyException("'graph.print' op has no results")


@irdl_op_definition
class AssertOp(EffectOp):
    """End the program with an error unless a condition holds; the message is text as of `graph.print`.

    Of a batch, the first element whose condition does not hold gives the values.

    ```mlir
    graph.assert %ok "x must be positive, got {0}"(%x) : (tensor<i1>, tensor<f32>) -> ()
    ```

    (C1) The text names values by position, and each of these exists.
    (C2) The condition is of i1, of the dims of the batch, with which all values begin.
    (C3) There are no results.
    """

    name = "graph.assert"
    SYNTAX: ClassVar[str] = "$mask 'text'(values) (batch #batch)?"

    @staticmethod
    def make(condition: SSAValue, text: str, values: Sequence[SSAValue]) -> AssertOp:
        """The op for a condition without dims."""
        return AssertOp(operands=[condition, values], result_types=[[]], properties=_unbatched(text))

    def verify_(self) -> None:
        _verify_text(self)  # C1
        if self.mask is None:  # C2
            raise VerifyException("'graph.assert' op needs a condition")
        super().verify_()  # C2
        if self.results:  # C3
            raise VerifyException("'graph.assert' op has no results")


@irdl_op_definition
class CallbackOp(EffectOp):
    """The results of a Python function, known to the program by a name.

    `pure` says that it has no effect: it happens as often as its results are needed. `vmap` says how it takes a batch.

    ```mlir
    %y = graph.callback "solve"(%x) pure vmap sequential : (tensor<4xf32>) -> (tensor<4xf32>)
    ```

    Results are 0 where it does not happen, as a condition says.

    (C1) A batch is the first dims of all values and results, and of the condition all dims, which is of i1.
    (C2) `vmap` is one of none, sequential, expand_dims and broadcast_all.
    """

    name = "graph.callback"
    traits = traits_def(OwnDerivative())
    SYNTAX: ClassVar[str] = f"{EffectOp.SYNTAX} ?pure (vmap <vmap>)?"
    pure = opt_prop_def(UnitAttr)
    vmap = prop_def(StringAttr, default_value=StringAttr("none"))

    @staticmethod
    def make(
        function: str, values: Sequence[SSAValue], results: Sequence[Attribute], *, pure: bool = False, vmap: str = "none"
    ) -> CallbackOp:
        """The op; `results` are types."""
        properties = {**_unbatched(function), "vmap": StringAttr(vmap), "pure": UnitAttr() if pure else None}
        return CallbackOp(operands=[None, values], result_types=[results], properties=properties)

    @property
    def is_effect(self) -> bool:
        return self.pure is None

    def verify_(self) -> None:
        super().verify_()  # C1
        if self.vmap.data not in METHODS:  # C2
            raise VerifyException(f"'graph.callback' op vmap must be one of {', '.join(METHODS)}, got {self.vmap.data}")


def _batch_after(b: GraphBuilder, op: GraphOp, operands: Sequence[SSAValue], batched: Sequence[bool]) -> Sequence[SSAValue]:
    x, *others = operands
    size = shape_of(next(o for o, flag in zip(operands, batched, strict=True) if flag))[0]
    x = x if batched[0] else b.broadcast(x, tuple(range(1, len(shape_of(x)) + 1)), (size, *shape_of(x)))
    return [b.build("after", [x, *others], {})]


@graph_op
class AfterOp(GraphOp):
    """Its first operand, which exists only after the others: what reads it runs after what computes them.

    No pass computes it in a kernel with what comes before or after, so that the order holds in the program. It is a view of
    the operand and costs nothing.

    ```mlir
    %y = graph.after %x, %a, %b : (tensor<4xf32>, tensor<f32>, tensor<2xi64>) -> tensor<4xf32>
    ```

    (C1) The result has the type of the first operand.
    """

    name = "graph.after"
    facts = OpFacts(rounding=Rounding.NONE, stores=(*STORED, *COMPLEX), on_parts="each", view=True)
    xs = var_operand_def(TensorType)
    y = result_def(TensorType)
    syntax = "*xs"
    derivative = Linear(lambda b, op, k, ct: ct, (0,))
    batching = _batch_after

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if not operands:
            raise ShapeError("needs an operand")
        return (operands[0],)  # C1

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (operands[0],)


def fields_of(text: str) -> Iterator[str]:
    """The fields of a format string, including those nested in the specifications of others.

    Raises:
        ValueError: the text is no format string.
    """
    for _, field, specification, _ in Formatter().parse(text):
        if field is not None:
            yield field
            yield from fields_of(specification or "")


def _verify_text(op: EffectOp) -> None:
    n = len(op.values)
    try:
        wrong = [field for field in fields_of(op.text.data) if not field.isdecimal() or int(field) >= n]
    except ValueError as error:
        raise VerifyException(f"'{op.name}' op text is no format: {error}") from None
    if wrong:
        raise VerifyException(f"'{op.name}' op text must name values from {{0}} on, of which there are {n}, got {{{wrong[0]}}}")


class _Known(threading.local):
    functions: dict[FuncOp, bool] | None = None


_known = _Known()


@contextmanager
def effects_stay() -> Iterator[None]:
    """A block in which no function gets effects that it had not: each is read once, however many `has_effects` ask."""
    outer, _known.functions = _known.functions, {}
    try:
        yield
    finally:
        _known.functions = outer


def has_effects(op: Operation) -> bool:
    """Whether an op is an effect, or runs functions of the module that have some."""
    if isinstance(op, EffectOp):
        return op.is_effect
    known = {} if _known.functions is None else _known.functions
    return any(_function_has_effects(function, known) for function in _functions_run(op))


def _function_has_effects(function: FuncOp, known: dict[FuncOp, bool]) -> bool:
    """Whether a function has effects; of all that it runs that is known afterwards."""
    if function in known:
        return known[function]
    users: dict[FuncOp, list[FuncOp]] = {function: []}
    waiting, acting = [function], list[FuncOp]()
    while waiting:
        one = waiting.pop()
        if known.get(one) or (one not in known and _acts(one, users, waiting)):
            acting.append(one)
    known.update((one, False) for one in users if one not in known)
    while acting:
        one = acting.pop()
        if one in users:
            known[one] = True
            acting += users.pop(one)
    return known[function]


def _acts(function: FuncOp, users: dict[FuncOp, list[FuncOp]], waiting: list[FuncOp]) -> bool:
    """Whether an op of a function is an effect; notes it with those that it runs."""
    acts = False
    for block in function.body.blocks:
        for inner in block.ops:
            if isinstance(inner, EffectOp):
                acts = acts or inner.is_effect
            elif not isinstance(inner, GraphOp):
                for other in _functions_run(inner):
                    if other not in users:
                        users[other] = []
                        waiting.append(other)
                    users[other].append(function)
    return acts


def _functions_run(op: Operation) -> Iterator[FuncOp]:
    if "callee" not in op.properties and "branches" not in op.properties:
        return
    for attribute in op.properties.values():
        for name in attribute.data if isinstance(attribute, ArrayAttr) else (attribute,):
            if isinstance(name, SymbolRefAttr) and isinstance(function := find_symbol(op, name), FuncOp):
                yield function
