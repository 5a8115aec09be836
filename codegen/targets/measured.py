"""The measurements of this machine, as text beside the object cache: `lamina-tune --machine` writes it, `host()` reads it.

    # lamina machine 1
    machine: x86-64-v3{features=+prfchw tune=znver3 l3=32M}
    cores: 2
    target: host{tile=4x3 div=11/18}

`machine` and `cores` are the facts about the machine at the time, as found without measuring; if they have changed the file
is ignored. `target` has the measurements that beat the detected facts; `host` is the machine. Lines that begin
with # are for people. The file belongs to its user alone; if anything in it is wrong or not allowed, all of it is ignored.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...errors import CompileError
from .. import cache as object_cache
from .base import Target
from .options import OPTIONS

_FOLDER = "machine-1"
_FILE = "target.txt"
_HEADER = "# lamina machine 1"
_LIMIT_BYTES = 1 << 16
_KEYS = ("machine", "cores", "target")

MEASURED = ("vector", "tile", "l1", "l2", "l3", "div", "sqrt", "exp", "stream", "wake")
"""The options that a file may set: the instructions that may run here are detected, never read."""


class IgnoredError(Exception):
    """Why a file is not used."""


def is_off() -> bool:
    """Whether `LAMINA_MACHINE` says that measurements are ignored."""
    return os.environ.get("LAMINA_MACHINE", "").lower() in ("0", "off", "no", "false")


def path() -> Path | None:
    """Where the file is or would be; None if the cache is off or its folder cannot be trusted."""
    folder = object_cache.private_folder(_FOLDER)
    return None if folder is None else folder / _FILE


def facts(detected: Target) -> dict[str, str]:
    """The facts that must be unchanged: processor, features, caches and cores."""
    return {"machine": str(detected), "cores": str(os.cpu_count() or 1)}


def refined(detected: Target) -> Target:
    """The detected machine with its measurements, if there is a file that may be used."""
    try:
        return read(detected)
    except IgnoredError:
        return detected


def read(detected: Target) -> Target:
    """The target that the file says.

    Raises:
        IgnoredError: there is no file that may be used, and why.
    """
    if is_off():
        raise IgnoredError("LAMINA_MACHINE turns it off")
    text = _text()
    return parse(text, detected)


def _text() -> str:
    file = path()
    if file is None:
        raise IgnoredError("the object cache is off, or its folder cannot be trusted")
    try:
        data = object_cache.read_private(file)
    except FileNotFoundError:
        raise IgnoredError(f"there is no {file}") from None
    except OSError as error:
        raise IgnoredError(f"{file} cannot be read: {error.strerror}") from None
    if data is None:
        raise IgnoredError(f"{file} may be written by others, or is no file")
    if len(data) > _LIMIT_BYTES:
        raise IgnoredError(f"{file} is too long")
    return data.decode(errors="replace")


def parse(text: str, detected: Target) -> Target:
    """The target that the text of a file says of a machine.

    Raises:
        IgnoredError: it is damaged, of another format, or about another machine.
    """
    header, *lines = text.splitlines() or [""]
    if header != _HEADER:
        raise IgnoredError(f"it does not begin with '{_HEADER}'")
    said: dict[str, str] = {}
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        key, colon, value = line.partition(": ")
        if not colon or key not in _KEYS or key in said:
            raise IgnoredError(f"it has a line '{line:.60}'")
        said[key] = value.strip()
    if missing := [key for key in _KEYS if key not in said]:
        raise IgnoredError(f"it does not say {missing[0]}:")
    for key, fact in facts(detected).items():
        if said[key] != fact:
            raise IgnoredError(f"it is about another machine: {key} is {fact} here, {said[key]} there")
    return _target(said["target"], detected)


def _target(text: str, detected: Target) -> Target:
    found = re.fullmatch(r"host(?:\{([^{}]*)\})?", text)
    if found is None:
        raise IgnoredError(f"its target is '{text:.60}', not host with options")
    options = found[1] or ""
    for word in options.split():
        if word.partition("=")[0] not in MEASURED:
            raise IgnoredError(f"option '{word:.60}' is none that is measured")
    try:
        return detected.refined(options)
    except CompileError as error:
        raise IgnoredError(str(error)) from None


def text_of(target: Target, detected: Target, notes: str = "") -> str:
    """The contents of a file: a target that differs from the detected one in measurements, and notes for people."""
    options = (f"{key}={OPTIONS[key].write(value)}" for key, value in differences(target, detected).items())
    inside = " ".join(options)
    said = {**facts(detected), "target": f"host{{{inside}}}" if inside else "host"}
    comments = (f"# {line}" for line in notes.splitlines())
    return "\n".join([_HEADER, *(f"{key}: {value}" for key, value in said.items()), *comments, ""])


def differences(target: Target, detected: Target) -> dict[str, object]:
    """The measured options whose values differ from those of the detected machine."""
    fields = {key: OPTIONS[key].field for key in MEASURED}
    return {key: getattr(target, field) for key, field in fields.items() if getattr(target, field) != getattr(detected, field)}


def write(target: Target, detected: Target, notes: str = "") -> Path | None:
    """Store the measurements; the path, if it could be written."""
    file = path()
    return file if file is not None and object_cache.write_private(file, text_of(target, detected, notes)) else None
