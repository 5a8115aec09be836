"""The part of the native entry that accepts arguments and binds symbols.

* An array is of type ndarray or `Array` and has NumPy's own descriptor object, the rank, alignment and layout of its
  parameter, and is writeable if it is written. Sizes and strides bind a symbol where it stands first and must agree with
  it afterwards. A written array overlaps no other, going by the first and last byte of each, and holds no element twice.
* A float parameter takes float, float64 and int, an integer one int and bool, a bool one bool; each takes the NumPy scalar
  of its own type.

The *span* of an argument is three words: its first byte, the byte after its last one (0 if it has none), whether it is written.
"""

from __future__ import annotations

from ..runtime import abi
from .structured_builder import Flow, define, predicate
from .text import F32, F64, I1, I8, I16, I32, I64, PTR, Module, Ty

REFUSED = "inttoptr (i64 1 to ptr)"
"""The result of a call that does not fit."""
UNBOUND = str(-(1 << 63))
"""The value of a symbol before an argument has given it."""


def define_arguments(module: Module) -> None:
    """Define `@bind`, which accepts the arguments of a call: the number of their elements, negative if they do not fit."""
    define(module, "internal i64 @bind(ptr %args, i64 %count, ptr %node, ptr %slots, ptr %spans) alwaysinline", _bind)
    header = "@bind_one(ptr %arg, ptr %param, ptr %slots, ptr %slot, ptr %span, ptr %elements) alwaysinline"
    predicate(module, header, _bind_one)
    predicate(module, "@separate(ptr %spans, i64 %count, ptr %span) alwaysinline", _separate)
    header = "@bind_array(ptr %arg, ptr %param, ptr %slots, ptr %slot, ptr %span, ptr %elements) alwaysinline"
    predicate(module, header, _bind_array)
    predicate(module, "@bind_float(ptr %arg, ptr %type, ptr %numpy, i64 %shift, ptr %slot) alwaysinline", _bind_float)
    predicate(
        module, "@bind_integer(ptr %arg, ptr %type, ptr %numpy, i64 %shift, i1 %signed, ptr %slot) alwaysinline", _bind_integer
    )
    predicate(module, "@bind_bool(ptr %arg, ptr %type, ptr %numpy, ptr %slot) alwaysinline", _bind_bool)
    predicate(module, "@agrees(ptr %slots, ptr %dim, i64 %extent, i64 %least) alwaysinline", _agrees)
    header = "@bind_strides(ptr %arg, ptr %param, ptr %slots, ptr %span, ptr %dims) noinline"
    predicate(module, header, _bind_strides)
    header = "@nested(ptr %sizes, ptr %strides, i64 %rank, i64 %item, i64 %first, i64 %step) noinline"
    predicate(module, header, _nested)


def _bind(b: Flow) -> None:
    elements, n_symbols = b.variable("0", I64), b.field("%node", abi.NODE_SYMBOLS)
    symbols = b.gep("%slots", "%count", "i64")
    with b.each(n_symbols) as k:
        b.store(UNBOUND, b.gep(symbols, k, "i64"), I64)
    params = b.field("%node", abi.NODE_PARAMS, PTR)
    any_written = b.icmp("ne", b.field("%node", abi.NODE_WRITES), "0", I64)
    with b.each("%count") as k:
        argument = b.load(b.gep("%args", k, "ptr"), PTR)
        param = b.gep(params, b.mul(k, str(abi.PARAM_BYTES), I64), "i8")
        slot, span = b.gep("%slots", k, "i64"), b.gep("%spans", k, "[3 x i64]")
        operands = (argument, param, "%slots", slot, span, elements)
        b.require(b.call("@bind_one", "i1", *((PTR, x) for x in operands)), "refuse")
        with b.when(any_written):
            b.require(b.call("@separate", "i1", (PTR, "%spans"), (I64, k), (PTR, span)), "refuse")
    with b.each(n_symbols) as k:  # the stride of axes along which nothing moves
        at = b.gep(symbols, k, "i64")
        value = b.load(at, I64)
        b.store(b.select(b.icmp("eq", value, UNBOUND, I64), "0", value, I64), at, I64)
    complete = b.field("%node", abi.NODE_SIZES, PTR)
    with b.when(b.icmp("ne", complete, "null", PTR)):
        b.require(b.emit(f"call i1 {complete}(ptr {symbols})"), "refuse")
    b.ret(b.load(elements, I64), "i64")
    b.label("refuse")
    b.ret("-1", "i64")


