"""Give fusions fewer dims: dims of size 1 are dropped, and neighbouring dims that no op distinguishes are merged.

    %y = graph.fusion (%a = %x : tensor<8x16x7x7xf32> as tensor<128x49xf32>) -> tensor<8x16xf32> {
      %s = graph.reduce add %a over [1] : tensor<128x49xf32> -> tensor<128xf32>      // was: over [2, 3]
      graph.yield %s : tensor<128xf32>                                       // the same elements, in the same order
    }

Such kernels have long loops over contiguous memory whatever the shapes were, and shapes that collapse alike share a kernel. An
elementwise fusion becomes one loop. The dim along which values are concatenated stays, also where its size is 1, and dims whose
loops are not adjacent in the `order` of loops stay two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.base import GraphOp, ints
from ..dialects.graph.contract import ContractionOp
from ..dialects.graph.create import ConstOp
from ..dialects.graph.extents import has_open_size
from ..dialects.graph.fusion import FusionOp, Structure, YieldOp, structure_of
from ..dialects.graph.reduce import ReduceOp, kept_dims
from ..dialects.graph.shape import BroadcastOp, ConcatOp, ReshapeOp, TransposeOp
from ..dialects.operations import clone
from ..dialects.types import element_of, shape_of, tensor

Axis = tuple[SSAValue, int]
"""A dim of a value."""


class _Axes:
    """The dims of the values of a fusion by loop: classes of (value, dim) that are the same loop, without dims of size 1.

    Dims along which an op concatenates values are included whatever their size, each in a class of its own.
    """

    def __init__(self, body: Block):
        self.parent: dict[Axis, Axis] = {}
        self.values: list[SSAValue] = [*body.args, *(result for op in body.ops for result in op.results)]
        for value in self.values:
            for dim in range(len(shape_of(value))):
                self.parent[value, dim] = value, dim
        for op in body.ops:
            for one, other in _linked(op):
                self.parent[self.find(one)] = self.find(other)
        self.joined = {self.find(axis) for op in body.ops for axis in _joined(op)}

    def find(self, key: Axis) -> Axis:
        """The class of a dim."""
        while self.parent[key] != key:
            key = self.parent[key]
        return key

    def sizes(self, value: SSAValue) -> list[tuple[Axis, int]]:
        """(class, size) of each dim of a value, without dims of size 1."""
        found = [(self.find((value, dim)), size) for dim, size in enumerate(shape_of(value))]
        return [(one, size) for one, size in found if size != 1 or one in self.joined]

    def of(self, value: SSAValue) -> list[Axis]:
        """The class of each dim of a value, without those of size 1."""
        return [one for one, _ in self.sizes(value)]

    def merged(self) -> dict[Axis, Axis]:
        """For each class the one that always follows it, and that occurs only there."""
        following: dict[Axis, set[object]] = {}
        preceding: dict[Axis, set[object]] = {}
        for value in self.values:
            classes = self.of(value)
            for k, one in enumerate(classes):
                following.setdefault(one, set()).add(classes[k + 1] if k + 1 < len(classes) else None)
                preceding.setdefault(one, set()).add(classes[k - 1] if k else None)
        found: dict[Axis, Axis] = {}
        for one, after in following.items():
            (next_one, *others) = after
            if one in self.joined or next_one in self.joined:
                continue
            if not others and isinstance(next_one, tuple) and next_one != one and preceding[next_one] == {one}:
                found[one] = next_one
        return found


def _joined(op: Operation) -> list[Axis]:
    """The dims along which an op concatenates values: of its result, and of each operand."""
    return [(value, op.dim.value.data) for value in (*op.operands, *op.results)] if isinstance(op, ConcatOp) else []


def _linked(op: Operation) -> list[tuple[Axis, Axis]]:
    """Pairs of (value, dim) that are one loop of an op."""
    (result,) = op.results or (None,)
    if result is None:
        return []
    if isinstance(op, BroadcastOp):
        return [((op.x, k), (result, d)) for k, d in enumerate(ints(op.dims)) if shape_of(op.x)[k] == shape_of(result)[d]]
    if isinstance(op, TransposeOp):
        return [((op.x, p), (result, k)) for k, p in enumerate(ints(op.perm))]
    if isinstance(op, ReduceOp):
        return [((op.x, d), (result, k)) for k, d in enumerate(kept_dims(len(shape_of(op.x)), ints(op.dims)))]
    if isinstance(op, ContractionOp):
        lhs, rhs, _ = op.labels()
        summed = {lhs[d] for d in ints(op.lhs_contract)}
        places = [(op.lhs, d, n) for d, n in enumerate(lhs)] + [(op.rhs, d, n) for d, n in enumerate(rhs)]
        of_loop = {n: (value, d) for value, d, n in places}
        pairs = [((value, d), of_loop[n]) for value, d, n in places]
        return pairs + [(of_loop[n], (result, n)) for n in of_loop if n not in summed]
    if isinstance(op, ReshapeOp):
        sides = [[(value, d) for d, n in enumerate(shape_of(value)) if n != 1] for value in (op.x, result)]
        return list(zip(*sides, strict=True))
    apart = {d for _, d in _joined(op)}
    return [((operand, d), (result, d)) for operand in op.operands for d in range(len(shape_of(operand))) if d not in apart]


def _allows(op: Operation) -> bool:
    """Whether the dims of an op are plain loops, so that they may be merged."""
    if isinstance(op, ReshapeOp):
        return op.moves_unit_dims
    if isinstance(op, ContractionOp):
        return any(op.shape()[d] != 1 for d in ints(op.lhs_contract))  # otherwise the sum would have no terms
    if isinstance(op, ConstOp):
        return not shape_of(op.results[0])
    if isinstance(op, GraphOp) and op.facts.pointwise:
        return True
    return isinstance(op, TransposeOp | ReduceOp | ConcatOp | YieldOp)  # as `_pairs` and `_properties` know them


Collapsed = tuple[Block, list[int], list[int]]
"""The body of a fusion over fewer dims, the order of its loops, and the numbers of its ops in the fusion's structure."""


