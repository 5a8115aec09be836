"""Loops and conditionals."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, IndexType, IntegerAttr, StringAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .base import LoopOp
from .kernel import KernelOp as KernelOp
from .subscripts import SubscriptParser, map_attribute, print_bound

KINDS = ("seq", "parallel", "vector", "unroll", "reduce")
"""How a loop runs: in order; in any order or in parallel; one iteration per lane; unrolled at emission; as a reduction."""

LARGEST_STEP = 1 << 40
"""Largest step, size or factor of a loop, which leaves room for 64-bit arithmetic on indices."""

MONOIDS = ("add", "mul", "max", "min", "and", "or", "argmax", "argmin")
"""The monoids by which a `reduce` loop combines its contributions; the last two combine (value, index) pairs."""

PAIR_MONOIDS = ("argmax", "argmin")

_INDEX = IndexType()


class Operands(tuple[SSAValue, ...]):
    """Some operands of an op, with the indexing of a plain tuple: xDSL's tuples test in Python whether an index is a slice."""

    __slots__ = ()

    @property
    def types(self) -> tuple[Attribute, ...]:
        return tuple([value.type for value in self])


def operand_group(k: int) -> Any:
    """An accessor of the operands of group `k`, in a tenth of the 6 us of xDSL's, which unpacks sizes through their type."""

    @cache
    def group(data: bytes) -> slice:
        sizes = struct.unpack(f"<{len(data) // 4}i", data)
        begin = sum(sizes[:k])
        return slice(begin, begin + sizes[k])

    def get(op: Operation) -> Sequence[SSAValue]:
        sizes: Any = op.properties["operandSegmentSizes"]
        return Operands(tuple.__getitem__(op._operands, group(sizes.data.data)))

    return property(get)


@irdl_op_definition
class YieldOp(LoopOp):
    """Ends a loop body or a branch with the next carried values, a contribution or the branch's results.

    ```mlir
    loop.yield %p : f32
    ```
    """

    name = "loop.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"


