"""The native entry of kernels: LLVM IR that binds the arguments of a call and runs machine code, without an interpreter.

Like `entry.py`, of which it keeps the chain: a node is one kernel, laid out as in `abi.py`. What a node does not accept
goes on to the next, and from the last to the Python callable of the slow path. Signatures are data, so one object serves
all kernels.

`@lamina.kernel(callable, args, nargsf, kwnames, node)` takes arguments by position, and `threads=` as the only keyword.
It accepts

* arrays of type ndarray, NumPy's own descriptor object, rank, alignment and layout of the parameter, writeable if the
  kernel writes them. Sizes and strides bind a symbol where it stands first and must agree with it afterwards. A written
  array overlaps no other, going by the first and last byte of each, and holds no element twice;
* for float parameters float, float64 and int; for integer parameters int and bool; for bool parameters bool; and the
  NumPy scalar of the parameter's own type.

It never raises; the `failed` object of the node does when the kernel leaves a status.
"""

from __future__ import annotations

from ..dialects.element_types import Kind
from . import abi

KERNEL_ENTRY_SYMBOLS = ("lamina.kernel", "lamina.vectorcall")

# The kinds of parameters in the table: an array, or a scalar. How wide that is, its shift says.
KIND_ARRAY = 0
KINDS = {kind: 1 + index for index, kind in enumerate(Kind)}
# `threads=` above it goes to the slow path, which refuses.
MOST_THREADS = 1 << 16


def kernel_entry_module() -> str:
    """The LLVM IR of the entry, to be compiled and loaded once, with `abi.symbols()` as imports."""
    facts = {name: value for name, value in vars(abi).items() if name.isupper()}
    kinds = {f"kind_{kind.name.lower()}": code for kind, code in KINDS.items()}
    return _TEXT.format(kind_array=KIND_ARRAY, most_threads=MOST_THREADS, unbound=-(1 << 63), **kinds, **facts)


