"""The native entry: LLVM IR that lets Python call compiled functions with no interpreter in the way.

One object serves all compiled functions of a process. It defines

`@lamina.entry(callable, args, nargsf, kwnames, node)`, which accepts arguments that match the node's signature *exactly*
(type ndarray, NumPy's own descriptor object, shape, C-contiguous, aligned). It allocates the results, finds scratch
memory, calls the host function and returns one array, a tuple, or None. On any difference it passes the call on,
unchanged, to the next node of the chain, and from the last node to the Python callable of the slow path; so it never
raises but for lack of memory.

A result is one of: the array that the keyword `out` gives (one array, or a tuple of several), which must match as exactly,
be writeable and overlap no argument; the argument that donates its memory, if that is writeable and overlaps no other; a new
array, from `pool.SMALLEST_BYTES` up on memory of the pool (pool.py, which also gives scratch memory).

`@lamina.vectorcall(callable, args, nargsf, kwnames)`, which CPython calls: it starts at the head of the chain.

A node is one specialisation of one callable: its signature and the host function, laid out as in `abi.py`, in memory that
`callable.py` allocates. Signatures are data, not code: an entry written for each signature took 7 ms to compile with
two arguments and 40 ms with twenty, to save about 10 ns a call.

What code generation adds to each module is `@f.invoke(pointers)`: it calls `@f` with the pointers of an array.
"""

from __future__ import annotations

from . import abi
from .pool import POOL_SYMBOLS, SMALLEST_BYTES, pool_module

# Scratch memory up to this many bytes is on the stack; above, it is a block of the pool.
STACK_ARENA_BYTES = 16 << 10

# tracemalloc's number for the memory of arrays (NumPy's NPY_TRACE_DOMAIN)
_TRACE_DOMAIN = 389047

ENTRY_SYMBOLS = ("lamina.entry", "lamina.vectorcall", *POOL_SYMBOLS)


def invoke_symbol(host: str) -> str:
    """The symbol to export from a module with the host function `@host`."""
    return f"{host}.invoke"


def emit_invoke(host: str, pointers: int) -> str:
    """LLVM IR text to append to the module that defines `@host`, which takes that many pointers.

    >>> print(emit_invoke("f", 1))
    define void @"f.invoke"(ptr %array) {
      %at0 = getelementptr ptr, ptr %array, i64 0
      %p0 = load ptr, ptr %at0
      tail call void @"f"(ptr %p0)
      ret void
    }
    <BLANKLINE>
    """
    lines = [f'define void @"{invoke_symbol(host)}"(ptr %array) {{']
    for i in range(pointers):
        lines += [f"  %at{i} = getelementptr ptr, ptr %array, i64 {i}", f"  %p{i} = load ptr, ptr %at{i}"]
    arguments = ", ".join(f"ptr %p{i}" for i in range(pointers))
    lines += [f'  tail call void @"{host}"({arguments})', "  ret void", "}", ""]
    return "\n".join(lines)


def entry_module() -> str:
    """The LLVM IR of the entry and the pool, to be compiled and loaded once, with `abi.symbols()` and `pool.imports()`."""
    facts = {name: value for name, value in vars(abi).items() if name.isupper()}
    return _TEXT.format(stack_arena=STACK_ARENA_BYTES, pooled=SMALLEST_BYTES, domain=_TRACE_DOMAIN, **facts) + pool_module()


