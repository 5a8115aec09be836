"""Upstream's mlir-opt reads the modules of filecheck/ in generic syntax, as they are and lowered to host functions."""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from io import StringIO
from itertools import accumulate
from pathlib import Path

import pytest
from lamina import pipeline
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.parsing import parse_module
from lamina.tools.opt.driver import split
from xdsl.printer import Printer

REPLACED = "loop-drop-signs"
"""The file of the pass that replaces arithmetic of unsigned integers, which upstream does not have."""
FILES = sorted(p for p in (Path(__file__).parents[2] / "filecheck").rglob("*.mlir") if p.stem != REPLACED)
OURS = ("'func.call' op 'declared' does not reference a valid function",)
"""What upstream says of a call in the region of an op that it does not know, which might have symbols of its own."""


def _generic(files: list[Path], lowered: bool) -> Iterator[str]:
    for path in files:
        for text in split(path.read_text()):
            ctx = make_context()
            try:
                module = parse_module(ctx, text)
                verify_module(module)
                if lowered:
                    pipeline.run_to(module, "program", ctx, lambda *_: None)
            except Exception:
                continue
            stream = StringIO()
            Printer(stream, print_generic_format=True).print_op(module)
            yield stream.getvalue()


def _refused(texts: list[str], mlir_opt: str) -> dict[int, str]:
    """The first error about each text that upstream does not read."""
    starts = list(accumulate((text.count("\n") + 2 for text in texts), initial=1))
    command = [mlir_opt, "--allow-unregistered-dialect", "--split-input-file", "-o", "/dev/null"]
    done = subprocess.run(command, input="\n// -----\n".join(texts), capture_output=True, text=True, timeout=300)
    found: dict[int, str] = {}
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)", done.stderr, re.MULTILINE):
        found.setdefault(bisect_right(starts, int(line)) - 1, message)
    return found


def test_a_sample_is_read(mlir_opt: str) -> None:
    texts = list(_generic(FILES[::10], lowered=False))
    assert len(texts) > 10
    assert not [message for message in _refused(texts, mlir_opt).values() if not any(known in message for known in OURS)]


@pytest.mark.slow
@pytest.mark.parametrize("lowered", [False, True])
def test_all_are_read(lowered: bool, mlir_opt: str) -> None:
    texts = list(_generic(FILES, lowered))
    refused = _refused(texts, mlir_opt)
    assert not [message for message in refused.values() if not any(known in message for known in OURS)]
    assert len(refused) <= 1
