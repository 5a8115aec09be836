"""Calls with arguments that fit, and every kind that does not."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from lamina.runtime.array import Array
from lamina.runtime.signature import DTYPES, ArrayParam, Signature

ADD = """
define void @f(ptr noalias %x, ptr noalias %y, ptr noalias %z, ptr noalias %arena) {
  %a = load <8 x float>, ptr %x, align 4
  %b = load <8 x float>, ptr %y, align 4
  %c = fadd <8 x float> %a, %b
  store <8 x float> %c, ptr %z, align 4
  ret void
}
"""
array = ArrayParam.of_shape
VECTOR = array("x", "float32", (8,))
ADD_SIGNATURE = Signature("add", (VECTOR, array("y", "float32", (8,))), (array("z", "float32", (8,)),))


@pytest.fixture
def add(tools):
    return tools.compiled(ADD_SIGNATURE, ADD)


X = np.arange(8, dtype=np.float32)
Y = np.full(8, 10, np.float32)


def test_result_is_a_new_array(add):
    z = add(X, Y)
    assert type(z) is Array and z.dtype is np.dtype("float32") and z.shape == (8,)
    assert z.flags.owndata and z.flags.writeable and z.flags.c_contiguous and z.base is None
    np.testing.assert_array_equal(z, X + Y)
    assert add(X, Y) is not z


def test_one_array_for_both_arguments(add):
    np.testing.assert_array_equal(add(X, X), 2 * X)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4)])
def test_every_dtype_and_shape(tools, dtype, shape):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    y = tools.copies(array("x", dtype, shape))(x)
    assert type(y) is Array and y.dtype is DTYPES[dtype] and y.shape == shape
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_number_of_results(tools, count):
    params = [array(f"x{i}", "int64", (i,)) for i in range(count)]
    arrays = [np.arange(i) for i in range(count)]
    out = tools.copies(*params)(*arrays)
    if count == 0:
        assert out is None
    elif count == 1:
        np.testing.assert_array_equal(out, arrays[0])
    else:
        assert type(out) is tuple and len(out) == count
        for x, y in zip(arrays, out, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("arena_bytes", [1, 64, 16 << 10, (16 << 10) + 1, 1 << 20])
@pytest.mark.parametrize("work", [0, 1 << 30])
def test_scratch_memory(tools, arena_bytes, work):
    x = np.random.default_rng(0).integers(0, 2, arena_bytes).astype(bool)
    f = tools.copies(array("x", "bool", x.shape), arena_bytes=arena_bytes, work=work)
    for _ in range(5):
        np.testing.assert_array_equal(f(x), x)


def test_scratch_memory_is_aligned(tools):
    text = """
