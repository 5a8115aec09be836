"""Random arguments never crash and are never misread; both call paths agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lamina.runtime.arguments import accepts, prepare
from lamina.runtime.array import Array
from lamina.runtime.signature import DTYPES, ArrayParam, Signature

array = ArrayParam.of_shape
PARAMS = (
    array("x", "float32", (3, 4)),
    array("y", "int64", (5,)),
    array("z", "bool", ()),
    array("w", "float64", (0, 2)),
)

_DTYPES = [
    *DTYPES, "int8", "uint8", "uint64", "float16", "complex64", "longlong", "datetime64[s]", "S4", "U2", "object", "V4", "V8",
    ">f4", ">i8", "<f4", "=f8",
]  # fmt: skip
_SHAPES = [(), (1,), (3, 4), (4, 3), (5,), (0, 2), (2, 0), (12,), (3, 4, 1), (1, 3, 4), (0,)]


class Sub(np.ndarray):
    pass


def _storage(dtype: np.dtype, shape: tuple[int, ...], layout: str, seed: int) -> np.ndarray:
    """An array of that type and shape, in some layout, with random values."""
    rng = np.random.default_rng(seed)
    wide = tuple(2 * n + 1 for n in shape)
    raw = rng.integers(0, 2, (*wide, dtype.itemsize) if dtype.itemsize else wide, np.uint8)
    if dtype.hasobject:
        block = rng.integers(0, 9, wide).astype(object)
    elif dtype.itemsize == 0:
        block = np.zeros(wide, dtype)
    elif layout == "misaligned":
        flat = np.zeros(raw.size + 1, np.uint8)
        flat[1:] = raw.ravel()
        block = flat[1:].view(dtype).reshape(wide)
    else:
        block = np.ascontiguousarray(raw).view(dtype).reshape(wide)
    inner = (*(slice(0, n) for n in shape), ...)  # the dots keep rank zero an array
    if layout == "strided":
        return block[(*(slice(0, 2 * n, 2) for n in shape), ...)]
    if layout == "reversed":
        return block[inner][(*(slice(None, None, -1) for _ in shape), ...)]
    if layout == "fortran":
        return np.asfortranarray(block[inner])
    if layout == "broadcast" and shape:
        return np.broadcast_to(block[inner][:1], shape)
    if layout == "transposed":
        return np.array(block[inner].T, order="C").T
    if layout == "slice":
        return block[inner]
    if layout == "misaligned":
        return block.reshape(-1)[: int(np.prod(shape))].reshape(shape)
    return np.array(block[inner], order="C")


@st.composite
def arrays(draw, param: ArrayParam | None = None):
    dtype, shape = np.dtype(draw(st.sampled_from(_DTYPES))), draw(st.sampled_from(_SHAPES))
    if param is not None and draw(st.integers(0, 9)) < 8:
        dtype = param.np_dtype if draw(st.booleans()) else param.np_dtype.newbyteorder(draw(st.sampled_from("<>=")))
    if param is not None and draw(st.integers(0, 9)) < 8:
        shape = param.shape
    layouts = ["plain", "strided", "reversed", "fortran", "broadcast", "transposed", "slice", "misaligned"]
    array = _storage(dtype, shape, draw(st.sampled_from(layouts)), draw(st.integers(0, 99)))
    disguise = draw(st.sampled_from(["", "", "", "readonly", "subclass", "matrix", "masked", "scalar", "metadata"]))
    if disguise == "readonly":
        array = array.view()
        array.flags.writeable = False
    elif disguise == "subclass":
        array = array.view(Sub)
    elif disguise == "matrix" and array.ndim == 2:
        array = array.view(np.matrix)
    elif disguise == "masked":
        array = np.ma.masked_array(array)
    elif disguise == "scalar" and array.ndim == 0:
        array = array[()]
    elif disguise == "metadata" and array.dtype.char not in "OVSUM":
        array = array.astype(np.dtype(array.dtype, metadata={"a": 1}))
    return array


_others = st.sampled_from([None, 1, 2.5, True, "x", b"x", [1.0], (1, 2), {}, np.ndarray, np.float32, np.dtype("f4"), object()])


@st.composite
def calls(draw):
    args = [draw(st.one_of(arrays(p), arrays(p), arrays(p), arrays(), _others)) for p in PARAMS]
    args = args[: draw(st.sampled_from([4, 4, 4, 4, 3, 0]))] + [1] * draw(st.sampled_from([0, 0, 0, 0, 1, 5]))
    names = draw(st.lists(st.sampled_from(["x", "y", "z", "w", "q"]), unique=True, max_size=2)) if draw(st.booleans()) else []
    kwargs = {name: draw(st.one_of(arrays(next((p for p in PARAMS if p.name == name), None)), _others)) for name in names}
    return args, kwargs


def outcome(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module")
def functions(toolbox):
    return {native: toolbox(native).copies(*PARAMS, arena_bytes=40) for native in (True, False)}


@pytest.fixture(scope="module")
def probe(toolbox):
    """A native function and the calls that reached its slow path."""
    reached = []
    tools = toolbox(True)
    function = tools.NativeFunction(lambda *args, **kwargs: reached.append(args))
    function.install(tools.copies_executable(*PARAMS))
    return function, reached


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(call=calls())
def test_random_arguments(functions, call):
    args, kwargs = call
    signature: Signature = functions[True].signature
    expected = outcome(lambda *a, **k: tuple(prepare(signature, a, k).values), args, kwargs)
    for function in functions.values():
        got = outcome(function, args, kwargs)
        if isinstance(expected, str):
            assert got == expected
            continue
        assert type(got) is tuple
        for param, array, want in zip(PARAMS, got, expected, strict=True):
            assert type(array) is Array and array.dtype is param.np_dtype and array.shape == param.shape
            assert array.tobytes() == want.tobytes()
        for array, arg in zip(got, args, strict=False):
            np.testing.assert_array_equal(array, np.asarray(arg))


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(call=calls())
def test_native_entry_takes_exactly_what_matches(probe, call):
    """The native checks and their statement in Python are the same predicate."""
    args, kwargs = call
    function, reached = probe
    reached.clear()
    function(*args, **kwargs)
    assert bool(reached) == (bool(kwargs) or not accepts(function.executables[0].signature, args))


def test_memmap(functions, tmp_path):
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3, 4))
    x[:] = np.arange(12).reshape(3, 4)
    out = functions[True](x, np.arange(5), np.array(True), np.zeros((0, 2)))
    np.testing.assert_array_equal(out[0], np.arange(12).reshape(3, 4))
