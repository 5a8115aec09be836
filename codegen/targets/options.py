"""The options in the text of a target: `x86-64-v3{l2=256K}` has the option `l2`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """A field that a text may set: how its value is read and written. Reading raises `ValueError`."""

    field: str
    takes: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def _width(text: str) -> int:
    if text not in ("128", "256", "512"):
        raise ValueError
    return int(text)


def _word(text: str) -> str:
    if not re.fullmatch(r"[\w.+-]+", text):
        raise ValueError
    return text


def _features(text: str) -> str:
    if not re.fullmatch(r"\+[\w.-]+(,\+[\w.-]+)*", text):
        raise ValueError
    return text


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LARGEST = 1 << 40


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})([KMG]?)", text)
    size = int(found[1]) * _UNITS[found[2]] if found else -1
    if not 0 <= size <= _LARGEST:
        raise ValueError
    return size


def _cache_bytes(text: str) -> int:
    if (size := _bytes(text)) < 1 << 10:
        raise ValueError
    return size


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that divides it: 256K."""
    unit = next(unit for unit, factor in reversed(_UNITS.items()) if (size % factor == 0 and size >= factor) or not unit)
    return f"{size // _UNITS[unit]}{unit}"


def _pair(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d?)x([1-9]\d?)", text)
    if found is None:
        raise ValueError
    return int(found[1]), int(found[2])


def _costs(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
    if found is None:
        raise ValueError
    return int(found[1]), int(found[2])


def _cost(field: str) -> Option:
    return Option(field, "multiply-adds for f32 / f64, as 10/16", _costs, lambda costs: f"{costs[0]}/{costs[1]}")


def _ratio(text: str) -> float:
    if not re.fullmatch(r"\d{1,3}(\.\d)?", text):
        raise ValueError
    return float(text)


def _lane(field: str) -> Option:
    return Option(field, "instructions on a vector for one lane, as 1.5", _ratio, lambda ratio: f"{ratio:g}")


OPTIONS: dict[str, Option] = {
    "triple": Option("triple", "a triple of LLVM", _word),
    "features": Option("features", "features beyond the level's, as +gfni,+avxvnni", _features),
    "tune": Option("tune", "the name of a processor", _word),
    "vector": Option("vector_bits", "128, 256 or 512 bits", _width),
    "tile": Option("tile", "rows x vectors, as 6x2", _pair, lambda tile: f"{tile[0]}x{tile[1]}"),
    "l1": Option("l1_bytes", "bytes, at least 1K, as 32K", _cache_bytes, size_text),
    "l2": Option("l2_bytes", "bytes, at least 1K, as 512K or 2M", _cache_bytes, size_text),
    "l3": Option("l3_bytes", "bytes, as 16M, or 0 where there is none", _bytes, size_text),
    "div": _cost("div"),
    "sqrt": _cost("sqrt"),
    "exp": _cost("exp"),
    "gather": _lane("gather"),
    "scatter": _lane("scatter"),
    "far": _lane("far"),
    "stream": Option("stream_bytes", "bytes, as 4M, or 0 where it never pays", _bytes, size_text),
    "wake": Option("wake_ops", "operations, as 32K", _bytes, size_text),
}
"""The options of a target's text, in the order in which they are written."""
