"""What code generation knows of a machine: a value, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass

LINUX_X86_64 = "x86_64-unknown-linux-gnu"
LINUX_AARCH64 = "aarch64-unknown-linux-gnu"


@dataclass(frozen=True)
class Target:
    """A machine to compile for.

    `vector_bits` is the width schedules should use, which may be less than the widest register. A register tile
    `(rows, columns)` is the block of a matrix product whose sums are kept in registers: rows broadcast from the left
    operand, columns a multiple of the vector lanes.
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
    tile_f32: tuple[int, int]
    tile_f64: tuple[int, int]
    has_avx512: bool = False
    """Whether it has what AVX-512 adds to vectors of any width (F and VL): mask registers, scaling by powers of two."""

    def lanes(self, element_bits: int) -> int:
        """How many elements of `element_bits` bits one vector holds (at least 1)."""
        return max(1, self.vector_bits // element_bits)

    @property
    def key(self) -> str:
        """What machine code depends on, as text: part of every cache key."""
        return f"{self.triple}|{self.cpu}|{self.features}|{self.vector_bits}"
