"""`Target`: the description of a machine for code generation, a value written and read as one line of text.

x86-64-v3{l2=256K}                          a level of an architecture, and the differences from it
x86-64-v4{vector=256 tune=znver4 l3=32M}
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from ... import extensions
from ...errors import CompileError, ExtensionError
from .options import OPTIONS, size_text

LINE_BYTES = 64
"""Of a cache line, on every processor there is a level for."""

FEATURES: dict[str, frozenset[str]] = {}
"""By architecture the features that code generation has a use for; others would make the text of a target long for nothing."""


@dataclass(frozen=True)
class Target:
    """A machine to compile for: a level of an architecture, refined by facts about one machine.

    Attributes:
        name: of the level, a key of `TARGETS`.
        triple: architecture and system, as LLVM names them.
        cpu: the processor whose instructions may be used, as LLVM names it.
        features: instructions beyond those of `cpu`, as `+gfni,+avxvnni`.
        vector_bits: the width that schedules use, which may be less than that of the widest register.
        vector_registers: how many vectors registers hold.
        has_fma: whether a multiply-add is one instruction.
        has_half: whether it converts vectors of f16.
        has_avx512: whether it has AVX-512 (F, VL) for vectors of any width: mask registers, scaling by powers of two.
        l1_bytes, l2_bytes, l3_bytes: data caches, as one core sees them; 0: there is none.
        tile: (rows, vectors), the register tile of a matmul: the sums that registers hold.
        div, sqrt, exp: how many multiply-adds take as long as one of these, on vectors of f32 and of f64.
        gather, scatter: how many instructions on a vector take as long as one lane of a gather or a scatter. Accesses with a
            stride count as gathers.
        far: the same for a lane in a cache line of its own.
        stream_bytes: smallest result, in bytes, that is written with non-temporal stores; 0: none is.
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
    gather: float = 1.5
    scatter: float = 3.0
    far: float = 4.0
    stream_bytes: int = 4 << 20  # more than the first two levels of caches hold
    wake_ops: int = 1 << 15
    has_half: bool = False
    has_avx512: bool = False
    tune: str = ""

    def lanes(self, element_bits: int) -> int:
        """How many elements of `element_bits` bits one vector holds (at least 1)."""
        return max(1, self.vector_bits // element_bits)

    def tile_of(self, element_bits: int) -> tuple[int, int]:
        """(rows, columns) of the register tile of a matmul of such elements; columns are a multiple of the lanes."""
        rows, vectors = self.tile
        return rows, vectors * self.lanes(element_bits)

    def has_any(self, features: Collection[str]) -> bool:
        """Whether it has one of some instructions, by their names in `features`."""
        return any(f"+{name}" in self.features.split(",") for name in features)

    def streams(self, size_bytes: int) -> bool:
        """Whether a result of so many bytes, written once, uses non-temporal stores."""
        return 0 < self.stream_bytes <= size_bytes

    @property
    def architecture(self) -> str:
        """The first part of the triple, as `x86_64` or `aarch64`."""
        return architecture_of(self.triple)

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
        """Raise `CompileError` unless the numbers are consistent: the divisors of schedules, and the sizes of registers."""
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
            raise CompileError(
                f"target '{self.name}': l1={size_text(self.l1_bytes)} is larger than l2={size_text(self.l2_bytes)}"
            )

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
        return self.text_from(TARGETS[self.name])

    @property
    def key(self) -> str:
        """All that code depends on, as text: part of every cache key."""
        return "|".join(map(str, dataclasses.astuple(self)))


def architecture_of(triple: str) -> str:
    """The architecture that a triple of LLVM names."""
    return triple.partition("-")[0].replace("arm64", "aarch64")


TARGETS: dict[str, Target] = {}
"""The levels of architectures by name: each is a file of this folder."""


def level(target: Target, features: str = "") -> Target:
    """Add a level to `TARGETS`, and the features of its architecture, names with blanks between them; returns it."""
    TARGETS[target.name] = target
    FEATURES[target.architecture] = FEATURES.get(target.architecture, frozenset()) | frozenset(features.split())
    return target


def register_target(name: str, like: str, options: str = "") -> Target:
    """Make a target of another package known by a name, as text for `--target` and `LAMINA_TARGET`.

    Args:
        name: how it is called from now on.
        like: the level that it begins with, a key of `TARGETS`.
        options: the differences, as in the braces of a target's text: `cpu=... vector=256 l2=512K tile=4x3`.

    Raises:
        ExtensionError: the name is in use, or empty.
        CompileError: there is no such level or option.

    >>> import lamina as lm
    >>> lm.register_target("small-core", like="x86-64-v3", options="vector=128 l2=128K").lanes(32)
    4
    >>> str(lm.target("small-core{l3=0}"))
    'small-core{l3=0}'
    """
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name) or name == "host":
        raise ExtensionError(f"register_target: '{name}' is no name for a target")
    if name in TARGETS and name not in _registered:
        raise ExtensionError(f"register_target: there is a target '{name}' already, take another name")
    if like not in TARGETS:
        raise ExtensionError(f"register_target: there is no target '{like}' to begin with, there are: {', '.join(TARGETS)}")
    made = dataclasses.replace(TARGETS[like].refined(options), name=name)
    extensions.add("target", name, sys._getframe(1).f_globals.get("__name__", "__main__"))
    TARGETS[name] = made
    _registered.add(name)
    return made


_registered: set[str] = set()
"""The names of targets of other packages."""


def parse(text: str, this: Callable[[], Target]) -> Target:
    """The target of a text, in which `host` is the result of `this`.

    Raises:
        CompileError: the text names no target, or an option that does not exist.
    """
    found = re.fullmatch(r"\s*([\w.-]+)\s*(?:\{([^{}]*)\})?\s*", text)
    if found is None:
        raise CompileError(f"target '{text}' is no name with options in braces, as x86-64-v3{{l2=256K}}")
    name, options = found.groups()
    if name not in TARGETS:
        extensions.load()
    if name != "host" and name not in TARGETS:
        raise CompileError(f"unknown target '{name}', known are: host, {', '.join(TARGETS)}")
    target = this() if name == "host" else TARGETS[name]
    return target.refined(options) if options else target
