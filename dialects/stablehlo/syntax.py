"""The custom forms of StableHLO and CHLO, as jax prints them.

Most are operands, `key = value` clauses and types: a row of `CLAUSES` says which attribute a key is. The others have a
function. An op without a form is written in the generic one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    TupleType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ..foreign.attribute_text import enumerated, structured, value_of

Attributes = dict[str, Attribute]

CLAUSES: dict[str, dict[str, str]] = {
    "broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "dynamic_broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "broadcast": {"sizes": "broadcast_sizes"},
    "transpose": {"dims": "permutation"},
    "reverse": {"dims": "dimensions"},
    "concatenate": {"dim": "dimension"},
    "iota": {"dim": "iota_dimension"},
    "dynamic_iota": {"dim": "iota_dimension"},
    "get_dimension_size": {"dim": "dimension"},
    "set_dimension_size": {"dim": "dimension"},
    "dynamic_slice": {"sizes": "slice_sizes"},
    "pad": {"low": "edge_padding_low", "high": "edge_padding_high", "interior": "interior_padding"},
    "fft": {"type": "fft_type", "length": "fft_length"},
    "cholesky": {"lower": "lower"},
    "rng_bit_generator": {"algorithm": "rng_algorithm"},
    "rng": {"distribution": "rng_distribution"},
    "map": {},
    "select": {},
    "clamp": {},
    "optimization_barrier": {},
    "return": {},
    "chlo.broadcast_compare": {},
}
"""The keys of an op's clauses, and the attributes that they are."""

_ENUMERATIONS = {"fft_type": "fft_type", "rng_algorithm": "rng_algorithm", "rng_distribution": "rng_distribution"}
_PLAIN = frozenset(
    """
    abs add and atan2 bitcast_convert cbrt ceil complex convert cosine count_leading_zeros create_token divide dynamic_pad
    dynamic_reshape dynamic_update_slice exponential exponential_minus_one floor imag is_finite log log_plus_one logistic
    maximum minimum multiply negate not or partition_id popcnt power real real_dynamic_slice remainder replica_id reshape
    round_nearest_afz round_nearest_even rsqrt shift_left shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan
    tanh tuple uniform_dequantize uniform_quantize xor after_all
    """.split()
)
"""Ops of operands and types alone."""


def is_read(name: str) -> bool:
    """Whether an op of a name may be written in a custom form."""
    dialect, _, short = name.partition(".")
    return dialect in ("chlo", "check") or short in _PLAIN or short in CLAUSES or short in _PARSERS


def parse(cls: type[Any], parser: Parser) -> Any:
    """An op of a class from its custom form; its name has been read."""
    dialect, _, short = cls.name.partition(".")
    if dialect == "check":
        return _check(cls, parser)
    special = _PARSERS.get(short)
    if special is not None:
        return special(cls, parser)
    return _parse_plain(cls, parser, CLAUSES.get(short, {}))


# --------------------------------------------------------------------------------------------------------------------
# Parts


def _operands(parser: Parser, delimiter: Any = None) -> list[Any]:
    """`%a, %b`, and the comma before a clause, if there is one."""
    if delimiter is not None:
        return list(parser.parse_comma_separated_list(delimiter, parser.parse_unresolved_operand))
    found = []
    while (operand := parser.parse_optional_unresolved_operand()) is not None:
        found.append(operand)
        if parser.parse_optional_punctuation(",") is None:
            break
    return found


