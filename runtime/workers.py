"""The function that parallel loops call, and the workers that help it, as LLVM IR.

`parallel_module()` defines

`@lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads)`, which runs the iterations 0 to `count` of a
loop through `body(ptr %data, i64 %begin, i64 %end)`: in pieces, on several threads; or all at once in the calling thread,
when `work` (scalar operations of the whole loop) is too little, when one thread is asked for (`threads`; 0 means the
default), or when another region is active. No more threads take part than the work is worth. `ONCE` added to `threads` asks
for one piece a thread, where each goes through all of something.

The workers belong to the process and are made when a region first needs them. A region does not wait for them to come: the
calling thread begins at the front of the pieces, workers take from the back whenever they are there, and the region ends
when no piece is left and none is being worked on. So a worker that the system is slow to wake costs nothing but its help.
A worker without work looks for some for about a millisecond, giving way to any other thread after each few looks, and then
sleeps until it is woken.

What all of this goes by stands in the words of `threads.State`. `codegen/parallel.py` compiles and loads.
"""

from __future__ import annotations

import ctypes
import sys

from . import threads

PARALLEL_SYMBOLS = ("lamina_parallel",)
ONCE = 1 << 32


def parallel_module(architecture: str) -> str:
    """The LLVM IR of `@lamina_parallel`, with `threads.imports()` to link.

    >>> "@lamina_parallel(" in parallel_module("x86_64")
    True
    """
    if not threads.THREADED:
        return _ALONE
    words = {f"S.{name}": getattr(threads.State, name).offset for name, *_ in threads.State._fields_}
    declaration, pause = _PAUSE.get(architecture, ("", ""))
    processors = _PROCESSORS if sys.platform == "linux" else _NO_PROCESSORS
    text = _CONTROL.get(architecture, _NO_CONTROL) + processors + declaration + _TEXT.replace("@pause", pause)
    for name, value in {
        **words,
        "AWAKE": threads.AWAKE_THRESHOLD,
        "ASLEEP": threads.ASLEEP_THRESHOLD,
        "MOST": threads.MAX_THREADS,
        "PATIENCE": threads.PATIENCE,
        "BLOCK": _BLOCK,
    }.items():
        text = text.replace(f"<{name}>", str(value))
    return text.replace("@state", f'@"{threads.STATE_SYMBOL}"').replace("<words>", str(ctypes.sizeof(threads.State) // 8))


_BLOCK = 1 if sys.platform == "darwin" else 0  # SIG_BLOCK

_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)"),
}
_PAUSE["arm64"] = _PAUSE["aarch64"]

_ALONE = """
define void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  tail call void %body(ptr %data, i64 0, i64 %count)
  ret void
}
"""

# Rounding and denormals are modes of a thread, and a worker keeps those of the moment when it was made.
_NO_CONTROL = """
define internal i64 @control() { ret i64 0 }
define internal void @set_control(i64 %modes) { ret void }
"""
_ARM_CONTROL = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal i64 @control() alwaysinline {
  %modes = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %modes
}
define internal void @set_control(i64 %modes) alwaysinline {
  call void @llvm.aarch64.set.fpcr(i64 %modes)
  ret void
}
"""
_CONTROL = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal i64 @control() alwaysinline {
  %at = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  %word = load i32, ptr %at
  %modes = and i32 %word, 65472 ; without the flags of what happened
  %wide = zext i32 %modes to i64
  ret i64 %wide
}
define internal void @set_control(i64 %modes) alwaysinline {
  %at = alloca i32
  %word = trunc i64 %modes to i32
  store i32 %word, ptr %at
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}
""",
    "aarch64": _ARM_CONTROL,
    "arm64": _ARM_CONTROL,
}

