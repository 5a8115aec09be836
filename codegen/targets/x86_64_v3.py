"""x86-64 with AVX2 and FMA: Haswell, Zen and later; 256-bit vectors."""

from .base import LINUX_X86_64, Target

TARGET = Target(
    name="x86-64-v3",
    triple=LINUX_X86_64,
    cpu="x86-64-v3",
    features="",
    vector_bits=256,
    vector_registers=16,
    has_fma=True,
    l1_bytes=32 << 10,
    l2_bytes=512 << 10,
    l3_bytes=16 << 20,
    tile_f32=(6, 16),  # 12 accumulators of 8 lanes, 2 for the right operand, 1-2 for broadcasts
    tile_f64=(6, 8),
)
