"""Arrays between pages that nobody may read or write: an access outside of them ends the process."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

PAGE = mmap.PAGESIZE
needs_mprotect = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect through ctypes")


class Pages:
    """Memory for arrays; each array has pages of its own, and a closed page on both sides."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._kept: list[np.ndarray] = []

    def _protect(self, address: int, size: int, access: int) -> None:
        assert self._libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), access) == 0

    def zeros(self, shape: tuple[int, ...], dtype: Any, at: int | None = None) -> np.ndarray:
        """Zeros that begin `at` bytes after the closed page in front, or end right before the one behind."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        inside = max(1, -(-(size + (at or 0)) // PAGE)) * PAGE
        data = np.frombuffer(mmap.mmap(-1, inside + 2 * PAGE), np.uint8)
        self._kept.append(data)
        for closed in (0, PAGE + inside):
            self._protect(data.ctypes.data + closed, PAGE, 0)
        start = PAGE + at if at is not None else PAGE + inside - size
        return data[start : start + size].view(dtype).reshape(shape)

    def copy(self, array: np.ndarray, at: int | None = None) -> np.ndarray:
        """The same elements as `array`, placed as by `zeros`."""
        new = self.zeros(array.shape, array.dtype, at)
        new[...] = array
        return new

    def open(self) -> None:
        """Open all pages, so that the memory can be given back."""
        for data in self._kept:
            self._protect(data.ctypes.data, data.size, 3)


@contextmanager
def pages() -> Iterator[Pages]:
    """Memory that is given back at the end."""
    made = Pages()
    try:
        yield made
    finally:
        made.open()
