"""x86-64 with AVX-512 (F, BW, CD, DQ, VL): 512-bit vectors, 32 registers."""

from .base import Target, level

TARGET = level(
    Target(
        name="x86-64-v4",
        triple="x86_64-unknown-linux-gnu",
        cpu="x86-64-v4",
        features="",
        vector_bits=512,
        vector_registers=32,
        has_fma=True,
        has_half=True,
        l1_bytes=32 << 10,
        l2_bytes=1 << 20,
        l3_bytes=16 << 20,
        tile=(8, 3),  # 24 accumulators, 3 registers for the right operand; 8 x 3 loads fewer broadcasts than 12 x 2
        div=(20, 32),
        sqrt=(24, 40),
        exp=(15, 25),
        has_avx512=True,
    ),
    features="gfni avxvnni avx512vnni avx512bf16 avx512fp16 avx512vbmi avx512vbmi2 avx512ifma avx512bitalg avx512vpopcntdq",
)