@irdl_op_definition
class ForOp(LoopOp):
    """A counted loop `for i = lower to upper step s` with affine bounds; its kind says how it may and will run.

    A lower bound may be the greatest of several expressions, an upper bound the least of several.

    `seq` loops may carry values: each iteration yields the next ones. A `reduce<monoid>` loop yields a contribution an
    iteration, which is combined with `init`; iterations may be combined in any order the schedule chooses.

    ```mlir
    %sum = loop.for reduce<add> %k = 0 to 64 init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<32x64xf32>
      loop.yield %a : f32
    }
    %last = loop.for seq %t = 0 to min(%n, %t0 + 16) step 2 carry %v = %start : f32 {
      %next = arith.addf %v, %v : f32
      loop.yield %next : f32
    }
    ```

    (C1) The kind is one of seq, parallel, vector, unroll, reduce; a reduction names its monoid.
    (C2) The step is positive and at most 2^40.
    (C3) Each bound is one or more expressions over the index values given to it.
    (C4) The body's first argument is the index; a carrying loop has one more argument a carried value.
    (C5) The body yields one value for each result, of the result's type, and as many inits are given.
    (C6) Only seq and unroll loops carry values, only reduce loops reduce.
    (C7) A parallel loop may say how it runs on threads: `threads`, `threads(collapse 2)` where so many nested loops are divided
    together, `threads(interchange)` where each thread runs the sequential loop that is the body around its iterations,
    `threads(interchange, align)` where its share begins at a cache line.
    A loop that is `dynamic` is divided into many small chunks, as its iterations take different times; it is not interchanged.
    (C8) A seq or parallel loop without results may be `outlined` into a function of its own.
    """

    name = "loop.for"
    lower_operands = var_operand_def(_INDEX)
    upper_operands = var_operand_def(_INDEX)
    inits = var_operand_def()
    lower = prop_def(AffineMapAttr)
    upper = prop_def(AffineMapAttr)
    step = prop_def(IntegerAttr)
    kind = prop_def(StringAttr)
    monoid = opt_prop_def(StringAttr)
    threads = opt_prop_def(IntegerAttr)
    interchange = opt_prop_def(UnitAttr)
    align = opt_prop_def(UnitAttr)
    dynamic = opt_prop_def(UnitAttr)
    outlined = opt_prop_def(UnitAttr)
    results_ = var_result_def()
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())

    @staticmethod
    def build_loop(
        lower: int | tuple[AffineMap, Sequence[SSAValue]],
        upper: int | tuple[AffineMap, Sequence[SSAValue]],
        *,
        step: int = 1,
        kind: str = "seq",
        monoid: str | None = None,
        inits: Sequence[SSAValue] = (),
        body: Block | None = None,
        name: str | None = None,
    ) -> ForOp:
        """Create a loop with an empty body block (or `body`), whose first argument is the index. About 15 us."""
        (lower_map, lower_values), (upper_map, upper_values) = _bound(lower), _bound(upper)
        types = [value.type for value in inits]
        if body is None:
            body = Block(arg_types=[_INDEX, *([] if kind == "reduce" else types)])
        if name is not None:
            body.args[0].name_hint = name
        properties: dict[str, Attribute] = {
            "lower": map_attribute(lower_map),
            "upper": map_attribute(upper_map),
            "step": _step(step),
            "kind": _kind(kind),
            **segment_sizes(len(lower_values), len(upper_values), len(inits)),
        }
        if monoid is not None:
            properties["monoid"] = StringAttr(monoid)
        return ForOp.create(
            operands=[*lower_values, *upper_values, *inits],
            result_types=types,
            properties=properties,
            regions=[Region(body)],
        )

    @property
    def index(self) -> SSAValue:
        return self.regions[0]._first_block._args[0]  # pyright: ignore[reportOptionalMemberAccess]

    @property
    def yielded(self) -> Sequence[SSAValue]:
        last = self.body.block.last_op
        return last._operands if isinstance(last, YieldOp) else ()

    def constant_bounds(self) -> tuple[int, int] | None:
        """(lower, upper) when both are numbers."""
        lower: Any = self.properties["lower"]
        upper: Any = self.properties["upper"]
        return _constant_bounds(lower.data.results, upper.data.results)

    def trip_count(self) -> int | None:
        """How often the body runs, when both bounds are numbers."""
        bounds = self.constant_bounds()
        if bounds is None:
            return None
        return max(0, -(-(bounds[1] - bounds[0]) // self.step.value.data))

    def verify_(self) -> None:
        kind = self.kind.data
        if kind not in KINDS or (kind == "reduce") != (self.monoid is not None):  # C1
            raise VerifyException(f"'loop.for' op kind must be one of {', '.join(KINDS)} (reduce with its monoid), got {kind}")
        if self.monoid is not None and self.monoid.data not in MONOIDS:  # C1
            raise VerifyException(f"'loop.for' op monoid must be one of {', '.join(MONOIDS)}, got {self.monoid.data}")
        if not 0 < self.step.value.data <= LARGEST_STEP:  # C2
            raise VerifyException(f"'loop.for' op step must be positive and at most {LARGEST_STEP}, got {self.step.value.data}")
        for which, map, values in (
            ("lower", self.lower.data, self.lower_operands),
            ("upper", self.upper.data, self.upper_operands),
        ):
            if not map.results or map.num_dims != len(values) or map.num_symbols:  # C3
                raise VerifyException(f"'loop.for' op {which} bound must be expressions over its operands, got {map}")
        n_args = 1 + (0 if kind == "reduce" else len(self.inits))
        args = self.body.block.args
        if len(args) != n_args or args[0].type != _INDEX:  # C4
            raise VerifyException(f"'loop.for' op body needs {n_args} arguments, the first an index, got {len(args)}")
        if kind != "reduce" and [a.type for a in args[1:]] != [i.type for i in self.inits]:  # C4
            raise VerifyException("'loop.for' op carried arguments must have the types of the inits")
        yielded = [v.type for v in self.yielded]
        wanted = [r.type for r in self.results]
        if yielded != wanted or [i.type for i in self.inits] != wanted:  # C5
            raise VerifyException(
                f"'loop.for' op must be given and yield one value for each result, results are ({', '.join(_words(wanted))}), "
                f"yielded ({', '.join(_words(yielded))}), inits ({', '.join(_words([i.type for i in self.inits]))})"
            )
        if self.results and kind not in ("seq", "unroll", "reduce"):  # C6
            raise VerifyException(f"'loop.for' op of kind {kind} cannot carry values")
        if kind == "reduce" and not self.results:  # C6
            raise VerifyException("'loop.for' op of kind reduce needs an init")
        self._verify_placement()

    def _verify_placement(self) -> None:
        """Verify the placement that a loop states; the lowering checks it by analysis (`lowering/analysis/placement.py`)."""
        kind, threads = self.kind.data, self.threads
        if threads is not None and (kind != "parallel" or threads.value.data < 1):  # C7
            raise VerifyException(
                f"'loop.for' op threads divide one or more parallel loops, got {threads.value.data} of kind {kind}"
            )
        if threads is not None and any(loop.threads or loop.outlined for loop in parent_loops(self)):  # C7
            raise VerifyException("'loop.for' op cannot be divided among threads inside of a loop that is, or is outlined")
        if self.interchange is not None and (threads is None or threads.value.data != 1):  # C7
            raise VerifyException("'loop.for' op interchange is for threads that divide one loop")
        if self.align is not None and self.interchange is None:  # C7
            raise VerifyException("'loop.for' op align needs interchange")
        if self.dynamic is not None and (kind != "parallel" or self.interchange is not None):  # C7
            raise VerifyException(f"'loop.for' op dynamic is for parallel loops that are not interchanged, got {kind}")
        if self.outlined is not None and (kind not in ("seq", "parallel") or self.results or threads is not None):  # C8
            raise VerifyException("'loop.for' op outlined is for seq and parallel loops without results or threads")

    def print(self, printer: Printer) -> None:
        kind = self.kind.data
        printer.print_string(f" {kind}" + (f"<{self.monoid.data}>" if self.monoid else "") + " ")
        printer.print_ssa_value(self.index)
        printer.print_string(" = ")
        print_bound(printer, "max", self.lower.data, self.lower_operands)
        printer.print_string(" to ")
        print_bound(printer, "min", self.upper.data, self.upper_operands)
        if self.step.value.data != 1:
            printer.print_string(f" step {self.step.value.data}")
        if self.inits:
            printer.print_string(" init " if kind == "reduce" else " carry ")
            _print_carried(printer, () if kind == "reduce" else self.body.block.args[1:], self.inits)
        if self.dynamic is not None:
            printer.print_string(" dynamic")
        if self.threads is not None:
            printer.print_string(f" threads{self._division(self.threads.value.data)}")
        if self.outlined is not None:
            printer.print_string(" outlined")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=bool(self.results))

    def _division(self, loops: int) -> str:
        """How threads divide a loop, as the text says it."""
        words = [f"collapse {loops}"] if loops > 1 else []
        words += [word for word in ("interchange", "align") if word in self.properties]
        return f"({', '.join(words)})" if words else ""

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        kind = parser.parse_identifier()
        monoid = None
        if kind == "reduce":
            parser.parse_punctuation("<")
            monoid = parser.parse_identifier()
            parser.parse_punctuation(">")
        index = parser.parse_argument(expect_type=False).resolve(_INDEX)
        parser.parse_punctuation("=")
        lower = SubscriptParser(parser)
        lower_map = lower.bound("max")
        parser.parse_keyword("to")
        upper = SubscriptParser(parser)
        upper_map = upper.bound("min")
        step = parser.parse_integer() if parser.parse_optional_keyword("step") else 1
        inits, carried = _parse_carried(parser, "init" if kind == "reduce" else "carry", named=kind != "reduce")
        placement = _parse_placement(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = _terminated(parser.parse_region([index, *carried]))
        properties: dict[str, Attribute] = {
            "lower": map_attribute(lower_map),
            "upper": map_attribute(upper_map),
            "step": _step(step),
            "kind": _kind(kind),
            **segment_sizes(len(lower.operands), len(upper.operands), len(inits)),
            **placement,
        }
        if monoid is not None:
            properties["monoid"] = StringAttr(monoid)
        return cls.create(
            operands=[*lower.operands, *upper.operands, *inits],
            result_types=[value.type for value in inits],
            properties=properties,
            attributes={} if attributes is None else attributes.data,
            regions=[region],
        )


def _print_carried(printer: Printer, names: Sequence[SSAValue], inits: Sequence[SSAValue]) -> None:
    """`%a = %a0 : f32, %b = %b0 : i64`, or without names `%a0 : f32, %b0 : i64`."""
    for k, value in enumerate(inits):
        if k:
            printer.print_string(", ")
        if names:
            printer.print_ssa_value(names[k])
            printer.print_string(" = ")
        printer.print_ssa_value(value)
        printer.print_string(" : ")
        printer.print_attribute(value.type)


def _parse_carried(parser: Parser, word: str, *, named: bool) -> tuple[list[SSAValue], list[Parser.Argument]]:
    """Parse what `_print_carried` prints after a word: initial values and the body's arguments; none without the word."""

    def carried() -> tuple[SSAValue, Parser.Argument | None]:
        argument = parser.parse_argument(expect_type=False) if named else None
        if named:
            parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return parser.resolve_operand(operand, type), None if argument is None else argument.resolve(type)

    if parser.parse_optional_keyword(word) is None:
        return [], []
    found = parser.parse_comma_separated_list(parser.Delimiter.NONE, carried)
    return [value for value, _ in found], [argument for _, argument in found if argument is not None]


def _parse_placement(parser: Parser) -> dict[str, Attribute]:
    """The properties that say where a loop runs."""
    found: dict[str, Attribute] = {}

    def word() -> None:
        if parser.parse_optional_keyword("collapse"):
            found["threads"] = IntegerAttr(parser.parse_integer(), i64)
        elif parser.parse_optional_keyword("interchange"):
            found["interchange"] = UnitAttr()
        else:
            parser.parse_keyword("align")
            found["align"] = UnitAttr()

    if parser.parse_optional_keyword("dynamic"):
        found["dynamic"] = UnitAttr()
    if parser.parse_optional_keyword("threads"):
        found["threads"] = IntegerAttr(1, i64)
        if parser.parse_optional_punctuation("("):
            word()
            while parser.parse_optional_punctuation(","):
                word()
            parser.parse_punctuation(")")
    if parser.parse_optional_keyword("outlined"):
        found["outlined"] = UnitAttr()
    return found


_ACCESSORS = {
    "lower_operands": operand_group(0),
    "upper_operands": operand_group(1),
    "inits": operand_group(2),
    "body": property(lambda op: op.regions[0]),
}
for _name, _accessor in _ACCESSORS.items():
    setattr(ForOp, _name, _accessor)


@irdl_op_definition
class WhileOp(LoopOp):
    """A loop that runs while a condition holds: at first the operand, then the first value that its body yields.

    ```mlir
    %last, %count = loop.while %c carry %x = %x0 : f32, %n = %n0 : i64 {
      %x1 = arith.mulf %x, %x : f32
      %n1 = arith.addi %n, %one : i64
      %c1 = arith.cmpf olt, %x1, %limit : f32
      loop.yield %c1, %x1, %n1 : i1, f32, i64
    }
    ```

    (C1) The body has one argument a carried value, of the init's type; so are the results.
    (C2) The body yields the condition, an i1, and one value for each result.
    """

    name = "loop.while"
    condition = operand_def(i1)
    inits = var_operand_def()
    results_ = var_result_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    @staticmethod
    def build_loop(condition: SSAValue, inits: Sequence[SSAValue], names: Sequence[str | None] = ()) -> WhileOp:
        """Create a loop with an empty body block, whose arguments are the carried values."""
        block = Block(arg_types=[value.type for value in inits])
        for argument, name in zip(block.args, names, strict=False):
            argument.name_hint = name
        return WhileOp.create(
            operands=[condition, *inits], result_types=[value.type for value in inits], regions=[Region(block)]
        )

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """The next condition and the next carried values."""
        last = self.body.block.last_op
        return last.operands if isinstance(last, YieldOp) else ()

    def verify_(self) -> None:
        wanted = [i.type for i in self.inits]
        if [a.type for a in self.body.block.args] != wanted or [r.type for r in self.results] != wanted:  # C1
            raise VerifyException("'loop.while' op body arguments and results must have the types of the carried values")
        got = [v.type for v in self.yielded]
        if got != [i1, *wanted]:  # C2
            raise VerifyException(
                f"'loop.while' op must yield (i1, {', '.join(_words(wanted))}), got ({', '.join(_words(got))})"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        if self.inits:
            printer.print_string(" carry ")
            _print_carried(printer, self.body.block.args, self.inits)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        inits, arguments = _parse_carried(parser, "carry", named=True)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region(arguments)
        return cls.create(
            operands=[condition, *inits],
            result_types=[value.type for value in inits],
            attributes={} if attributes is None else attributes.data,
            regions=[region],
        )


BORDER = "lamina.border"
"""The attribute of a `loop.if` that reads inside of an array, or else what stands for an element beside it."""


@irdl_op_definition
class IfOp(LoopOp):
    """A conditional with optional results.

    ```mlir
    %v = loop.if %c -> f32 {
      loop.yield %a : f32
    } else {
      loop.yield %b : f32
    }
    ```

    (C1) Both branches yield one value for each result, of the result's type.
    """

    name = "loop.if"
    condition = operand_def(i1)
    results_ = var_result_def()
    then = region_def("single_block")
    otherwise = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        wanted = [r.type for r in self.results]
        for region in (self.then, self.otherwise):
            last = region.blocks[0].last_op if region.blocks else None
            got = [v.type for v in last.operands] if isinstance(last, YieldOp) else []
            if got != wanted:  # C1
                raise VerifyException(
                    f"'loop.if' op branches must yield ({', '.join(_words(wanted))}), got ({', '.join(_words(got))})"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        if self.results:
            printer.print_string(" -> ")
            printer.print_list([r.type for r in self.results], printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.then, print_block_terminators=bool(self.results))
        if self.otherwise.blocks:
            printer.print_string(" else ")
            printer.print_region(self.otherwise, print_block_terminators=bool(self.results))
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
        types: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        then = _terminated(parser.parse_region())
        otherwise = _terminated(parser.parse_region()) if parser.parse_optional_keyword("else") else Region()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=[condition],
            result_types=types,
            regions=[then, otherwise],
            attributes={} if attributes is None else attributes.data,
        )


def _terminated(region: Region) -> Region:
    if not region.blocks:  # nothing between the braces
        region.add_block(Block())
    if not isinstance(region.block.last_op, YieldOp):
        region.block.add_op(YieldOp.create())
    return region


def _bound(bound: int | tuple[AffineMap, Sequence[SSAValue]]) -> tuple[AffineMap, Sequence[SSAValue]]:
    return (AffineMap.constant_map(bound), ()) if isinstance(bound, int) else bound


@cache
def segment_sizes(*sizes: int) -> Mapping[str, Attribute]:
    """The property that says how operands divide into variadic groups."""
    return {"operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)}


def _constant_bounds(lows: Sequence[AffineExpr], highs: Sequence[AffineExpr]) -> tuple[int, int] | None:
    if len(lows) == 1 == len(highs):  # the common case
        low, high = lows[0], highs[0]
        if isinstance(low, AffineConstantExpr) and isinstance(high, AffineConstantExpr):
            return low.value, high.value
        return None
    found = [[bound.value for bound in bounds if isinstance(bound, AffineConstantExpr)] for bounds in (lows, highs)]
    return (max(found[0]), min(found[1])) if list(map(len, found)) == [len(lows), len(highs)] else None


@cache
def _kind(kind: str) -> StringAttr:
    return StringAttr(kind)


@cache
def _step(step: int) -> IntegerAttr:
    return IntegerAttr(step, i64)


def _words(types: Sequence[Attribute]) -> list[str]:
    return [str(t) for t in types]


def parent_loops(op: Operation) -> list[ForOp]:
    """The loops around an op, innermost first."""
    loops: list[ForOp] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp):
        if isinstance(parent, ForOp):
            loops.append(parent)
        parent = parent.parent_op()
    return loops
