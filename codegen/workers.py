"""The function that parallel loops call, and the workers that help it, as LLVM IR.

`parallel_module()` defines

`@lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)`, which runs the iterations 0 to `count` of a
loop through `body(ptr %data, i64 %begin, i64 %end)`: in pieces, on several threads; or all at once in the calling thread,
when `work` (scalar operations of the whole loop) is too little, when one thread is requested (`threads`; 0 means the
default), or when another region is active. No more threads take part than the work is worth. `threads.ONCE` added to the
number of threads asks for one piece a thread, where each goes through all of something; `threads.MANY` for many small ones.

The workers belong to the process and are made when a region first needs them. A region does not wait for them to come: the
calling thread begins at the front of the pieces, workers take from the back whenever they are there, and the region ends
when no piece is left and none is being worked on. So a worker that the system is slow to wake costs nothing but its help.
A worker without work looks for some for about a millisecond, giving way to any other thread after each few looks, and then
sleeps until it is woken.

What all of this goes by stands in the words of `threads.State`. `parallel.py` compiles and loads.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable
from functools import partial

from ..runtime import threads
from .structured_builder import Flow, define
from .text import I1, I32, I64, PTR, Module

PARALLEL_SYMBOLS = ("lamina_parallel",)

_FRONT, _BACK = 1, 1 << 32
"""Added to `taken` for a piece from an end."""
_OVER, _WITHIN, _TEAM = 1 << 15, (1 << 15) - 1, (1 << 16) - 1
"""Of a ticket: the region is over, how many workers are within, and, 16 bits further up, the threads. Its number is on top."""
_LOOKS = 16
"""Looks between two yields of a waiting thread."""
_EXCEPTIONS = 65472
"""The bits of x86's MXCSR without the exception flags."""
_CPU_SET_WORDS = 16
"""Of glibc's cpu_set_t, which has 1024 processors."""
# signals that a fault of a worker's own raises; the numbers of SIGBUS are those of Linux and macOS
_FAULTS = (signal.SIGILL, signal.SIGFPE, signal.SIGSEGV, 7, 10)
_SIG_BLOCK = 1 if sys.platform == "darwin" else 0


def parallel_module(architecture: str) -> str:
    """The LLVM IR of `@lamina_parallel`, with `threads.imports()` to link.

    >>> "@lamina_parallel(" in parallel_module("x86_64")
    True
    """
    module = Module()
    entry = "void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)"
    if not threads.THREADED:
        define(module, entry, run_alone)
        return module.text()
    architecture = "aarch64" if architecture == "arm64" else architecture
    define(module, entry, _parallel)
    define(module, "internal void @region(ptr %body, ptr %data, i64 %count, i64 %team, i64 %most) noinline", _region)
    define(module, "internal void @hire(i64 %team)", _hire)
    define(module, "internal ptr @worker(ptr %index)", _worker)
    define(module, "internal void @take(i64 %one)", _take)
    define(module, "internal i64 @patience(i64 %team)", _patience)
    define(module, "internal void @give_way(i64 %looks)", partial(_give_way, architecture))
    define(module, "internal i64 @control() alwaysinline", partial(_control, architecture))
    define(module, "internal void @set_control(i64 %modes) alwaysinline", partial(_set_control, architecture))
    define(module, "internal void @note_processor()", _note_processor)
    define(module, "internal void @part()", _part)
    return module.text()


# The words that threads share


def _at(b: Flow, name: str) -> str:
    """The address of a word, or of the system's object there."""
    words = ctypes.sizeof(threads.State) // 8
    state, _ = b.module.globals.setdefault(
        threads.STATE_SYMBOL, (f"@{threads.STATE_SYMBOL}", f"@{threads.STATE_SYMBOL} = external global [{words} x i64]")
    )
    return b.gep(state, str(getattr(threads.State, name).offset), "i8")


def _read(b: Flow, name: str, ordering: str = "monotonic") -> str:
    return b.atomic_load(_at(b, name), I64, ordering)