def _collapsed(fusion: FusionOp, structure: Structure) -> Collapsed | None:
    """A fusion over fewer dims, if some can be dropped or merged and no op in it depends on them."""
    body = fusion.body.block
    if not all(map(_allows, body.ops)) or any(0 in shape_of(v) for op in body.ops for v in op.results):
        return None
    outputs = fusion.yielded()
    axes = _Axes(body)
    if axes.joined and any(isinstance(op, ReshapeOp) for op in body.ops):
        return None  # it may add the dim along which values are concatenated
    if any(len(set(classes)) < len(classes) for classes in map(axes.of, axes.values)):
        return None  # two dims of one value are one loop, as in x[i] * y[j] added to its transpose
    if any(isinstance(op, BroadcastOp) and not {*axes.of(op.x)} <= {*axes.of(op.y)} for op in body.ops):
        return None  # a dim of size 1 is both broadcast and concatenated
    following = axes.merged()
    ordered = [axes.find((outputs[0], dim)) for dim in fusion.loop_order() if shape_of(outputs[0])[dim] != 1]
    beside = dict(pairwise(ordered))
    following = {one: after for one, after in following.items() if one not in ordered or beside.get(one) == after}
    inner = set(following.values())

    def groups(value: SSAValue) -> list[tuple[Axis, int]]:
        """(class, size) of each new dim: the class is that of its first old dim."""
        found: list[tuple[Axis, int]] = []
        for one, size in axes.sizes(value):
            if one in inner:
                found[-1] = found[-1][0], found[-1][1] * size
            else:
                found.append((one, size))
        return found

    new_shapes = {value: tuple(size for _, size in groups(value)) for value in axes.values}
    if all(shape == shape_of(value) for value, shape in new_shapes.items()):
        return None
    block = Block(arg_types=[tensor(element_of(a), new_shapes[a]) for a in body.args])
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=True))
    for op in body.ops:
        if isinstance(op, YieldOp):
            made = YieldOp.create(operands=[mapping[value] for value in op.operands])
        elif isinstance(op, ReshapeOp):
            mapping[op.y] = mapping[op.x]
            continue
        else:
            operands, types = [mapping[o] for o in op.operands], [tensor(element_of(r), new_shapes[r]) for r in op.results]
            properties = _properties(op, axes, lambda value: [one for one, _ in groups(value)])
            made = type(op).create(operands=operands, result_types=types, properties=properties)
        block.add_op(made)
        mapping.update(zip(op.results, made.results, strict=True))
    outer = [one for one, _ in groups(outputs[0])]
    places = {op: k for k, op in enumerate(structure.ops)}
    kept = [places[op] for op in body.ops if not isinstance(op, ReshapeOp)]
    return block, [outer.index(one) for one in ordered if one in outer], kept


