"""x86-64 with SSE4.2: any machine since 2009; 128-bit vectors, no fused multiply-add."""

from .base import Target, level

TARGET = level(
    Target(
        name="x86-64-v2",
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v2",
        features="",
        vector_bits=128,
        vector_registers=16,
        has_fma=False,
        l1_bytes=32 << 10,
        l2_bytes=256 << 10,
        l3_bytes=8 << 20,
        tile=(6, 2),
        div=(6, 10),
        sqrt=(8, 14),
        exp=(20, 30),
    ),
    features="avx f16c fma avx2 bmi bmi2 lzcnt movbe prfchw",
)