def _bind_one(b: Flow) -> None:
    type = b.field("%arg", abi.NDARRAY_TYPE, PTR)  # nothing else may be read before it is known
    b.set_field("0", "%span", 8)
    kind = b.field("%param", abi.PARAM_KIND)
    numpy, shift = b.field("%param", abi.PARAM_TYPE, PTR), b.field("%param", abi.PARAM_SHIFT)
    scalar = [(PTR, "%arg"), (PTR, type), (PTR, numpy)]
    with b.when(b.icmp("eq", kind, str(abi.KIND_ARRAY), I64)):
        b.require(is_ndarray(b, type), "no")
        operands = ("%arg", "%param", "%slots", "%slot", "%span", "%elements")
        b.ret(b.call("@bind_array", "i1", *((PTR, x) for x in operands)), "i1")
    with b.when(b.icmp("eq", kind, str(abi.KIND_FLOAT), I64)):
        b.ret(b.call("@bind_float", "i1", *scalar, (I64, shift), (PTR, "%slot")), "i1")
    with b.when(b.icmp("ne", kind, str(abi.KIND_BOOL), I64)):
        is_signed = b.icmp("eq", kind, str(abi.KIND_SIGNED), I64)
        b.ret(b.call("@bind_integer", "i1", *scalar, (I64, shift), (I1, is_signed), (PTR, "%slot")), "i1")
    b.require(b.call("@bind_bool", "i1", *scalar, (PTR, "%slot")), "no")


def is_ndarray(b: Flow, type: str) -> str:
    """Whether a type is ndarray or `Array`, which has its layout."""
    of_numpy, of_ours = (b.icmp("eq", type, b.address(name), PTR) for name in ("PyArray_Type", "LaminaArray_Type"))
    return b.or_(of_numpy, of_ours, I1)


def _bind_array(b: Flow) -> None:
    b.require(b.icmp("eq", b.field("%arg", abi.NDARRAY_DESCR, PTR), b.field("%param", abi.PARAM_TYPE, PTR), PTR), "no")
    rank = b.cast("zext", b.field("%arg", abi.NDARRAY_NDIM, I32), I32, I64)
    b.require(b.icmp("eq", rank, b.field("%param", abi.PARAM_RANK), I64), "no")
    flags = b.cast("zext", b.field("%arg", abi.NDARRAY_FLAGS, I32), I32, I64)
    needed = b.field("%param", abi.PARAM_FLAGS)
    b.require(b.icmp("eq", b.and_(flags, needed, I64), needed, I64), "no")

    sizes, shape = b.field("%arg", abi.NDARRAY_DIMS, PTR), b.field("%param", abi.PARAM_SHAPE, PTR)
    count = b.variable(b.field("%param", abi.PARAM_ELEMENTS), I64)
    b.cond_br(b.icmp("eq", shape, "null", PTR), "symbols", "numbers")
    b.label("numbers")
    with b.each(rank) as axis:
        found, wanted = (b.load(b.gep(x, axis, "i64"), I64) for x in (sizes, shape))
        b.require(b.icmp("eq", found, wanted, I64), "no")
    b.br("sized")
    b.label("symbols")
    dims = b.field("%param", abi.PARAM_DIMS, PTR)
    b.store("1", count, I64)
    with b.each(rank) as axis:
        size = b.load(b.gep(sizes, axis, "i64"), I64)
        dim = b.gep(dims, b.mul(axis, str(abi.DIM_BYTES), I64), "i8")
        b.require(b.call("@agrees", "i1", (PTR, "%slots"), (PTR, dim), (I64, size), (I64, "0")), "no")
        b.store(b.mul(b.load(count, I64), size, I64), count, I64)
    b.br("sized")
    b.label("sized")
    data, elements = b.field("%arg", abi.NDARRAY_DATA), b.load(count, I64)
    b.store(data, "%slot", I64)
    b.store(b.add(b.load("%elements", I64), elements, I64), "%elements", I64)

    end = b.add(data, b.shl(elements, b.field("%param", abi.PARAM_SHIFT), I64), I64)
    is_empty = b.icmp("eq", elements, "0", I64)
    b.store(data, "%span", I64)
    b.set_field(b.select(is_empty, "0", end, I64), "%span", 8)
    b.set_field(b.field("%param", abi.PARAM_WRITES), "%span", 16)
    strides = b.field("%param", abi.PARAM_STRIDES, PTR)
    is_contiguous = b.icmp("eq", strides, "null", PTR)
    with b.when(b.icmp("eq", b.or_(is_contiguous, is_empty, I1), "false", I1)):
        operands = ("%arg", "%param", "%slots", "%span", strides)
        b.require(b.call("@bind_strides", "i1", *((PTR, x) for x in operands)), "no")