define void @f(ptr noalias %r, ptr noalias %arena) {
  %address = ptrtoint ptr %arena to i64
  %rest = and i64 %address, 63
  store i64 %rest, ptr %r
  ret void
}"""
    for arena_bytes in (8, 100, 5000, 20_000, 300_001):
        f = tools.compiled(Signature("rest", (), (array("r", "int64", ()),), arena_bytes), text)
        assert f() == 0 and f() == 0


# What does not fit


def test_layouts_that_are_copied(add):
    base = np.arange(64, dtype=np.float32)
    misaligned = np.zeros(33, np.uint8)[1:].view(np.float32)
    misaligned[:] = Y
    readonly = Y.copy()
    readonly.flags.writeable = False
    for y in (base[::8], base[8:0:-1], Y.astype(">f4"), misaligned, readonly, np.broadcast_to(np.float32(3), (8,))):
        np.testing.assert_array_equal(add(X, y), X + y)
        np.testing.assert_array_equal(add(y, X), X + y)


def test_descriptor_equal_but_not_identical(add):
    other = np.dtype("float32", metadata={"unit": "m"})
    y = Y.astype(other)
    assert y.dtype is not np.dtype("float32")
    np.testing.assert_array_equal(add(X, y), X + Y)


def test_int64_by_its_other_c_type(tools):
    f = tools.copies(array("x", "int64", (3,)))
    x = np.array([1, -2, 3], np.longlong)
    y = f(x)
    assert y.dtype is np.dtype("int64")
    np.testing.assert_array_equal(y, x)


class Sub(np.ndarray):
    pass


def test_subclasses_are_read_as_plain_arrays(add):
    y = Y.view(Sub)
    z = add(X, y)
    assert type(z) is Array
    np.testing.assert_array_equal(z, X + Y)


def test_numpy_scalar_for_rank_zero(tools):
    f = tools.copies(array("x", "float32", ()))
    assert f(np.float32(2.5)) == 2.5
    assert type(f(np.float32(2.5))) is Array
    with pytest.raises(TypeError, match=r"'x': expected float32\[\], got float$"):
        f(2.5)


MATRIX = np.zeros((2, 4), np.float32)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, "add() is missing argument 'x'; it is called as add(x: float32[8], y: float32[8]) -> float32[8]"),
        ((X,), {}, TypeError, "add() is missing argument 'y'; it is called as add(x: float32[8], y: float32[8]) -> float32[8]"),
        ((X, Y, Y), {}, TypeError, "add() takes 2 arguments (x, y), got 3"),
        ((X, Y), {"z": 1}, TypeError, "add() has no argument 'z'; it takes x, y"),
        ((X, Y), {"y": Y}, TypeError, "add() got two values for argument 'y'; pass it by position or by name"),
        ((X, Y.astype(float)), {}, TypeError, "add() argument 'y': expected float32[8], got float64[8]"),
        ((X, Y.astype(">f8")), {}, TypeError, "add() argument 'y': expected float32[8], got float64 (byte-swapped)[8]"),
        ((X, Y.astype(object)), {}, TypeError, "add() argument 'y': expected float32[8], got object[8]"),
        ((X, Y.view("S4")), {}, TypeError, "add() argument 'y': expected float32[8], got bytes32[8]"),
        ((X, Y.view([("a", "f4")])), {}, TypeError, "add() argument 'y': expected float32[8], got void32[8]"),
        ((X, Y.view(np.int32)), {}, TypeError, "add() argument 'y': expected float32[8], got int32[8]"),
        ((X[:7], Y), {}, ValueError, "add() argument 'x': expected float32[8], got float32[7]"),
        ((X, MATRIX), {}, ValueError, "add() argument 'y': expected float32[8], got float32[2,4]"),
        ((X, np.float32(1)), {}, ValueError, "add() argument 'y': expected float32[8], got float32[]"),
        ((X, list(Y)), {}, TypeError, "add() argument 'y': expected float32[8], got list"),
        ((X, None), {}, TypeError, "add() argument 'y': expected float32[8], got NoneType"),
        ((X, 1.0), {}, TypeError, "add() argument 'y': expected float32[8], got float"),
        ((X, np.ndarray), {}, TypeError, "add() argument 'y': expected float32[8], got type"),
        (
            (X, np.ma.masked_array(Y)),
            {},
            TypeError,
            "add() argument 'y': expected float32[8], got a masked array: fill it with .filled() first",
        ),
    ],
)
def test_mismatch_names_the_argument(add, args, kwargs, error, message):
    with pytest.raises(error) as caught:
        add(*args, **kwargs)
    assert str(caught.value) == message


def test_arguments_by_name(add):
    np.testing.assert_array_equal(add(y=Y, x=X), X + Y)
    np.testing.assert_array_equal(add(X, y=Y), X + Y)


# call_into


def test_call_into(add):
    out = np.empty(8, np.float32)
    assert add.call_into((X, Y), (out,)) is None
    np.testing.assert_array_equal(out, X + Y)
    x = X.copy()
    add.call_into((x[::-1], x), (x,))  # overlap: the arguments are copied first
    np.testing.assert_array_equal(x, np.full(8, 7))


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ((), "has 1 results, got 0"),
        ((np.empty(8),), r"result 0: expected an array float32\[8\], got float64\[8\]"),
        ((np.empty(7, np.float32),), r"got float32\[7\]"),
        ((np.empty(16, np.float32)[::2],), "must be writable, C-contiguous and aligned"),
        ((np.frombuffer(bytes(32), np.float32),), "must be writable, C-contiguous and aligned"),
        (([0] * 8,), "got list"),
    ],
)
def test_call_into_refuses(add, results, message):
    with pytest.raises(ValueError, match=message):
        add.call_into((X, Y), results)


def test_call_into_refuses_overlapping_results(tools):
    f = tools.copies(array("x", "int32", (4,)), array("y", "int32", (4,)))
    block, x = np.zeros(6, np.int32), np.arange(4, dtype=np.int32)
    with pytest.raises(ValueError, match="result 1 overlaps another result"):
        f.call_into((x, x), (block[:4], block[2:]))


# The chain


def test_chain_of_specialisations(tools):
    seen = []

    def slow(*args, **kwargs):
        seen.append((args, kwargs))
        return "slow"

    f = tools.NativeFunction(slow)
    assert f(1, 2, k=3) == "slow" and f() == "slow"
    assert seen == [((1, 2), {"k": 3}), ((), {})]
    sizes = (3, 5, 7)
    for size in sizes:
        f.install(tools.copies_executable(array("x", "float64", (size,))))
        np.testing.assert_array_equal(f(np.arange(float(size))), np.arange(float(size)))
    for size in sizes:
        np.testing.assert_array_equal(f(np.arange(float(size))), np.arange(float(size)))
    assert f(np.arange(4.0)) == "slow" and f(np.arange(3)) == "slow" and f(np.arange(3.0), k=1) == "slow"
    assert f(*range(30)) == "slow" and f(**{"a": 1}) == "slow"
    assert [e.signature.params[0].shape for e in f.executables] == [(7,), (5,), (3,)]


def test_exception_of_the_slow_path_passes_through(tools):
    def slow(*args):
        raise KeyError("from the slow path")

    f = tools.NativeFunction(slow)
    with pytest.raises(KeyError, match="from the slow path"):
        f(1)
    f.install(tools.copies_executable(array("x", "float64", (2,))))
    with pytest.raises(KeyError, match="from the slow path"):
        f(1)


def test_slow_path_may_install_and_call_again(tools):
    def slow(x):
        f.install(tools.copies_executable(array("x", "float64", x.shape)))
        return f(x)

    f = tools.NativeFunction(slow)
    for size in (1, 2, 3, 2, 1):
        assert f(np.zeros(size)).shape == (size,)
    assert len(f.executables) == 3


def test_attributes_methods_and_binding(tools):
    class Model:
        def __init__(self):
            self.seen = []

        step = tools.NativeFunction(lambda self, *args: self.seen.append(args))

    model = Model()
    model.step(1, 2)
    Model.step(model, 3)
    bound = model.step
    bound(4)
    assert model.seen == [(1, 2), (3,), (4,)]

    f = tools.NativeFunction(lambda: 1)
    f.__name__, f.__doc__, f.lower = "f", "text", lambda: 2
    assert (f.__name__, f.__doc__, f.lower(), f.__call__()) == ("f", "text", 2, 1)
    assert vars(f)["__doc__"] == "text" and callable(f) and "f" in repr(f)
    with pytest.raises(AttributeError):
        _ = f.nothing


def test_copies_are_the_function_itself(add):
    import copy
    import pickle

    assert copy.copy(add) is add and copy.deepcopy({"f": add})["f"] is add
    with pytest.raises((TypeError, pickle.PicklingError, AttributeError)):
        pickle.dumps(add)
    with pytest.raises(TypeError, match="initialised once"):
        add.__init__(add.executables[0])


def test_explicit_call_method(add):
    np.testing.assert_array_equal(add.__call__(X, Y), X + Y)
    np.testing.assert_array_equal(type(add).__call__(add, X, Y), X + Y)
    np.testing.assert_array_equal(add.__call__(X[::-1], Y), X[::-1] + Y)


def test_subclass_hook_adds_methods(tools):
    from lamina.runtime import callable as calls

    class Named(calls.FunctionBase):
        """Doc."""

        __slots__ = ()

        def shout(self):
            return self.__name__.upper()

    f = calls.function_class(Named, tools.native)(lambda: None)
    f.__name__ = "abc"
    assert f.shout() == "ABC" and isinstance(f, Named) and type(f).__doc__ == "Doc."


# Lifetime


@pytest.mark.thorough
def test_collected_with_its_cycle(tools):
    others = []
    f = tools.NativeFunction(others.append)
    others.append(f)
    f.install(tools.copies_executable(array("x", "float64", (2,)), arena_bytes=1 << 20))
    f(np.zeros(2))
    f.me = f
    gone = weakref.ref(f)
    library = weakref.ref(f.executables[0].library)
    del f, others
    gc.collect()
    assert gone() is None and library() is None


def test_collected_without_a_cycle(tools):
    f = tools.NativeFunction(len)
    f.attribute = marker = Sub((1,))
    gone, count = weakref.ref(f), sys.getrefcount(marker)
    del f
    assert gone() is None and sys.getrefcount(marker) == count - 1


def test_references_are_balanced(tools):
    f = tools.copies(array("x", "float32", (8,)), array("y", "float32", (8,)), arena_bytes=100)
    bad = X.astype(float)
    objects = (X, Y, bad, f, np.dtype("float32"), np.dtype("float64"), None, type(f), np.ndarray)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        f(X, Y)
        f(X[::-1], Y)
        for args in ((X, bad), (X,), (X, None)):
            try:
                f(*args)
            except TypeError:
                pass
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)
    z = f(X, Y)
    assert [sys.getrefcount(r) for r in z] == [3, 3] and sys.getrefcount(z) == 2


@pytest.mark.thorough
def test_memory_is_constant(tools):
    # in a process of its own: the allocations of other tests would show
    code = f"""
