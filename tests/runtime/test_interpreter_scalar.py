"""Scalar and vector ops in the interpreter against the machine code of the same kernel: two independent implementations."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from lamina.codegen.compile import compile_object
from lamina.codegen.targets import host
from lamina.codegen.thread_runtime import load_object
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.lowering.llvm.emit import emit_module
from lamina.runtime.interpreter import interpret
from lamina.runtime.interpreter.scalars import MEANINGS

N = 64
NUMPY = {"i1": np.bool_, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}
EDGES = {
    "i": [0, 1, -1, 2, 3, -7, 31, 32, 33, 64, 100, -(2**31), 2**31 - 1],
    "f": [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 1e10, -1e10, 3e38, np.inf, -np.inf, np.nan, 1e-40],
}


def numbers(type: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if type == "i1":
        return rng.integers(0, 2, N).astype(np.bool_)
    return rng.choice(np.array(EDGES[type[0]]), N).astype(NUMPY[type])


def both(body: str, inputs: list[str], output: str) -> tuple[np.ndarray, np.ndarray]:
    """What the interpreter and the machine code make of `%r = body(%a, %b)` on vectors of 4 lanes."""
    types = [f"memref<{N}x{t}>" for t in (*inputs, output)]
    arguments = [f"%m{k}: {t}" for k, t in enumerate(types)]
    names = ", ".join(f"%m{k}" for k in range(len(types)))
    loads = "\n".join(f"%{'ab'[k]} = loop.load %m{k}[%i] : {types[k]}, vector<4x{t}>" for k, t in enumerate(inputs))
    text = f"""
program.func @main({", ".join(arguments[:-1])}) -> ({arguments[-1]}) {{
  loop.launch @k({names}) : ({", ".join(types)})
}}
loop.kernel @k({", ".join(arguments)}) {{
  loop.for seq %i = 0 to {N} step 4 {{
    {loads}
    {body}
    loop.store %r, %m{len(inputs)}[%i] : {types[-1]}, vector<4x{output}>
  }}
}}
"""
    module = parse_module(make_context(), text)
    arrays = [numbers(t, k) for k, t in enumerate(inputs)]
    (got,) = interpret(module, "main", arrays)
    library = load_object(compile_object(emit_module(module, host())), ["main"])
    want = np.empty(N, NUMPY[output])
    addresses = [x.ctypes.data for x in (*arrays, want)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(addresses))(library.address("main"))(*addresses)
    return got, want


def vector(type: str) -> str:
    return f"vector<4x{type}>"


BINARY = "addi subi muli divsi remsi divui remui floordivsi ceildivsi maxsi minsi maxui minui andi ori xori shli shrsi shrui"


@pytest.mark.parametrize("type", ["i32", "i64"])
@pytest.mark.parametrize("name", BINARY.split())
def test_integers(name: str, type: str):
    got, want = both(f"%r = arith.{name} %a, %b : {vector(type)}", [type, type], type)
    np.testing.assert_array_equal(got, want)


CASTS = [
    *(("extui", "i32", "i64"), ("extui", "i1", "i32"), ("extsi", "i32", "i64"), ("extsi", "i1", "i32")),
    *(("trunci", "i64", "i32"), ("extf", "f32", "f64"), ("truncf", "f64", "f32"), ("sitofp", "i64", "f32")),
    *(("uitofp", "i32", "f32"), ("uitofp", "i64", "f64"), ("fptosi", "f32", "i32"), ("fptosi", "f64", "i64")),
]


@pytest.mark.parametrize(("name", "source", "target"), CASTS)
def test_casts(name: str, source: str, target: str):
    got, want = both(f"%r = arith.{name} %a : {vector(source)} to {vector(target)}", [source], target)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("op", "type"),
    [
        *(("math.round", "f32"), ("math.round", "f64"), ("math.roundeven", "f32"), ("math.trunc", "f32")),
        *(("math.ctpop", "i32"), ("math.ctlz", "i32"), ("math.cttz", "i64")),
    ],
)
def test_functions(op: str, type: str):
    got, want = both(f"%r = {op} %a : {vector(type)}", [type], type)
    np.testing.assert_array_equal(got, want)
    if type[0] == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("type", ["i32", "f32"])
def test_lanes(type: str):
    body = f"""%s = vector.shuffle %a, %b [0, 5, 2, 7] : {vector(type)}, {vector(type)}
    %e = vector.extract %s[1] : {type} from {vector(type)}
    %r = vector.insert %e, %a[2] : {type} into {vector(type)}"""
    np.testing.assert_array_equal(*both(body, [type, type], type))


@pytest.mark.parametrize(
    ("kind", "type"), [("add", "i32"), ("mul", "i64"), ("maxsi", "i32"), ("add", "f32"), ("minimumf", "f64")]
)
def test_reductions_are_one_tree(kind: str, type: str):
    body = f"""%e = vector.reduction <{kind}>, %a : {vector(type)} into {type}
    %r = vector.broadcast %e : {type} to {vector(type)}"""
    np.testing.assert_array_equal(*both(body, [type], type))


@pytest.mark.parametrize("source", ["i32", "f32"])
def test_bits(source: str):
    target = {"i32": "f32", "f32": "i32"}[source]
    got, want = both(f"%r = vector.bitcast %a : {vector(source)} to {vector(target)}", [source], target)
    np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))


def test_whatever_is_compiled_has_a_meaning():
    from lamina.lowering.llvm import emit_scalar, emit_vector

    compiled = {*emit_scalar.PURE, *emit_scalar.EFFECTS, *emit_vector.PURE}
    assert compiled - set(MEANINGS) == set()
