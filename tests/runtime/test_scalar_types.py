"""The scalar types of `lamina.numpy` compare, hash and convert as the types of NumPy and ml_dtypes that they stand for."""

import operator
import pickle
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import ml_dtypes
import numpy as np
import pytest

NAMES = [
    "bool", "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", "bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "int_", "uint", "single", "double", "csingle", "cdouble",
]  # fmt: skip


def theirs(name: str) -> type[np.generic]:
    return getattr(np, name, None) or getattr(ml_dtypes, name)


OTHERS: list[Any] = [
    *(
        getattr(np, name)
        for name in ("float32", "float64", "int8", "int64", "uint8", "bool_", "complex64", "longlong", "generic")
    ),
    *(getattr(np, name) for name in ("floating", "str_", "void", "object_", "datetime64", "longdouble")),
    *(ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3),
    *(
        np.dtype(name)
        for name in ("f2", "f4", ">f4", "f8", "i1", "i8", "q", "u1", "?", "c8", "c16", "U3", "O", "f4,i4", "M8[s]")
    ),
    *(
        np.dtype(getattr(ml_dtypes, name))
        for name in ("bfloat16", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3")
    ),
    *("float32", "f4", "<f4", "bfloat16", "", "no such dtype", float, int, bool, complex, object, str, type, None, 0, 1.0, ...),
    *(np.float32(1), (), ("f4",), [], lm.f32, lm.f64, lm.bool_),
]


@pytest.mark.parametrize("name", NAMES)
def test_comparisons_are_numpys(name: str):
    ours, numpys = getattr(lnp, name), theirs(name)
    assert ours == numpys and numpys == ours and hash(ours) == hash(numpys)
    for other in OTHERS:
        for compared in (operator.eq, operator.ne):
            assert compared(ours, other) is compared(numpys, other), (name, other)
            assert compared(other, ours) is compared(other, numpys), (name, other)


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_the_dtype_of_its_arrays(name: str):
    ours, dtype = getattr(lnp, name), np.dtype(theirs(name))
    assert ours == dtype and dtype == ours and not ours != dtype and not dtype != ours
    assert dtype in (lnp.complex64, ours) and ours in (np.dtype("U1"), dtype)
    for other in NAMES:
        same = np.dtype(theirs(other)) == dtype
        for left, right in ((getattr(lnp, other), ours), (getattr(lnp, other), dtype), (theirs(other), ours)):
            assert (left == right) is (right == left) is same


def test_a_test_of_a_dtype_takes_the_right_branch_eager_traced_and_compiled():
    def halved(x: Any) -> Any:
        if lnp.float32 == x.dtype:
            return x * 2
        return x + 1 if x.dtype in (lnp.float64, lnp.int64) else x * 0

    for call in (halved, lm.jit(halved), lm.compile(halved), lm.vmap(halved)):
        for dtype, expected in (("float32", 6), ("float64", 4), ("int64", 4), ("int32", 0), ("float16", 0)):
            assert (np.asarray(call(lnp.full(3, 3, dtype=dtype))) == expected).all(), (call, dtype)


def test_keys_of_dicts_and_sets():
    table = {lnp.float32: "a", np.float64: "b", np.dtype("f2"): "c"}
    assert table[np.float32] == "a" and table[lnp.float64] == "b"
    assert len({lnp.float32, np.float32, lnp.single}) == 1 and lnp.int_ in {np.int64} and np.bool_ in {lnp.bool}
    # a dtype is equal to its type and hashes otherwise, which NumPy's documentation of both says
    assert (np.dtype("f4") in {np.float32}) is (np.dtype("f4") in {lnp.float32})
    assert {np.dtype(lnp.float32): 1}[np.dtype("f4")] == 1


def test_types_are_still_types():
    assert (
        issubclass(lnp.float32, np.floating) and issubclass(np.float32, lnp.float32) and not issubclass(np.float64, lnp.float32)
    )
    assert isinstance(np.float32(1), lnp.float32) and not isinstance(np.float64(1), lnp.float32)
    assert np.issubdtype(lnp.int8, np.integer) and np.can_cast(lnp.int8, lnp.int16) and lnp.isdtype(lnp.int8, "integral")
    assert np.zeros(2, lnp.float32).dtype == lnp.float32 == np.result_type(lnp.float32, lnp.int8)
    assert pickle.loads(pickle.dumps(lnp.bfloat16)) is lnp.bfloat16
