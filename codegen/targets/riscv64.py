"""64-bit RISC-V with the vector extension (RVA23's V, Zba, Zbb, Zvfhmin): vectors of at least 128 bits, 32 registers."""

from .base import Target, level

TARGET = level(
    Target(
        name="riscv64",
        triple="riscv64-unknown-linux-gnu",
        cpu="generic-rv64",
        features="+m,+a,+f,+d,+c,+v,+zba,+zbb,+zfhmin,+zvfhmin",
        vector_bits=128,
        vector_registers=32,
        has_fma=True,
        has_half=True,
        l1_bytes=32 << 10,
        l2_bytes=512 << 10,
        l3_bytes=4 << 20,
        tile=(8, 3),  # 24 accumulators; broadcasts are operands of vfmacc.vf, from scalar registers
        div=(12, 20),
        sqrt=(16, 28),
        exp=(18, 28),
    ),
    features="m a f d c v zba zbb zfhmin zvfhmin zfh zvfh",
)
