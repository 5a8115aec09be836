"""Schedules found by measuring, kept as text from process to process.

One file for each kernel, in a directory beside that of the object cache which belongs to the user alone:

    # lamina schedule 1
    # @dot_relu, 2 threads: 0.412 ms by default, 0.351 ms with these steps (31 candidates, seed 0)
    loop-split{loop=j size=48}
    loop-vectorize{loop=ji lanes=16}

A file may be edited or removed by hand. Its steps are proved legal again whenever they are applied: a wrong step can make
a kernel slow, or is ignored. With the cache off, results last as long as the process.
"""

from __future__ import annotations

import os
from pathlib import Path

from . import cache as object_cache

_DIRECTORY = "schedules-1"
_HEADER = "# lamina schedule 1"
_SUFFIX = ".txt"
_LIMIT_BYTES = 1 << 16

_found: dict[str, str] = {}
"""The schedules that this process has found or read, by key."""


def directory() -> Path | None:
    """The folder of schedules, made when there is one; None if the cache is off or its folder cannot be trusted."""
    return object_cache.private_folder(_DIRECTORY)


def load(key: str) -> str | None:
    """The steps kept under a key as pipeline text, or None."""
    folder = directory()
    if folder is None:
        text = _found.get(key)
    else:
        try:
            data = object_cache.read_private(folder / (key + _SUFFIX))
        except OSError:
            data = None
        text = None if data is None or len(data) > _LIMIT_BYTES else data.decode(errors="replace")
    lines = [] if text is None else text.splitlines()
    if not lines or lines[0] != _HEADER:
        return None
    return ",".join(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def save(key: str, steps: str, note: str) -> Path | None:
    """Keep steps, one a line, under a key; where the file is, if there is one."""
    text = "\n".join([_HEADER, *(f"# {line}" for line in note.splitlines()), steps, ""])
    _found[key] = text
    folder = directory()
    if folder is None:
        return None
    path = folder / (key + _SUFFIX)
    return path if object_cache.write_private(path, text) else None


def forget(key: str) -> None:
    """Drop the entry of a key."""
    _found.pop(key, None)
    if (folder := directory()) is not None:
        (folder / (key + _SUFFIX)).unlink(missing_ok=True)


def state() -> str:
    """A text that changes whenever a schedule is added, changed or removed: part of the keys of code compiled with them."""
    folder = directory()
    if folder is None:
        return f"{len(_found)} {hash(tuple(_found.items()))}" if _found else ""
    try:
        with os.scandir(folder) as entries:
            files = sorted((e.name, e.stat().st_mtime_ns, e.stat().st_size) for e in entries if e.name.endswith(_SUFFIX))
    except OSError:
        return ""
    return repr(files) if files else ""
