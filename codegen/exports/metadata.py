"""The metadata of an object, in a constant: how loaders know its functions, and that a file is whole.

The constant is `MAGIC`, 32 bytes for a digest of the file, the length and the CRC-32 of a JSON text, and that text. The digest
is zeros until a shared object is written: `sealed` computes it, and `runtime/shared_object.py` compares.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

from ...runtime.shared_object import DIGEST_BYTES, MAGIC
from ...runtime.signature import ArrayParam, Param
from .interface import MESSAGES, Export, Interface

VERSION = 1


def metadata_text(interface: Interface, weights: dict[str, Any] | None = None) -> str:
    """LLVM IR of the constant."""
    text = json.dumps(describe(interface, weights), separators=(",", ":")).encode()
    blob = MAGIC + bytes(DIGEST_BYTES) + len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(4, "little") + text
    spelled = "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\{c:02X}" for c in blob)
    return f'@{interface.metadata_symbol} = constant [{len(blob)} x i8] c"{spelled}", align 16\n'


def describe(interface: Interface, weights: dict[str, Any] | None = None) -> dict[str, Any]:
    """The data of the JSON text."""
    best = interface.targets[0]
    return {
        "version": VERSION,
        "prefix": interface.prefix,
        "architecture": best.architecture,
        "system": "linux" if "linux" in best.triple else best.triple.partition("-")[2],
        "targets": [str(target) for target in interface.targets],
        "strerror": interface.strerror,
        "isa": interface.isa,
        "statuses": {str(int(status)): status.name for status in MESSAGES},
        "weights": weights,
        "functions": [_function(export) for export in interface.exports],
    }


def _function(export: Export) -> dict[str, Any]:
    signature = export.signature
    return {
        "name": export.name,
        "symbol": export.symbol,
        "arena": None if export.is_kernel else export.arena_symbol,
        "kernel": export.is_kernel,
        "threads": export.takes_threads,
        "sizes": list(export.sizes),
        "params": [_param(export, param) for param in signature.params],
        "results": [_param(export, param) for param in signature.results],
        "donations": [list(pair) for pair in signature.donations],
    }


def _param(export: Export, param: Param) -> dict[str, Any]:
    data: dict[str, Any] = {"name": param.name, "dtype": param.dtype}
    if not isinstance(param, ArrayParam):
        return data
    sizes, strides = export.spelled(param)
    return data | {"shape": sizes, "strides": strides, "writes": param.writes}


def sealed(data: bytes) -> bytes:
    """A file with the digest of all its other bytes in its constant."""
    at = data.find(MAGIC)
    if at < 0:
        return data
    first = at + len(MAGIC)
    empty = data[:first] + bytes(DIGEST_BYTES) + data[first + DIGEST_BYTES :]
    return data[:first] + hashlib.sha256(empty).digest() + data[first + DIGEST_BYTES :]