def _write(b: Flow, value: str, name: str, ordering: str = "monotonic") -> None:
    b.atomic_store(value, _at(b, name), I64, ordering)


def _call(b: Flow, name: str, *words: str) -> None:
    """A function of the system that takes the addresses of words."""
    b.extern(name, "i32", *[(PTR, _at(b, word)) for word in words])


def _is(b: Flow, condition: str, x: str, y: int | str) -> str:
    return b.icmp(condition, x, str(y), I64)


def _least(b: Flow, x: str, y: int | str) -> str:
    return b.intrinsic("umin", I64, x, str(y))


# The function that a parallel loop calls


def run_alone(b: Flow) -> None:
    """Run all iterations in the calling thread, and return."""
    b.emit_void("tail call void %body(ptr %data, i64 0, i64 %count)")
    b.ret()


def _parallel(b: Flow) -> None:
    b.require(_is(b, "sgt", "%count", 1), "alone")
    b.require(_is(b, "sge", "%work", threads.AWAKE_THRESHOLD), "alone")
    number = b.and_("%threads", str(threads.ONCE - 1), I64)
    asked = b.select(_is(b, "sgt", number, 0), number, _read(b, "threads"), I64)
    # a thread more for each of these shares: waking and waiting for it is nothing beside
    shares = b.binary("udiv", "%work", str(threads.AWAKE_THRESHOLD), I64)
    team = _least(b, _least(b, asked, b.add(shares, "1", I64)), threads.MAX_THREADS)
    b.require(_is(b, "sgt", team, 1), "alone")
    awake = b.sub(_read(b, "workers"), _read(b, "sleepers"), I64)
    is_ready = _is(b, "sgt", awake, b.sub(team, "2", I64))
    b.require(b.or_(is_ready, _is(b, "sge", "%work", threads.ASLEEP_THRESHOLD), I1), "alone")
    # unless a region is active: of another thread, or the one that this loop is in
    _, entered = b.compare_exchange(_at(b, "busy"), "0", "1", I64, "acquire monotonic")
    b.require(entered, "alone")
    once = _is(b, "ne", b.and_("%threads", str(threads.ONCE), I64), 0)
    many = _is(b, "ne", b.and_("%threads", str(threads.MANY), I64), 0)
    # several pieces for each thread, as neither processors nor iterations are equally fast
    few = b.shl(team, "2", I64)
    shares = b.binary("udiv", "%work", str(threads.LEAST_PIECE), I64)
    most = _least(b, b.mul(team, str(threads.MOST_PIECES), I64), b.intrinsic("umax", I64, few, shares))
    pieces = b.select(once, team, b.select(many, most, few, I64), I64)
    b.call("@region", "void", (PTR, "%body"), (PTR, "%data"), (I64, "%count"), (I64, team), (I64, pieces))
    _write(b, "0", "busy", "release")
    b.ret()
    b.label("alone")
    run_alone(b)


