"""A dialect of another package, in xDSL alone: prints how its ops are copied, cloned, verified, printed and refused.

Run by test_operations.py with and without lamina in the process.
"""

from abc import ABC

from xdsl import irdl
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf, test
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Block, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.ir.affine import AffineExpr
from xdsl.parser import Parser
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

TEXT = """
builtin.module {
  func.func @f(%n: index, %x: memref<4x?xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %total = scf.for %i = %zero to %n step %one iter_args(%sum = %zero) -> (index) {
      %next = arith.addi %sum, %i : index
      scf.yield %next : index
    }
    "test.op"(%total, %later) ({
      "test.termop"(%total)[^bb1] : (index) -> ()
    ^bb1:
      "test.termop"()[^bb1] : () -> ()
    }) {name = "a"} : (index, i32) -> ()
    %later = "test.op"() : () -> i32
    func.return
  }
}
"""
ctx = Context(allow_unregistered=True)
for dialect in (arith.Arith, builtin.Builtin, func.Func, scf.Scf, test.Test):
    ctx.load_dialect(dialect)
module = Parser(ctx, TEXT).parse_module()
copy = module.clone()
module.verify()
copy.verify()
print(copy.is_structurally_equivalent(module))
print(copy)
print([[use.index for use in result.uses] for op in copy.walk() for result in op.results])
function = next(iter(copy.body.block.ops))
bare = function.clone(clone_operands=False, clone_name_hints=False)
print([(op.name, len(op.operands)) for op in bare.walk()])
mapped = {}
inner = next(op for op in function.body.block.ops if isinstance(op, scf.ForOp))
again = inner.clone(mapped)
print(again.operands[0] is inner.operands[0], len(mapped), [v.name_hint for v in mapped.values()])
print(type(inner.operands[:2]).__name__, type(inner._operands[:2]).__name__, inner.operands[-1].name_hint)
for op in function.body.block.ops:
    if isinstance(op, test.TestOp) and not op.regions:
        op.detach()
