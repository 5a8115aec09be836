"""64-bit Arm with NEON: 128-bit vectors, 32 registers."""

from .base import Target, level

TARGET = level(
    Target(
        name="aarch64",
        triple="aarch64-unknown-linux-gnu",
        cpu="generic",
        features="",  # NEON is part of every AArch64
        vector_bits=128,
        vector_registers=32,
        has_fma=True,
        has_half=True,
        l1_bytes=64 << 10,
        l2_bytes=1 << 20,
        l3_bytes=16 << 20,
        tile=(8, 3),  # 24 accumulators
        div=(10, 16),
        sqrt=(14, 24),
        exp=(18, 28),
    ),
    features="fullfp16 dotprod bf16 i8mm lse",
)