def collapse(fusion: FusionOp, known: dict[object, Collapsed | None]) -> None:
    """Compute a fusion over fewer dims where that is possible; `known` has the results for equal fusions."""
    if any(map(has_open_size, (*fusion.operands, *fusion.results))):
        return
    body = fusion.body.block
    structure = structure_of(body)
    key = structure.key, fusion.loop_order(), len(fusion.results)
    is_new = key not in known
    if is_new:
        known[key] = _collapsed(fusion, structure)
    if (found := known[key]) is None:
        return
    block = found[0] if is_new else _copied(found[0])
    for argument, new in zip(body.args, block.args, strict=True):
        new.name_hint = argument.name_hint
    for place, new in zip(found[2], block.ops, strict=True):
        if not isinstance(new, YieldOp):
            new.location = structure.ops[place].location
    fusion.set_order(found[1])
    fusion.detach_region(fusion.body)
    fusion.add_region(Region(block))


def _copied(block: Block) -> Block:
    new = Block(arg_types=[argument.type for argument in block.args])
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, new.args, strict=True))
    new.add_ops([clone(op, mapping) for op in block.ops])
    return new


def _properties(op: Operation, axes: _Axes, classes: Callable[[SSAValue], list[Axis]]) -> dict[str, Attribute]:
    """The properties of an op whose operands and results have new dims of these classes."""
    properties = dict(op.properties)
    if isinstance(op, BroadcastOp):
        inside = classes(op.y)
        properties["dims"] = DenseArrayBase.from_list(i64, [inside.index(one) for one in classes(op.x)])
    if isinstance(op, ReduceOp):
        inside = classes(op.y)
        properties["dims"] = DenseArrayBase.from_list(i64, [k for k, one in enumerate(classes(op.x)) if one not in inside])
    if isinstance(op, TransposeOp):
        inside = classes(op.x)
        properties["perm"] = DenseArrayBase.from_list(i64, [inside.index(one) for one in classes(op.y)])
    if isinstance(op, ConcatOp):
        properties["dim"] = IntegerAttr(classes(op.y).index(axes.find((op.y, op.dim.value.data))), i64)
    if isinstance(op, ContractionOp):
        dims = _dot_dims(*(classes(value) for value in (op.lhs, op.rhs, op.y)))
        return {name: value for name, value in properties.items() if name not in _DOT_DIMS} | dims
    return properties


_DOT_DIMS = ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract")


def _dot_dims(lhs: list[Axis], rhs: list[Axis], result: list[Axis]) -> dict[str, Attribute]:
    """Those of `_DOT_DIMS` that are not empty, of a product whose operands and result have dims of these classes."""
    batch = [one for one in result if one in lhs and one in rhs]
    contract = [one for one in lhs if one in rhs and one not in result]
    rows = zip(_DOT_DIMS, ((lhs, batch), (rhs, batch), (lhs, contract), (rhs, contract)), strict=True)
    return {name: DenseArrayBase.from_list(i64, [of.index(one) for one in ones]) for name, (of, ones) in rows if ones}


def collapse_block(block: Block) -> None:
    """Compute every fusion of a block over as few dims as possible."""
    known: dict[object, Collapsed | None] = {}
    for op in block.ops:
        if isinstance(op, FusionOp):
            collapse(op, known)


@dataclass(frozen=True)
class GraphCollapseDimsPass(ModulePass):
    """Compute fusions over fewer dims."""

    name = "graph-collapse-dims"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                collapse_block(function.body.block)