_TEXT = """
@PyArray_Type = external global i8
@PyDoubleArrType_Type = external global i8
@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@PyBool_Type = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@_Py_NoneStruct = external global i8
@four.integers = private constant [5 x i8] c"LLLL\\00"
declare void @Py_IncRef(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare i32 @PyErr_BadArgument()
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define ptr @lamina.vectorcall(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) {{
  %keep.at = getelementptr i8, ptr %callable, i64 {CALLABLE_KEEP}
  %keep = load ptr, ptr %keep.at
  %cleared = icmp eq ptr %keep, null ; by the garbage collector, and the chain with it
  br i1 %cleared, label %error, label %start
error:
  call i32 @PyErr_BadArgument()
  ret ptr null
start:
  %head.at = getelementptr i8, ptr %callable, i64 {CALLABLE_HEAD}
  %head = load ptr, ptr %head.at
  %function.at = getelementptr i8, ptr %head, i64 {NODE_FUNCTION}
  %function = load ptr, ptr %function.at
  %r = tail call ptr %function(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %head)
  ret ptr %r
}}

define ptr @lamina.kernel(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %node) {{
  %overflow = alloca i32
  %nargs = and i64 %nargsf, 9223372036854775807 ; the top bit is a flag
  %expected.at = getelementptr i8, ptr %node, i64 {KERNEL_COUNT}
  %expected = load i64, ptr %expected.at
  %complete = icmp eq i64 %nargs, %expected
  br i1 %complete, label %keywords, label %pass_on
keywords:
  %positional = icmp eq ptr %kwnames, null
  br i1 %positional, label %take, label %named
named: ; only threads=, by the identity of the interned name
  %names = call i64 @PyTuple_Size(ptr %kwnames)
  %one = icmp eq i64 %names, 1
  br i1 %one, label %name, label %pass_on
name:
  %word = call ptr @PyTuple_GetItem(ptr %kwnames, i64 0)
  %threads.name.at = getelementptr i8, ptr %node, i64 {KERNEL_THREADS_NAME}
  %threads.name = load ptr, ptr %threads.name.at
  %is.threads = icmp eq ptr %word, %threads.name
  br i1 %is.threads, label %number, label %pass_on
number:
  %given.at = getelementptr ptr, ptr %args, i64 %nargs
  %given = load ptr, ptr %given.at
  %given.type.at = getelementptr i8, ptr %given, i64 {NDARRAY_TYPE}
  %given.type = load ptr, ptr %given.type.at
  %given.int = icmp eq ptr %given.type, @PyLong_Type
  br i1 %given.int, label %limits, label %pass_on
limits:
  %wanted = call i64 @PyLong_AsLongLongAndOverflow(ptr %given, ptr %overflow) ; -1 if too large
  %wanted.most = icmp sle i64 %wanted, {most_threads}
  %wanted.least = icmp sge i64 %wanted, 1
  %wanted.fits = and i1 %wanted.most, %wanted.least
  br i1 %wanted.fits, label %take, label %pass_on

take:
  %threads = phi i64 [ 0, %keywords ], [ %wanted, %limits ]
  %answer = call ptr @attempt(ptr %args, i64 %nargs, i64 %threads, ptr %node)
  %refused = icmp eq ptr %answer, inttoptr (i64 1 to ptr)
  br i1 %refused, label %pass_on, label %return
return:
  ret ptr %answer

pass_on:
  %following.at = getelementptr i8, ptr %node, i64 {NODE_NEXT}
  %following = load ptr, ptr %following.at
  %last = icmp eq ptr %following, null
  br i1 %last, label %slow, label %chain
chain:
  %function.at = getelementptr i8, ptr %following, i64 {NODE_FUNCTION}
  %function = load ptr, ptr %function.at
  %chained = tail call ptr %function(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %following)
  ret ptr %chained
slow:
  %slow.at = getelementptr i8, ptr %callable, i64 {CALLABLE_SLOW}
  %python = load ptr, ptr %slow.at
  %cleared = icmp eq ptr %python, null ; as above
  br i1 %cleared, label %error, label %call
error:
  call i32 @PyErr_BadArgument()
  ret ptr null
call:
  %result = tail call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %nargsf, ptr %kwnames)
  ret ptr %result
}}

; Whether a size or stride agrees with its dim in the table. A symbol that is not bound yet is bound, to no less than %least.
define internal i1 @agrees(ptr %slots, ptr %dim, i64 %extent, i64 %least) alwaysinline {{
  %slot.at = getelementptr i8, ptr %dim, i64 {KDIM_SLOT}
  %slot = load i64, ptr %slot.at
  %constant.at = getelementptr i8, ptr %dim, i64 {KDIM_CONSTANT}
  %constant = load i64, ptr %constant.at
  %value = sub i64 %extent, %constant
  %literal = icmp slt i64 %slot, 0
  br i1 %literal, label %number, label %symbol
number:
  %equal = icmp eq i64 %value, 0
  ret i1 %equal
symbol:
  %large = icmp sge i64 %value, %least
  %bound.at = getelementptr i64, ptr %slots, i64 %slot
  %bound = load i64, ptr %bound.at
  %first = icmp eq i64 %bound, {unbound}
  br i1 %first, label %bind, label %compare
bind:
  store i64 %value, ptr %bound.at
  ret i1 %large
compare:
  %same = icmp eq i64 %value, %bound
  %good = and i1 %same, %large
  ret i1 %good
}}

; Whether the strides, axis after axis from %first by %step, each reach over all that the axes before them span.
define internal i1 @nested(ptr %sizes, ptr %strides, i64 %rank, i64 %item, i64 %first, i64 %step) {{
  br label %axis
axis:
  %t = phi i64 [ 0, %0 ], [ %t.next, %next ]
  %a = phi i64 [ %first, %0 ], [ %a.next, %next ]
  %reach = phi i64 [ %item, %0 ], [ %reach.next, %next ]
  %done = icmp eq i64 %t, %rank
  br i1 %done, label %distinct, label %look
look:
  %size.at = getelementptr i64, ptr %sizes, i64 %a
  %size = load i64, ptr %size.at
  %stride.at = getelementptr i64, ptr %strides, i64 %a
  %stride = load i64, ptr %stride.at
  %width = call i64 @llvm.abs.i64(i64 %stride, i1 false)
  %steps = sub i64 %size, 1
  %span = mul i64 %steps, %width
  %longer = add i64 %reach, %span
  %single = icmp slt i64 %size, 2
  %reach.next = select i1 %single, i64 %reach, i64 %longer
  %clear = icmp uge i64 %width, %reach
  %good = or i1 %clear, %single
  br i1 %good, label %next, label %unknown
next:
  %t.next = add i64 %t, 1
  %a.next = add i64 %a, %step
  br label %axis
distinct:
  ret i1 true
unknown:
  ret i1 false
}}

; The call itself; the address 1 if the arguments do not fit.
define internal ptr @attempt(ptr %args, i64 %nargs, i64 %threads, ptr %node) noinline {{
entry:
  %overflow = alloca i32
  %total = alloca i64 ; elements so far
  %arrays = alloca i64 ; arrays so far
  %low = alloca i64 ; the bytes of an array
  %high = alloca i64
  store i64 0, ptr %total
  store i64 0, ptr %arrays
  %nsymbols.at = getelementptr i8, ptr %node, i64 {KERNEL_SYMBOLS}
  %nsymbols = load i64, ptr %nsymbols.at
  %threads.slot = add i64 %nargs, %nsymbols
  %nslots = add i64 %threads.slot, 5
  %slots = alloca i64, i64 %nslots
  %nbounds = mul i64 %nargs, 3
  %bounds = alloca i64, i64 %nbounds ; low, high and whether written, of each array so far
  %params.at = getelementptr i8, ptr %node, i64 {KERNEL_PARAMS}
  %params = load ptr, ptr %params.at
  br label %unbind
unbind:
  %u = phi i64 [ %nargs, %entry ], [ %u.next, %unbind.one ]
  %unbound = icmp eq i64 %u, %threads.slot
  br i1 %unbound, label %argument, label %unbind.one
unbind.one:
  %unbind.at = getelementptr i64, ptr %slots, i64 %u
  store i64 {unbound}, ptr %unbind.at
  %u.next = add i64 %u, 1
  br label %unbind

argument: ; for each i
  %i = phi i64 [ 0, %unbind ], [ %i.next, %next ]
  %param = phi ptr [ %params, %unbind ], [ %param.next, %next ]
  %done = icmp eq i64 %i, %nargs
  br i1 %done, label %accept, label %kind
kind: ; nothing but the type may be read before it is known
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %type.at = getelementptr i8, ptr %arg, i64 {NDARRAY_TYPE}
  %type = load ptr, ptr %type.at
  %slot = getelementptr i64, ptr %slots, i64 %i
  %param.kind.at = getelementptr i8, ptr %param, i64 {KPARAM_KIND}
  %param.kind = load i64, ptr %param.kind.at
  %param.type.at = getelementptr i8, ptr %param, i64 {KPARAM_TYPE}
  %param.type = load ptr, ptr %param.type.at
  %param.shift.at = getelementptr i8, ptr %param, i64 {KPARAM_SHIFT}
  %param.shift = load i64, ptr %param.shift.at
  switch i64 %param.kind, label %refuse [ i64 {kind_array}, label %array
                                          i64 {kind_float}, label %real
                                          i64 {kind_signed}, label %integer
                                          i64 {kind_unsigned}, label %integer
                                          i64 {kind_bool}, label %truth ]

real:
  %is.float = icmp eq ptr %type, @PyFloat_Type
  %is.double = icmp eq ptr %type, @PyDoubleArrType_Type
  %is.float.or.double = or i1 %is.float, %is.double
  br i1 %is.float.or.double, label %real.double, label %real.other
real.double: ; both have the number at one place
  %double.at = getelementptr i8, ptr %arg, i64 {SCALAR_VALUE}
  %double = load double, ptr %double.at
  br label %real.number
real.other:
  %real.int = icmp eq ptr %type, @PyLong_Type
  br i1 %real.int, label %real.integer, label %real.numpy
real.integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %arg, ptr %overflow)
  %whole.overflow = load i32, ptr %overflow
  %whole.fits = icmp eq i32 %whole.overflow, 0
  %whole.double = sitofp i64 %whole to double
  br i1 %whole.fits, label %real.number, label %refuse
real.numpy: ; float32, since float64 was looked for before
  %is.single = icmp eq ptr %type, %param.type
  br i1 %is.single, label %real.single, label %refuse
real.single:
  %single.at = getelementptr i8, ptr %arg, i64 {SCALAR_VALUE}
  %single = load i32, ptr %single.at
  %single.bits = zext i32 %single to i64
  store i64 %single.bits, ptr %slot
  br label %next
real.number:
  %number = phi double [ %double, %real.double ], [ %whole.double, %real.integer ]
  %number.single = fptrunc double %number to float
  %number.single.i32 = bitcast float %number.single to i32
  %number.single.bits = zext i32 %number.single.i32 to i64
  %number.bits = bitcast double %number to i64
  %narrow = icmp eq i64 %param.shift, 2
  %real.bits = select i1 %narrow, i64 %number.single.bits, i64 %number.bits
  store i64 %real.bits, ptr %slot
  br label %next

integer:
  %is.int = icmp eq ptr %type, @PyLong_Type
  %is.bool = icmp eq ptr %type, @PyBool_Type
  %is.int.or.bool = or i1 %is.int, %is.bool
  %is.signed = icmp eq i64 %param.kind, {kind_signed}
  %integer.bits = shl i64 8, %param.shift
  %integer.above = sub i64 64, %integer.bits
  br i1 %is.int.or.bool, label %integer.python, label %integer.other
integer.python:
  %integer.64 = call i64 @PyLong_AsLongLongAndOverflow(ptr %arg, ptr %overflow)
  %integer.overflow = load i32, ptr %overflow
  %integer.high = shl i64 %integer.64, %integer.above
  %integer.with.sign = ashr i64 %integer.high, %integer.above
  %integer.without = lshr i64 %integer.high, %integer.above
  %integer.back = select i1 %is.signed, i64 %integer.with.sign, i64 %integer.without
  %integer.same = icmp eq i64 %integer.back, %integer.64
  %integer.not.negative = icmp sge i64 %integer.64, 0
  %integer.sign.fits = or i1 %is.signed, %integer.not.negative
  %integer.is.long = icmp eq i32 %integer.overflow, 0
  %integer.room = and i1 %integer.same, %integer.sign.fits
  %integer.fits = and i1 %integer.is.long, %integer.room
  br i1 %integer.fits, label %integer.number, label %refuse
integer.other:
  %is.numpy = icmp eq ptr %type, %param.type
  br i1 %is.numpy, label %integer.numpy, label %refuse
integer.numpy:
  %integer.at = getelementptr i8, ptr %arg, i64 {SCALAR_VALUE}
  switch i64 %param.shift, label %integer.numpy.64 [ i64 0, label %integer.numpy.8
                                                     i64 1, label %integer.numpy.16
                                                     i64 2, label %integer.numpy.32 ]
integer.numpy.8:
  %numpy.8 = load i8, ptr %integer.at
  %numpy.8.wide = zext i8 %numpy.8 to i64
  br label %integer.extend
integer.numpy.16:
  %numpy.16 = load i16, ptr %integer.at
  %numpy.16.wide = zext i16 %numpy.16 to i64
  br label %integer.extend
integer.numpy.32:
  %numpy.32 = load i32, ptr %integer.at
  %numpy.32.wide = zext i32 %numpy.32 to i64
  br label %integer.extend
integer.numpy.64:
  %numpy.64 = load i64, ptr %integer.at
  br label %integer.extend
integer.extend:
  %numpy = phi i64 [ %numpy.8.wide, %integer.numpy.8 ], [ %numpy.16.wide, %integer.numpy.16 ],
                   [ %numpy.32.wide, %integer.numpy.32 ], [ %numpy.64, %integer.numpy.64 ]
  %numpy.high = shl i64 %numpy, %integer.above
  %numpy.with.sign = ashr i64 %numpy.high, %integer.above
  %numpy.integer = select i1 %is.signed, i64 %numpy.with.sign, i64 %numpy
  br label %integer.number
integer.number:
  %integer.value = phi i64 [ %integer.64, %integer.python ], [ %numpy.integer, %integer.extend ]
  store i64 %integer.value, ptr %slot
  br label %next

truth:
  %is.true = icmp eq ptr %arg, @_Py_TrueStruct
  %is.false = icmp eq ptr %arg, @_Py_FalseStruct
  %is.either = or i1 %is.true, %is.false
  %truth.python = zext i1 %is.true to i64
  store i64 %truth.python, ptr %slot
  br i1 %is.either, label %next, label %truth.other
truth.other:
  %is.numpy.bool = icmp eq ptr %type, %param.type
  br i1 %is.numpy.bool, label %truth.numpy, label %refuse
truth.numpy:
  %truth.at = getelementptr i8, ptr %arg, i64 {SCALAR_VALUE}
  %truth.byte = load i8, ptr %truth.at
  %truth.set = icmp ne i8 %truth.byte, 0
  %truth.bits = zext i1 %truth.set to i64
  store i64 %truth.bits, ptr %slot
  br label %next

array:
  %is.array = icmp eq ptr %type, @PyArray_Type
  br i1 %is.array, label %header, label %refuse
header:
  %descr.at = getelementptr i8, ptr %arg, i64 {NDARRAY_DESCR}
  %descr = load ptr, ptr %descr.at
  %same.descr = icmp eq ptr %descr, %param.type
  %rank.at = getelementptr i8, ptr %arg, i64 {NDARRAY_NDIM}
  %rank.32 = load i32, ptr %rank.at
  %rank = zext i32 %rank.32 to i64
  %param.rank.at = getelementptr i8, ptr %param, i64 {KPARAM_RANK}
  %param.rank = load i64, ptr %param.rank.at
  %same.rank = icmp eq i64 %rank, %param.rank
  %flags.at = getelementptr i8, ptr %arg, i64 {NDARRAY_FLAGS}
  %flags.32 = load i32, ptr %flags.at
  %flags = zext i32 %flags.32 to i64
  %param.flags.at = getelementptr i8, ptr %param, i64 {KPARAM_FLAGS}
  %param.flags = load i64, ptr %param.flags.at
  %needed = and i64 %flags, %param.flags
  %layout = icmp eq i64 %needed, %param.flags
  %same.1 = and i1 %same.descr, %same.rank
  %same.2 = and i1 %same.1, %layout
  br i1 %same.2, label %shape, label %refuse
shape:
  %sizes.at = getelementptr i8, ptr %arg, i64 {NDARRAY_DIMS}
  %sizes = load ptr, ptr %sizes.at
  %dims.at = getelementptr i8, ptr %param, i64 {KPARAM_DIMS}
  %dims = load ptr, ptr %dims.at
  br label %axis
axis: ; for each
  %a = phi i64 [ 0, %shape ], [ %a.next, %size ]
  %n = phi i64 [ 1, %shape ], [ %n.next, %size ]
  %dim = phi ptr [ %dims, %shape ], [ %dim.next, %size ]
  %all = icmp eq i64 %a, %rank
  br i1 %all, label %place, label %size
size:
  %size.at = getelementptr i64, ptr %sizes, i64 %a
  %extent = load i64, ptr %size.at
  %n.next = mul i64 %n, %extent
  %a.next = add i64 %a, 1
  %dim.next = getelementptr i8, ptr %dim, i64 {KDIM_BYTES}
  %size.agrees = call i1 @agrees(ptr %slots, ptr %dim, i64 %extent, i64 0)
  br i1 %size.agrees, label %axis, label %refuse
place:
  %data.at = getelementptr i8, ptr %arg, i64 {NDARRAY_DATA}
  %data = load i64, ptr %data.at
  store i64 %data, ptr %slot
  %before = load i64, ptr %total
  %after = add i64 %before, %n
  store i64 %after, ptr %total
  %writes.at = getelementptr i8, ptr %param, i64 {KPARAM_WRITES}
  %writes = load i64, ptr %writes.at
  %param.strides.at = getelementptr i8, ptr %param, i64 {KPARAM_STRIDES}
  %param.strides = load ptr, ptr %param.strides.at
  %bytes = shl i64 %n, %param.shift
  %end = add i64 %data, %bytes
  %empty = icmp eq i64 %n, 0
  %high.first = select i1 %empty, i64 0, i64 %end ; before every low: an empty array meets no other
  store i64 %data, ptr %low
  store i64 %high.first, ptr %high
  %contiguous = icmp eq ptr %param.strides, null
  %simple = or i1 %contiguous, %empty
  br i1 %simple, label %bounded, label %strided

strided:
  %strides.at = getelementptr i8, ptr %arg, i64 {NDARRAY_STRIDES}
  %strides = load ptr, ptr %strides.at
  %item = shl i64 1, %param.shift
  %mask = sub i64 %item, 1
  %one = add i64 %data, %item
  store i64 %one, ptr %high
  br label %stride
stride: ; of each axis with more than one element
  %b = phi i64 [ 0, %strided ], [ %b.next, %stride.next ]
  %sdim = phi ptr [ %param.strides, %strided ], [ %sdim.next, %stride.next ]
  %strides.done = icmp eq i64 %b, %rank
  br i1 %strides.done, label %stride.written, label %stride.look
stride.look:
  %steps.at = getelementptr i64, ptr %sizes, i64 %b
  %count = load i64, ptr %steps.at
  %moves = icmp sgt i64 %count, 1
  br i1 %moves, label %stride.check, label %stride.next
stride.check:
  %stride.at = getelementptr i64, ptr %strides, i64 %b
  %stride.bytes = load i64, ptr %stride.at
  %rest = and i64 %stride.bytes, %mask
  %whole.items = icmp eq i64 %rest, 0
  %items = ashr i64 %stride.bytes, %param.shift
  %least = add i64 {unbound}, 1
  %stride.agrees = call i1 @agrees(ptr %slots, ptr %sdim, i64 %items, i64 %least)
  %stride.good = and i1 %whole.items, %stride.agrees
  %steps = sub i64 %count, 1
  %span = mul i64 %steps, %stride.bytes
  %down = call i64 @llvm.smin.i64(i64 %span, i64 0)
  %up = call i64 @llvm.smax.i64(i64 %span, i64 0)
  %low.old = load i64, ptr %low
  %low.new = add i64 %low.old, %down
  store i64 %low.new, ptr %low
  %high.old = load i64, ptr %high
  %high.new = add i64 %high.old, %up
  store i64 %high.new, ptr %high
  br i1 %stride.good, label %stride.next, label %refuse
stride.next:
  %b.next = add i64 %b, 1
  %sdim.next = getelementptr i8, ptr %sdim, i64 {KDIM_BYTES}
  br label %stride
stride.written:
  %read.only = icmp eq i64 %writes, 0
  br i1 %read.only, label %bounded, label %inner.last
inner.last: ; rows one after the other, or columns
  %last = sub i64 %rank, 1
  %rows = call i1 @nested(ptr %sizes, ptr %strides, i64 %rank, i64 %item, i64 %last, i64 -1)
  br i1 %rows, label %bounded, label %inner.first
inner.first:
  %columns = call i1 @nested(ptr %sizes, ptr %strides, i64 %rank, i64 %item, i64 0, i64 1)
  br i1 %columns, label %bounded, label %refuse

bounded:
  %k = load i64, ptr %arrays
  %k.next = add i64 %k, 1
  store i64 %k.next, ptr %arrays
  %k.low = load i64, ptr %low
  %k.high = load i64, ptr %high
  %k.words = mul i64 %k, 3
  %k.at = getelementptr i64, ptr %bounds, i64 %k.words
  store i64 %k.low, ptr %k.at
  %k.high.at = getelementptr i64, ptr %k.at, i64 1
  store i64 %k.high, ptr %k.high.at
  %k.writes.at = getelementptr i64, ptr %k.at, i64 2
  store i64 %writes, ptr %k.writes.at
  br label %other
other: ; for each array before
  %j.at = phi ptr [ %bounds, %bounded ], [ %j.next, %other.look ]
  %others.done = icmp eq ptr %j.at, %k.at
  br i1 %others.done, label %next, label %other.look
other.look:
  %j.low = load i64, ptr %j.at
  %j.high.at = getelementptr i64, ptr %j.at, i64 1
  %j.high = load i64, ptr %j.high.at
  %j.writes.at = getelementptr i64, ptr %j.at, i64 2
  %j.writes = load i64, ptr %j.writes.at
  %j.next = getelementptr i64, ptr %j.at, i64 3
  %starts = icmp ult i64 %j.low, %k.high
  %ends = icmp ult i64 %k.low, %j.high
  %meet = and i1 %starts, %ends
  %written = or i64 %writes, %j.writes
  %any.written = icmp ne i64 %written, 0
  %overlap = and i1 %meet, %any.written
  br i1 %overlap, label %refuse, label %other

next:
  %i.next = add i64 %i, 1
  %param.next = getelementptr i8, ptr %param, i64 {KPARAM_BYTES}
  br label %argument

accept:
  %v = phi i64 [ %nargs, %argument ], [ %v.next, %settle ]
  %settled = icmp eq i64 %v, %threads.slot
  br i1 %settled, label %ready, label %settle
settle: ; the stride of axes along which nothing moves
  %v.at = getelementptr i64, ptr %slots, i64 %v
  %v.value = load i64, ptr %v.at
  %v.free = icmp eq i64 %v.value, {unbound}
  %v.new = select i1 %v.free, i64 0, i64 %v.value
  store i64 %v.new, ptr %v.at
  %v.next = add i64 %v, 1
  br label %accept
ready:
  %threads.at = getelementptr i64, ptr %slots, i64 %threads.slot
  store i64 %threads, ptr %threads.at
  %status.at = getelementptr i64, ptr %threads.at, i64 1
  %status.1.at = getelementptr i64, ptr %threads.at, i64 2
  %status.2.at = getelementptr i64, ptr %threads.at, i64 3
  %status.3.at = getelementptr i64, ptr %threads.at, i64 4
  store i64 0, ptr %status.at
  store i64 0, ptr %status.1.at
  store i64 0, ptr %status.2.at
  store i64 0, ptr %status.3.at
  %invoke.at = getelementptr i8, ptr %node, i64 {KERNEL_INVOKE}
  %invoke = load ptr, ptr %invoke.at
  %heavy.at = getelementptr i8, ptr %node, i64 {KERNEL_HEAVY}
  %heavy = load i64, ptr %heavy.at
  %elements = load i64, ptr %total
  %light = icmp slt i64 %elements, %heavy
  br i1 %light, label %held, label %released
held:
  call void %invoke(ptr %slots)
  br label %ran
released:
  %thread = call ptr @PyEval_SaveThread()
  call void %invoke(ptr %slots)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %status = load i64, ptr %status.at
  %good = icmp eq i64 %status, 0
  br i1 %good, label %nothing, label %failed
nothing:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
failed:
  %status.1 = load i64, ptr %status.1.at
  %status.2 = load i64, ptr %status.2.at
  %status.3 = load i64, ptr %status.3.at
  %failed.at = getelementptr i8, ptr %node, i64 {KERNEL_FAILED}
  %raises = load ptr, ptr %failed.at
  %raised = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %raises, ptr @four.integers,
                                                            i64 %status, i64 %status.1, i64 %status.2, i64 %status.3)
  ret ptr %raised

refuse:
  ret ptr inttoptr (i64 1 to ptr)
}}
"""
