"""Which tests may be skipped in CI, by reason: all that tests need is installed there, so only facts of the machine count.

Elsewhere whatever is missing skips its tests. Skips are listed at the end of every run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

ALLOWED = {
    r"runs on AVX-512 alone": 40,
    r"needs FMA": 10,
    r"compiles for x86-64": 10,
    r"sets a register of x86": 5,
    r"needs fork": 10,
    r"there are no POSIX threads": 40,
    r"reads /proc": 20,
    r"mprotect through ctypes": 200,
    r"there is no Chromium": 1,
    r"no (?:aarch64|riscv64)-linux-gnu-gcc": 2,
    r"no qemu-(?:aarch64|riscv64)": 2,
    r"no clang": 4,
    r"no wasm-ld": 1,
    r"mmap's flags are those of Linux": 1,
}
"""Reasons, as expressions that match all of one, and how many tests may have each: facts of processors and systems."""


def excess(reasons: Iterable[str]) -> list[str]:
    """What is wrong with the skips of a run, given the reason of each."""
    counts: Counter[str] = Counter()
    found: list[str] = []
    for reason in reasons:
        known = next((pattern for pattern in ALLOWED if re.fullmatch(pattern, reason)), None)
        if known is None:
            found.append(f"no test may be skipped in CI because: {reason}")
        else:
            counts[known] += 1
    found += [f"{n} tests are skipped because: {p}; {ALLOWED[p]} may be" for p, n in counts.items() if n > ALLOWED[p]]
    return sorted(set(found))