def _region(b: Flow) -> None:
    """Open a region to the workers, take pieces, wait for those that workers have."""
    b.call("@hire", "void", (I64, "%team"))
    pieces, modes = _least(b, "%count", "%most"), b.call("@control", "i64")
    b.store("%body", _at(b, "body"), PTR)
    b.store("%data", _at(b, "data"), PTR)
    for name, value in (("count", "%count"), ("pieces", pieces), ("modes", modes), ("taken", "0")):
        b.store(value, _at(b, name), I64)
    _write(b, b.add(_read(b, "regions"), "1", I64), "regions")
    b.call("@note_processor", "void")
    # from here on workers may enter; one that goes to sleep sees this ticket, or is seen here
    number = b.add(b.lshr(_read(b, "ticket"), "32", I64), "1", I64)
    _write(b, b.or_(b.shl(number, "32", I64), b.shl("%team", "16", I64), I64), "ticket", "seq_cst")
    with b.when(_is(b, "ne", _read(b, "sleepers", "seq_cst"), 0)):
        _call(b, "pthread_mutex_lock", "mutex")
        _call(b, "pthread_mutex_unlock", "mutex")  # first, so that no worker wakes up just to wait for it
        _call(b, "pthread_cond_broadcast", "work")
        b.extern("sched_yield", "i32")  # a worker that was woken on this processor leaves it at once: @part
    b.call("@take", "void", (I64, str(_FRONT)))
    b.atomic("or", _at(b, "ticket"), str(_OVER), I64, "seq_cst")  # no thread enters any more

    def has_workers(ordering: str) -> str:
        return _is(b, "ne", b.and_(_read(b, "ticket", ordering), str(_WITHIN), I64), 0)

    patience, looks = b.call("@patience", "i64", (I64, "%team")), b.variable("0", I64)
    with b.loop(lambda: has_workers("acquire")):
        with b.when(_is(b, "uge", b.load(looks, I64), patience)):
            _call(b, "pthread_mutex_lock", "mutex")
            _write(b, "1", "awaited", "seq_cst")
            with b.loop(lambda: has_workers("seq_cst")):
                _call(b, "pthread_cond_wait", "done", "mutex")
            _write(b, "0", "awaited")
            _call(b, "pthread_mutex_unlock", "mutex")
            b.ret()
        _look_again(b, looks)
    b.ret()


def _hire(b: Flow) -> None:
    """Make the workers that a team needs and that do not exist yet. If the system refuses, there are fewer."""
    thread, workers = b.stack("ptr"), _at(b, "workers")
    with b.loop(lambda: _is(b, "ult", b.add(b.load(workers, I64), "1", I64), "%team")):
        made = b.load(workers, I64)
        index = b.cast("inttoptr", made, I64, PTR)
        failed = b.extern("pthread_create", "i32", (PTR, thread), (PTR, "null"), (PTR, "@worker"), (PTR, index))
        b.require(b.icmp("eq", failed, "0", I32), "fewer")
        b.extern("pthread_detach", "i32", (PTR, b.load(thread, PTR)))
        b.atomic_store(b.add(made, "1", I64), workers, I64, "monotonic")
    b.br("fewer")
    b.label("fewer")
    b.ret()


def _patience(b: Flow) -> None:
    """How many looks a thread of a team waits before it sleeps."""
    has_room = _is(b, "ule", "%team", _read(b, "processors"))
    b.ret(b.select(has_room, str(_LOOKS * threads.PATIENCE), "0", I64), "i64")


def _give_way(architecture: str, b: Flow) -> None:
    """Between two looks: a pause of the processor, and every sixteenth time whoever else wants to run may."""
    with b.when(_is(b, "eq", b.and_("%looks", str(_LOOKS - 1), I64), _LOOKS - 1)):
        b.extern("sched_yield", "i32")
        b.ret()
    if architecture == "x86_64":
        b.extern("llvm.x86.sse2.pause", "void")
    elif architecture == "aarch64":
        b.emit_void(f"call void {b.module.declare('llvm.aarch64.isb', 'void', ('i32',))}(i32 15)")
    b.ret()


def _look_again(b: Flow, looks: str) -> None:
    now = b.load(looks, I64)
    b.call("@give_way", "void", (I64, now))
    b.store(b.add(now, "1", I64), looks, I64)


# The loop of workers


