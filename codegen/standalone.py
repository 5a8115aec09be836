"""The runtime of an object that is used without ours: `lamina_parallel`, in the object itself.

Three forms. By default it is defined weakly: of several objects in a program one is chosen, and a program may bring its own. On
Linux it runs iterations on an OpenMP runtime if the program has one, else, and elsewhere, all of them in the calling thread.
`-fopenmp` alone does not link one: linkers leave out a library that only weak references name, hence headers name it, too
(`ANCHOR`). With threads required, the object itself names the OpenMP runtime, and does not link without it; with threads
refused, no runtime is looked for. These two concern the object alone.
"""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import product

from ..errors import CompileError
from .structured_builder import Flow, define
from .targets import Target
from .text import I32, I64, PTR, Module
from .workers import ends_of_pieces, run_alone

_DECLARATION = re.compile(r"^declare void @lamina_parallel\([^\n]*\n", re.MULTILINE)
_THRESHOLD = 1 << 17
"""Loops of less work (scalar operations) run in the calling thread: at 0.3 ns each this much is 39 us, about what it takes to
wake a worker."""
_MOST_CHUNKS = 64
# the fields of the data that the threads of a region share; the counter has a cache line of its own
_BODY, _DATA, _COUNT, _CHUNKS, _NEXT = 0, 8, 16, 24, 64
_REGION = "[128 x i8], align 64"


ANCHOR = """\
#ifdef _OPENMP /* the object finds the OpenMP runtime where a program names it: this does */
extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
static void (*const {name})(void (*)(void *), void *, unsigned, unsigned) __attribute__((used)) = GOMP_parallel;
#endif"""
"""What a header says, so that a program compiled with `-fopenmp` is linked with the runtime; it also takes what defines the
function out of a static library. Only the functions that are called count: `omp_get_max_threads` would not do."""


def standalone(text: str, target: Target, threads: bool | None = None) -> str:
    r"""LLVM IR text that leaves no function of ours undefined.

    Args:
        text: LLVM IR of a module.
        target: the target it is for; OpenMP is looked for on Linux alone.
        threads: whether loops must run on threads of OpenMP, or must not; None: where the program has OpenMP.

    >>> from lamina.codegen.targets.aarch64 import TARGET
    >>> text = "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\n"
    >>> "define weak void @lamina_parallel" in standalone(text, TARGET), standalone("", TARGET)
    (True, '')
    """
    rest, found = _DECLARATION.subn("", text)
    if not found:
        return text
    if threads and "linux" not in target.triple:
        raise CompileError(f"target '{target}' has no OpenMP runtime to require: leave out --threads")
    return rest + _runtime("linux" in target.triple, threads)


def with_runtime(text: str) -> str:
    r"""The text for use with our runtime again.

    >>> from lamina.codegen.targets.aarch64 import TARGET
    >>> text = "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\n"
    >>> with_runtime(standalone(text, TARGET)) == text
    True
    """
    for openmp, threads in product((True, False), (None, True, False)):
        text = text.replace(_runtime(openmp, threads), "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\n")
    return text


@cache
def _runtime(openmp: bool, threads: bool | None) -> str:
    """The definition of `@lamina_parallel`, with the threads of OpenMP or without any."""
    module = Module()
    linkage = "weak" if threads is None else "internal"
    entry = f"{linkage} void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)"
    if openmp and threads is not False:
        define(module, entry, partial(_parallel, required=bool(threads)))
        define(module, "internal void @lamina.member(ptr %shared)", _member)
    else:
        define(module, entry, run_alone)
    return "\n" + module.text()


def _parallel(b: Flow, *, required: bool) -> None:
    """Open a region of OpenMP's, if the program has it and the loop is worth it."""
    fork = b.module.declare("GOMP_parallel", "void" if required else "extern_weak void", (PTR, PTR, I32, I32))
    shared = b.stack(_REGION)
    if not required:
        b.require(b.icmp("ne", fork, "null", PTR), "alone")
    b.require(b.icmp("sgt", "%count", "1", I64), "alone")
    b.require(b.icmp("sge", "%work", str(_THRESHOLD), I64), "alone")
    b.require(b.icmp("ne", "%threads", "1", I64), "alone")
    few = b.icmp("slt", "%count", str(_MOST_CHUNKS), I64)
    b.set_field("%body", shared, _BODY, PTR)
    b.set_field("%data", shared, _DATA, PTR)
    b.set_field("%count", shared, _COUNT)
    b.set_field(b.select(few, "%count", str(_MOST_CHUNKS), I64), shared, _CHUNKS)
    b.set_field("0", shared, _NEXT)
    team = b.cast("trunc", "%threads", I64, I32)
    b.call(fork, "void", (PTR, "@lamina.member"), (PTR, shared), (I32, team), (I32, "0"))
    b.ret()
    b.label("alone")
    run_alone(b)


def _member(b: Flow) -> None:
    """The code of each thread of a region: take chunks until none is left."""
    body, data = b.field("%shared", _BODY, PTR), b.field("%shared", _DATA, PTR)
    count, chunks = b.field("%shared", _COUNT), b.field("%shared", _CHUNKS)
    ends = ends_of_pieces(b, count, chunks)
    following, chunk = b.gep("%shared", str(_NEXT), "i8", ""), b.variable("0", I64)

    def is_left() -> str:
        taken = b.atomic("add", following, "1", I64, "monotonic")
        b.store(taken, chunk, I64)
        return b.icmp("ult", taken, chunks, I64)

    with b.loop(is_left):
        begin, end = ends(b.load(chunk, I64))
        b.call(body, "void", (PTR, data), (I64, begin), (I64, end))
    b.ret()