def _agrees(b: Flow) -> None:
    """Whether a size or stride agrees with its dim in the table. It binds a new symbol, to no less than %least."""
    slot, constant = b.field("%dim", abi.DIM_SLOT), b.field("%dim", abi.DIM_CONSTANT)
    value = b.sub("%extent", constant, I64)
    with b.when(b.icmp("slt", slot, "0", I64)):
        b.ret(b.icmp("eq", value, "0", I64), "i1")
    b.require(b.icmp("sge", value, "%least", I64), "no")
    at = b.gep("%slots", slot, "i64")
    bound = b.load(at, I64)
    b.store(value, at, I64)
    is_first = b.icmp("eq", bound, UNBOUND, I64)
    b.require(b.or_(is_first, b.icmp("eq", bound, value, I64), I1), "no")


def _bind_strides(b: Flow) -> None:
    """Bind the strides of each axis with more than one element, and widen the span by their extent."""
    sizes, strides = b.field("%arg", abi.NDARRAY_DIMS, PTR), b.field("%arg", abi.NDARRAY_STRIDES, PTR)
    rank, shift = b.field("%param", abi.PARAM_RANK), b.field("%param", abi.PARAM_SHIFT)
    item = b.shl("1", shift, I64)
    b.set_field(b.add(b.load("%span", I64), item, I64), "%span", 8)
    with b.each(rank) as axis:
        size = b.load(b.gep(sizes, axis, "i64"), I64)
        with b.when(b.icmp("sgt", size, "1", I64)):
            stride = b.load(b.gep(strides, axis, "i64"), I64)
            rest = b.and_(stride, b.sub(item, "1", I64), I64)
            b.require(b.icmp("eq", rest, "0", I64), "no")
            dim = b.gep("%dims", b.mul(axis, str(abi.DIM_BYTES), I64), "i8")
            least = str(int(UNBOUND) + 1)
            steps = b.ashr(stride, shift, I64)
            b.require(b.call("@agrees", "i1", (PTR, "%slots"), (PTR, dim), (I64, steps), (I64, least)), "no")
            reach = b.mul(b.sub(size, "1", I64), stride, I64)
            b.store(b.add(b.load("%span", I64), b.intrinsic("smin", I64, reach, "0"), I64), "%span", I64)
            b.set_field(b.add(b.field("%span", 8), b.intrinsic("smax", I64, reach, "0"), I64), "%span", 8)
    with b.when(b.icmp("ne", b.field("%param", abi.PARAM_WRITES), "0", I64)):
        shared = [(PTR, sizes), (PTR, strides), (I64, rank), (I64, item)]
        rows = b.call("@nested", "i1", *shared, (I64, b.sub(rank, "1", I64)), (I64, "-1"))
        columns = b.call("@nested", "i1", *shared, (I64, "0"), (I64, "1"))
        b.require(b.or_(rows, columns, I1), "no")


def _nested(b: Flow) -> None:
    """Whether the strides, axis after axis from %first by %step, each reach over all that the axes before them span."""
    reach = b.variable("%item", I64)
    with b.each("%rank") as k:
        axis = b.add("%first", b.mul(k, "%step", I64), I64)
        size = b.load(b.gep("%sizes", axis, "i64"), I64)
        with b.when(b.icmp("sgt", size, "1", I64)):
            stride = b.load(b.gep("%strides", axis, "i64"), I64)
            width = b.select(b.icmp("slt", stride, "0", I64), b.sub("0", stride, I64), stride, I64)
            before = b.load(reach, I64)
            b.require(b.icmp("uge", width, before, I64), "no")
            b.store(b.add(before, b.mul(b.sub(size, "1", I64), width, I64), I64), reach, I64)