def _worker(b: Flow) -> None:
    """The life of worker number %index. Signals are for other threads, but for those that a fault of its own raises."""
    signals = b.stack("[128 x i8], align 16")
    b.extern("sigfillset", "i32", (PTR, signals))
    for number in _FAULTS:
        b.extern("sigdelset", "i32", (PTR, signals), (I32, str(int(number))))
    b.extern("pthread_sigmask", "i32", (I32, str(_SIG_BLOCK)), (PTR, signals), (PTR, "null"))
    least = b.add(b.cast("ptrtoint", "%index", PTR, I64), "2", I64)  # threads of a team that this worker belongs to
    seen, ticket, patience = b.variable("-1", I64), b.variable("0", I64), b.variable("0", I64)
    looks, woken = b.variable("0", I64), b.variable("false", I1)

    def has_seen(ordering: str) -> str:
        """Whether the region is the one that this worker saw last."""
        now = _read(b, "ticket", ordering)
        b.store(now, ticket, I64)
        return _is(b, "eq", b.lshr(now, "32", I64), b.load(seen, I64))

    b.br("wait")
    b.label("wait")
    b.store("0", looks, I64)
    b.store("false", woken, I1)
    with b.loop(lambda: has_seen("acquire")):
        sleep, again, after = (b.fresh_label(part) for part in ("sleep", "again", "after"))
        b.cond_br(_is(b, "uge", b.load(looks, I64), b.load(patience, I64)), sleep, again)
        b.label(sleep)
        _call(b, "pthread_mutex_lock", "mutex")
        b.atomic("add", _at(b, "sleepers"), "1", I64, "seq_cst")
        with b.loop(lambda: has_seen("seq_cst")):
            _call(b, "pthread_cond_wait", "work", "mutex")
        b.atomic("sub", _at(b, "sleepers"), "1", I64, "seq_cst")
        _call(b, "pthread_mutex_unlock", "mutex")
        b.store("0", looks, I64)
        b.store("true", woken, I1)
        b.br(after)
        b.label(again)
        _look_again(b, looks)
        b.br(after)
        b.label(after)
    b.br("enter")
    b.label("enter")
    now = b.load(ticket, I64)
    b.store(b.lshr(now, "32", I64), seen, I64)
    team = b.and_(b.lshr(now, "16", I64), str(_TEAM), I64)
    is_member, of_team = _is(b, "uge", team, least), b.call("@patience", "i64", (I64, team))
    is_placed = b.and_(b.load(woken, I1), _is(b, "sgt", of_team, 0), I1)  # the system has just chosen a processor
    with b.when(b.and_(is_member, is_placed, I1)):
        b.call("@part", "void")
    # unless the region is over, and another may follow, or it is for fewer
    b.store(b.select(is_member, of_team, "0", I64), patience, I64)
    is_open = _is(b, "eq", b.and_(now, str(_OVER), I64), 0)
    b.require(b.and_(is_open, is_member, I1), "wait")
    found, entered = b.compare_exchange(_at(b, "ticket"), now, b.add(now, "1", I64), I64, "seq_cst acquire")
    b.store(found, ticket, I64)
    b.require(entered, "enter")
    b.call("@take", "void", (I64, str(_BACK)))
    before = b.atomic("sub", _at(b, "ticket"), "1", I64, "seq_cst")
    is_last = _is(b, "eq", b.and_(before, str(_OVER | _WITHIN), I64), _OVER + 1)
    with b.when(b.and_(is_last, _is(b, "ne", _read(b, "awaited", "seq_cst"), 0), I1)):
        _call(b, "pthread_mutex_lock", "mutex")
        _call(b, "pthread_mutex_unlock", "mutex")
        _call(b, "pthread_cond_signal", "done")
    b.br("wait")


def _take(b: Flow) -> None:
    """The code of each thread in a region: pieces from one end, in the modes of the calling thread, until none is left."""
    body, data = b.load(_at(b, "body"), PTR), b.load(_at(b, "data"), PTR)
    count, pieces, modes = (b.load(_at(b, name), I64) for name in ("count", "pieces", "modes"))
    ends = ends_of_pieces(b, count, pieces)
    is_forward, own = _is(b, "eq", "%one", _FRONT), b.call("@control", "i64")
    is_other = _is(b, "ne", own, modes)
    front, back = b.variable("0", I64), b.variable("0", I64)

    def is_left() -> str:
        taken = b.atomic("add", _at(b, "taken"), "%one", I64, "monotonic")
        b.store(b.and_(taken, str(_BACK - 1), I64), front, I64)
        b.store(b.lshr(taken, "32", I64), back, I64)
        return _is(b, "ult", b.add(b.load(front, I64), b.load(back, I64), I64), pieces)

    with b.when(is_other):
        b.call("@set_control", "void", (I64, modes))
    with b.loop(is_left):
        mirrored = b.sub(b.sub(pieces, b.load(back, I64), I64), "1", I64)
        piece = b.select(is_forward, b.load(front, I64), mirrored, I64)
        begin, end = ends(piece)
        b.call(body, "void", (PTR, data), (I64, begin), (I64, end))
    with b.when(is_other):
        b.call("@set_control", "void", (I64, own))
    b.ret()


