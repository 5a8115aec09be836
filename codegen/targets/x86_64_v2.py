"""x86-64 with SSE4.2: any machine since 2009; 128-bit vectors, no fused multiply-add."""

from .base import LINUX_X86_64, Target, level

TARGET = level(
    Target(
        name="x86-64-v2",
        triple=LINUX_X86_64,
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
    )
)
