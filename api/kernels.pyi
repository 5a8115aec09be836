# from the table names.toml by `make names`: do not edit
"""What algorithms are written with as kernels, and attached to ops."""

from typing import Any

from ..frontend.extend import register_kernel as register_kernel
from ..frontend.kernel.annotations import dtype as dtype
from ..frontend.kernel.annotations import empty as empty
from ..frontend.kernel.annotations import f64 as f64
from ..frontend.kernel.annotations import i32 as i32
from ..frontend.kernel.annotations import parallel as parallel
from ..frontend.kernel.decorator import kernel as kernel

__all__ = [
    "dtype", "empty", "f64", "i32", "kernel", "parallel", "register_kernel",
]
