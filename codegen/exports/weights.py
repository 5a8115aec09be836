"""Weights in a separate file: constants become memory of the object, which a program fills once.

The file has a head of 64 bytes (magic, an id of the layout, its size, the start of a digest) and the constants, each aligned to
64 bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..structured_builder import Flow, define
from ..text import I1, I64, PTR, Module
from .interface import ARENA_ALIGNMENT, Interface, Status

_MAGIC = b"LAMINA-WEIGHTS\x01\0"
_HEAD_BYTES = 64
_CONSTANT = re.compile(r'^@("[^"\n]*"|[\w.$-]+) = private unnamed_addr constant \[(\d+) x i8\] c"([^"\n]*)", align 64$', re.M)


@dataclass(frozen=True)
class Weights:
    """The constants of the code.

    Attributes:
        text: the code without it.
        file: the contents of the file.
    """

    text: str
    file: bytes


def taken_out(text: str, interface: Interface) -> Weights:
    """Move the constants of a module into a file; `@<prefix>_set_weights(data, bytes)` brings them back."""
    names: list[str] = []
    parts: list[bytes] = []

    def take(found: re.Match[str]) -> str:
        names.append(found[1])
        parts.append(_bytes(found[3]))
        return f"@{found[1]} = internal global [{found[2]} x i8] zeroinitializer, align 64"

    text = _CONSTANT.sub(take, text)
    offsets: list[int] = []
    at = _HEAD_BYTES
    for part in parts:
        offsets.append(at)
        at += -(-len(part) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
    layout = hashlib.sha256(repr((interface.prefix, names, [len(part) for part in parts])).encode()).digest()[:16]
    head = _MAGIC + layout + at.to_bytes(8, "little")
    body = b"".join(part.ljust(-(-len(part) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT, b"\0") for part in parts)
    file = head + hashlib.sha256(body).digest()[: _HEAD_BYTES - len(head)] + body
    module = Module()
    module.globals["lamina.weights"] = ("@lamina.weights", "@lamina.weights = internal global ptr null, align 8")
    sizes = [len(part) for part in parts]
    header = f"signext i32 @{interface.weights}(ptr %data, i64 %bytes)"
    define(module, header, lambda b: _set_weights(b, names, sizes, offsets, head))
    return Weights(f"{text}\n{module.text()}", file)


def _bytes(string: str) -> bytes:
    """The contents of a string of LLVM IR, in which a backslash begins two hexadecimal digits."""
    return string.replace("\\", "\\x").encode("latin-1").decode("unicode_escape").encode("latin-1")


def _set_weights(b: Flow, names: Sequence[str], sizes: Sequence[int], offsets: Sequence[int], head: bytes) -> None:
    b.require(b.icmp("ne", "%data", "null", PTR), "none")
    total = int.from_bytes(head[32:40], "little")
    b.require(b.icmp("sge", "%bytes", str(total), I64), "other")
    same = "true"
    for k in range(0, len(head), 8):
        word = b.emit(f"load i64, ptr {b.gep('%data', str(k), 'i8', '')}, align 1")
        same = b.and_(same, b.icmp("eq", word, str(int.from_bytes(head[k : k + 8], "little", signed=True)), I64), I1)
    b.require(same, "other")
    copy = b.module.declare("llvm.memcpy.p0.p0.i64", "void", ("ptr", "ptr", "i64", "i1"))
    for name, size, offset in zip(names, sizes, offsets, strict=True):
        source = b.gep("%data", str(offset), "i8", "")
        b.emit_void(f"call void {copy}(ptr align 64 @{name}, ptr align 1 {source}, i64 {size}, i1 false)")
    b.emit_void("store atomic ptr %data, ptr @lamina.weights release, align 8")
    b.ret("0", "i32")
    b.label("none")
    b.ret(str(int(Status.NULL_POINTER)), "i32")
    b.label("other")
    b.ret(str(int(Status.NO_WEIGHTS)), "i32")
