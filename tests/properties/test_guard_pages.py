"""Accesses touch the elements that they mean and nothing else, where arrays end with memory that may not be touched."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.codegen.compile import compile_object, emit_asm
from lamina.codegen.targets import get
from lamina.codegen.thread_runtime import load_object

sys.path.insert(0, str(Path(__file__).parent.parent / "lowering"))
from emitting import emit
from guarded import needs_mprotect, pages

# the type of elements and the one whose bits are compared
ELEMENTS = {
    "f32": np.uint32, "f64": np.uint64, "i32": np.uint32, "i64": np.uint64,
    "i1": np.uint8, "i8": np.uint8, "i16": np.uint16, "f16": np.uint16, "bf16": np.uint16,
}  # fmt: skip


def _literal(lanes: np.ndarray) -> str:
    return f"arith.constant dense<[{', '.join(str(on).lower() for on in lanes.tolist())}]> : vector<{lanes.size}xi1>"


def masks(lanes: int) -> dict[str, tuple[str, Callable[[int], np.ndarray]]]:
    """Ways to say which lanes are on: `%m` computed from `%n`, and its meaning."""
    lane, quarter, half = np.arange(lanes), lanes // 4, lanes // 2
    count = f"%count = vector.create_mask %n : vector<{lanes}xi1>\n"
    behind = f"%every = {_literal(lane >= 0)}\n%behind = arith.xori %count, %every : vector<{lanes}xi1>\n"

    def combined(op: str, value: str, some: np.ndarray) -> str:
        return f"{count}{behind}%some = {_literal(some)}\n%m = arith.{op} {value}, %some : vector<{lanes}xi1>"

    front, middle, end = lane < half, (lane >= quarter) & (lane <= half), lane >= lanes - quarter
    return {
        "count": (f"%m = vector.create_mask %n : vector<{lanes}xi1>", lambda n: lane < n),
        "literal": (f"%m = {_literal(middle)}", lambda n: middle),
        "front": (combined("andi", "%count", front), lambda n: (lane < n) & front),
        "middle": (combined("andi", "%count", middle), lambda n: (lane < n) & middle),
        "behind": (combined("andi", "%behind", ~front), lambda n: (lane >= n) & ~front),
        "end": (combined("andi", "%behind", end), lambda n: (lane >= n) & end),
        "either": (combined("ori", "%count", lane < quarter), lambda n: (lane < n) | (lane < quarter)),
    }


def _kernel(name: str, element: str, lanes: int, step: int, mask: str) -> str:
    """Copies the lanes that are on from %x to %y, and all lanes to %all."""
    along, value = f"step {step} mask %m : memref<?x{element}>", f"vector<{lanes}x{element}>"
    lines = [
        *mask.splitlines(),
        f"%a = loop.load %x[%p] {along}, {value}",
        f"loop.store %a, %all[0] : memref<{lanes}x{element}>, {value}",
        f"loop.store %a, %y[%p] {along}, {value}",
    ]
    arguments = f"%x: memref<?x{element}>, %y: memref<?x{element}>, %all: memref<{lanes}x{element}>, %p: index, %n: index"
    return f"loop.kernel @{name}({arguments}) {{\n" + "\n".join(f"  {line}" for line in lines) + "\n}"


STEPS = (1, -1, 2, 3)


def _module(element: str, lanes: int) -> str:
    forms = masks(lanes)
    return "\n".join(
        _kernel(f"{form}.{k}", element, lanes, step, forms[form][0]) for form in forms for k, step in enumerate(STEPS)
    )


@pytest.mark.thorough(every=8)
@needs_mprotect
@pytest.mark.parametrize(
    ("element", "lanes"), [(e, n) for e in ELEMENTS for n in ((4, 8, 16, 32) if e[1:] in ("32", "64") else (4, 16))]
)
def test_masked_accesses_touch_lanes_that_are_on(element: str, lanes: int) -> None:
    forms, bits = masks(lanes), ELEMENTS[element]
    names = [f"{form}.{k}" for form in forms for k in range(len(STEPS))]
    library = load_object(compile_object(emit(_module(element, lanes))), names)
    rng = np.random.default_rng(lanes)
    everything = np.zeros(lanes, bits)
    for name in names:
        form, k = name.split(".")
        step = STEPS[int(k)]
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(library.address(name))
        for n in sorted({0, 1, lanes // 4, lanes // 2, lanes // 2 + 1, lanes - 1, lanes}):
            mask = forms[form][1](n)
            at = step * np.flatnonzero(mask)
            least, size = (int(at.min()), int(np.ptp(at)) + 1) if at.size else (0, 0)
            data = rng.integers(0, 2 if element == "i1" else 100, size).astype(bits)
            want = np.zeros_like(data)
            want[at - least] = data[at - least]
            for place in (0, None):
                with pages() as memory:
                    x, y = memory.copy(data, place), memory.zeros((size,), bits, place)
                    call(x.ctypes.data, y.ctypes.data, everything.ctypes.data, -least, n)
                    np.testing.assert_array_equal(y, want, f"{name} {n}")
                    read = np.zeros(lanes, bits)
                    read[mask] = data[at - least]
                    np.testing.assert_array_equal(everything, read, f"{name} {n}")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(
    ("target", "element", "lanes"),
    [
        *(("x86-64-v4", *row) for row in (("f32", 32), ("f64", 16), ("i32", 16), ("i64", 8), ("i1", 16), ("bf16", 16))),
        *((target, *row) for target in ("x86-64-v2", "x86-64-v3", "aarch64") for row in (("f32", 32), ("i64", 8), ("i1", 16))),
    ],
)
def test_masked_accesses_of_every_target_are_compiled(element: str, lanes: int, target: str) -> None:
    assert "count.0" in emit_asm(emit(_module(element, lanes), get(target)), get(target), isolated=True)


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _doubles(*shape: int) -> np.ndarray:
    return _floats(*shape).astype(np.float64)


def _places(size: int, most: int) -> np.ndarray:
    return np.random.default_rng(size).integers(0, most, size)


def _softmax(x: Any) -> Any:
    return lm.nn.softmax(x, axis=-1)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "add": (lambda x, y: x * y + 1, (_floats(3, 37), _floats(3, 37))),
    "add f64": (lambda x, y: x * y + 1, (_doubles(5, 13), _doubles(5, 13))),
    "add i32": (lambda x: x * 3 + 1, (_places(45, 99).astype(np.int32),)),
    "add i64": (lambda x: x * 3 + 1, (_places(45, 99),)),
    "compare": (lambda x, y: (x > y) & (x < 1), (_floats(7, 19), _floats(7, 19))),
    "where": (lambda x, y: lnp.where(x > 0, x, y), (_floats(67), _floats(67))),
    "halves": (lambda x: x * 2, (_floats(77).astype(np.float16),)),
    "every other": (lambda x: x[:, ::2] + x[:, 1::2], (_floats(9, 70),)),
    "every other f64": (lambda x: x[1::2] * 2, (_doubles(51),)),
    "backwards": (lambda x: x[:, ::-1] + 1, (_floats(5, 43),)),
    "transposed": (lambda x: x.T + 1, (_floats(45, 53),)),
    "transposed f64": (lambda x: x.T * 2, (_doubles(21, 35),)),
    "rows": (lambda x: x.sum(axis=1), (_floats(13, 61),)),
    "columns": (lambda x: x.sum(axis=0), (_floats(61, 45),)),
    "all": (lambda x: x.max(), (_floats(1031),)),
    "largest": (lambda x: lnp.argmax(x, axis=-1), (_floats(6, 45),)),
    "softmax": (_softmax, (_floats(7, 83),)),
    "softmax of columns": (lambda x: lm.nn.softmax(x, axis=0), (_floats(23, 61),)),
    "product": (lambda x, y: x @ y, (_floats(13, 29), _floats(29, 37))),
    "product f64": (lambda x, y: x @ y, (_doubles(67, 31), _doubles(31, 70))),
    "product, left across": (lambda x, y: x.T @ y, (_floats(45, 39), _floats(45, 51))),
    "product, right across": (lambda x, y: x @ y.T, (_floats(33, 67), _floats(41, 67))),
    "product of few rows": (lambda x, y: x @ y, (_floats(2, 515), _floats(515, 301))),
    "large product": (lambda x, y: lnp.tanh(x @ y), (_floats(131, 203), _floats(203, 259))),
    "product with a vector": (lambda x, y: x @ y, (_floats(203, 131), _floats(131))),
    "attention": (lambda x: lm.nn.attention(x, x, x, causal=True), (_floats(2, 37, 9),)),
    "taken rows": (lambda x, k: x[k], (_floats(19, 33), _places(41, 19))),
    "summed bags": (lambda x, k: x[k].sum(axis=1), (_floats(19, 33), _places(40, 19).reshape(8, 5))),
    "put together": (lambda x, y: lnp.concatenate([x, y], axis=1), (_floats(7, 11), _floats(7, 22))),
    "padded": (lambda x: lnp.pad(x, ((1, 2), (3, 1))), (_floats(9, 21),)),
    "running sum": (lambda x: lnp.cumsum(x, axis=1), (_floats(9, 21),)),
    "convolution": (lambda x, w: lm.nn.conv2d(x, w, padding=1), (_floats(2, 3, 13, 15), _floats(5, 3, 3, 3))),
    "convolution, stride 2": (lambda x, w: lm.nn.conv2d(x, w, stride=2), (_floats(2, 3, 15, 13), _floats(5, 3, 3, 3))),
    "max-pool": (lambda x: lm.nn.max_pool2d(x, 2), (_floats(2, 3, 12, 14),)),
    "beyond the caches": (lambda x, k: x[k], (_floats(64, 1029), _places(1100, 64))),
}


@pytest.mark.thorough(every=8)
@needs_mprotect
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_touch_their_arrays_alone(name: str) -> None:
    """Each array of a program is placed at both ends of its pages; the result is that with usual arrays, bit for bit."""
    function, arrays = PROGRAMS[name]
    compiled = lm.jit(function)
    want = np.asarray(compiled(*arrays))
    for begin, end in ((0, None), (None, 0), (None, None), (4 * want.itemsize, 2 * want.itemsize)):
        with pages() as memory:
            out = memory.zeros(want.shape, want.dtype, end)
            compiled(*(memory.copy(array, begin) for array in arrays), out=out)
            np.testing.assert_array_equal(out, want)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "target", ["x86-64-v2", "x86-64-v3{l1=16K l2=256K l3=0}", "x86-64-v4", "x86-64-v4{vector=256}", "aarch64"]
)
def test_programs_are_compiled_for_every_target(target: str) -> None:
    for function, arrays in PROGRAMS.values():
        text = lm.jit(function).lower(*arrays).as_text("asm", target)
        assert "main:" in text