def ends_of_pieces(b: Flow, count: str, pieces: str) -> Callable[[str], tuple[str, str]]:
    """For the number of a piece its first of `count` iterations, and the one after its last."""
    size, rest = b.binary("udiv", count, pieces, I64), b.binary("urem", count, pieces, I64)

    def start(piece: str) -> str:
        """`rest` pieces have one iteration more than `size`, some in each part of the loop."""
        more = b.binary("udiv", b.mul(piece, rest, I64), pieces, I64)
        return b.add(b.mul(piece, size, I64), more, I64)

    return lambda piece: (start(piece), start(b.add(piece, "1", I64)))


# Rounding and denormals are modes of a thread; elsewhere a worker keeps those of the moment when it was made


def _control(architecture: str, b: Flow) -> None:
    modes = "0"
    if architecture == "x86_64":
        at = b.stack("i32")
        b.extern("llvm.x86.sse.stmxcsr", "void", (PTR, at))
        modes = b.cast("zext", b.and_(b.load(at, I32), str(_EXCEPTIONS), I32), I32, I64)
    elif architecture == "aarch64":
        modes = b.extern("llvm.aarch64.get.fpcr", "i64")
    b.ret(modes, "i64")


def _set_control(architecture: str, b: Flow) -> None:
    if architecture == "x86_64":
        b.extern("llvm.x86.sse.ldmxcsr", "void", (PTR, b.variable(b.cast("trunc", "%modes", I64, I32), I32)))
    elif architecture == "aarch64":
        b.extern("llvm.aarch64.set.fpcr", "void", (I64, "%modes"))
    b.ret()


# Linux may wake a worker on the processor of the calling thread and leave the two there while another is idle, for seconds


def _processor(b: Flow) -> str:
    return b.cast("sext", b.extern("sched_getcpu", "i32"), I32, I64)


def _note_processor(b: Flow) -> None:
    if sys.platform == "linux":
        _write(b, _processor(b), "processor")
    b.ret()


def _part(b: Flow) -> None:
    """A worker leaves the processor of the calling thread, if it may run on another; afterwards it may run where it could."""
    if sys.platform == "linux":
        allowed = b.stack(f"[{_CPU_SET_WORDS} x i64], align 16")
        of_thread = [(I32, "0"), (I64, str(8 * _CPU_SET_WORDS)), (PTR, allowed)]
        theirs = _read(b, "processor")
        b.require(_is(b, "eq", theirs, _processor(b)), "done")
        b.require(_is(b, "ult", theirs, 64 * _CPU_SET_WORDS), "done")
        b.require(b.icmp("eq", b.extern("sched_getaffinity", "i32", *of_thread), "0", I32), "done")
        word_at = b.gep(allowed, b.lshr(theirs, "6", I64), "i64")
        word, bit = b.load(word_at, I64), b.shl("1", b.and_(theirs, "63", I64), I64)
        b.store(b.and_(word, b.xor(bit, "-1", I64), I64), word_at, I64)
        refused = b.extern("sched_setaffinity", "i32", *of_thread)  # when nothing is left, for one
        b.store(word, word_at, I64)
        with b.when(b.icmp("eq", refused, "0", I32)):
            b.extern("sched_setaffinity", "i32", *of_thread)
        b.br("done")
        b.label("done")
    b.ret()
