"""Extensions: registrations by other packages, and the entry points by which installed ones are found.

Each part of the compiler keeps its own registrations and reports them by `add`, so that keys of the object cache cover them. An
installed package names modules under the entry point group `lamina.extensions`; they are imported once, at the first look-up of
a registration. `LAMINA_EXTENSIONS=off` leaves them alone.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from .errors import ExtensionError, is_interruption

GROUP = "lamina.extensions"
"""Entry points of installed packages that are extensions: each names a module that registers when it is imported."""


@dataclass(frozen=True)
class Extension:
    """One registration.

    Attributes:
        kind: op, rule, pass, primitive, strategy, kernel, target or device.
        name: its name, unique within its kind.
        module: the Python module that defines it.
    """

    kind: str
    name: str
    module: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} ({self.module})"


_added: dict[tuple[str, str], Extension] = {}
_lock = RLock()
_loading = False


def add(kind: str, name: str, module: str) -> None:
    """Note that something is registered; the same module may register a name again, as a notebook does.

    Raises:
        ExtensionError: another module has registered the name.
    """
    known = _added.get((kind, name))
    if known is not None and known.module != module:
        raise ExtensionError(f"{kind} '{name}' is registered by {known.module} already, {module} needs another name")
    _added[kind, name] = Extension(kind, name, module)


def remove(kind: str, name: str) -> None:
    """Remove a registration that `add` noted."""
    _added.pop((kind, name), None)


def extensions() -> tuple[Extension, ...]:
    """All registrations, including those of installed packages, in order."""
    load()
    return tuple(_added.values())


def load() -> None:
    """Import the modules that installed packages name, unless this has been done.

    A module that cannot be imported is skipped with a `RuntimeWarning`: a broken extension does not disable the compiler.
    """
    global _loading
    if _loading:
        return
    with _lock:
        if _loading:
            return
        _loading = True  # a module that looks up registrations during its import finds those made so far
        if os.environ.get("LAMINA_EXTENSIONS", "") == "off" or not any(_mentions_group(folder) for folder in sys.path):
            return
        from importlib.metadata import entry_points  # imported here: it takes 40 ms, which most first calls do not need

        for point in entry_points(group=GROUP):
            try:
                point.load()
            except Exception as error:
                if is_interruption(error):
                    raise
                package = point.dist.name if point.dist is not None else "unknown"
                text = f"extension '{point.name}' of package '{package}' is left out: {type(error).__name__}: {error}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)


def _mentions_group(folder: str) -> bool:
    """Whether a package that is installed in a folder names an entry point of the group."""
    for path in _declared(folder):
        try:
            if GROUP in path.read_text(encoding="utf-8"):
                return True
        except (OSError, UnicodeDecodeError):
            continue
    return False


def _declared(folder: str) -> Iterator[Path]:
    """The files in which packages in a folder declare their entry points."""
    try:
        with os.scandir(folder or ".") as entries:
            packages = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return
    yield from [Path(package, "entry_points.txt") for package in packages]
