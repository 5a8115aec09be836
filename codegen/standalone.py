"""What an object needs that is used without our runtime: `lamina_parallel`, in the object itself.

It is defined weakly: of several objects in a program one is taken, and a program may bring its own. On Linux it runs iterations
on an OpenMP runtime if the program is linked with one (`-fopenmp`), else, and elsewhere, all of them in the calling thread.
"""

from __future__ import annotations

import re

from .targets import Target

_DECLARATION = re.compile(r"^declare void @lamina_parallel\([^\n]*\n", re.MULTILINE)


def standalone(text: str, target: Target) -> str:
    r"""LLVM IR text that leaves no function of ours undefined.

    >>> from lamina.codegen.targets.aarch64 import TARGET
    >>> text = "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\n"
    >>> "define weak void @lamina_parallel" in standalone(text, TARGET), standalone("", TARGET)
    (True, '')
    """
    rest, found = _DECLARATION.subn("", text)
    return rest + (_OPENMP if "linux" in target.triple else _SERIAL) if found else text


def with_runtime(text: str) -> str:
    r"""The text for use with our runtime again.

    >>> from lamina.codegen.targets.aarch64 import TARGET
    >>> text = "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\n"
    >>> with_runtime(standalone(text, TARGET)) == text
    True
    """
    for own in (_OPENMP, _SERIAL):
        text = text.replace(own, "declare void @lamina_parallel(ptr, ptr, i64, i64, i64)\n")
    return text


_SERIAL = """
define weak void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  tail call void %body(ptr %data, i64 0, i64 %count)
  ret void
}
"""

# Loops of less work (scalar operations) run in the calling thread: at 0.3 ns each this much is 39 us, about what it takes
# to wake a worker.
_THRESHOLD = 1 << 17

_OPENMP = """
declare extern_weak void @GOMP_parallel(ptr, ptr, i32, i32)

; what the threads of a region share; the counter has a cache line to itself
%lamina.region = type { ptr, ptr, i64, i64, [32 x i8], i64, [56 x i8] } ; body, data, count, chunks, -, next, -

define weak void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  %shared = alloca %lamina.region, align 64
  %linked = icmp ne ptr @GOMP_parallel, null
  %several = icmp sgt i64 %count, 1
  %enough = icmp sge i64 %work, THRESHOLD
  %others = icmp ne i64 %threads, 1
  %worth.1 = and i1 %several, %enough
  %worth = and i1 %worth.1, %others
  %can = and i1 %worth, %linked
  br i1 %can, label %region, label %alone
region:
  %few = icmp slt i64 %count, 64
  %chunks = select i1 %few, i64 %count, i64 64
  store ptr %body, ptr %shared
  %data.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 1
  store ptr %data, ptr %data.at
  %count.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 2
  store i64 %count, ptr %count.at
  %chunks.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 3
  store i64 %chunks, ptr %chunks.at
  %next.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 5
  store i64 0, ptr %next.at
  %team = trunc i64 %threads to i32
  call void @GOMP_parallel(ptr @lamina.member, ptr %shared, i32 %team, i32 0)
  ret void
alone:
  tail call void %body(ptr %data, i64 0, i64 %count)
  ret void
}

define internal void @lamina.member(ptr %shared) {
  %body = load ptr, ptr %shared
  %data.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 1
  %data = load ptr, ptr %data.at
  %count.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 2
  %count = load i64, ptr %count.at
  %chunks.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %next.at = getelementptr %lamina.region, ptr %shared, i64 0, i32 5
  %size = udiv i64 %count, %chunks
  %rest = urem i64 %count, %chunks ; so many chunks have one more
  br label %take
take:
  %chunk = atomicrmw add ptr %next.at, i64 1 monotonic
  %left = icmp ult i64 %chunk, %chunks
  br i1 %left, label %run, label %done
run:
  %begin.1 = mul i64 %chunk, %size
  %longer = icmp ult i64 %chunk, %rest
  %longer.before = select i1 %longer, i64 %chunk, i64 %rest
  %begin = add i64 %begin.1, %longer.before
  %one = zext i1 %longer to i64
  %end.1 = add i64 %begin, %size
  %end = add i64 %end.1, %one
  call void %body(ptr %data, i64 %begin, i64 %end)
  br label %take
done:
  ret void
}
""".replace("THRESHOLD", str(_THRESHOLD))