# Linux may wake a worker on the processor of the calling thread and leave the two there while another is idle, for seconds.
# glibc's cpu_set_t has 1024 processors in 16 words.
_PROCESSORS = r"""
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal void @note_processor() {
  %at = getelementptr i8, ptr @state, i64 <S.processor>
  %here = call i32 @sched_getcpu()
  %wide = sext i32 %here to i64
  store atomic i64 %wide, ptr %at monotonic, align 8
  ret void
}

; A worker leaves the processor of the calling thread, if it may run on another; afterwards it may run where it could before.
define internal void @part() {
  %set = alloca [16 x i64], align 16
  %at = getelementptr i8, ptr @state, i64 <S.processor>
  %theirs = load atomic i64, ptr %at monotonic, align 8
  %here = call i32 @sched_getcpu()
  %wide = sext i32 %here to i64
  %together = icmp eq i64 %theirs, %wide
  %known = icmp ult i64 %theirs, 1024
  %meet = and i1 %together, %known
  br i1 %meet, label %ask, label %done
ask:
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %set)
  %got = icmp eq i32 %failed, 0
  br i1 %got, label %leave, label %done
leave:
  %index = lshr i64 %theirs, 6
  %shift = and i64 %theirs, 63
  %bit = shl i64 1, %shift
  %word.at = getelementptr i64, ptr %set, i64 %index
  %word = load i64, ptr %word.at
  %inverse = xor i64 %bit, -1
  %rest = and i64 %word, %inverse
  store i64 %rest, ptr %word.at
  %refused = call i32 @sched_setaffinity(i32 0, i64 128, ptr %set) ; when nothing is left, for one
  store i64 %word, ptr %word.at
  %moved = icmp eq i32 %refused, 0
  br i1 %moved, label %restore, label %done
restore:
  %ignored = call i32 @sched_setaffinity(i32 0, i64 128, ptr %set)
  br label %done
done:
  ret void
}
"""
_NO_PROCESSORS = """
define internal void @note_processor() { ret void }
define internal void @part() { ret void }
"""

