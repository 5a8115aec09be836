"""The text of a module: a tree with the dtypes and shapes of its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

WIDTH = 100


def tree_text(module: Any, static: Sequence[str], fields: Sequence[str]) -> str:
    """`Kind(field=value, ...)`, on one line where it fits."""
    parts = [f"{name}={value_text(vars(module)[name])}" for name in fields]
    parts += [f"{name}={_name(vars(module)[name])}" for name in static]
    if not module.training:
        parts.append("training=False")
    return _joined(f"{type(module).__name__}(", parts, ")")


def value_text(value: Any) -> str:
    """The text of the value of a field."""
    if isinstance(value, dict):
        return _joined("{", [f"{key!r}: {value_text(part)}" for key, part in value.items()], "}")
    if isinstance(value, list | tuple):
        start, end = ("[", "]") if isinstance(value, list) else ("(", ")")
        return _joined(start, [value_text(part) for part in value], end)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{np.dtype(value.dtype).name}{list(value.shape)}"
    return repr(value)


def _name(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)


def _joined(start: str, parts: Sequence[str], end: str) -> str:
    line = start + ", ".join(parts) + end
    if len(line) <= WIDTH and "\n" not in line:
        return line
    inside = "".join("  " + part.replace("\n", "\n  ") + ",\n" for part in parts)
    return f"{start}\n{inside}{end}"