def _separate(b: Flow) -> None:
    """Whether an array shares no byte with any before it, where one of the two is written."""
    low, high, writes = (b.field("%span", 8 * k) for k in range(3))
    with b.each("%count") as k:
        other = b.gep("%spans", k, "[3 x i64]")
        starts = b.icmp("ult", b.field(other, 0), high, I64)
        ends = b.icmp("ult", low, b.field(other, 8), I64)
        is_written = b.icmp("ne", b.or_(writes, b.field(other, 16), I64), "0", I64)
        b.require(b.icmp("eq", b.and_(b.and_(starts, ends, I1), is_written, I1), "false", I1), "no")


# Scalars


def _is(b: Flow, x: str, name: str) -> str:
    """Whether a pointer is the address of an object of CPython."""
    return b.icmp("eq", x, b.address(name), PTR)


def _number(b: Flow, ty: Ty) -> str:
    return b.field("%arg", abi.SCALAR_VALUE, ty)


def _done(b: Flow, value: str, ty: Ty = I64) -> None:
    """The slot gets a value; the function says yes."""
    wide = b.cast("zext", value, ty, I64) if ty.bits < 64 else value
    b.store(wide, "%slot", I64)
    b.ret("true", "i1")


def _bind_float(b: Flow) -> None:
    overflow, number = b.variable("0", I32), b.variable("0.0", F64)
    with b.when(_is(b, "%type", "PyLong_Type")):
        whole = b.extern("PyLong_AsLongLongAndOverflow", "i64", (PTR, "%arg"), (PTR, overflow))
        b.require(b.icmp("eq", b.load(overflow, I32), "0", I32), "no")
        b.store(b.cast("sitofp", whole, I64, F64), number, F64)
        b.br("convert")
    with b.when(b.or_(_is(b, "%type", "PyFloat_Type"), _is(b, "%type", "PyDoubleArrType_Type"), I1)):
        b.store(_number(b, F64), number, F64)  # both have the number at one offset
        b.br("convert")
    b.require(b.icmp("eq", "%type", "%numpy", PTR), "no")  # float32, since float64 was looked for before
    _done(b, _number(b, I32), I32)
    b.label("convert")
    value = b.load(number, F64)
    narrow = b.cast("zext", b.bitcast(b.cast("fptrunc", value, F64, F32), F32, I32), I32, I64)
    is_narrow = b.icmp("eq", "%shift", "2", I64)
    b.store(b.select(is_narrow, narrow, b.bitcast(value, F64, I64), I64), "%slot", I64)


def _bind_integer(b: Flow) -> None:
    overflow, number = b.variable("0", I32), b.variable("0", I64)
    above = b.sub("64", b.shl("8", "%shift", I64), I64)

    def narrowed(value: str) -> str:
        """A number truncated to the parameter's type."""
        high = b.shl(value, above, I64)
        return b.select("%signed", b.ashr(high, above, I64), b.lshr(high, above, I64), I64)

    with b.when(b.or_(_is(b, "%type", "PyLong_Type"), _is(b, "%type", "PyBool_Type"), I1)):
        value = b.extern("PyLong_AsLongLongAndOverflow", "i64", (PTR, "%arg"), (PTR, overflow))
        b.require(b.icmp("eq", b.load(overflow, I32), "0", I32), "no")
        b.require(b.icmp("eq", narrowed(value), value, I64), "no")
        b.require(b.or_("%signed", b.icmp("sge", value, "0", I64), I1), "no")
        _done(b, value)
    b.require(b.icmp("eq", "%type", "%numpy", PTR), "no")
    for shift, ty in enumerate((I8, I16, I32, I64)):
        with b.when(b.icmp("eq", "%shift", str(shift), I64)):
            found = _number(b, ty)
            b.store(b.cast("zext", found, ty, I64) if ty is not I64 else found, number, I64)
    b.store(narrowed(b.load(number, I64)), "%slot", I64)


def _bind_bool(b: Flow) -> None:
    is_true = _is(b, "%arg", "_Py_TrueStruct")
    with b.when(b.or_(is_true, _is(b, "%arg", "_Py_FalseStruct"), I1)):
        _done(b, is_true, I1)
    b.require(b.icmp("eq", "%type", "%numpy", PTR), "no")
    b.store(b.cast("zext", b.icmp("ne", _number(b, I8), "0", I8), I1, I64), "%slot", I64)
