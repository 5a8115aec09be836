"""What code generation knows of a machine: a value, written and read as one line of text.

x86-64-v3{l2=256K}                          a level of an architecture, and what differs from it
x86-64-v4{vector=256 tune=znver4 l3=32M}
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import CompileError

LINUX_X86_64 = "x86_64-unknown-linux-gnu"
LINUX_AARCH64 = "aarch64-unknown-linux-gnu"

FEATURES = {
    "x86_64": frozenset(
        """
        avx f16c fma avx2 bmi bmi2 lzcnt movbe prfchw gfni avxvnni avx512vnni avx512bf16 avx512fp16 avx512vbmi avx512vbmi2
        avx512ifma avx512bitalg avx512vpopcntdq
        """.split()
    ),
    "aarch64": frozenset("neon fullfp16 dotprod bf16 i8mm lse".split()),
}
"""By architecture the features that code generation has a use for; others would make the text of a target long for nothing."""


@dataclass(frozen=True)
class Target:
    """A machine to compile for: a level of an architecture, refined by what is known of one machine.

    Attributes:
        name: of the level, a key of `TARGETS`.
        triple: architecture and system, as LLVM names them.
        cpu: the processor whose instructions may be used, as LLVM names it.
        features: instructions beyond those of `cpu`, as `+gfni,+avxvnni`.
        vector_bits: the width that schedules use, which may be less than that of the widest register.
        vector_registers: how many vectors registers hold.
        has_fma: whether a multiply-add is one instruction.
        has_avx512: whether it has what AVX-512 (F, VL) adds to vectors of any width: mask registers, scaling by powers of two.
        l1_bytes, l2_bytes, l3_bytes: data caches, as one core sees them; 0: there is none.
        tile: (rows, vectors), the register tile of a matmul: the sums that registers hold.
        div, sqrt, exp: how many multiply-adds take as long as one of these, on vectors of f32 and of f64.
        stream_bytes: how large a result is at least that is stored past the caches; 0: none is.
        wake_ops: operations on scalars that a parallel loop has at least for threads to be worth waking; no fewer than
            `grain.WORTH_OPS`.
        tune: the processor that instructions are ordered for, as LLVM names it; empty: `cpu`.
    """

    name: str
    triple: str
    cpu: str
    features: str
    vector_bits: int
    vector_registers: int
    has_fma: bool
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    tile: tuple[int, int]
    div: tuple[int, int]
    sqrt: tuple[int, int]
    exp: tuple[int, int]
    stream_bytes: int = 4 << 20  # more than the first two levels of caches hold
    wake_ops: int = 1 << 15
    has_avx512: bool = False
    tune: str = ""

    def lanes(self, element_bits: int) -> int:
        """How many elements of `element_bits` bits one vector holds (at least 1)."""
        return max(1, self.vector_bits // element_bits)

    def tile_of(self, element_bits: int) -> tuple[int, int]:
        """(rows, columns) of the register tile of a matmul of such elements; columns are a multiple of the lanes."""
        rows, vectors = self.tile
        return rows, vectors * self.lanes(element_bits)

    def streams(self, size_bytes: int) -> bool:
        """Whether a result of so many bytes, written once, is stored past the caches."""
        return 0 < self.stream_bytes <= size_bytes

    @property
    def architecture(self) -> str:
        """The first part of the triple, `x86_64` or `aarch64`."""
        return self.triple.partition("-")[0].replace("arm64", "aarch64")

    def refined(self, options: str) -> Target:
        """This target with options of a text, `l2=256K vector=128`.

        Raises:
            CompileError: an option does not exist, or its value is none.
        """
        changes: dict[str, Any] = {}
        for word in options.split():
            key, equals, value = word.partition("=")
            if key not in OPTIONS or not equals:
                known = ", ".join(f"{name}=" for name in OPTIONS)
                raise CompileError(f"target '{self.name}' has no option '{word}', options are: {known}")
            option = OPTIONS[key]
            try:
                changes[option.field] = option.read(value)
            except ValueError:
                raise CompileError(f"target '{self.name}': {key}= takes {option.takes}, got '{value}'") from None
        made = dataclasses.replace(self, **changes)
        made.check()
        return made

    def check(self) -> None:
        """Raise `CompileError` unless the numbers go together: what schedules divide by, and what registers hold."""
        from . import TARGETS

        if self.architecture != TARGETS[self.name].architecture:
            raise CompileError(f"target '{self.name}': triple={self.triple} is of another architecture")
        known = FEATURES[self.architecture]
        if self.features and (unknown := [word for word in self.features.split(",") if word[1:] not in known]):
            raise CompileError(f"target '{self.name}': no feature {', '.join(unknown)}, there are: {', '.join(sorted(known))}")
        widest = TARGETS[self.name].vector_bits
        if self.vector_bits > widest:
            raise CompileError(f"target '{self.name}': vector={self.vector_bits} is wider than its registers, {widest} bits")
        rows, vectors = self.tile
        if rows * vectors + vectors + 1 > self.vector_registers:
            raise CompileError(
                f"target '{self.name}': tile={rows}x{vectors} needs {rows * vectors + vectors + 1} registers, "
                f"there are {self.vector_registers}"
            )
        if self.l1_bytes > self.l2_bytes:
            raise CompileError(f"target '{self.name}': l1={_size(self.l1_bytes)} is larger than l2={_size(self.l2_bytes)}")

    def text_from(self, level: Target) -> str:
        """The text of this target: a level, and the options that differ from it."""
        options = (
            f"{key}={option.write(value)}"
            for key, option in OPTIONS.items()
            if (value := getattr(self, option.field)) != getattr(level, option.field)
        )
        inside = " ".join(options)
        return f"{level.name}{{{inside}}}" if inside else level.name

    def __str__(self) -> str:
        from . import TARGETS

        return self.text_from(TARGETS[self.name])

    @property
    def key(self) -> str:
        """All that code depends on, as text: part of every cache key."""
        return "|".join(map(str, dataclasses.astuple(self)))


# Options of the text


@dataclass(frozen=True)
class Option:
    """A field that a text may give: how its value is read and written. Reading raises `ValueError`."""

    field: str
    takes: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def _width(text: str) -> int:
    if text not in ("128", "256", "512"):
        raise ValueError
    return int(text)


def _word(text: str) -> str:
    if not re.fullmatch(r"[\w.+-]+", text):
        raise ValueError
    return text


def _features(text: str) -> str:
    if not re.fullmatch(r"\+[\w.-]+(,\+[\w.-]+)*", text):
        raise ValueError
    return text


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LARGEST = 1 << 40


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})([KMG]?)", text)
    size = int(found[1]) * _UNITS[found[2]] if found else -1
    if not 0 <= size <= _LARGEST:
        raise ValueError
    return size


def _cache_bytes(text: str) -> int:
    if (size := _bytes(text)) < 1 << 10:
        raise ValueError
    return size


def _size(size: int) -> str:
    unit = next(unit for unit, factor in reversed(_UNITS.items()) if (size % factor == 0 and size >= factor) or not unit)
    return f"{size // _UNITS[unit]}{unit}"


def _pair(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d?)x([1-9]\d?)", text)
    if found is None:
        raise ValueError
    return int(found[1]), int(found[2])


def _costs(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
    if found is None:
        raise ValueError
    return int(found[1]), int(found[2])


def _cost(field: str) -> Option:
    return Option(field, "multiply-adds for f32 / f64, as 10/16", _costs, lambda costs: f"{costs[0]}/{costs[1]}")


OPTIONS: dict[str, Option] = {
    "triple": Option("triple", "a triple of LLVM", _word),
    "features": Option("features", "features beyond the level's, as +gfni,+avxvnni", _features),
    "tune": Option("tune", "the name of a processor", _word),
    "vector": Option("vector_bits", "128, 256 or 512 bits", _width),
    "tile": Option("tile", "rows x vectors, as 6x2", _pair, lambda tile: f"{tile[0]}x{tile[1]}"),
    "l1": Option("l1_bytes", "bytes, at least 1K, as 32K", _cache_bytes, _size),
    "l2": Option("l2_bytes", "bytes, at least 1K, as 512K or 2M", _cache_bytes, _size),
    "l3": Option("l3_bytes", "bytes, as 16M, or 0 where there is none", _bytes, _size),
    "div": _cost("div"),
    "sqrt": _cost("sqrt"),
    "exp": _cost("exp"),
    "stream": Option("stream_bytes", "bytes, as 4M, or 0 where it never pays", _bytes, _size),
    "wake": Option("wake_ops", "operations, as 32K", _bytes, _size),
}
"""What a text may say of a machine, in the order in which it is written."""
