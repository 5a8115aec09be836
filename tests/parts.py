"""Running the parts of a matrix one after the other, all of them, and a table of what became of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Part:
    """A command, and the variables it has besides those of this process."""

    title: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


def run(parts: Iterable[Part]) -> int:
    """Run the parts, each to its end. Returns 1 if there is none or one failed."""
    rows: list[tuple[str, float, int]] = []
    for part in parts:
        print(f"== {part.title}", flush=True)
        start = time.monotonic()
        code = subprocess.run(part.command, cwd=ROOT, env={**os.environ, **part.env}, check=False).returncode
        rows.append((part.title, time.monotonic() - start, code))
    for title, seconds, code in rows:
        print(f"{seconds:7.0f} s  {f'FAILED ({code})' if code else 'ok':12} {title}")
    sys.stdout.flush()
    return int(not rows or any(code for *_, code in rows))
