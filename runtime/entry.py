"""The native entry: LLVM IR that lets Python call compiled functions with no interpreter in the way.

One object serves all compiled functions of a process. It defines

`@lamina.entry(callable, args, nargsf, kwnames, node)`, which accepts arguments that match the node's signature *exactly*
(type ndarray, NumPy's own descriptor object, shape, C-contiguous, aligned). It allocates the results, finds scratch
memory, calls the host function and returns one array, a tuple, or None. On any difference it passes the call on,
unchanged, to the next node of the chain, and from the last node to the Python callable of the slow path; so it never
raises but for lack of memory.

`@lamina.vectorcall(callable, args, nargsf, kwnames)`, which CPython calls: it starts at the head of the chain.

A node is one specialisation of one callable: its signature and the host function, laid out as in `abi.py`, in memory that
`callable.py` allocates. Signatures are data, not code: an entry written for each signature took 7 ms to compile with
two arguments and 40 ms with twenty, to save about 10 ns a call.

What code generation adds to each module is `@f.invoke(pointers)`: it calls `@f` with the pointers of an array.
"""

from __future__ import annotations

from . import abi

# Scratch memory up to this many bytes is on the stack; above, a block is kept by the node from call to call.
STACK_ARENA_BYTES = 16 << 10
# Scratch memory above this many bytes goes back to the system after every call.
KEPT_ARENA_BYTES = 1 << 30

ENTRY_SYMBOLS = ("lamina.entry", "lamina.vectorcall")


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
    """The LLVM IR of the entry, to be compiled and loaded once, with `abi.symbols()` as imports."""
    facts = {name: value for name, value in vars(abi).items() if name.isupper()}
    return _TEXT.format(stack_arena=STACK_ARENA_BYTES, kept_arena=KEPT_ARENA_BYTES, **facts)


_TEXT = """
@PyArray_Type = external global i8
@_Py_NoneStruct = external global i8
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
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
  %fits = and i1 %positional, %count
  br i1 %fits, label %argument, label %pass_on

argument: ; for each i
  %i = phi i64 [ 0, %0 ], [ %i.next, %next ]
  %param = phi ptr [ %params, %0 ], [ %param.next, %next ]
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
  %r = tail call ptr @run(ptr %node, ptr %args, i64 %nargs, ptr %param)
  ret ptr %r

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

; The call itself, with arguments that fit. %params are those of the results.
define internal ptr @run(ptr %node, ptr %args, i64 %nargs, ptr %params) noinline {{
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

result: ; a new array
  %j = phi i64 [ 0, %argument ], [ %j.next, %allocated ]
  %param = phi ptr [ %params, %argument ], [ %param.next, %allocated ]
  %complete = icmp eq i64 %j, %nresults
  br i1 %complete, label %scratch, label %allocate
allocate:
  %descr.at = getelementptr i8, ptr %param, i64 {PARAM_DESCR}
  %descr = load ptr, ptr %descr.at
  %rank.at = getelementptr i8, ptr %param, i64 {PARAM_RANK}
  %rank = load i32, ptr %rank.at
  %dims.at = getelementptr i8, ptr %param, i64 {PARAM_DIMS}
  %dims = load ptr, ptr %dims.at
  call void @Py_IncRef(ptr %descr) ; the next call takes this reference
  %array = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %descr, i32 %rank, ptr %dims,
                                          ptr null, ptr null, i32 0, ptr null)
  %none = icmp eq ptr %array, null
  br i1 %none, label %give_up, label %allocated
allocated:
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

scratch: ; none, or on the stack, or a block of the heap
  %bytes.at = getelementptr i8, ptr %node, i64 {NODE_ARENA_BYTES}
  %bytes = load i64, ptr %bytes.at
  %slot = getelementptr i8, ptr %node, i64 {NODE_ARENA}
  %small = icmp ule i64 %bytes, {stack_arena}
  %keep = icmp ule i64 %bytes, {kept_arena}
  br i1 %small, label %stack, label %heap
stack:
  %stack.block = alloca i8, i64 %bytes, align 64
  br label %ready
heap: ; the block that the last call left is taken by exchange: two threads never hold the same one
  %kept = atomicrmw xchg ptr %slot, ptr null acquire
  %kept.none = icmp eq ptr %kept, null
  br i1 %kept.none, label %fresh, label %heap.ready
fresh:
  %room = add i64 %bytes, 64
  %new = call ptr @PyMem_RawMalloc(i64 %room)
  %new.none = icmp eq ptr %new, null
  br i1 %new.none, label %no_memory, label %heap.ready
heap.ready:
  %heap.block = phi ptr [ %kept, %heap ], [ %new, %fresh ]
  %address = ptrtoint ptr %heap.block to i64
  %up = add i64 %address, 63
  %down = and i64 %up, -64
  %shift = sub i64 %down, %address
  %heap.arena = getelementptr i8, ptr %heap.block, i64 %shift
  br label %ready

ready:
  %block = phi ptr [ null, %stack ], [ %heap.block, %heap.ready ]
  %arena = phi ptr [ %stack.block, %stack ], [ %heap.arena, %heap.ready ]
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
leave: ; the block for the next call, unless another thread left one
  br i1 %keep, label %put, label %free
put:
  %swap = cmpxchg ptr %slot, ptr null, ptr %block release monotonic
  %put.done = extractvalue {{ ptr, i1 }} %swap, 1
  br i1 %put.done, label %answer, label %free
free:
  call void @PyMem_RawFree(ptr %block)
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

no_memory:
  call ptr @PyErr_NoMemory()
  br label %give_up
give_up: ; an error is set: let go of the results made so far
  %made = phi i64 [ %j, %allocate ], [ %nresults, %no_memory ], [ %nresults, %many ]
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