def _ints(parser: Parser) -> list[int]:
    """`[1, 2]`."""
    return list(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def _array(values: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i64, list(values))


def _clause(parser: Parser, attribute: str) -> Attribute:
    """The value of a clause: a list of integers, an integer, a bool or a word."""
    if parser.parse_optional_keyword("true") is not None:
        return BoolAttr.from_bool(True)
    if parser.parse_optional_keyword("false") is not None:
        return BoolAttr.from_bool(False)
    if attribute in _ENUMERATIONS:
        return enumerated(f"stablehlo.{_ENUMERATIONS[attribute]}", parser.parse_identifier())
    number = parser.parse_optional_integer()
    return IntegerAttr(number, i64) if number is not None else _array(_ints(parser))


def _types(parser: Parser) -> tuple[list[Attribute], list[Attribute] | None]:
    """After the colon: `T`, `T, U`, `(T, U) -> V`, `T, U -> (V, W)`; the types before and, if there is an arrow, after it."""
    before = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if before is None:
        before = [parser.parse_type()]
        while parser.parse_optional_punctuation(",") is not None:
            before.append(parser.parse_type())
    if parser.parse_optional_punctuation("->") is None:
        return list(before), None
    after = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return list(before), list(after) if after is not None else [parser.parse_type()]


def _part(type: Attribute) -> Attribute:
    """The type of the parts of a tensor of complex numbers."""
    if isinstance(type, TensorType) and isinstance(type.element_type, ComplexType):
        return TensorType(type.element_type.element_type, type.shape, type.encoding)
    return type


def _typed(cls: type[Any], parser: Parser, operands: list[Any], at: Any) -> tuple[list[Attribute], list[Attribute]]:
    """The types of operands and results, some of which are left out in the text."""
    given, results = _types(parser)
    n, short = len(operands), cls.name.partition(".")[2]
    if results is not None:
        types = given
    elif short == "return":
        types, results = given, []
    elif short == "optimization_barrier":
        types, results = given, list(given)
    elif not n:
        types, results = [], given
    elif short == "complex" and len(given) == 1:
        types, results = [_part(given[0])] * n, given
    elif short == "tuple" and len(given) == 1 and isinstance(given[0], TupleType):
        types, results = list[Attribute](given[0].types), given
    elif short == "select" and len(given) == 2:
        types, results = [given[0], given[1], given[1]], [given[1]]
    elif len(given) == 1:
        types, results = given * n, given
    else:
        types, results = given, given[-1:]
    if len(types) != n:
        parser.raise_error(f"expected the types of {n} operands, got {len(types)}", at)
    return types, results


def _finish(cls: type[Any], parser: Parser, operands: list[Any], properties: Attributes, regions: Sequence[Region] = ()) -> Any:
    """The rest of an op: attributes, types."""
    attributes = dict(parser.parse_optional_attr_dict())
    parser.parse_punctuation(":")
    at = parser.pos
    types, results = _typed(cls, parser, operands, at)
    values = parser.resolve_operands(operands, types, at)
    return cls.create(
        operands=values, result_types=results, properties=properties, attributes=attributes, regions=list(regions)
    )


def _parse_plain(cls: type[Any], parser: Parser, clauses: dict[str, str]) -> Any:
    if cls.name == "stablehlo.return" and parser.parse_optional_punctuation(":") is None:
        operands = _operands(parser)
        return _finish(cls, parser, operands, {}) if operands else cls.create()
    has_parens = parser.parse_optional_punctuation("(") is not None  # chlo.top_k(%x, k = 2)
    operands, properties = _operands(parser), {}
    while (key := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        attribute = clauses.get(key, key)
        properties[attribute] = _clause(parser, attribute)
        if parser.parse_optional_punctuation(",") is None:
            break
    if has_parens:
        parser.parse_punctuation(")")
    return _finish(cls, parser, operands, properties)


def balanced(parser: Any) -> str:
    """The text in `<...>`, brackets in it balanced; it must stand here."""
    if parser._current_token.kind != MLIRTokenKind.LESS:
        parser.raise_error("'<' expected")
    return parser._parse_dialect_symbol_body()


# --------------------------------------------------------------------------------------------------------------------
# Ops with a form of their own


def _constant(cls: type[Any], parser: Parser) -> Any:
    attributes = dict(parser.parse_optional_attr_dict())
    at = parser.pos
    value = parser.parse_attribute()
    if not isinstance(value, DenseIntOrFPElementsAttr):
        parser.raise_error(f"a constant is dense<...> with its type, got {value}", at)
    result = value.type
    if parser.parse_optional_punctuation(":") is not None:  # of a quantized constant
        result = parser.parse_type()
    return cls.create(result_types=[result], properties={"value": value}, attributes=attributes)


def _compare(cls: type[Any], parser: Parser) -> Any:
    properties: Attributes = {"comparison_direction": enumerated("stablehlo.comparison_direction", parser.parse_identifier())}
    parser.parse_punctuation(",")
    operands = _operands(parser)
    if (kind := parser.parse_optional_identifier()) is not None:
        properties["compare_type"] = enumerated("stablehlo.comparison_type", kind)
    return _finish(cls, parser, operands, properties)


def _slice(cls: type[Any], parser: Parser) -> Any:
    operand = parser.parse_unresolved_operand()

    def bounds() -> tuple[int, int, int]:
        start = parser.parse_integer()
        parser.parse_punctuation(":")
        limit = parser.parse_integer()
        return start, limit, 1 if parser.parse_optional_punctuation(":") is None else parser.parse_integer()

    rows = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, bounds)
    names = ("start_indices", "limit_indices", "strides")
    return _finish(cls, parser, [operand], {name: _array([row[k] for row in rows]) for k, name in enumerate(names)})


def _dot_general(cls: type[Any], parser: Parser) -> Any:
    operands, pairs, properties = _operands(parser), {}, dict[str, Attribute]()
    while (key := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        if key in ("batching_dims", "contracting_dims"):
            left = _ints(parser)
            parser.parse_keyword("x")
            pairs[key] = (left, _ints(parser))
        elif key == "precision":
            words = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier)
            properties["precision_config"] = _words("precision", words)
        elif key == "algorithm":
            properties["algorithm"] = structured("stablehlo.dot_algorithm", balanced(parser))
        else:
            parser.raise_error(f"expected batching_dims, contracting_dims, precision or algorithm, got {key}")
        if parser.parse_optional_punctuation(",") is None:
            break
    parts = []
    for key, name in (("batching_dims", "batching_dimensions"), ("contracting_dims", "contracting_dimensions")):
        for side, dims in zip(("lhs", "rhs"), pairs.get(key, ((), ())), strict=True):
            if dims:
                parts.append(f"{side}_{name} = {dims}")
    properties["dot_dimension_numbers"] = structured("stablehlo.dot", ", ".join(parts))
    return _finish(cls, parser, operands, properties)


def _words(name: str, words: Sequence[str]) -> Attribute:
    return ArrayAttr([enumerated(f"stablehlo.{name}", word) for word in words])


_WINDOW = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation", "reverse": "window_reversal"}


def _convolution(cls: type[Any], parser: Parser) -> Any:
    operands = _operands(parser, parser.Delimiter.PAREN)
    parser.parse_keyword("dim_numbers")
    parser.parse_punctuation("=")
    start = parser._current_token.span.start
    found = re.compile(r"\[[^]]*\]\s*x\s*\[[^]]*\]\s*->\s*\[[^]]*\]").match(parser.lexer.input.content, start)
    if found is None:
        parser.raise_error("expected dimension numbers as [b, f, 0]x[o, i, 0]->[b, f, 0]")
    parser._resume_from(found.end())
    properties: Attributes = {"dimension_numbers": structured("stablehlo.conv", found[0])}
    parser.parse_punctuation(",")
    parser.parse_keyword("window")
    parser.parse_punctuation("=")
    parser.parse_punctuation("{")
    while (key := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        if key == "pad":
            rows = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _ints(parser))
            if any(len(row) != 2 for row in rows):
                parser.raise_error("expected a pair of numbers for each dim, as pad = [[0, 1], [0, 1]]")
            type = TensorType(i64, [len(rows), 2])
            properties["padding"] = DenseIntOrFPElementsAttr.from_list(type, [k for row in rows for k in row])
        elif key == "reverse":
            flags = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_boolean)
            properties["window_reversal"] = DenseArrayBase.from_list(i1, [int(flag) for flag in flags])
        elif key in _WINDOW:
            properties[_WINDOW[key]] = _array(_ints(parser))
        else:
            parser.raise_error(f"expected one of {', '.join((*_WINDOW, 'pad'))}, got {key}")
        if parser.parse_optional_punctuation(",") is None:
            break
    parser.parse_punctuation("}")
    return _finish(cls, parser, operands, properties)


