"""Sizes of type `?` are named so that a call is accepted where the type rules accept its shapes, and nowhere else."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.graph import OPS
from lamina.dialects.graph.known_sizes import bind_symbols
from lamina.dialects.parsing import parse_module
from lamina.dialects.sizes.polynomial import Size, substituted
from lamina.dialects.types import DYNAMIC, shape_of, tensor
from lamina.errors import CompileError, DTypeError, ShapeError
from lamina.transforms.graph_name_sizes import name_sizes
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

sys.path.insert(0, str(Path(__file__).parent.parent))
from ops_table import ROWS, Row, op_of, type_of

Shapes = Sequence[Sequence[int]]

UNDECIDED = {"attention", "broadcast", "butterflies", "conv", "conv_words", "reshape"}
"""Ops of which sizes must be multiples, or follow from the result alone: some are refused."""


def opened(type: TensorType, all_dims: bool) -> TensorType:
    """A type whose first size is unknown, or every one."""
    return tensor(type.element_type, [DYNAMIC if all_dims or d == 0 else n for d, n in enumerate(type.get_shape())])


def drawn_shapes(base: Shapes, rng: random.Random) -> Iterator[Shapes]:
    """Neighbors of shapes: one size changed, or some, equal ones alike."""
    slots = [(k, d) for k, shape in enumerate(base) for d in range(len(shape))]
    yield base
    for k, d in slots:
        for delta in (1, 2, -1):
            shapes = [list(shape) for shape in base]
            shapes[k][d] = max(1, shapes[k][d] + delta)
            yield shapes
    for _ in range(40):
        shapes, values = [list(shape) for shape in base], dict[int, int]()
        for k, d in slots:
            if rng.random() < 0.6:
                shapes[k][d] = values.setdefault(shapes[k][d], rng.randint(2, 9))
        yield shapes


def differing_call(row: Row, all_dims: bool) -> str | None:
    """A call that the named sizes and the type rule judge differently; None if there is none, or the op is refused."""
    static = op_of(row)
    types = [opened(o.type, all_dims) for o in static.operands]
    declared = None if row.result is None else (opened(type_of(row.result), all_dims),)
    block = Block(arg_types=types)
    op = OPS[row.op].make(list(block.args), row.props, declared)
    block.add_op(op)
    block.add_op(ReturnOp(*op.results))
    module = ModuleOp([FuncOp("main", (types, [r.type for r in op.results]), Region(block))])
    try:
        name_sizes(module)
    except CompileError as error:
        assert row.op in UNDECIDED, f"{row}: {error}"
        assert "takes no symbolic size" in str(error)
        return None
    module.verify()
    base = [list(shape_of(o)) for o in static.operands]
    for shapes in drawn_shapes(base, random.Random(str(row))):
        pairs = [
            (n, b, t)
            for s, bs, ts in zip(shapes, base, types, strict=True)
            for n, b, t in zip(s, bs, ts.get_shape(), strict=True)
        ]
        if any((n == 1 and b != 1) or (n != b and t != DYNAMIC) for n, b, t in pairs):  # a dim of size 1 may be repeated
            continue
        given = [tensor(o.type.element_type, shape) for o, shape in zip(static.operands, shapes, strict=True)]
        try:
            wanted: Any = [tuple(t.get_shape()) for t in op.infer_types(given, op.properties, declared)]
        except (ShapeError, DTypeError):
            wanted = None
        found = called(block, op, shapes)
        unknown = wanted is not None and any(DYNAMIC in shape for shape in wanted)
        if (wanted is None) != (found is None) or not (unknown or wanted == found):
            return f"{row}: {shapes} gives {found}, by the rule {wanted}"
    return None


def called(block: Block, op: Any, shapes: Shapes) -> list[tuple[int, ...]] | None:
    """The shapes of results for those of arguments; None if the sizes do not agree."""
    try:
        known = bind_symbols(block.args, shapes)
    except ShapeError:
        return None
    for argument, shape in zip(block.args, shapes, strict=True):
        if any(not isinstance(n, Size) and n != given for n, given in zip(shape_of(argument), shape, strict=True)):
            return None
    return [tuple(substituted(n, known.__getitem__) for n in shape_of(r)) for r in op.results]


def variants() -> dict[Any, Row]:
    """A row for each op, number of dims, and properties."""
    return {
        (row.op, tuple(t.count("x") for t in row.operands), str(dict(row.props))): row
        for row in ROWS
        if any(t.count("x") for t in row.operands)
    }


def check(rows: Sequence[Row]) -> None:
    for row in rows:
        for all_dims in (True, False):
            try:
                assert (said := differing_call(row, all_dims)) is None, said
            except ShapeError as error:  # the matrices of an op, packed words
                assert "known sizes" in str(error) or "multiple of" in str(error), f"{row}: {error}"


def test_calls_are_accepted_as_by_the_type_rules() -> None:
    names = ("add", "concat", "dot", "select", "scatter", "dynamic_slice", "sort", "solve", "recurrence", "top_k", "pad")
    rows = {row.op: row for row in variants().values() if row.op in names}
    check(list(rows.values()))


@pytest.mark.thorough
def test_calls_are_accepted_as_by_the_type_rules_of_every_op() -> None:
    check(list(variants().values()))


def named(text: str) -> str:
    module = parse_module(make_context(), text)
    name_sizes(module)
    module.verify()
    return str(module).replace("tensor<", "<").replace(", #graph.sizes", "")


def test_functions_of_loops_are_copied_for_other_sizes() -> None:
    """Two loops over one function, with vectors of other sizes: one copy each; the entry of a public function stays open."""
    text = named("""
      func.func @step(%i: tensor<i64>, %x: tensor<?xf32>) -> tensor<?xf32> {
        %y = graph.exp %x : tensor<?xf32>
        return %y : tensor<?xf32>
      }
      func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
        %y = graph.for @step count 4 consts() carry(%a) over() : (tensor<?xf32>) -> (tensor<?xf32>)
        %z = graph.for @step count 4 consts() carry(%b) over() : (tensor<?xf32>) -> (tensor<?xf32>)
        %w = graph.for @step count 4 consts() carry(%y) over() : (tensor<?xf32>) -> (tensor<?xf32>)
        return %w, %z : tensor<?xf32>, tensor<?xf32>
      }
    """)
    assert text.count("graph.exp") == 3
    assert 'func.func @step(%i: <i64>, %x: <?xf32<"N">>)' in text
    assert '(%a: <?xf32<"N">>, %b: <?xf32<"M">>) -> (<?xf32<"N">>, <?xf32<"M">>)' in text


def test_a_loop_whose_values_grow_is_refused() -> None:
    body = "%y = graph.concat %x, %x along 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
    with pytest.raises(CompileError, match=r"'graph.while' op needs equal sizes, they are N and 2 \* N"):
        named(f"""
          func.func private @more(%x: tensor<?xf32>) -> tensor<i1> {{
            %c = graph.const dense<true> : tensor<i1>
            return %c : tensor<i1>
          }}
          func.func private @body(%x: tensor<?xf32>) -> tensor<?xf32> {{
            {body}
            return %y : tensor<?xf32>
          }}
          func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {{
            %y = graph.while @more do @body consts() carry(%a) : (tensor<?xf32>) -> (tensor<?xf32>)
            return %y : tensor<?xf32>
          }}
        """)


def test_sizes_of_branches_and_of_loops_are_equal() -> None:
    """What branches return is alike, and a body may say that two sizes of its caller are."""
    text = named("""
      func.func private @left(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
        return %x : tensor<?xf32>
      }
      func.func private @right(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
        return %y : tensor<?xf32>
      }
      func.func @branches(%c: tensor<i1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
        %z = graph.case %c [@left, @right](%x, %y) : (tensor<i1>, tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)
        return %z : tensor<?xf32>
      }
      func.func private @step(%i: tensor<i64>, %w: tensor<?xf32>, %x: tensor<?xf32>, %s: tensor<?xf32>)
          -> (tensor<?xf32>, tensor<?xf32>) {
        %y = graph.add %w, %x : tensor<?xf32>
        return %y, %s : tensor<?xf32>, tensor<?xf32>
      }
      func.func @loop(%w: tensor<?xf32>, %x: tensor<?xf32>, %s: tensor<?x?xf32>) -> (tensor<?xf32>, tensor<3x?xf32>) {
        %y, %t = graph.for @step count 3 consts(%w) carry(%x) over(%s)
          : (tensor<?xf32>, tensor<?xf32>, tensor<?x?xf32>) -> (tensor<?xf32>, tensor<3x?xf32>)
        return %y, %t : tensor<?xf32>, tensor<3x?xf32>
      }
    """)
    assert '@branches(%c: <i1>, %x: <?xf32<"N">>, %y: <?xf32<"N">>) -> <?xf32<"N">>' in text
    assert '@loop(%w: <?xf32<"N">>, %x: <?xf32<"N">>, %s: <3x?xf32<"M">>) -> (<?xf32<"N">>, <3x?xf32<"M">>)' in text


def test_a_named_size_keeps_its_name() -> None:
    """A symbol of the text is not that of another size, and is not replaced."""
    text = named("""
      func.func @main(%x: tensor<?xf32, #graph.sizes<"N">>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
        %s = graph.concat %x, %y along 0 : (tensor<?xf32, #graph.sizes<"N">>, tensor<?xf32>) -> tensor<?xf32>
        %t = graph.add %s, %z : tensor<?xf32>
        return %t : tensor<?xf32>
      }
    """)
    assert '@main(%x: <?xf32<"N">>, %y: <?xf32<"M">>, %z: <?xf32<"M + N">>)' in text


def test_sizes_that_are_never_equal() -> None:
    with pytest.raises(CompileError, match=r"'graph.add' op needs equal sizes, they are N and N \+ 1"):
        named("""
          func.func @main(%x: tensor<?xf32>, %c: tensor<1xf32>) -> tensor<?xf32> {
            %s = graph.concat %x, %c along 0 : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
            %e = graph.exp %x : tensor<?xf32>
            %t = graph.add %e, %s : tensor<?xf32>
            return %t : tensor<?xf32>
          }
        """)
