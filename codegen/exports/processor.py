"""Selects targets whose instructions the processor has, by `cpuid` in the code itself, once a process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ..structured_builder import Flow, define
from ..targets import Target, host_architecture
from ..text import I32, I64, PTR, Module

# (leaf, subleaf, register) of `cpuid`, registers in the order eax, ebx, ecx, edx; and the states that the system saves
_BASIC, _MORE, _MORE_1, _EXTENDED, _SAVED = (1, 0), (7, 0), (7, 1), (0x8000_0001, 0), "xcr0"
_BITS: dict[str, tuple[object, int, int]] = {
    **{name: (_BASIC, 2, bit) for name, bit in (("sse3", 0), ("ssse3", 9), ("fma", 12), ("cx16", 13), ("sse4.1", 19))},
    **{name: (_BASIC, 2, bit) for name, bit in (("sse4.2", 20), ("movbe", 22), ("popcnt", 23), ("xsave", 27), ("avx", 28))},
    "f16c": (_BASIC, 2, 29),
    **{name: (_MORE, 1, bit) for name, bit in (("bmi", 3), ("avx2", 5), ("bmi2", 8), ("avx512f", 16), ("avx512dq", 17))},
    **{name: (_MORE, 1, bit) for name, bit in (("avx512ifma", 21), ("avx512cd", 28), ("avx512bw", 30), ("avx512vl", 31))},
    **{name: (_MORE, 2, bit) for name, bit in (("avx512vbmi", 1), ("avx512vbmi2", 6), ("gfni", 8), ("avx512vnni", 11))},
    **{name: (_MORE, 2, bit) for name, bit in (("avx512bitalg", 12), ("avx512vpopcntdq", 14))},
    "avx512fp16": (_MORE, 3, 23),
    **{name: (_MORE_1, 0, bit) for name, bit in (("avxvnni", 4), ("avx512bf16", 5))},
    **{name: (_EXTENDED, 2, bit) for name, bit in (("lahf", 0), ("lzcnt", 5), ("prfchw", 8))},
    **{name: (_SAVED, 0, bit) for name, bit in (("saves xmm", 1), ("saves ymm", 2))},
    **{name: (_SAVED, 0, bit) for name, bit in (("saves masks", 5), ("saves zmm", 6), ("saves more zmm", 7))},
}
_V2 = ("sse3", "ssse3", "cx16", "sse4.1", "sse4.2", "popcnt", "lahf")
_V3 = (*_V2, "xsave", "avx", "avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe", "saves xmm", "saves ymm")
_V4 = (*_V3, *(f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")), "saves masks", "saves zmm", "saves more zmm")


def can_ask(targets: Sequence[Target]) -> bool:
    """Whether code for some targets can find out which of them the processor is."""
    return all(target.architecture == "x86_64" for target in targets) and host_architecture() == "x86_64"


def define_chosen(module: Module, targets: Sequence[Target]) -> None:
    """Add `i32 @lamina.chosen()`: the number of the first target whose instructions the processor has, from 1; 0: of none."""
    if not can_ask(targets):
        define(module, "internal i32 @lamina.chosen()", lambda b: b.ret("1", "i32"))
        return
    module.globals["lamina.known"] = ("@lamina.known", "@lamina.known = internal global i32 -1, align 4")

    def chosen(b: Flow) -> None:
        known = b.atomic_load("@lamina.known", I32, "monotonic")
        b.require(b.icmp("eq", known, "-1", I32), "kept")
        found = b.call("@lamina.find", "i32")
        b.atomic_store(found, "@lamina.known", I32, "monotonic")
        b.ret(found, "i32")
        b.label("kept")
        b.ret(known, "i32")

    define(module, "internal i32 @lamina.chosen()", chosen)
    define(module, "internal i32 @lamina.find() noinline", lambda b: _find(b, targets))


def _find(b: Flow, targets: Sequence[Target]) -> None:
    words = _Words(b)
    found = "0"
    for number in range(len(targets), 0, -1):
        has = "true"
        for key, mask in sorted(_masks(targets[number - 1]).items(), key=str):
            word = words.register(key)
            has = b.and_(has, b.icmp("eq", b.and_(word, str(mask), I32), str(mask), I32), I32.bool)
        found = b.select(has, str(number), found, I32)
    b.ret(found, "i32")


@cache
def _masks(target: Target) -> dict[tuple[object, int], int]:
    """The bits that a target needs, by the register that has them."""
    level = _V4 if target.has_avx512 else _V3 if target.has_fma else _V2
    beyond = [word[1:] for word in target.features.split(",") if word.startswith("+")]
    masks: dict[tuple[object, int], int] = {}
    for name in (*level, *beyond):
        source, register, bit = _BITS[name]
        masks[source, register] = masks.get((source, register), 0) | 1 << bit
    return masks


class _Words:
    """The answers of `cpuid`, each queried once; a leaf that the processor does not know is all zeros."""

    def __init__(self, b: Flow):
        self.b = b
        self.most = self._ask(0, 0)[0]
        self.most_extended = self._ask(0x8000_0000, 0)[0]
        self.leaves: dict[object, tuple[str, ...]] = {}

    def register(self, key: tuple[object, int]) -> str:
        """A register by its leaf and number."""
        source, number = key
        if source not in self.leaves:
            self.leaves[source] = (self._saved(),) if source == _SAVED else self._leaf(*source)  # pyright: ignore[reportGeneralTypeIssues]
        return self.leaves[source][number]

    def _leaf(self, leaf: int, subleaf: int) -> tuple[str, ...]:
        most = self.most if leaf < 0x8000_0000 else self.most_extended
        is_known = self.b.icmp("uge", most, str(leaf), I32)
        if subleaf:  # leaf 7 says how many of its own it has
            highest = self._leaf(leaf, 0)[0]
            is_known = self.b.and_(is_known, self.b.icmp("uge", highest, str(subleaf), I32), I32.bool)
        return tuple([self.b.select(is_known, word, "0", I32) for word in self._ask(leaf, subleaf)])

    def _ask(self, leaf: int, subleaf: int) -> tuple[str, ...]:
        constraints = "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"
        type = "{ i32, i32, i32, i32 }"
        words = self.b.emit(f'call {type} asm sideeffect "cpuid", "{constraints}"(i32 {leaf}, i32 {subleaf})')
        return tuple([self.b.emit(f"extractvalue {type} {words}, {k}") for k in range(4)])

    def _saved(self) -> str:
        """The register XCR0, if the processor lets it be read."""
        b = self.b
        at = b.variable("0", I32)
        has = b.and_(self.register((_BASIC, 2)), str(1 << 27), I32)
        with b.when(b.icmp("ne", has, "0", I32)):
            constraints = "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"
            words = b.emit(f'call {{ i32, i32 }} asm sideeffect "xgetbv", "{constraints}"(i32 0)')
            b.store(b.emit(f"extractvalue {{ i32, i32 }} {words}, 0"), at, I32)
        return b.load(at, I32)


def define_isa(module: Module, symbol: str, targets: Sequence[Target]) -> None:
    """Add the function of C that says which target runs, as text; null if none can."""

    def isa(b: Flow) -> None:
        chosen = b.cast("zext", b.call("@lamina.chosen", "i32"), I32, I64)
        found = "null"
        for number, target in enumerate(targets, 1):
            found = b.select(
                b.icmp("eq", chosen, str(number), I64), text(module, f"lamina.isa.{number}", target.name), found, PTR
            )
        b.ret(found, "ptr")

    define(module, f"ptr @{symbol}()", isa)


def text(module: Module, name: str, value: str) -> str:
    """A constant string of C."""
    data = value.encode()
    spelled = "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\{c:02X}" for c in data)
    line = f'@{name} = private unnamed_addr constant [{len(data) + 1} x i8] c"{spelled}\\00", align 1'
    return module.globals.setdefault(name, (f"@{name}", line))[0]
