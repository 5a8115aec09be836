"""The measurements of `lamina-tune --machine`: each refines a target, and notes its results.

Each choice is measured as it will be used: tiles and vector widths in products and functions that our own pipeline
compiles for each candidate. Costs of instructions are chains of them (`codegen/machine/`). Detected values stay unless
another choice wins by a margin, twice (`codegen/machine/race.py`), or a number is off by more than noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..codegen.machine.chains import ChainProbe, throughput_chains
from ..codegen.machine.memory import ChaseProbe, ReadProbe, StoreProbe, size_from
from ..codegen.machine.race import MARGIN, race, winner
from ..codegen.targets import TARGETS, Target
from ..executor import executor
from ..frontend.run.jit import jit
from ..runtime.threads import get_threads, set_threads

_SIDES = (480, 1024)
"""Of products: one that many tiles divide, for all of them; one whose packed blocks come from beyond L2, for the best."""
_EXP_COUNT = 1 << 14
_WIDE_ENOUGH = 0.75
"""Of the most multiply-adds a second, those with vectors of a width that is tried in products."""
_FEWEST_SUMS = 8
"""In a tile: fewer do not hide the latency of multiply-adds."""
_NOISE = 1.25
"""How far off a cost has to be for it to be kept."""
_MOST_MEMORY = 128 << 20
_COPIES = tuple(1 << k for k in range(22, 27))
_WORTH_WAKING = (1 << 13, 1 << 20)


@dataclass
class Machine:
    """The measurements so far.

    Attributes:
        target: the detected machine, refined by measurements.
        seconds: how long each of the measurements may take, about.
        notes: lines for people.
    """

    target: Target
    seconds: float
    notes: list[str] = field(default_factory=list)

    @cached_property
    def fma_seconds(self) -> Mapping[str, float]:
        """Seconds of a multiply-add of vectors, by element."""
        return {element: _least(_unit(element, self.target), self.seconds / 20) for element in ("float", "double")}


def _least(measure: Callable[[], float], seconds: float) -> float:
    return race({"": measure}, seconds, 2).best("")


def _unit(element: str, target: Target) -> ChainProbe:
    return ChainProbe("fma" if target.has_fma else "mul", element, target, throughput_chains(target))


# Vectors and tiles


def measure_vectors(machine: Machine) -> None:
    """The width of vectors and the register tile, of all that the machine has the one that products and functions like best."""
    target = machine.target
    widths = _widths(machine)
    candidates = {_label(t): t for width in widths for t in tiles(target, width)}
    usual = _label(target)
    small = {name: _product(t, _SIDES[0]) for name, t in candidates.items()}
    times = race(small, machine.seconds / 2)
    rates = {name: 2e-9 * _SIDES[0] ** 3 / times.best(name) for name in candidates}
    machine.notes.append("tiles, Gflop/s: " + ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items()))
    of_width = ([name for name, t in candidates.items() if t.vector_bits == width] for width in widths)
    chosen = dict.fromkeys((usual, *(max(names, key=lambda name: times.gain(name, usual)) for names in of_width)))
    large = {name: _product(candidates[name], _SIDES[1]) for name in chosen}
    functions = {name: _function(candidates[name]) for name in chosen}

    def both(name: str) -> Callable[[], float]:
        if len(widths) == 1:  # the tile alone, which functions do not use
            return lambda: (small[name]() * large[name]()) ** 0.5
        return lambda: (small[name]() * large[name]() * functions[name]() ** 2) ** 0.25

    name, _ = winner({name: both(name) for name in chosen}, usual, machine.seconds / 2)
    machine.target = candidates[name]


def _label(target: Target) -> str:
    return f"{target.tile[0]}x{target.tile[1]} of {target.vector_bits}"


def _widths(machine: Machine) -> list[int]:
    """The widths that multiply as fast as any other, nearly, that of the target first."""
    target = machine.target
    all_ = [bits for bits in (512, 256, 128) if bits <= TARGETS[target.name].vector_bits]
    probes = {str(bits): _unit("float", replace(target, vector_bits=bits)) for bits in all_}
    times = race(probes, machine.seconds / 10, 5)
    rates = {bits: bits / 32 * (2 if target.has_fma else 1) / times.best(str(bits)) for bits in all_}
    machine.notes.append("vectors, Gflop/s: " + ", ".join(f"{b} bits {rate / 1e9:.0f}" for b, rate in rates.items()))
    good = [bits for bits in all_ if rates[bits] >= _WIDE_ENOUGH * max(rates.values()) and bits != target.vector_bits]
    return [target.vector_bits, *good]


def tiles(target: Target, width: int) -> list[Target]:
    """The target with vectors of a width and each tile that is worth a try: the tallest of each number of vectors."""
    shapes = [target.tile] if width == target.vector_bits else []
    for vectors in (1, 2, 3, 4):
        tallest = (target.vector_registers - 1) // vectors - 1
        for rows in (tallest, tallest - 1, tallest // 4 * 4):
            if rows > 0 and rows * vectors >= min(_FEWEST_SUMS, target.vector_registers // 2) and rows <= 14:
                shapes.append((rows, vectors))
    return [replace(target, vector_bits=width, tile=shape) for shape in dict.fromkeys(shapes)]


def _compiled(function: Any, target: Target, *args: np.ndarray) -> Callable[[], float]:
    """A run of a function of one result, shaped as the first argument, that our pipeline compiles for a target; its seconds."""
    executable = executor.program(jit(function).lower(*args).module, target=target, consume=True)
    out = np.empty_like(args[0])

    def run() -> float:
        start = time.perf_counter()
        executable.run_into(args, (out,))
        return time.perf_counter() - start

    run()
    return run


def _product(target: Target, side: int) -> Callable[[], float]:
    a, b = np.random.default_rng(0).standard_normal((2, side, side), np.float32)
    return _compiled(lambda a, b: a @ b, target, a, b)


def _function(target: Target, dtype: type = np.float32, *, with_exp: bool = True) -> Callable[[], float]:
    from ..library.numpy import namespace as lnp

    x = np.linspace(-4, 4, _EXP_COUNT).astype(dtype)
    return _compiled((lambda x: lnp.exp(x) + 1) if with_exp else (lambda x: x + 1), target, x)


# Costs


def measure_costs(machine: Machine) -> None:
    """The costs of a division, a root and an exponential of vectors, in multiply-adds."""
    target, each = machine.target, machine.seconds / 12
    unit = machine.fma_seconds
    costs: dict[str, list[int]] = {"div": [], "sqrt": [], "exp": []}
    for element, dtype in (("float", np.float32), ("double", np.float64)):
        for op in ("div", "sqrt"):
            many = _least(ChainProbe(op, element, target, throughput_chains(target)), each)
            one = _least(ChainProbe(op, element, target, 1), each)
            costs[op].append(_whole(many / unit[element]))
            machine.notes.append(f"{op} {element}: one after the other {one * 1e9:.2f} ns, side by side {many * 1e9:.2f} ns")
        times = race({"with": _function(target, dtype), "without": _function(target, dtype, with_exp=False)}, each)
        vectors = _EXP_COUNT / target.lanes(8 * np.dtype(dtype).itemsize)
        spent = (times.best("with") - times.best("without")) / vectors
        costs["exp"].append(_whole(spent / unit[element]))
        machine.notes.append(f"exp {element}: {spent * 1e9:.2f} ns a vector, a multiply-add {unit[element] * 1e9:.3f} ns")
    found = {op: (pair[0], pair[1]) for op, pair in costs.items()}
    machine.target = replace(target, **{op: pair for op, pair in found.items() if _differs(pair, getattr(target, op))})


def _whole(cost: float) -> int:
    return min(9999, max(1, round(cost)))


def _differs(pair: tuple[int, int], usual: tuple[int, int]) -> bool:
    return any(max(a, b) > _NOISE * min(a, b) for a, b in zip(pair, usual, strict=True))


# Memory


def measure_caches(machine: Machine) -> None:
    """The sizes of the caches and how fast they are; the system's word stands unless accesses clearly say another."""
    target = machine.target
    sizes = [target.l1_bytes, target.l2_bytes, *([target.l3_bytes] if target.l3_bytes else [])]
    largest = min(4 * sizes[-1], _MOST_MEMORY)
    between = (sizes[0] // 2 << k for k in range((largest // sizes[0]).bit_length() + 1))
    used = sorted({*between, *(size // 2 for size in sizes), *(3 * size // 2 for size in sizes), largest})
    used = [size for size in used if size <= largest]
    share = machine.seconds / (2 * len(used) + len(sizes) + 1)
    ends = [0, *sizes, 4 * largest]

    def sweep() -> tuple[dict[int, float], list[int]]:
        reads = {size: _least(ReadProbe(size, target), share) for size in used}
        return reads, [size_from(reads, *ends[k : k + 3]) for k in range(len(sizes))]

    reads, found = sweep()
    machine.notes.append("reads, Gbyte/s: " + ", ".join(f"{_kib(size)} {1e-9 / s:.0f}" for size, s in reads.items()))
    waits = {size: _least(ChaseProbe(size, target), share) for size in (*(s // 2 for s in sizes), largest)}
    machine.notes.append("an access, ns: " + ", ".join(f"{_kib(size)} {s * 1e9:.1f}" for size, s in waits.items()))
    if found == sizes or sweep()[1] != found:
        return
    l1, l2, l3 = (*found, 0)[:3]
    if l1 <= l2 and (not l3 or l2 < l3):
        machine.target = replace(target, l1_bytes=l1, l2_bytes=l2, l3_bytes=l3)


def _kib(size: int) -> str:
    return f"{size >> 10}K"


def measure_stores(machine: Machine) -> None:
    """From which size on results use non-temporal stores.

    Not below the usual size: who reads such a result next finds it in a cache, which a copy alone does not see.
    """
    target = machine.target
    memory = np.ones(max(_COPIES) // 4, np.float32)
    share = machine.seconds / len(_COPIES)
    gains: dict[int, float] = {}
    for size in _COPIES:
        ways = {name: StoreProbe(memory, size, target, name == "past") for name in ("through", "past")}
        gains[size] = race(ways, share).gain("past", "through")
    machine.notes.append("non-temporal stores, speedup: " + ", ".join(f"{_kib(s)} {g:.2f}" for s, g in gains.items()))
    machine.target = replace(target, stream_bytes=first_that_pays(gains))


def first_that_pays(gains: Mapping[int, float]) -> int:
    """The size from which on all gains are above the margin; 0: there is none."""
    least = 0
    for size in sorted(gains, reverse=True):
        if gains[size] < MARGIN:
            break
        least = size
    return least


# Threads


def measure_threads(machine: Machine) -> None:
    """How much work a loop needs to be worth the threads that it wakes."""
    threads = get_threads()
    if threads < 2:
        machine.notes.append("threads: one processor")
        return
    target = machine.target
    x = np.linspace(0, 1, 1 << 18, dtype=np.float32)
    run = _compiled(lambda x: x * x + 1, target, x)

    def timed(count: int) -> Callable[[], float]:
        def measure() -> float:
            set_threads(count)
            run()
            return run()

        return measure

    try:
        times = race({"one": timed(1), "all": timed(threads)}, machine.seconds)
    finally:
        set_threads(threads)
    waking = max(0.0, times.best("all") - times.best("one") / threads)
    # with work w at a rate r one thread takes w / r, and all of them w / (r threads) and the waking
    least = waking / (1 - 1 / threads) / times.best("one") * x.size  # four vector operations on 16 elements count 16
    rounded = 1 << max(0, round(np.log2(max(1.0, least))))
    low, high = _WORTH_WAKING
    machine.notes.append(f"{threads} threads: a region takes {waking * 1e6:.1f} us, as {least:.0f} operations")
    wake = min(high, max(low, rounded))
    if max(wake, target.wake_ops) > 2 * min(wake, target.wake_ops):
        machine.target = replace(target, wake_ops=wake)


MEASUREMENTS: dict[str, tuple[float, Callable[[Machine], None]]] = {
    "vectors and tiles": (0.5, measure_vectors),
    "division, roots, exponentials": (0.15, measure_costs),
    "caches": (0.15, measure_caches),
    "non-temporal stores": (0.1, measure_stores),
    "threads": (0.1, measure_threads),
}
"""The measurements by subject: their share of the time."""


def measure(detected: Target, seconds: float, each: Callable[[str], None] = lambda name: None) -> tuple[Target, str]:
    """The target that a machine is measured to be, and notes for people.

    Args:
        detected: the machine as found without measuring.
        seconds: how long to measure, about; compiling the candidates comes on top.
        each: called with the name of each measurement before it begins.
    """
    machine = Machine(detected, seconds)
    threads = get_threads()
    start = time.perf_counter()
    try:
        for name, (share, run) in MEASUREMENTS.items():
            each(name)
            set_threads(threads if run is measure_threads else 1)
            machine.seconds = seconds * share
            run(machine)
    finally:
        set_threads(threads)
    spent = time.perf_counter() - start
    return machine.target, "\n".join([f"measured in {spent:.1f} s by lamina-tune --machine", *machine.notes])
