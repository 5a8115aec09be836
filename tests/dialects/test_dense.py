"""Dense constants survive printing and parsing bit for bit, ours and through upstream's mlir-opt."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from xdsl.dialects import builtin
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType, StringAttr, TensorType
from xdsl.utils.exceptions import ParseError

FLOATS = {
    "f16": builtin.f16,
    "bf16": builtin.bf16,
    "f32": builtin.f32,
    "f64": builtin.f64,
    "f8E4M3FN": builtin.Float8E4M3FNType(),
    "f8E5M2": builtin.Float8E5M2Type(),
}
"""Types of whole bytes: any bit pattern is a value."""

INTS = {f"i{width}": IntegerType(width) for width in (1, 4, 7, 8, 16, 24, 32, 48, 64)} | {"index": builtin.IndexType()}

EDGES = {
    2: [0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x0001, 0x7F80, 0xFF80, 0x7FC0, 0x7FC1, 0x7F81, 0x7BFF, 0x7F7F],
    4: [
        0,
        1 << 31,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x7FC00001,
        0xFFC12345,
        0x7F800001,
        1,
        0x007FFFFF,
        0x7F7FFFFF,
        0x4CEB79A3,
    ],
    8: [0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0x7FF8 << 48) + 5, (0x7FF << 52) + 1, 1, 0x7FEFFFFFFFFFFFFF],
    1: [0, 0x80, 0x7F, 0xFF, 0x7C, 0x7D, 0xFC, 1, 0x7E],
}


def constant(type_: TensorType, data: bytes) -> DenseIntOrFPElementsAttr:
    return DenseIntOrFPElementsAttr(type_, BytesAttr(data))


def as_module(attr: DenseIntOrFPElementsAttr) -> builtin.ModuleOp:
    return builtin.ModuleOp([], {"test.value": attr, "test.end": StringAttr("x")})


def read_back(text: str) -> bytes:
    return parse_module(make_context(), text).attributes["test.value"].data.data


def float_data(element: builtin.AnyFloat):
    size = element.compile_time_size
    pattern = st.one_of(st.sampled_from(EDGES[size]), st.integers(0, (1 << 8 * size) - 1))
    lists = st.lists(pattern, min_size=1, max_size=8) | pattern.map(lambda p: [p] * 5) | pattern.map(lambda p: [p, 0] * 70)
    return lists.map(lambda patterns: b"".join(p.to_bytes(size, "little") for p in patterns))


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("name", FLOATS)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_floats_round_trip(name: str, data: st.DataObject) -> None:
    element = FLOATS[name]
    raw = data.draw(float_data(element))
    attr = constant(TensorType(element, [len(raw) // element.compile_time_size]), raw)
    make_context()
    assert read_back(str(as_module(attr))) == raw


@pytest.mark.parametrize("name", FLOATS)
def test_every_edge_value_round_trips_as_a_splat_and_in_a_list(name: str) -> None:
    element = FLOATS[name]
    size = element.compile_time_size
    make_context()
    for pattern in EDGES[size]:
        one = pattern.to_bytes(size, "little")
        for count in (1, 3):
            assert read_back(str(as_module(constant(TensorType(element, [count]), one * count)))) == one * count
        assert read_back(str(as_module(constant(TensorType(element, []), one)))) == one


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", INTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_integers_round_trip(name: str, data: st.DataObject) -> None:
    element = INTS[name]
    width = 64 if name == "index" else element.width.data
    low, high = (0, 1) if width == 1 else (-(1 << width - 1), (1 << width - 1) - 1)
    values = data.draw(
        st.lists(st.integers(low, high), min_size=1, max_size=8) | st.lists(st.integers(low, high), min_size=101, max_size=110)
    )
    make_context()
    attr = DenseIntOrFPElementsAttr.from_list(TensorType(element, [len(values)]), values)
    expected = bytes(values) if width == 1 else attr.data.data  # true is the byte 1
    assert read_back(str(as_module(attr))) == expected


@pytest.mark.parametrize("shape", [(2, 3), (0,), (2, 0, 3), (1, 1, 1), (13, 11)])
def test_shapes_round_trip(shape: tuple[int, ...]) -> None:
    raw = np.arange(np.prod(shape), dtype=np.float32).tobytes()
    make_context()
    assert read_back(str(as_module(constant(TensorType(builtin.f32, shape), raw)))) == raw


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "i1", "i8", "i24", "i32", "i64"])
def test_mlir_opt_reads_what_we_print_and_we_read_what_it_prints(name: str, mlir_opt: str) -> None:
    make_context()
    module, expected = builtin.ModuleOp([]), {}
    element = FLOATS.get(name) or INTS[name]
    size = element.compile_time_size
    lists = [[pattern] for pattern in EDGES[size]] + [EDGES[size], EDGES[size] * 16] if name in FLOATS else []
    if name not in FLOATS:
        top = 2 if name == "i1" else 1 << (int(name[1:]) - 1)
        lists = [[0], [1], [1, 0], [0, 1] * 80, [1] * 9, [top - 1, 0, 1]]
    for k, patterns in enumerate(lists):
        data = b"".join(p.to_bytes(size, "little") for p in patterns)
        module.attributes[f"test.v{k}"] = constant(TensorType(element, [len(patterns)]), data)
        expected[f"test.v{k}"] = data
    result = subprocess.run([mlir_opt], input=str(module), capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    back = parse_module(make_context(), result.stdout)
    assert {key: back.attributes[key].data.data for key in expected} == expected


def test_packed_booleans_are_read_as_mlir_writes_them() -> None:
    assert read_back('module attributes {test.value = dense<"0x0500"> : tensor<10xi1>} {}') == bytes([1, 0, 1] + [0] * 7)
    assert read_back('module attributes {test.value = dense<"0xFF"> : tensor<4xi1>} {}') == bytes([1] * 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dense<0.0> : tensor<1000000x1000000xf32>", "the limit is"),
        ("dense<0xFFFFF> : tensor<2xf16>", "does not fit f16"),
        ("dense<300> : tensor<2xi8>", "300 does not fit i8"),
        ("dense<1.0> : tensor<?xf32>", "static shape"),
        ("dense<[1.0]> : tensor<2xf32>", "its type says"),
        ("dense<[[1.0], [1.0, 2.0]]> : tensor<2x2xf32>", "inconsistent"),
        ('dense<"0x01"> : tensor<2xf32>', "bytes of data"),
        ('dense<"zz"> : tensor<2xf32>', "hexadecimal"),
        ("dense<> : tensor<2xf32>", "got none"),
        ("dense<1.0e9> : tensor<2xf16>", "does not fit f16"),
        ("[" * 500, "nested more than"),
        ("tuple<" * 500, "nested more than"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_module(make_context(), "module attributes {test.value = " + text + "} {}")