print([op.name for op in function.body.block.ops], [len(region.blocks) for op in copy.walk() for region in op.regions])
print(inner.lb.name_hint, inner.step.owner.name, [op.lhs.name_hint for op in inner.body.block.ops if op.name == "arith.addi"])
print(builtin.DenseArrayBase.from_list(builtin.i32, [3, -1]).get_values(), function.body is function.regions[0])
print(function.args[1].type.get_shape(), builtin.VectorType(builtin.f32, [4]).get_shape())
d = [AffineExpr.dimension(k) for k in range(3)]
s = AffineExpr.symbol(0)
exprs = [d[0], s, AffineExpr.constant(3), d[0] * 2 + d[1] + 5, (d[2] + s) // 4 + d[0] % 3, (d[1] * 8).ceil_div(2)]
for expr in exprs:
    print(expr, sorted(expr.used_dims()), expr.replace_dims_and_symbols([d[1], d[0] + 1], [d[2]]))
    print(expr.replace_dims_and_symbols([], []), expr.replace_dims_and_symbols([AffineExpr.constant(7)] * 3, [s]))
for name in ("f", StringAttr("f"), SymbolRefAttr("f"), "a", SymbolRefAttr("f", ["g"]), SymbolRefAttr("g", ["f"])):
    try:
        print(SymbolTable.lookup_symbol(inner, name) is function)
    except ValueError as error:
        print(str(error)[:20])
used = next(op for op in copy.walk() if op.name == "arith.constant").results[0]
other = next(iter(copy.body.block.ops)).body.block.args[0]
before = [use.index for use in other.uses], [use.index for use in used.uses]
used.replace_all_uses_with(used)
used.replace_all_uses_with(other)
print(before, [(use.operation.name, use.index) for use in other.uses], used.first_use, other.name_hint)
unnamed = test.TestOp(operands=[other, other, inner.lb], result_types=[builtin.i32])
named = test.TestOp(operands=[unnamed.results[0]] * 2, result_types=[builtin.i32])
print([(use.operation.name, use.index) for use in other.uses][:3])
named.results[0].name_hint = "named"
named.results[0].replace_all_uses_with(unnamed.results[0])
print(unnamed.results[0].name_hint, [use.index for use in unnamed.results[0].uses])
named.erase()
unnamed.results[0].erase()
last = test.TestOp(operands=[unnamed.results[0]])
print([use.operation is last for use in unnamed.results[0].uses])
unnamed.erase(safe_erase=False)
print(type(last.operands[0]).__name__, last.operands[0].old_value is unnamed.results[0], len(list(unnamed.results[0].uses)))
zero, one = [op for op in function.body.block.ops if isinstance(op, arith.ConstantOp)]


def uses(op):
    return [(use.operation.name, use.index) for use in op.results[0].uses]


print(uses(zero), uses(one))
zero.results[0].name_hint, one.results[0].name_hint = "zero", None
zero.results[0].replace_all_uses_with(one.results[0])
print(uses(zero), uses(one), one.results[0].name_hint)
inner.operands[0] = zero.results[0]
print(uses(zero), uses(one), [operand.name_hint for operand in inner.operands])
inner.operands = [inner.operands[1], zero.results[0], one.results[0], one.results[0]]
print(uses(zero), uses(one), len(inner.operands))
placed = Block([test.TestOp(), test.TestOp(operands=[one.results[0]])], arg_types=[builtin.i32, builtin.f32])
print([(argument.index, str(argument.type), argument.location) for argument in placed.args], uses(one))
last = placed.last_op
last.detach()
last.erase()
print(uses(one), placed.last_op is placed.first_op, placed.last_op.next_op)
try:
    one.detach()
    one.erase()
except ValueError:
    print("in use")
for wrong in (lambda: setattr(function.args[0], "name_hint", "1x"), lambda: function.body.block.add_op(inner)):
    try:
        wrong()
    except ValueError as error:
        print(error)


# a dialect of its own


class Shaped(ABC):  # noqa: B024  others register with it
    """What an embedder's types and ops pretend to be."""


class Marks(type(irdl.IRDLOperation)):
    """A metaclass of an embedder's."""


@irdl.irdl_attr_definition
class WordType(ParametrizedAttribute, TypeAttribute):
    name = "words.word"
    bits: builtin.IntAttr

    def verify(self) -> None:
        if self.bits.data % 8:
            raise VerifyException(f"a word has whole bytes, got {self.bits.data} bits")


@irdl.irdl_op_definition
class JoinOp(irdl.IRDLOperation, metaclass=Marks):
    name = "words.join"
    first = irdl.operand_def(WordType)
    rest = irdl.var_operand_def(WordType)
    mode = irdl.prop_def(builtin.StringAttr, default_value=builtin.StringAttr("plain"))
    joined = irdl.result_def(WordType)
    body = irdl.opt_region_def()
    assembly_format = "$first `,` $rest attr-dict `:` type($first) `,` type($rest) `->` type($joined) ($body^)?"
    irdl_options = (irdl.ParsePropInAttrDict(),)

    def verify_(self) -> None:
        if len(self.rest) > 2:
            raise VerifyException(f"joins three words at most, got {1 + len(self.rest)}")


Shaped.register(WordType)
Operation.register(Shaped)
byte, short = WordType(builtin.IntAttr(8)), WordType(builtin.IntAttr(16))
print(byte, hash(byte) == hash(WordType(builtin.IntAttr(8))), byte == short, isinstance(byte, Shaped))
print("registered:", isinstance(Shaped(), Operation), type(Operation).__name__, type(JoinOp).__name__, type(WordType).__name__)
ctx.load_dialect(Dialect("words", [JoinOp], [WordType]))
source = test.TestOp(result_types=[byte, byte, short])
join = JoinOp.build(operands=[source.results[0], [source.results[1]]], result_types=[short], regions=[[]])
print(join.mode, join.first is source.results[0], [value.index for value in join.rest], join.joined.type, join.body)
print(join, join.clone(), join.is_structurally_equivalent(join.clone()), join.properties, join.clone().properties)
print(Parser(ctx, '%0 = "test.op"() : () -> !words.word<#builtin.int<8>>').parse_module())
print(join == join.clone(), join == join, len({join, join, join.clone()}), {join: 1}[join])


def refuse(what, call):
    try:
        call()
    except Exception as error:
        print("refused", what, type(error).__name__, str(error).strip().splitlines()[-3:])


many = JoinOp.build(operands=[source.results[0], [*source.results[:2]] * 2], result_types=[short], regions=[[]])
wrong = JoinOp.build(operands=[source.results[0], []], result_types=[builtin.i32], regions=[[]])
refuse("a fifth word", many.verify)
refuse("another type", wrong.verify)
refuse("bits", lambda: WordType(builtin.IntAttr(7)))
refuse("no attribute", lambda: setattr(join, "first", source.results[1]))
refuse("a used op", source.erase)
refuse("text", lambda: Parser(ctx, "words.join %0").parse_module())
refuse("two regions", lambda: join.add_region(function.body))
refuse("an index", lambda: join.operands[7])
refuse("no module", lambda: SymbolTable.lookup_symbol(join, "f"))
block = Block([source, join])
print([op.name for op in block.ops], len(block.ops), block.get_operation_index(join))
source.results[0].replace_all_uses_with(source.results[1])
print([(use.operation.name, use.index) for use in source.results[1].uses], join)
