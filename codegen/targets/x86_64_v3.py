"""x86-64 with AVX2 and FMA: Haswell, Zen and later; 256-bit vectors."""

from .base import Target, level

TARGET = level(
    Target(
        name="x86-64-v3",
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v3",
        features="",
        vector_bits=256,
        vector_registers=16,
        has_fma=True,
        has_half=True,
        l1_bytes=32 << 10,
        l2_bytes=512 << 10,
        l3_bytes=16 << 20,
        tile=(6, 2),  # 12 accumulators, 2 registers for the right operand, 1 or 2 for broadcasts
        div=(8, 12),  # between those of Zen 3 (5, 7) and Skylake (10, 16)
        sqrt=(10, 16),
        exp=(18, 28),
    )
)
