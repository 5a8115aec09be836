"""The native entry: LLVM IR that lets Python call a compiled function with no interpreter in the way.

For a host function `@f` this emits two functions to stand in the same module:

`@f.entry(callable, args, nargsf, kwnames, node)` accepts arguments that match the signature *exactly* (type ndarray,
NumPy's own descriptor object, shape, C-contiguous, aligned). It allocates the results, finds scratch memory, calls
`@f` and returns one array or a tuple. On any difference it passes the call on, unchanged, to the next node of the
chain, and from the last node to the Python callable of the slow path; so it never raises but for lack of memory.

`@f.vectorcall(callable, args, nargsf, kwnames)` is what CPython calls: it starts at the head of the chain.

A node `{function, next, arena}` is one specialisation of one callable. It is memory that `callable.py` allocates, so
code holds no address of the process, and one object file serves any process and any number of callables.
"""

from __future__ import annotations

from . import abi
from .signature import Param, Signature

# Work (see Signature.work) from which a call releases the GIL. Releasing and taking it again costs 50 ns when nobody
# waits, but up to 5 ms when another thread runs Python meanwhile; this much work takes some microseconds.
RELEASE_GIL_WORK = 32768

# Scratch memory up to this many bytes is on the stack; above, a block is kept by the node from call to call.
STACK_ARENA_BYTES = 16 << 10
# Scratch memory above this many bytes goes back to the system after every call.
KEPT_ARENA_BYTES = 1 << 30

_ENTRY_TYPE = "ptr (ptr, ptr, i64, ptr, ptr)"


def entry_symbols(host: str) -> tuple[str, str, str]:
    """The symbols to export from a module with an entry: the host function, its entry, its vectorcall."""
    return host, f"{host}.entry", f"{host}.vectorcall"


def emit_entry(signature: Signature, host: str = "f") -> str:
    """LLVM IR text to append to the module that defines `@host` (by the ABI of docs/architecture.md, section 2)."""
    text = _Entry(signature, host)
    text.function()
    return "\n".join([*text.globals, *text.lines, _VECTORCALL.format(host=host, **_OFFSETS), *text.declarations(), ""])


_OFFSETS = {
    "head": abi.CALLABLE_HEAD,
    "slow": abi.CALLABLE_SLOW,
    "function": abi.NODE_FUNCTION,
    "next": abi.NODE_NEXT,
    "arena": abi.NODE_ARENA,
}

_VECTORCALL = """
define ptr @"{host}.vectorcall"(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames) {{
  %head.at = getelementptr i8, ptr %callable, i64 {head}
  %head = load ptr, ptr %head.at
  %function.at = getelementptr i8, ptr %head, i64 {function}
  %function = load ptr, ptr %function.at
  %r = tail call ptr %function(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %head)
  ret ptr %r
}}
"""

_PASS_ON = """pass_on:
  %next.at = getelementptr i8, ptr %node, i64 {next}
  %next = load ptr, ptr %next.at
  %last = icmp eq ptr %next, null
  br i1 %last, label %slow, label %chain
chain:
  %function.at = getelementptr i8, ptr %next, i64 {function}
  %function = load ptr, ptr %function.at
  %chained = musttail call ptr %function(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %next)
  ret ptr %chained
slow:
  %slow.at = getelementptr i8, ptr %callable, i64 {slow}
  %python = load ptr, ptr %slow.at
  %cleared = icmp eq ptr %python, null
  br i1 %cleared, label %error, label %call
error:
  call i32 @PyErr_BadArgument()
  ret ptr null
call:
  %answer = tail call ptr @PyObject_Vectorcall(ptr %python, ptr %args, i64 %nargsf, ptr %kwnames)
  ret ptr %answer
}}"""

_DECLARATIONS = {
    "Py_IncRef": "declare void @Py_IncRef(ptr)",
    "Py_DecRef": "declare void @Py_DecRef(ptr)",
    "PyTuple_New": "declare ptr @PyTuple_New(i64)",
    "PyTuple_SetItem": "declare i32 @PyTuple_SetItem(ptr, i64, ptr)",
    "PyEval_SaveThread": "declare ptr @PyEval_SaveThread()",
    "PyEval_RestoreThread": "declare void @PyEval_RestoreThread(ptr)",
    "PyObject_Vectorcall": "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)",
    "PyMem_RawMalloc": "declare ptr @PyMem_RawMalloc(i64)",
    "PyMem_RawFree": "declare void @PyMem_RawFree(ptr)",
    "PyErr_BadArgument": "declare i32 @PyErr_BadArgument()",
    "PyErr_NoMemory": "declare ptr @PyErr_NoMemory()",
    "PyArray_NewFromDescr": "declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)",
    "PyArray_Type": "@PyArray_Type = external global i8",
    "_Py_NoneStruct": "@_Py_NoneStruct = external global i8",
}