def _reduce(cls: type[Any], parser: Parser) -> Any:
    inputs, inits = [], []
    while parser.parse_optional_punctuation("(") is not None:
        inputs.append(parser.parse_unresolved_operand())
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        inits.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(")")
        if parser.parse_optional_punctuation(",") is None:
            break
    inner = None
    if parser.parse_optional_keyword("applies") is not None:
        inner = parser._get_op_by_name(parser.parse_identifier())  # pyright: ignore[reportPrivateUsage]
    parser.parse_keyword("across")
    parser.parse_keyword("dimensions")
    parser.parse_punctuation("=")
    properties: Attributes = {"dimensions": _array(_ints(parser))}
    attributes = dict(parser.parse_optional_attr_dict())
    parser.parse_punctuation(":")
    at = parser.pos
    types, results = _types(parser)
    operands = parser.resolve_operands([*inputs, *inits], types, at)
    if results is None or len(results) != len(inputs):
        parser.raise_error(f"expected {len(inputs)} result types", at)
    if inner is not None:
        region = _applied(inner, parser, types, at)
    else:
        parser.parse_keyword("reducer")
        firsts, seconds = [], []
        for _ in inputs:
            pair = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
            if len(pair) != 2:
                parser.raise_error(f"expected two arguments for each operand, got {len(pair)}")
            firsts.append(pair[0])
            seconds.append(pair[1])
        region = parser.parse_region([*firsts, *seconds])
    return cls.create(operands=operands, result_types=results, properties=properties, attributes=attributes, regions=[region])


