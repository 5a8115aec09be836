"""The machine this process runs on, as a `Target`."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

from . import aarch64, x86_64_v2, x86_64_v3, x86_64_v4
from .base import Target

# What each level of x86-64 asks for beyond the one below, the part that code generation uses.
_V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_V3 = ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")

# Machines with AVX-512 where 512-bit code loses to 256-bit code: one 512-bit unit, or a clock that drops under it.
_NARROW_CPUS = {
    "skylake-avx512", "cascadelake", "cooperlake", "cannonlake", "icelake-client", "tigerlake", "rocketlake", "znver4",
}  # fmt: skip

_SYSFS_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@cache
def host() -> Target:
    """The detected host, or the target that the environment variable `LAMINA_TARGET` names."""
    wanted = os.environ.get("LAMINA_TARGET")
    if wanted and wanted != "host":
        from . import get

        target, triple = get(wanted), detect().triple
        # the data name Linux; code that runs here is of this system
        return replace(target, triple=triple) if triple.split("-")[0] == target.triple.split("-")[0] else target
    return detect()


@cache
def detect() -> Target:
    """The host as found: its level's data with its own processor name, features and cache sizes."""
    from .._llvm import llvm

    binding = llvm()
    triple = binding.get_process_triple()
    cpu = binding.get_host_cpu_name()
    found = binding.get_host_cpu_features()
    level = classify(triple, {name for name, present in found.items() if present})
    sizes = cache_bytes()
    detected = replace(
        level,
        name="host",
        triple=triple,
        cpu=cpu,
        features=found.flatten(),
        l1_bytes=sizes.get(1, level.l1_bytes),
        l2_bytes=sizes.get(2, level.l2_bytes),
        l3_bytes=sizes.get(3, level.l3_bytes),
    )
    if level is x86_64_v4.TARGET and cpu in _NARROW_CPUS:
        narrow = x86_64_v3.TARGET
        detected = replace(detected, vector_bits=256, tile_f32=narrow.tile_f32, tile_f64=narrow.tile_f64)
    return detected


def classify(triple: str, features: set[str]) -> Target:
    """The target whose data describe a machine with this triple and these features best."""
    if triple.startswith(("aarch64", "arm64")):
        return aarch64.TARGET
    if features.issuperset(_V4 + _V3):
        return x86_64_v4.TARGET
    if features.issuperset(_V3):
        return x86_64_v3.TARGET
    return x86_64_v2.TARGET


def cache_bytes(root: Path = _SYSFS_CACHES) -> dict[int, int]:
    """Data cache sizes by level as Linux reports them; what cannot be read is left out."""
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