class _Entry:
    """Builds the text of one entry function."""

    def __init__(self, signature: Signature, host: str):
        self.signature = signature
        self.host = host
        self.lines: list[str] = []
        self.globals: list[str] = []
        self.used: dict[str, str] = {}

    def use(self, symbol: str) -> str:
        """An imported symbol, as an operand."""
        self.used[symbol] = _DECLARATIONS.get(symbol, f'@"{symbol}" = external global i8')
        return f'@"{symbol}"'

    def declarations(self) -> list[str]:
        return list(self.used.values())

    def emit(self, *lines: str) -> None:
        self.lines += [f"  {line}" for line in lines]

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def load(self, name: str, ty: str, base: str, offset: int) -> None:
        self.emit(f"{name}.at = getelementptr i8, ptr {base}, i64 {offset}", f"{name} = load {ty}, ptr {name}.at")

    def require(self, condition: str, what: str) -> None:
        """Go on in a new block if the comparison holds, else pass the call on."""
        self.emit(f"%{what} = icmp {condition}", f'br i1 %{what}, label %"{what}.good", label %pass_on')
        self.label(f'"{what}.good"')

    def function(self) -> None:
        signature = self.signature
        self.lines.append(f'define ptr @"{self.host}.entry"(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames, ptr %node) {{')
        if 0 < signature.arena_bytes <= STACK_ARENA_BYTES:
            self.emit(f"%arena = alloca [{signature.arena_bytes} x i8], align 64")
        self.require("eq ptr %kwnames, null", "positional")
        self.emit("%nargs = and i64 %nargsf, 9223372036854775807")  # the top bit is a flag
        self.require(f"eq i64 %nargs, {len(signature.args)}", "count")
        for index, param in enumerate(signature.args):
            self.check(index, param)
        for index in range(len(signature.args)):
            self.load(f"%data{index}", "ptr", f"%arg{index}", abi.NDARRAY_DATA)
        for index, param in enumerate(signature.results):
            self.allocate(index, param)
        self.run()
        self.give_back()
        self.failures()
        self.use("PyObject_Vectorcall")
        self.use("PyErr_BadArgument")
        self.lines.append(_PASS_ON.format(**_OFFSETS))

    def check(self, index: int, param: Param) -> None:
        arg = f"%arg{index}"
        self.load(arg, "ptr", "%args", 8 * index)
        self.load(f"{arg}.type", "ptr", arg, abi.NDARRAY_TYPE)
        self.require(f"eq ptr {arg}.type, {self.use('PyArray_Type')}", f"array{index}")
        self.load(f"{arg}.descr", "ptr", arg, abi.NDARRAY_DESCR)
        self.require(f"eq ptr {arg}.descr, {self.use(abi.descr_symbol(param.dtype))}", f"dtype{index}")
        self.load(f"{arg}.nd", "i32", arg, abi.NDARRAY_NDIM)
        self.require(f"eq i32 {arg}.nd, {len(param.shape)}", f"rank{index}")
        self.load(f"{arg}.flags", "i32", arg, abi.NDARRAY_FLAGS)
        self.emit(f"{arg}.plain = and i32 {arg}.flags, {abi.C_CONTIGUOUS_AND_ALIGNED}")
        self.require(f"eq i32 {arg}.plain, {abi.C_CONTIGUOUS_AND_ALIGNED}", f"layout{index}")
        if param.shape:
            self.load(f"{arg}.dims", "ptr", arg, abi.NDARRAY_DIMS)
        for axis, size in enumerate(param.shape):
            self.load(f"{arg}.dim{axis}", "i64", f"{arg}.dims", 8 * axis)
            self.require(f"eq i64 {arg}.dim{axis}, {size}", f"size{index}.{axis}")

    def allocate(self, index: int, param: Param) -> None:
        descr, rank = self.use(abi.descr_symbol(param.dtype)), len(param.shape)
        dims = f'@"{self.host}.dims{index}"'
        sizes = ", ".join(f"i64 {size}" for size in param.shape)
        value = f"[{sizes}]" if sizes else "zeroinitializer"
        self.globals.append(f"{dims} = private unnamed_addr constant [{rank} x i64] {value}")
        self.emit(
            f"call void {self.use('Py_IncRef')}(ptr {descr})",  # the call below takes this reference
            f"%result{index} = call ptr {self.use('PyArray_NewFromDescr')}(ptr {self.use('PyArray_Type')}, "
            f"ptr {descr}, i32 {rank}, ptr {dims}, ptr null, ptr null, i32 0, ptr null)",
            f"%result{index}.none = icmp eq ptr %result{index}, null",
            f'br i1 %result{index}.none, label %free{index}, label %"result{index}.good"',
        )
        self.label(f'"result{index}.good"')
        self.load(f"%out{index}", "ptr", f"%result{index}", abi.NDARRAY_DATA)

    def run(self) -> None:
        """Scratch memory and the GIL around the call itself."""
        signature = self.signature
        release = signature.estimated_work() >= RELEASE_GIL_WORK
        if release:
            self.emit(f"%thread = call ptr {self.use('PyEval_SaveThread')}()")
        arena = self.take_arena()
        operands = [f"ptr %data{i}" for i in range(len(signature.args))]
        operands += [f"ptr %out{i}" for i in range(len(signature.results))]
        self.emit(f'call void @"{self.host}"({", ".join([*operands, f"ptr {arena}"])})')
        self.leave_arena()
        if release:
            self.emit(f"call void {self.use('PyEval_RestoreThread')}(ptr %thread)")

    @property
    def heap_arena(self) -> bool:
        return self.signature.arena_bytes > STACK_ARENA_BYTES

    @property
    def kept_arena(self) -> bool:
        return self.heap_arena and self.signature.arena_bytes <= KEPT_ARENA_BYTES

    def take_arena(self) -> str:
        size = self.signature.arena_bytes
        if not self.heap_arena:
            return "%arena" if size else "null"
        self.emit("br label %take")
        self.label("take")
        # The block that the last call left is taken by exchange: two threads never hold the same one.
        self.emit(f"%slot = getelementptr i8, ptr %node, i64 {abi.NODE_ARENA}")
        taken = "atomicrmw xchg ptr %slot, ptr null acquire" if self.kept_arena else "freeze ptr null"
        self.emit(
            f"%kept = {taken}",
            "%kept.none = icmp eq ptr %kept, null",
            "br i1 %kept.none, label %fresh, label %have",
        )
        self.label("fresh")
        self.emit(
            f"%new = call ptr {self.use('PyMem_RawMalloc')}(i64 {size + 64})",
            "%new.none = icmp eq ptr %new, null",
            "br i1 %new.none, label %no_arena, label %have.new",
        )
        self.label("have.new")
        self.emit("br label %have")
        self.label("have")
        self.emit(
            "%block = phi ptr [ %kept, %take ], [ %new, %have.new ]",
            "%block.int = ptrtoint ptr %block to i64",
            "%block.up = add i64 %block.int, 63",
            "%block.down = and i64 %block.up, -64",
            "%offset = sub i64 %block.down, %block.int",
            "%arena = getelementptr i8, ptr %block, i64 %offset",
        )
        return "%arena"

    def leave_arena(self) -> None:
        if not self.heap_arena:
            return
        if not self.kept_arena:
            self.emit(f"call void {self.use('PyMem_RawFree')}(ptr %block)")
            return
        self.emit(
            "%swap = cmpxchg ptr %slot, ptr null, ptr %block release monotonic",
            "%left = extractvalue { ptr, i1 } %swap, 1",
            "br i1 %left, label %done, label %surplus",
        )
        self.label("surplus")
        self.emit(f"call void {self.use('PyMem_RawFree')}(ptr %block)", "br label %done")
        self.label("done")

    def give_back(self) -> None:
        count = len(self.signature.results)
        if count == 0:
            none = self.use("_Py_NoneStruct")
            self.emit(f"call void {self.use('Py_IncRef')}(ptr {none})", f"ret ptr {none}")
        elif count == 1:
            self.emit("ret ptr %result0")
        else:
            self.emit(
                f"%tuple = call ptr {self.use('PyTuple_New')}(i64 {count})",
                "%tuple.none = icmp eq ptr %tuple, null",
                f"br i1 %tuple.none, label %free{count}, label %fill",
            )
            self.label("fill")
            for index in range(count):
                self.emit(f"%set{index} = call i32 {self.use('PyTuple_SetItem')}(ptr %tuple, i64 {index}, ptr %result{index})")
            self.emit("ret ptr %tuple")

    def failures(self) -> None:
        """`free<k>` gives up the first k results and returns an error that is set already."""
        count = len(self.signature.results)
        if self.heap_arena:
            self.label("no_arena")
            if self.signature.estimated_work() >= RELEASE_GIL_WORK:
                self.emit(f"call void {self.use('PyEval_RestoreThread')}(ptr %thread)")
            self.emit(f"%no_memory = call ptr {self.use('PyErr_NoMemory')}()", f"br label %free{count}")
        last = count if self.heap_arena or count > 1 else count - 1
        for index in range(last, -1, -1):
            self.label(f"free{index}")
            if index:
                self.emit(f"call void {self.use('Py_DecRef')}(ptr %result{index - 1})", f"br label %free{index - 1}")
            else:
                self.emit("ret ptr null")
