"""WebAssembly with 32-bit addresses and its vectors of 128 bits."""

from .base import Target, level

TARGET = level(
    Target(
        name="wasm32",
        triple="wasm32-unknown-unknown",
        cpu="generic",
        features="+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals",
        vector_bits=128,
        vector_registers=16,  # registers of engines on x86-64; locals are unlimited
        has_fma=False,
        l1_bytes=32 << 10,
        l2_bytes=512 << 10,
        l3_bytes=4 << 20,
        tile=(4, 2),  # 8 accumulators
        div=(8, 12),
        sqrt=(10, 16),
        exp=(24, 36),
        stream_bytes=0,
    ),
    features="simd128 relaxed-simd bulk-memory sign-ext nontrapping-fptoint mutable-globals",
)