_TEXT = """
@PyArray_Type = external global i8
@PyTuple_Type = external global i8
@_Py_NoneStruct = external global i8
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i32 @PyTraceMalloc_Track(i32, i64, i64)
declare ptr @PyErr_NoMemory()
declare i32 @PyErr_BadArgument()
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)

define ptr @lamina.vectorcall(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) {{
  %head.at = getelementptr i8, ptr %callable, i64 {CALLABLE_HEAD}
  %head = load ptr, ptr %head.at
  %function.at = getelementptr i8, ptr %head, i64 {NODE_FUNCTION}
  %function = load ptr, ptr %function.at
  %r = tail call ptr %function(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %head)
  ret ptr %r
}}

define ptr @lamina.entry(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %node) {{
  %nargs = and i64 %nargsf, 9223372036854775807 ; the top bit is a flag
  %expected.at = getelementptr i8, ptr %node, i64 {NODE_ARGS}
  %expected = load i64, ptr %expected.at
  %positional = icmp eq ptr %kwnames, null
  %count = icmp eq i64 %nargs, %expected
  %params.at = getelementptr i8, ptr %node, i64 {NODE_PARAMS}
  %params = load ptr, ptr %params.at
  br i1 %count, label %keywords, label %pass_on
keywords:
  br i1 %positional, label %arguments, label %named
named:
  %out = call i1 @names_out(ptr %node, ptr %kwnames)
  br i1 %out, label %arguments, label %pass_on
arguments:
  br label %argument

argument: ; for each i
  %i = phi i64 [ 0, %arguments ], [ %i.next, %next ]
  %param = phi ptr [ %params, %arguments ], [ %param.next, %next ]
  %done = icmp eq i64 %i, %nargs
  br i1 %done, label %accept, label %type
type: ; nothing but the type may be read before it is known
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %type.at = getelementptr i8, ptr %arg, i64 {NDARRAY_TYPE}
  %is = load ptr, ptr %type.at
  %is.array = icmp eq ptr %is, @PyArray_Type
  br i1 %is.array, label %header, label %pass_on
header:
  %descr.at = getelementptr i8, ptr %arg, i64 {NDARRAY_DESCR}
  %descr = load ptr, ptr %descr.at
  %param.descr.at = getelementptr i8, ptr %param, i64 {PARAM_DESCR}
  %param.descr = load ptr, ptr %param.descr.at
  %same.descr = icmp eq ptr %descr, %param.descr
  %rank.at = getelementptr i8, ptr %arg, i64 {NDARRAY_NDIM}
  %rank = load i32, ptr %rank.at
  %param.rank.at = getelementptr i8, ptr %param, i64 {PARAM_RANK}
  %param.rank = load i32, ptr %param.rank.at
  %same.rank = icmp eq i32 %rank, %param.rank
  %flags.at = getelementptr i8, ptr %arg, i64 {NDARRAY_FLAGS}
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, {C_CONTIGUOUS_AND_ALIGNED}
  %plain = icmp eq i32 %layout, {C_CONTIGUOUS_AND_ALIGNED}
  %same.1 = and i1 %same.descr, %same.rank
  %same.2 = and i1 %same.1, %plain
  br i1 %same.2, label %shape, label %pass_on
shape:
  %dims.at = getelementptr i8, ptr %arg, i64 {NDARRAY_DIMS}
  %dims = load ptr, ptr %dims.at
  %param.dims.at = getelementptr i8, ptr %param, i64 {PARAM_DIMS}
  %param.dims = load ptr, ptr %param.dims.at
  %axes = zext i32 %rank to i64
  br label %axis
axis: ; for each
  %a = phi i64 [ 0, %shape ], [ %a.next, %size ]
  %all = icmp eq i64 %a, %axes
  br i1 %all, label %next, label %size
size:
  %dim.at = getelementptr i64, ptr %dims, i64 %a
  %dim = load i64, ptr %dim.at
  %param.dim.at = getelementptr i64, ptr %param.dims, i64 %a
  %param.dim = load i64, ptr %param.dim.at
  %a.next = add i64 %a, 1
  %same.size = icmp eq i64 %dim, %param.dim
  br i1 %same.size, label %axis, label %pass_on
next:
  %i.next = add i64 %i, 1
  %param.next = getelementptr i8, ptr %param, i64 {PARAM_BYTES}
  br label %argument

accept:
  br i1 %positional, label %new, label %given
new:
  %r = tail call ptr @run(ptr %node, ptr %args, i64 %nargs, ptr %param, ptr null)
  ret ptr %r
given:
  %g = call ptr @run_into(ptr %node, ptr %args, i64 %nargs, ptr %param)
  %misfit = icmp eq ptr %g, %node
  br i1 %misfit, label %pass_on, label %answered
answered:
  ret ptr %g

pass_on:
  %following.at = getelementptr i8, ptr %node, i64 {NODE_NEXT}
  %following = load ptr, ptr %following.at
  %last = icmp eq ptr %following, null
  br i1 %last, label %slow, label %chain
chain:
  %function.at = getelementptr i8, ptr %following, i64 {NODE_FUNCTION}
  %function = load ptr, ptr %function.at
  %chained = musttail call ptr %function(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %following)
  ret ptr %chained
slow:
  %slow.at = getelementptr i8, ptr %callable, i64 {CALLABLE_SLOW}
  %python = load ptr, ptr %slow.at
  %cleared = icmp eq ptr %python, null ; by the garbage collector
  br i1 %cleared, label %error, label %call
error:
  call i32 @PyErr_BadArgument()
  ret ptr null
call:
  %answer = tail call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %nargsf, ptr %kwnames)
  ret ptr %answer
}}

; Whether the one keyword of a call is that of results, by the identity of the interned name.
define internal i1 @names_out(ptr %node, ptr %kwnames) noinline {{
  %names = call i64 @PyTuple_Size(ptr %kwnames)
  %one = icmp eq i64 %names, 1
  br i1 %one, label %name, label %no
name:
  %word = call ptr @PyTuple_GetItem(ptr %kwnames, i64 0)
  %out.at = getelementptr i8, ptr %node, i64 {NODE_OUT_NAME}
  %out = load ptr, ptr %out.at
  %same = icmp eq ptr %word, %out
  ret i1 %same
no:
  ret i1 false
}}

; Whether two pieces of memory share a byte.
define internal i1 @overlap(ptr %a, i64 %a.size, ptr %b, i64 %b.size) {{
  %a.end = getelementptr i8, ptr %a, i64 %a.size
  %b.end = getelementptr i8, ptr %b, i64 %b.size
  %before = icmp ult ptr %a, %b.end
  %after = icmp ult ptr %b, %a.end
  %both = and i1 %before, %after
  ret i1 %both
}}

; Whether an array shares no byte with any of some others but number %except. The params are those of the others.
define internal i1 @alone(ptr %array, i64 %size, ptr %others, i64 %count, ptr %params, i64 %except) noinline {{
  %data.at = getelementptr i8, ptr %array, i64 {NDARRAY_DATA}
  %data = load ptr, ptr %data.at
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %k.next, %next ]
  %done = icmp eq i64 %k, %count
  br i1 %done, label %yes, label %look
look:
  %other.at = getelementptr ptr, ptr %others, i64 %k
  %other = load ptr, ptr %other.at
  %other.data.at = getelementptr i8, ptr %other, i64 {NDARRAY_DATA}
  %other.data = load ptr, ptr %other.data.at
  %param.offset = mul i64 %k, {PARAM_BYTES}
  %param = getelementptr i8, ptr %params, i64 %param.offset
  %other.size.at = getelementptr i8, ptr %param, i64 {PARAM_SIZE}
  %other.size = load i64, ptr %other.size.at
  %overlaps = call i1 @overlap(ptr %data, i64 %size, ptr %other.data, i64 %other.size)
  %counts = icmp ne i64 %k, %except
  %hit = and i1 %overlaps, %counts
  br i1 %hit, label %no, label %next
next:
  %k.next = add i64 %k, 1
  br label %each
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether an object is an array that native code can write a result into.
define internal i1 @is_result(ptr %array, ptr %param) noinline {{
  %type.at = getelementptr i8, ptr %array, i64 {NDARRAY_TYPE}
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, @PyArray_Type
  br i1 %is.array, label %header, label %no
header:
  %descr.at = getelementptr i8, ptr %array, i64 {NDARRAY_DESCR}
  %descr = load ptr, ptr %descr.at
  %param.descr.at = getelementptr i8, ptr %param, i64 {PARAM_DESCR}
  %param.descr = load ptr, ptr %param.descr.at
  %same.descr = icmp eq ptr %descr, %param.descr
  %rank.at = getelementptr i8, ptr %array, i64 {NDARRAY_NDIM}
  %rank = load i32, ptr %rank.at
  %param.rank.at = getelementptr i8, ptr %param, i64 {PARAM_RANK}
  %param.rank = load i32, ptr %param.rank.at
  %same.rank = icmp eq i32 %rank, %param.rank
  %flags.at = getelementptr i8, ptr %array, i64 {NDARRAY_FLAGS}
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, {CARRAY}
  %plain = icmp eq i32 %layout, {CARRAY}
  %same.1 = and i1 %same.descr, %same.rank
  %same.2 = and i1 %same.1, %plain
  br i1 %same.2, label %shape, label %no
shape:
  %dims.at = getelementptr i8, ptr %array, i64 {NDARRAY_DIMS}
  %dims = load ptr, ptr %dims.at
  %param.dims.at = getelementptr i8, ptr %param, i64 {PARAM_DIMS}
  %param.dims = load ptr, ptr %param.dims.at
  %axes = zext i32 %rank to i64
  br label %axis
axis:
  %a = phi i64 [ 0, %shape ], [ %a.next, %size ]
  %all = icmp eq i64 %a, %axes
  br i1 %all, label %yes, label %size
size:
  %dim.at = getelementptr i64, ptr %dims, i64 %a
  %dim = load i64, ptr %dim.at
  %param.dim.at = getelementptr i64, ptr %param.dims, i64 %a
  %param.dim = load i64, ptr %param.dim.at
  %a.next = add i64 %a, 1
  %same.size = icmp eq i64 %dim, %param.dim
  br i1 %same.size, label %axis, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; The call into given arrays: what follows the arguments is one, or a tuple of them. %node: they do not fit.
define internal ptr @run_into(ptr %node, ptr %args, i64 %nargs, ptr %params) noinline {{
  %nresults.at = getelementptr i8, ptr %node, i64 {NODE_RESULTS}
  %nresults = load i64, ptr %nresults.at
  %results = alloca ptr, i64 %nresults
  %arg.params.at = getelementptr i8, ptr %node, i64 {NODE_PARAMS}
  %arg.params = load ptr, ptr %arg.params.at
  %out.at = getelementptr ptr, ptr %args, i64 %nargs
  %out = load ptr, ptr %out.at
  switch i64 %nresults, label %many [ i64 0, label %misfit
                                      i64 1, label %one ]
one:
  store ptr %out, ptr %results
  br label %each
many:
  %type.at = getelementptr i8, ptr %out, i64 {NDARRAY_TYPE}
  %type = load ptr, ptr %type.at
  %is.tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is.tuple, label %length, label %misfit
length:
  %items = call i64 @PyTuple_Size(ptr %out)
  %complete = icmp eq i64 %items, %nresults
  br i1 %complete, label %item, label %misfit
item:
  %k = phi i64 [ 0, %length ], [ %k.next, %item ]
  %from.tuple = call ptr @PyTuple_GetItem(ptr %out, i64 %k)
  %item.at = getelementptr ptr, ptr %results, i64 %k
  store ptr %from.tuple, ptr %item.at
  %k.next = add i64 %k, 1
  %taken = icmp eq i64 %k.next, %nresults
  br i1 %taken, label %each, label %item
each: ; result
  %j = phi i64 [ 0, %one ], [ 0, %item ], [ %j.next, %next ]
  %param = phi ptr [ %params, %one ], [ %params, %item ], [ %param.next, %next ]
  %checked = icmp eq i64 %j, %nresults
  br i1 %checked, label %call, label %check
check:
  %result.at = getelementptr ptr, ptr %results, i64 %j
  %result = load ptr, ptr %result.at
  %fits = call i1 @is_result(ptr %result, ptr %param)
  br i1 %fits, label %memory, label %misfit
memory:
  %size.at = getelementptr i8, ptr %param, i64 {PARAM_SIZE}
  %size = load i64, ptr %size.at
  %off.arguments = call i1 @alone(ptr %result, i64 %size, ptr %args, i64 %nargs, ptr %arg.params, i64 -1)
  %off.results = call i1 @alone(ptr %result, i64 %size, ptr %results, i64 %j, ptr %params, i64 -1)
  %apart = and i1 %off.arguments, %off.results
  br i1 %apart, label %next, label %misfit
next:
  %j.next = add i64 %j, 1
  %param.next = getelementptr i8, ptr %param, i64 {PARAM_BYTES}
  br label %each
call:
  %r = call ptr @run(ptr %node, ptr %args, i64 %nargs, ptr %params, ptr %results)
  ret ptr %r
misfit:
  ret ptr %node
}}

; The call itself, with arguments that fit. %params are those of the results; %given are arrays for them, or null.
define internal ptr @run(ptr %node, ptr %args, i64 %nargs, ptr %params, ptr %given) noinline {{
  %nresults.at = getelementptr i8, ptr %node, i64 {NODE_RESULTS}
  %nresults = load i64, ptr %nresults.at
  %results = alloca ptr, i64 %nresults
  %npointers.1 = add i64 %nargs, %nresults
  %npointers = add i64 %npointers.1, 1
  %pointers = alloca ptr, i64 %npointers
  br label %argument

argument: ; its data pointer
  %i = phi i64 [ 0, %0 ], [ %i.next, %take ]
  %taken = icmp eq i64 %i, %nargs
  br i1 %taken, label %result, label %take
take:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %data.at = getelementptr i8, ptr %arg, i64 {NDARRAY_DATA}
  %data = load ptr, ptr %data.at
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %pointer.at
  %i.next = add i64 %i, 1
  br label %argument

result: ; given, donated, or a new array
  %j = phi i64 [ 0, %argument ], [ %j.next, %ready.result ]
  %param = phi ptr [ %params, %argument ], [ %param.next, %ready.result ]
  %complete = icmp eq i64 %j, %nresults
  br i1 %complete, label %scratch, label %whose
whose:
  %size.at = getelementptr i8, ptr %param, i64 {PARAM_SIZE}
  %size = load i64, ptr %size.at
  %donor.at = getelementptr i8, ptr %param, i64 {PARAM_DONOR}
  %donor = load i64, ptr %donor.at
  %is.given = icmp ne ptr %given, null
  br i1 %is.given, label %given.result, label %not.given
given.result:
  %given.at = getelementptr ptr, ptr %given, i64 %j
  %given.array = load ptr, ptr %given.at
  br label %keep
not.given:
  %has.donor = icmp sge i64 %donor, 0
  br i1 %has.donor, label %donated, label %allocate
donated:
  %donor.arg.at = getelementptr ptr, ptr %args, i64 %donor
  %donor.arg = load ptr, ptr %donor.arg.at
  %donor.flags.at = getelementptr i8, ptr %donor.arg, i64 {NDARRAY_FLAGS}
  %donor.flags = load i32, ptr %donor.flags.at
  %donor.writes = and i32 %donor.flags, {WRITEABLE}
  %writeable = icmp ne i32 %donor.writes, 0
  %arg.params.at = getelementptr i8, ptr %node, i64 {NODE_PARAMS}
  %arg.params = load ptr, ptr %arg.params.at
  %off.others = call i1 @alone(ptr %donor.arg, i64 %size, ptr %args, i64 %nargs, ptr %arg.params, i64 %donor)
  %may.write = and i1 %writeable, %off.others
  br i1 %may.write, label %keep, label %allocate
keep:
  %held.array = phi ptr [ %given.array, %given.result ], [ %donor.arg, %donated ]
  call void @Py_IncRef(ptr %held.array)
  br label %ready.result
allocate:
  %descr.at = getelementptr i8, ptr %param, i64 {PARAM_DESCR}
  %descr = load ptr, ptr %descr.at
  %rank.at = getelementptr i8, ptr %param, i64 {PARAM_RANK}
  %rank = load i32, ptr %rank.at
  %dims.at = getelementptr i8, ptr %param, i64 {PARAM_DIMS}
  %dims = load ptr, ptr %dims.at
  %large = icmp uge i64 %size, {pooled}
  br i1 %large, label %pooled, label %small.result
small.result:
  call void @Py_IncRef(ptr %descr) ; the next call takes this reference
  %small.array = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %descr, i32 %rank, ptr %dims,
                                                ptr null, ptr null, i32 0, ptr null)
  %none = icmp eq ptr %small.array, null
  br i1 %none, label %give_up, label %ready.result
pooled:
  %memory = call ptr @lamina.pool.take(i64 %size)
  %memory.none = icmp eq ptr %memory, null
  br i1 %memory.none, label %no_result, label %wrap
wrap:
  call void @Py_IncRef(ptr %descr)
  %pool.array = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %descr, i32 %rank, ptr %dims,
                                               ptr null, ptr %memory, i32 {CARRAY}, ptr null)
  %pool.array.none = icmp eq ptr %pool.array, null
  br i1 %pool.array.none, label %give_back, label %adopt
give_back:
  call void @lamina.pool.give(ptr %memory)
  br label %give_up
adopt:
  call void @lamina.pool.adopt(ptr %pool.array)
  %memory.address = ptrtoint ptr %memory to i64
  %traced = call i32 @PyTraceMalloc_Track(i32 {domain}, i64 %memory.address, i64 %size)
  br label %ready.result
ready.result:
  %array = phi ptr [ %held.array, %keep ], [ %small.array, %small.result ], [ %pool.array, %adopt ]
  %result.at = getelementptr ptr, ptr %results, i64 %j
  store ptr %array, ptr %result.at
  %array.data.at = getelementptr i8, ptr %array, i64 {NDARRAY_DATA}
  %array.data = load ptr, ptr %array.data.at
  %position = add i64 %nargs, %j
  %array.pointer.at = getelementptr ptr, ptr %pointers, i64 %position
  store ptr %array.data, ptr %array.pointer.at
  %j.next = add i64 %j, 1
  %param.next = getelementptr i8, ptr %param, i64 {PARAM_BYTES}
  br label %result

scratch: ; none, or on the stack, or a block of the pool
  %bytes.at = getelementptr i8, ptr %node, i64 {NODE_ARENA_BYTES}
  %bytes = load i64, ptr %bytes.at
  %small = icmp ule i64 %bytes, {stack_arena}
  br i1 %small, label %stack, label %heap
stack:
  %stack.block = alloca i8, i64 %bytes, align 64
  br label %ready
heap:
  %heap.block = call ptr @lamina.pool.take(i64 %bytes)
  %heap.none = icmp eq ptr %heap.block, null
  br i1 %heap.none, label %no_memory, label %ready

ready:
  %arena = phi ptr [ %stack.block, %stack ], [ %heap.block, %heap ]
  %arena.position = sub i64 %npointers, 1
  %arena.at = getelementptr ptr, ptr %pointers, i64 %arena.position
  store ptr %arena, ptr %arena.at
  %invoke.at = getelementptr i8, ptr %node, i64 {NODE_INVOKE}
  %invoke = load ptr, ptr %invoke.at
  %release.at = getelementptr i8, ptr %node, i64 {NODE_RELEASE_GIL}
  %release = load i64, ptr %release.at
  %hold = icmp eq i64 %release, 0
  br i1 %hold, label %held, label %released
held:
  call void %invoke(ptr %pointers)
  br label %after
released:
  %thread = call ptr @PyEval_SaveThread()
  call void %invoke(ptr %pointers)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %after
after:
  br i1 %small, label %answer, label %leave
leave:
  call void @lamina.pool.give(ptr %arena)
  br label %answer

answer:
  switch i64 %nresults, label %many [ i64 0, label %nothing
                                      i64 1, label %one ]
nothing:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
one:
  %only = load ptr, ptr %results
  ret ptr %only
many:
  %tuple = call ptr @PyTuple_New(i64 %nresults)
  %tuple.none = icmp eq ptr %tuple, null
  br i1 %tuple.none, label %give_up, label %fill
fill:
  %k = phi i64 [ 0, %many ], [ %k.next, %fill ]
  %item.at = getelementptr ptr, ptr %results, i64 %k
  %item = load ptr, ptr %item.at
  call i32 @PyTuple_SetItem(ptr %tuple, i64 %k, ptr %item)
  %k.next = add i64 %k, 1
  %filled = icmp eq i64 %k.next, %nresults
  br i1 %filled, label %return, label %fill
return:
  ret ptr %tuple

no_result:
  call ptr @PyErr_NoMemory()
  br label %give_up
no_memory:
  call ptr @PyErr_NoMemory()
  br label %give_up
give_up: ; an error is set: let go of the results made so far
  %made = phi i64 [ %j, %small.result ], [ %j, %no_result ], [ %j, %give_back ], [ %nresults, %no_memory ], [ %nresults, %many ]
  br label %drop
drop:
  %left = phi i64 [ %made, %give_up ], [ %left.next, %dropped ]
  %dropped.all = icmp eq i64 %left, 0
  br i1 %dropped.all, label %failed, label %dropped
dropped:
  %left.next = sub i64 %left, 1
  %drop.at = getelementptr ptr, ptr %results, i64 %left.next
  %drop.array = load ptr, ptr %drop.at
  call void @Py_DecRef(ptr %drop.array)
  br label %drop
failed:
  ret ptr null
}}
"""