_TEXT = r"""
@state = external global [<words> x i64]
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @sched_yield()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)

define void @lamina_parallel(ptr %body, ptr %data, i64 %count, i64 %work, i64 %threads) {
  %several = icmp sgt i64 %count, 1
  %enough = icmp sge i64 %work, <AWAKE>
  %worth = and i1 %several, %enough
  br i1 %worth, label %policy, label %alone
policy:
  %default.at = getelementptr i8, ptr @state, i64 <S.threads>
  %default = load atomic i64, ptr %default.at monotonic, align 8
  %number = and i64 %threads, 4294967295
  %given = icmp sgt i64 %number, 0
  %asked = select i1 %given, i64 %number, i64 %default
  %shares = udiv i64 %work, <AWAKE> ; a thread more for each: waking and waiting for it is nothing beside
  %useful = add i64 %shares, 1
  %some = call i64 @llvm.umin.i64(i64 %asked, i64 %useful)
  %team = call i64 @llvm.umin.i64(i64 %some, i64 <MOST>)
  %others = icmp sgt i64 %team, 1
  %least = sub i64 %team, 2
  %workers.at = getelementptr i8, ptr @state, i64 <S.workers>
  %workers = load atomic i64, ptr %workers.at monotonic, align 8
  %asleep.at = getelementptr i8, ptr @state, i64 <S.sleepers>
  %asleep = load atomic i64, ptr %asleep.at monotonic, align 8
  %awake = sub i64 %workers, %asleep
  %ready = icmp sgt i64 %awake, %least
  %much = icmp sge i64 %work, <ASLEEP>
  %gain = or i1 %ready, %much
  %can = and i1 %others, %gain
  br i1 %can, label %enter, label %alone
enter: ; unless a region is active: of another thread, or the one that this loop is in
  %busy.at = getelementptr i8, ptr @state, i64 <S.busy>
  %swap = cmpxchg ptr %busy.at, i64 0, i64 1 acquire monotonic
  %entered = extractvalue { i64, i1 } %swap, 1
  br i1 %entered, label %region, label %alone
region:
  %once = icmp ugt i64 %threads, 4294967295
  call void @region(ptr %body, ptr %data, i64 %count, i64 %team, i1 %once)
  store atomic i64 0, ptr %busy.at release, align 8
  ret void
alone:
  tail call void %body(ptr %data, i64 0, i64 %count)
  ret void
}

define internal void @region(ptr %body, ptr %data, i64 %count, i64 %team, i1 %once) noinline {
  call void @hire(i64 %team)
  %some = shl i64 %team, 2 ; for each thread, as neither processors nor iterations are equally fast
  %most = select i1 %once, i64 %team, i64 %some
  %pieces = call i64 @llvm.umin.i64(i64 %count, i64 %most)
  %modes = call i64 @control()
  %body.at = getelementptr i8, ptr @state, i64 <S.body>
  store ptr %body, ptr %body.at
  %data.at = getelementptr i8, ptr @state, i64 <S.data>
  store ptr %data, ptr %data.at
  %count.at = getelementptr i8, ptr @state, i64 <S.count>
  store i64 %count, ptr %count.at
  %pieces.at = getelementptr i8, ptr @state, i64 <S.pieces>
  store i64 %pieces, ptr %pieces.at
  %modes.at = getelementptr i8, ptr @state, i64 <S.modes>
  store i64 %modes, ptr %modes.at
  %taken.at = getelementptr i8, ptr @state, i64 <S.taken>
  store i64 0, ptr %taken.at
  %regions.at = getelementptr i8, ptr @state, i64 <S.regions>
  %regions = load i64, ptr %regions.at
  %regions.next = add i64 %regions, 1
  store atomic i64 %regions.next, ptr %regions.at monotonic, align 8
  call void @note_processor()
  br label %open
open: ; from here on workers may enter; one that goes to sleep sees this ticket, or is seen here
  %ticket.at = getelementptr i8, ptr @state, i64 <S.ticket>
  %last = load atomic i64, ptr %ticket.at monotonic, align 8
  %last.number = lshr i64 %last, 32
  %number = add i64 %last.number, 1
  %number.high = shl i64 %number, 32
  %team.high = shl i64 %team, 16
  %ticket = or i64 %number.high, %team.high
  store atomic i64 %ticket, ptr %ticket.at seq_cst, align 8
  %sleepers.at = getelementptr i8, ptr @state, i64 <S.sleepers>
  %sleepers = load atomic i64, ptr %sleepers.at seq_cst, align 8
  %none = icmp eq i64 %sleepers, 0
  br i1 %none, label %begin, label %wake
wake:
  %mutex = getelementptr i8, ptr @state, i64 <S.mutex>
  %work = getelementptr i8, ptr @state, i64 <S.work>
  call i32 @pthread_mutex_lock(ptr %mutex)
  call i32 @pthread_mutex_unlock(ptr %mutex) ; first, so that nobody wakes up just to wait for it
  call i32 @pthread_cond_broadcast(ptr %work)
  call i32 @sched_yield() ; a worker that was woken on this processor leaves it at once: @part
  br label %begin
begin:
  call void @take(i64 1)
  %before = atomicrmw or ptr %ticket.at, i64 32768 seq_cst ; nobody enters any more
  %patience = call i64 @patience(i64 %team)
  br label %look
look:
  %looks = phi i64 [ 0, %begin ], [ %looks.next, %again ]
  %now = load atomic i64, ptr %ticket.at acquire, align 8
  %within = and i64 %now, 32767
  %empty = icmp eq i64 %within, 0
  br i1 %empty, label %end, label %wait
wait:
  %looks.next = add i64 %looks, 1
  %tired = icmp ugt i64 %looks.next, %patience
  br i1 %tired, label %sleep, label %again
again:
  call void @give_way(i64 %looks)
  br label %look
sleep:
  %mutex.too = getelementptr i8, ptr @state, i64 <S.mutex>
  %done = getelementptr i8, ptr @state, i64 <S.done>
  %awaited.at = getelementptr i8, ptr @state, i64 <S.awaited>
  call i32 @pthread_mutex_lock(ptr %mutex.too)
  store atomic i64 1, ptr %awaited.at seq_cst, align 8
  br label %check
check:
  %then = load atomic i64, ptr %ticket.at seq_cst, align 8
  %left = and i64 %then, 32767
  %all = icmp eq i64 %left, 0
  br i1 %all, label %awake, label %doze
doze:
  call i32 @pthread_cond_wait(ptr %done, ptr %mutex.too)
  br label %check
awake:
  store atomic i64 0, ptr %awaited.at monotonic, align 8
  call i32 @pthread_mutex_unlock(ptr %mutex.too)
  br label %end
end:
  ret void
}

; Makes the workers that a team needs and that do not exist yet. If the system refuses, there are fewer.
define internal void @hire(i64 %team) {
  %thread = alloca ptr
  %workers.at = getelementptr i8, ptr @state, i64 <S.workers>
  br label %test
test:
  %workers = load i64, ptr %workers.at
  %threads = add i64 %workers, 1
  %fewer = icmp ult i64 %threads, %team
  br i1 %fewer, label %make, label %done
make:
  %index = inttoptr i64 %workers to ptr
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %index)
  %made = icmp eq i32 %failed, 0
  br i1 %made, label %made.one, label %done
made.one:
  %handle = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %handle)
  store i64 %threads, ptr %workers.at
  br label %test
done:
  ret void
}

; How many looks a thread of a team waits before it sleeps.
define internal i64 @patience(i64 %team) {
  %processors.at = getelementptr i8, ptr @state, i64 <S.processors>
  %processors = load atomic i64, ptr %processors.at monotonic, align 8
  %room = icmp ule i64 %team, %processors
  %looks = mul i64 <PATIENCE>, 16
  %patience = select i1 %room, i64 %looks, i64 0
  ret i64 %patience
}

; Between two looks: a pause of the processor, and every sixteenth time whoever else wants to run may.
define internal void @give_way(i64 %looks) {
  %low = and i64 %looks, 15
  %sixteenth = icmp eq i64 %low, 15
  br i1 %sixteenth, label %yield, label %pause
yield:
  %ignored = call i32 @sched_yield()
  ret void
pause:
  @pause
  ret void
}

; The life of worker number %index. Signals are for other threads, but for those that a fault of its own raises.
define internal ptr @worker(ptr %index) {
  %set = alloca [128 x i8], align 16
  call i32 @sigfillset(ptr %set)
  call i32 @sigdelset(ptr %set, i32 4) ; SIGILL
  call i32 @sigdelset(ptr %set, i32 8) ; SIGFPE
  call i32 @sigdelset(ptr %set, i32 11) ; SIGSEGV
  call i32 @sigdelset(ptr %set, i32 7) ; SIGBUS on Linux
  call i32 @sigdelset(ptr %set, i32 10) ; SIGBUS on macOS
  call i32 @pthread_sigmask(i32 <BLOCK>, ptr %set, ptr null)
  %own = ptrtoint ptr %index to i64
  %least = add i64 %own, 2 ; threads of a team that this worker belongs to
  %ticket.at = getelementptr i8, ptr @state, i64 <S.ticket>
  %sleepers.at = getelementptr i8, ptr @state, i64 <S.sleepers>
  %awaited.at = getelementptr i8, ptr @state, i64 <S.awaited>
  %mutex = getelementptr i8, ptr @state, i64 <S.mutex>
  %work = getelementptr i8, ptr @state, i64 <S.work>
  %done = getelementptr i8, ptr @state, i64 <S.done>
  br label %wait
wait: ; until the number of the region is another than the one seen last
  %seen = phi i64 [ -1, %0 ], [ %number, %pass ], [ %number.then, %leave ], [ %number.then, %tell ]
  %patience = phi i64 [ 0, %0 ], [ %patience.pass, %pass ], [ %patience.team, %leave ], [ %patience.team, %tell ]
  br label %look
look:
  %looks = phi i64 [ 0, %wait ], [ %looks.next, %again ], [ 0, %awake ]
  %woken = phi i1 [ false, %wait ], [ %woken, %again ], [ true, %awake ]
  %ticket = load atomic i64, ptr %ticket.at acquire, align 8
  %number = lshr i64 %ticket, 32
  %new = icmp ne i64 %number, %seen
  br i1 %new, label %try, label %tire
tire:
  %looks.next = add i64 %looks, 1
  %tired = icmp ugt i64 %looks.next, %patience
  br i1 %tired, label %sleep, label %again
again:
  call void @give_way(i64 %looks)
  br label %look
sleep:
  call i32 @pthread_mutex_lock(ptr %mutex)
  %slept = atomicrmw add ptr %sleepers.at, i64 1 seq_cst
  br label %check
check:
  %ticket.check = load atomic i64, ptr %ticket.at seq_cst, align 8
  %number.check = lshr i64 %ticket.check, 32
  %other = icmp ne i64 %number.check, %seen
  br i1 %other, label %awake, label %doze
doze:
  call i32 @pthread_cond_wait(ptr %work, ptr %mutex)
  br label %check
awake:
  %rose = atomicrmw sub ptr %sleepers.at, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %look

try: ; to enter
  %ticket.try = phi i64 [ %ticket, %look ], [ %ticket.found, %retry ]
  %over.bit = and i64 %ticket.try, 32768
  %open = icmp eq i64 %over.bit, 0
  %team.high = lshr i64 %ticket.try, 16
  %team = and i64 %team.high, 65535
  %member = icmp uge i64 %team, %least
  %patience.team = call i64 @patience(i64 %team)
  %may = and i1 %open, %member
  %room = icmp sgt i64 %patience.team, 0
  %placed = and i1 %woken, %room ; the system has just chosen a processor
  %should = and i1 %member, %placed
  br i1 %should, label %apart, label %decide
apart:
  call void @part()
  br label %decide
decide:
  br i1 %may, label %enter, label %pass
enter:
  %ticket.in = add i64 %ticket.try, 1
  %swap = cmpxchg ptr %ticket.at, i64 %ticket.try, i64 %ticket.in seq_cst acquire
  %entered = extractvalue { i64, i1 } %swap, 1
  br i1 %entered, label %run, label %retry
retry:
  %ticket.found = extractvalue { i64, i1 } %swap, 0
  br label %try
pass: ; the region is over, and another may follow, or it is for fewer
  %patience.pass = select i1 %member, i64 %patience.team, i64 0
  br label %wait
run:
  %number.then = lshr i64 %ticket.try, 32
  call void @take(i64 4294967296)
  br label %leave
leave:
  %before = atomicrmw sub ptr %ticket.at, i64 1 seq_cst
  %low = and i64 %before, 65535
  %last = icmp eq i64 %low, 32769
  %awaited = load atomic i64, ptr %awaited.at seq_cst, align 8
  %sleeping = icmp ne i64 %awaited, 0
  %must = and i1 %last, %sleeping
  br i1 %must, label %tell, label %wait
tell:
  call i32 @pthread_mutex_lock(ptr %mutex)
  call i32 @pthread_mutex_unlock(ptr %mutex)
  call i32 @pthread_cond_signal(ptr %done)
  br label %wait
}

; The first iteration of a piece. Of the pieces, `rest` have one iteration more than `size`: some in each part of the loop,
; so that halves of it are equal.
define internal i64 @start(i64 %piece, i64 %size, i64 %rest, i64 %pieces) alwaysinline {
  %whole = mul i64 %piece, %size
  %share = mul i64 %piece, %rest
  %more = udiv i64 %share, %pieces
  %start = add i64 %whole, %more
  ret i64 %start
}

; What each thread does in a region: pieces from one end, in the modes of the calling thread, until none is left. %one is 1
; for the front, 2^32 for the back.
define internal void @take(i64 %one) {
  %body.at = getelementptr i8, ptr @state, i64 <S.body>
  %body = load ptr, ptr %body.at
  %data.at = getelementptr i8, ptr @state, i64 <S.data>
  %data = load ptr, ptr %data.at
  %count.at = getelementptr i8, ptr @state, i64 <S.count>
  %count = load i64, ptr %count.at
  %pieces.at = getelementptr i8, ptr @state, i64 <S.pieces>
  %pieces = load i64, ptr %pieces.at
  %modes.at = getelementptr i8, ptr @state, i64 <S.modes>
  %modes = load i64, ptr %modes.at
  %taken.at = getelementptr i8, ptr @state, i64 <S.taken>
  %size = udiv i64 %count, %pieces
  %rest = urem i64 %count, %pieces
  %forward = icmp eq i64 %one, 1
  %own = call i64 @control()
  %same = icmp eq i64 %own, %modes
  br i1 %same, label %next, label %adopt
adopt:
  call void @set_control(i64 %modes)
  br label %next
next:
  %taken = atomicrmw add ptr %taken.at, i64 %one monotonic
  %front = and i64 %taken, 4294967295
  %back = lshr i64 %taken, 32
  %both = add i64 %front, %back
  %left = icmp ult i64 %both, %pieces
  br i1 %left, label %run, label %done
run:
  %after = sub i64 %pieces, %back
  %mirrored = sub i64 %after, 1
  %piece = select i1 %forward, i64 %front, i64 %mirrored
  %following = add i64 %piece, 1
  %begin = call i64 @start(i64 %piece, i64 %size, i64 %rest, i64 %pieces)
  %end = call i64 @start(i64 %following, i64 %size, i64 %rest, i64 %pieces)
  call void %body(ptr %data, i64 %begin, i64 %end)
  br label %next
done:
  br i1 %same, label %leave, label %restore
restore:
  call void @set_control(i64 %own)
  br label %leave
leave:
  ret void
}
"""
