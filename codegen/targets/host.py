"""The machine this process runs on, as a `Target`."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

from ...errors import CompileError
from . import measured, x86_64_v2, x86_64_v3, x86_64_v4
from .base import FEATURES, TARGETS, Target, architecture_of, parse

# The features that each level of x86-64 requires beyond the one below, as far as code generation uses them.
_V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_V3 = ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")

# Features of machines with AVX-512 whose 512-bit code is at least as fast as 256-bit code. A guess that `lamina-tune
# --machine` replaces. Others have one 512-bit multiplier (client cores, the lesser first servers) or a clock that
# drops under such code (Skylake to Cooper Lake). Zen 4 computes a half at a time, but has fewer instructions to decode and
# retire, and more registers for the sums of a tile: 5 to 12 % faster over the rows of the benchmarks.
_WIDE = (
    {"avx512vbmi2", "wbnoinvd"},  # Ice Lake servers, whose client cores lack WBNOINVD
    {"avx512vbmi2", "avx512bf16"},  # Sapphire Rapids and Zen 4 and later
)
# The same processors by family and model, as LLVM names them: hypervisors hide features, so a virtual Sapphire Rapids may lack
# both sets. Products are 1.6 to 1.9 times as fast there on 512 bits.
_WIDE_CORES = {"icelake-server", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5"}

_SYSFS_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@cache
def host() -> Target:
    """The host as detected and measured, or the target that the environment variable `LAMINA_TARGET` says.

    Raises:
        CompileError: `LAMINA_TARGET` is the text of no target.
    """
    detected = detect()
    target = parse(os.environ.get("LAMINA_TARGET", "").strip() or "host", lambda: measured.refined(detected))
    # the data name Linux; code that runs here is of this system
    return replace(target, triple=detected.triple) if target.architecture == detected.architecture else target


@cache
def detect() -> Target:
    """The host as found without measuring: its level's data with its own name, features and cache sizes."""
    from .._llvm import llvm

    binding = llvm()
    triple = binding.get_process_triple()
    cpu = binding.get_host_cpu_name()
    found = {name for name, present in binding.get_host_cpu_features().items() if present}
    level = classify(triple, found)
    sizes = cache_bytes()
    beyond = sorted((found & FEATURES[level.architecture]) - _implied(level))
    detected = replace(
        level,
        triple=triple,
        features=",".join([*([level.features] if level.features else []), *(f"+{name}" for name in beyond)]),
        tune=cpu,
        l1_bytes=sizes.get(1, level.l1_bytes),
        l2_bytes=sizes.get(2, level.l2_bytes),
        l3_bytes=sizes.get(3, level.l3_bytes),
    )
    return detected if level is not x86_64_v4.TARGET or has_wide_units(found, cpu) else narrowed(detected)


def has_wide_units(features: set[str], core: str = "") -> bool:
    """Whether 512-bit code is probably worth it on a machine with AVX-512 and these features, or of this name of LLVM's."""
    return core in _WIDE_CORES or any(features >= has for has in _WIDE)


def narrowed(target: Target) -> Target:
    """A target with AVX-512 that keeps to vectors of 256 bits."""
    narrow = x86_64_v3.TARGET
    return replace(target, vector_bits=narrow.vector_bits, tile=narrow.tile, div=narrow.div, sqrt=narrow.sqrt)


def _implied(level: Target) -> set[str]:
    """The useful features that a level has anyway."""
    if level is x86_64_v4.TARGET:
        return {"avx", *_V3, *_V4}
    return {"avx", *_V3} if level is x86_64_v3.TARGET else {word[1:] for word in level.features.split(",") if word}


@cache
def why_not_here(target: Target) -> str | None:
    """Why code for a target cannot run on this machine; None if it can."""
    here = detect()
    if target.architecture != here.architecture:
        return f"it is for {target.architecture}, this machine is {here.architecture}"
    levels = (x86_64_v2.TARGET.name, x86_64_v3.TARGET.name, x86_64_v4.TARGET.name)
    if target.name in levels and levels.index(target.name) > levels.index(here.name):
        return f"this machine is {here.name}"
    if target.cpu not in (*levels[: levels.index(here.name) + 1 if here.name in levels else 0], here.cpu, here.tune):
        return f"this machine has no {target.cpu} processor"
    has = {*here.features.split(","), *(f"+{name}" for name in _implied(here))}
    lacking = [name for name in target.features.split(",") if name.startswith("+") and name not in has]
    return f"this machine lacks {', '.join(name[1:] for name in lacking)}" if lacking else None


def classify(triple: str, features: set[str]) -> Target:
    """The target whose data describe a machine with this triple and these features best.

    Raises:
        CompileError: there is none.
    """
    if (architecture := architecture_of(triple)) != "x86_64":
        return _only_level(architecture, features)
    if features.issuperset(_V4 + _V3):
        return x86_64_v4.TARGET
    if features.issuperset(_V3):
        return x86_64_v3.TARGET
    return x86_64_v2.TARGET


def _only_level(architecture: str, features: set[str]) -> Target:
    """The one level of an architecture, if a machine with some features, as far as they are known, meets its requirements."""
    level = next((target for target in TARGETS.values() if target.architecture == architecture), None)
    if level is None:
        raise CompileError(f"there is no target for {architecture}, only for {', '.join(TARGETS)}")
    if features and (lacking := _implied(level) - features):
        raise CompileError(f"target '{level.name}' needs {', '.join(sorted(lacking))}, which this machine lacks")
    return level


def cache_bytes(root: Path = _SYSFS_CACHES) -> dict[int, int]:
    """Data cache sizes by level as Linux reports them, without those that cannot be read."""
    sizes: dict[int, int] = {}
    for index in sorted(root.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            text = (index / "size").read_text().strip()
            size = int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
        if kind in ("Data", "Unified") and size > 0:
            sizes[level] = size
    return sizes


@cache
def host_architecture() -> str:
    """The architecture of this machine, as LLVM names it."""
    from .._llvm import llvm

    return architecture_of(llvm().get_process_triple())
