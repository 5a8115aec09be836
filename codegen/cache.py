"""Object files kept on disk from process to process.

One file per key, in a directory that belongs to the user alone. A file holds its key, its metadata as JSON and the object,
under a checksum over all of it: a file that is damaged, truncated or foreign is a miss. Nothing read from a file is
evaluated. Any number of processes may use one directory.

Environment: `LAMINA_CACHE=0` turns the cache off, `LAMINA_CACHE_DIR` sets its directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

LIMIT_BYTES = 512 << 20

# The name of the directory and of the format: another format is another directory.
_DIRECTORY = "objects-1"
_MAGIC = b"lamina object 1\n"
_SUFFIX = ".lamina"
_PREFIX_BYTES = len(_MAGIC) + 32 + 4  # magic, sha256 of all that follows, length of the JSON header
_ENTRY_LIMIT_BYTES = 256 << 20
_PUTS_PER_SWEEP = 64
_ABANDONED_SECONDS = 3600.0


@dataclass(frozen=True)
class Entry:
    """An entry: an object file and its owner's metadata."""

    obj: bytes
    meta: dict[str, Any] = field(default_factory=dict)


def key_of(*parts: str) -> str:
    """A key for an object that depends on these texts, the LLVM version and nothing else.

    >>> key_of("a", "bc") != key_of("ab", "c")
    True
    """
    from ._llvm import versions

    digest = hashlib.sha256()
    for part in (versions(), *parts):
        data = part.encode()
        digest.update(struct.pack("<Q", len(data)) + data)
    return digest.hexdigest()


def get(key: str) -> Entry | None:
    """The entry put under `key`, by this process or another, or None."""
    store = default_cache()
    return store.get(key) if store else None


def put(key: str, obj: bytes, meta: dict[str, Any] | None = None) -> None:
    """Keep an entry if that is possible; failures to write are silent.

    Raises:
        TypeError: `meta` is not JSON.
    """
    store = default_cache()
    if store:
        store.put(key, obj, meta or {})


def default_cache() -> ObjectCache | None:
    """The cache that the environment configures; None if it is off or its directory cannot be trusted."""
    if os.environ.get("LAMINA_CACHE", "1").lower() in ("0", "off", "no", "false"):
        return None
    root = os.environ.get("LAMINA_CACHE_DIR") or _default_root()
    return _open(root) if root else None


def private_folder(name: str) -> Path | None:
    """A folder beside that of the objects; None if the cache is off, or the folder cannot be trusted."""
    store = default_cache()
    if store is None:
        return None
    place = store.directory.parent / name
    try:
        return None if untrusted(place.lstat()) else place
    except FileNotFoundError:
        return place
    except OSError:
        return None


def write_private(path: Path, text: str) -> bool:
    """Write a file of a private folder, which is made when there is none: complete or not at all; whether it was possible."""
    temporary = None
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)  # with mode 600
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            _remove(Path(temporary))
        return False
    return True


@cache
def _open(root: str) -> ObjectCache | None:
    directory = Path(root) / _DIRECTORY
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = untrusted(directory.lstat())
    except (OSError, ValueError) as error:
        reason = str(error)
    if reason:
        warnings.warn(f"lamina does not use its cache at {directory}: {reason}", RuntimeWarning, stacklevel=4)
        return None
    return ObjectCache(directory)


def _default_root() -> str | None:
    """The platform's folder for caches; None if there is none."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return os.path.join(base, "lamina", "Cache") if base else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return str(home / "Library" / "Caches" / "lamina")
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return str((Path(xdg) if os.path.isabs(xdg) else home / ".cache") / "lamina")


def untrusted(status: os.stat_result) -> str:
    """Why a directory may hold what someone else wrote; empty if it cannot."""
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    if hasattr(os, "geteuid"):
        if status.st_uid != os.geteuid():
            return "it belongs to another user"
        if status.st_mode & 0o077:
            return f"others have access to it (mode {stat.S_IMODE(status.st_mode):o}, 700 is needed)"
    return ""


class ObjectCache:
    """A directory of entries, bounded to about `limit_bytes`: the longest unused go first."""

    def __init__(self, directory: Path, limit_bytes: int = LIMIT_BYTES):
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._puts = os.urandom(1)[0] % _PUTS_PER_SWEEP  # of all processes: a sweep of 140,000 entries takes a second

    def path(self, key: str) -> Path:
        """The file of a key."""
        return self.directory / (hashlib.sha256(key.encode()).hexdigest() + _SUFFIX)

    def get(self, key: str) -> Entry | None:
        """The entry under `key`, or None."""
        path = self.path(key)
        try:
            data = read_private(path)
        except OSError:
            return None
        entry = decode(key, data) if data else None
        if entry:
            try:
                os.utime(path)  # used now
            except OSError:
                pass
        return entry

    def put(self, key: str, obj: bytes, meta: dict[str, Any]) -> None:
        """Keep an entry: complete under its name or not at all."""
        data = encode(key, obj, meta)
        if len(data) > min(_ENTRY_LIMIT_BYTES, self.limit_bytes):
            return
        temporary = None
        try:
            handle, temporary = tempfile.mkstemp(dir=self.directory)  # with mode 600
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, self.path(key))
        except OSError:
            if temporary:
                _remove(Path(temporary))
            return
        if self._puts % _PUTS_PER_SWEEP == 0:
            self.sweep()
        self._puts += 1

    def sweep(self) -> None:
        """Remove the longest unused entries above the limit, and files that a dying process left half-written."""
        entries: list[tuple[float, int, Path]] = []
        try:
            with os.scandir(self.directory) as found:
                for item in found:
                    status = item.stat(follow_symlinks=False)
                    if item.name.endswith(_SUFFIX):
                        entries.append((status.st_mtime, status.st_size, Path(item.path)))
                    elif status.st_mtime < time.time() - _ABANDONED_SECONDS:
                        _remove(Path(item.path))
        except OSError:
            pass  # another process swept at the same time; the files seen so far suffice
        total = sum(size for _, size, _ in entries)
        if total <= self.limit_bytes:
            return
        for _, size, path in sorted(entries):
            _remove(path)
            total -= size
            if total <= self.limit_bytes * 3 // 4:
                break


def read_private(path: Path) -> bytes | None:
    handle = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _ENTRY_LIMIT_BYTES:
            return None
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            return None
        return file.read()


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass


# The format


def encode(key: str, obj: bytes, meta: dict[str, Any]) -> bytes:
    """The contents of a file."""
    header = json.dumps({"key": key, "meta": meta}).encode()
    body = struct.pack("<I", len(header)) + header + obj
    return _MAGIC + hashlib.sha256(_MAGIC + body).digest() + body


def decode(key: str, data: bytes) -> Entry | None:
    """The entry in a file, if the file is whole and holds this key."""
    if len(data) < _PREFIX_BYTES or not data.startswith(_MAGIC):
        return None
    checksum, body = data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if hashlib.sha256(_MAGIC + body).digest() != checksum:
        return None
    (length,) = struct.unpack_from("<I", body)
    try:
        header = json.loads(body[4 : 4 + length])
        if header["key"] != key or type(header["meta"]) is not dict:
            return None
        return Entry(body[4 + length :], header["meta"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
