"""The tests of native calls with every other Python that the machine has: `make test-pythons`.

An entry reads CPython's objects in place, and their layout changes from one minor version to the next. `python3.N` is looked
for in PATH and among the versions of pyenv; each minor version is taken once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from parts import Part, run

OLDEST = (3, 11)
PROBE = """
import ensurepip, json, sys, venv
print(json.dumps([list(sys.version_info[:4]), sys.abiflags, sys.implementation.name, sys.executable]))
"""


def candidates() -> Iterator[Path]:
    """Every file that is called python3.N."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders += sorted(pyenv.glob("versions/*/bin"), reverse=True)
    for folder in folders:
        if folder.is_dir():
            yield from sorted(file for file in folder.glob("python3.*") if file.suffix[1:].isdigit())


def interpreters() -> dict[tuple[int, int], str]:
    """The interpreters that start, by minor version; previews and builds without GIL are not asked for."""
    found: dict[tuple[int, int], str] = {}
    for path in candidates():
        version = (3, int(path.suffix[1:]))
        if version < OLDEST or version in found:
            continue
        try:
            done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError):
            continue  # a stand-in of pyenv's without a version behind it, or one that cannot make environments
        (major, minor, _, level), flags, name, executable = json.loads(done.stdout)
        if (level, flags, name) == ("final", "", "cpython"):
            found[major, minor] = executable
    return dict(sorted(found.items()))


def main() -> int:
    found = interpreters()
    print("found:", ", ".join(f"{major}.{minor} ({path})" for (major, minor), path in found.items()), flush=True)
    make = os.environ.get("MAKE", "make")
    others = {version: path for version, path in found.items() if version != sys.version_info[:2]}
    parts = [
        Part(f"Python {v[0]}.{v[1]}", [make, "--no-print-directory", "test-entry", f"PYTHON={path}"])
        for v, path in others.items()
    ]
    if not parts:
        print("no other Python here")
        return 0
    return run(parts)


if __name__ == "__main__":
    sys.exit(main())