def _applied(inner: type[Operation], parser: Parser, types: Sequence[Attribute], at: Any) -> Region:
    """The region of `applies stablehlo.add`."""
    if len(types) != 2 or not isinstance(types[1], TensorType):
        parser.raise_error("'applies' is for one operand and its initial value", at)
    block = Block(arg_types=[TensorType(types[1].element_type, [])] * 2)
    op = inner.create(operands=list(block.args), result_types=[block.args[0].type])
    end = parser._get_op_by_name("stablehlo.return").create(operands=[op.results[0]])  # pyright: ignore[reportPrivateUsage]
    op.location = end.location = parser.location_at(parser.name_start())  # pyright: ignore[reportAttributeAccessIssue]
    block.add_ops([op, end])
    return Region(block)


def _while(cls: type[Any], parser: Parser) -> Any:
    names, values = [], []
    if parser.parse_optional_punctuation("(") is not None and parser.parse_optional_punctuation(")") is None:
        while True:
            names.append(parser.parse_argument(expect_type=False))
            parser.parse_punctuation("=")
            values.append(parser.parse_unresolved_operand())
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation(")")
    types: list[Attribute] = []
    if parser.parse_optional_punctuation(":") is not None:
        types = _types(parser)[0]
    if len(types) != len(values):
        parser.raise_error(f"expected the types of {len(values)} values, got {len(types)}")
    operands = parser.resolve_operands(values, types, parser.pos)
    extra = parser.parse_optional_attr_dict_with_keyword()
    regions = []
    for word in ("cond", "do"):
        parser.parse_keyword(word)
        regions.append(parser.parse_region([name.resolve(type) for name, type in zip(names, types, strict=True)]))
    return cls.create(
        operands=operands, result_types=types, attributes={} if extra is None else dict(extra.data), regions=regions
    )


def _custom_call(cls: type[Any], parser: Parser) -> Any:
    target = parser.parse_optional_symbol_name()
    if target is None:
        parser.raise_error("expected the name of what is called, as @name")
    operands = _operands(parser, parser.Delimiter.PAREN)
    return _finish(cls, parser, operands, {"call_target_name": target})


def _composite(cls: type[Any], parser: Parser) -> Any:
    name = StringAttr(parser.parse_str_literal())
    return _finish(cls, parser, _operands(parser), {"name": name})


def _reduce_precision(cls: type[Any], parser: Parser) -> Any:
    operands = _operands(parser)
    parser.parse_keyword("format")
    parser.parse_punctuation("=")
    word = parser.parse_identifier()
    found = re.fullmatch(r"e(\d+)m(\d+)", word)
    if found is None:
        parser.raise_error(f"expected a format as e5m10, got {word}")
    bits = {"exponent_bits": IntegerAttr(int(found[1]), i32), "mantissa_bits": IntegerAttr(int(found[2]), i32)}
    return _finish(cls, parser, operands, dict(bits))


def _check(cls: type[Any], parser: Parser) -> Any:
    """`check.expect_eq %x, %y : T` and `check.expect_eq_const %x, dense<...> : T`."""
    operands, properties = [parser.parse_unresolved_operand()], dict[str, Attribute]()
    parser.parse_punctuation(",")
    if cls.name.endswith("_const"):
        value: Any = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error(f"expected dense<...> with its type, got {value}")
        values = parser.resolve_operands(operands, [value.type], parser.pos)
        return cls.create(operands=values, properties={"value": value})
    operands += _operands(parser)
    while (key := parser.parse_optional_identifier()) is not None:
        parser.parse_punctuation("=")
        properties[key] = _clause(parser, key)
        if parser.parse_optional_punctuation(",") is None:
            break
    attributes = dict(parser.parse_optional_attr_dict())
    parser.parse_punctuation(":")
    at = parser.pos
    given = _types(parser)[0]
    values = parser.resolve_operands(operands, given * len(operands) if len(given) == 1 else given, at)
    return cls.create(operands=values, properties=properties, attributes=attributes)


