"""x86-64 with AVX-512 (F, BW, CD, DQ, VL): 512-bit vectors, 32 registers."""

from .base import LINUX_X86_64, Target

TARGET = Target(
    name="x86-64-v4",
    triple=LINUX_X86_64,
    cpu="x86-64-v4",
    features="",
    vector_bits=512,
    vector_registers=32,
    has_fma=True,
    l1_bytes=32 << 10,
    l2_bytes=1 << 20,
    l3_bytes=16 << 20,
    tile_f32=(8, 48),  # 24 accumulators of 16 lanes, 3 for the right operand; fewer rows mean fewer broadcasts than 12 x 32
    tile_f64=(8, 24),
    has_avx512=True,
)
