"""The printing of kernels: what machine code calls to write a line.

The text is in the object, after a line with the types of its values, `float32,int64`, and `!` if it is flushed.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

SYMBOL = "lamina_print"
"""The function that machine code calls: `i64 @lamina_print(ptr text, i64 size, ptr words)`, a word of 8 bytes a value."""

RAISED = -3
"""The status of a kernel whose printing has raised, as of a closed file."""


def write(text: str, values: Sequence[Any], flush: bool = False) -> None:
    """Write a line as a whole: another thread's stands before or after it."""
    line = text.format(*values)
    with _writing:
        sys.stdout.write(line)
        if flush:
            sys.stdout.flush()


_writing = threading.RLock()
_raised: list[BaseException] = []


def raise_pending() -> None:
    """Raise the first exception of the printing of kernels that have ended."""
    found = _raised[:1]
    _raised.clear()
    if found:
        raise found[0]


@lru_cache
def _read(described: bytes) -> tuple[str, list[np.dtype], bool]:
    from .signature import DTYPES

    head, _, text = described.decode("utf-8", "surrogatepass").partition("\n")
    names = head.removesuffix("!")
    return text, [DTYPES[name] for name in names.split(",") if name], head.endswith("!")


def _serve(address: int, size: int, words: int) -> int:
    try:
        text, dtypes, flush = _read(ctypes.string_at(address, size))
        at = [ctypes.string_at(words + 8 * k, dtype.itemsize) for k, dtype in enumerate(dtypes)]
        write(text, [np.frombuffer(one, dtype)[0] for one, dtype in zip(at, dtypes, strict=True)], flush)
    except BaseException as error:
        _raised.append(error)
        return RAISED
    return 0


_SERVE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


@cache
def imports() -> dict[str, int]:
    """The address of the function that machine code calls; valid as long as the process."""
    entry = _SERVE(_serve)
    _keep.append(entry)
    return {SYMBOL: ctypes.cast(entry, ctypes.c_void_p).value or 0}


_keep: list[Any] = []