def _get_tuple_element(cls: type[Any], parser: Parser) -> Any:
    operand = parser.parse_unresolved_operand()
    index = _ints(parser)
    if len(index) != 1:
        parser.raise_error(f"expected one index, got {len(index)}")
    return _finish(cls, parser, [operand], {"index": IntegerAttr(index[0], i32)})


_PARSERS: dict[str, Callable[[type[Any], Parser], Any]] = {
    "constant": _constant,
    "compare": _compare,
    "slice": _slice,
    "dot_general": _dot_general,
    "convolution": _convolution,
    "reduce": _reduce,
    "while": _while,
    "custom_call": _custom_call,
    "composite": _composite,
    "reduce_precision": _reduce_precision,
    "get_tuple_element": _get_tuple_element,
}


# --------------------------------------------------------------------------------------------------------------------
# Printing

_PRINTED = frozenset({"constant", "compare", "slice", "dot_general", "return"})
_GENERIC = frozenset({"complex", "tuple", "map", "select", "optimization_barrier", "rng", "after_all", "create_token"})


def is_printed(name: str) -> bool:
    """Whether an op of a name is printed in its custom form."""
    dialect, _, short = name.partition(".")
    return dialect == "stablehlo" and (short in _PRINTED or ((short in _PLAIN or short in CLAUSES) and short not in _GENERIC))


def print_custom(op: Any, printer: Printer) -> None:
    """What follows the name of an op that is printed in its custom form."""
    short = op.name.partition(".")[2]
    if short == "constant":
        printer.print_op_attributes(op.attributes)
        printer.print_string(" ")
        printer.print_attribute(op.properties["value"])
        return
    first, clauses, shown = words_of(op)
    printer.print_string(first)
    if op.operands:
        printer.print_string(" ")
        printer.print_list(op.operands, printer.print_ssa_value)
    if short == "slice":
        printer.print_string(f" {clauses.pop()}")
    for k, clause in enumerate(clauses):
        printer.print_string(f"{', ' if k or op.operands else ' '}{clause}")
    printer.print_op_attributes({**shown, **op.attributes})
    types = {value.type for value in (*op.operands, *op.results)}
    if not types:
        return
    printer.print_string(" : ")
    if short == "return":
        printer.print_list([value.type for value in op.operands], printer.print_attribute)
    elif not op.operands or (short in _PLAIN and len(types) == 1):
        printer.print_attribute(op.results[0].type)
    else:
        printer.print_function_type([value.type for value in op.operands], [value.type for value in op.results])


def words_of(op: Any) -> tuple[str, list[str], dict[str, Attribute]]:
    """What the custom form says of the properties of an op: before its operands, behind them, and those that it leaves.

    Raises:
        Exception, of any kind: a property is not what the op takes.
    """
    short, shown = op.name.partition(".")[2], dict[str, Attribute](op.properties)
    first, clauses = "", list[str]()
    if short == "constant":
        shown.pop("value")
    elif short == "compare":
        clauses = [value_of(shown.pop("compare_type"))] if "compare_type" in shown else []
        first = f" {value_of(shown.pop('comparison_direction'))},"
    elif short == "slice":
        rows = zip(*(op.get(name) for name in ("start_indices", "limit_indices", "strides")), strict=True)
        bounds = [f"{low}:{high}" if step == 1 else f"{low}:{high}:{step}" for low, high, step in rows]
        clauses, shown = [f"[{', '.join(bounds)}]"], {}
    elif short == "dot_general":
        clauses, shown = list(_dot_clauses(op)), {}
    for key, name in CLAUSES.get(short, {}).items():
        if shown.pop(name, None) is not None:
            clauses.append(f"{key} = {_shown(op.get(name))}")
    return first, clauses, shown


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _dot_clauses(op: Any) -> Iterator[str]:
    dims = op.get("dot_dimension_numbers")
    for key, name in (("batching_dims", "batching_dimensions"), ("contracting_dims", "contracting_dimensions")):
        left, right = (dims.get(f"{side}_{name}", []) for side in ("lhs", "rhs"))
        if left:
            yield f"{key} = {left} x {right}"
    if (words := op.get("precision_config")) is not None:
        yield f"precision = [{', '.join(words)}]"
    algorithm: Any = op.properties.get("algorithm")
    if algorithm is not None:
        yield f"algorithm = <{algorithm.value.data}>"