import numpy as np, resource, sys
sys.path[:] = {sys.path!r}
import importlib.util
spec = importlib.util.spec_from_file_location("conf", {str(__file__).replace("test_call", "conftest")!r})
conf = importlib.util.module_from_spec(spec); spec.loader.exec_module(conf)
tools = conf.Toolbox({tools.native})
P = conf.ArrayParam.of_shape
f = tools.copies(P("x", "float32", (1000,)), P("y", "float32", (8,)), arena_bytes=100_000)
x, y, bad = np.zeros(1000, np.float32), np.zeros(8, np.float32), np.zeros(8)
def calls(n):
    for _ in range(n):
        f(x, y); f(x[::-1], y)
        try: f(x, bad)
        except TypeError: pass
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n = 30_000 if {tools.native} else 10_000
calls(n // 10); before = peak(); calls(n); print(peak() - before)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(out.stdout) < 1000, f"grew by {out.stdout} kB"


@pytest.mark.parametrize("count", [1, 2])
def test_no_memory_for_a_result(tools, count):
    huge = array("r", "float64", (1 << 45,))
    small = array("s", "float64", (2,))
    results = (small, huge) if count == 2 else (huge,)
    pointers = ", ".join(f"ptr %p{i}" for i in range(count + 1))
    f = tools.compiled(Signature("huge", (), results), f"define void @f({pointers}) {{\n  ret void\n}}")
    before = sys.getrefcount(np.dtype("float64"))
    for _ in range(100):
        with pytest.raises(MemoryError):
            f()
    assert abs(sys.getrefcount(np.dtype("float64")) - before) < 20


def test_no_memory_for_scratch(tools):
    signature = Signature("scratch", (), (array("s", "float64", (2,)),), 1 << 50)
    f = tools.compiled(signature, "define void @f(ptr %r, ptr %arena) {\n  ret void\n}")
    for _ in range(10):
        with pytest.raises(MemoryError):
            f()
