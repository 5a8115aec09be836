"""Wrong kernels and wrong steps of schedules, each with its whole message: `mistakes.txt` has them, and messages by `# says`.

`LAMINA_UPDATE=1 pytest tests/frontend/kernel/test_mistakes.py` writes the messages anew; read the difference. A kernel is the
body of `k`, whose parameters the head declares; steps are taken on the schedule `s` of a product of matrices.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import lamina as lm
import pytest
from lamina.errors import KernelError, ScheduleError
from lamina.frontend.kernel.build import build_kernel

from .test_errors import HEAD, load

TABLE = Path(__file__).with_name("mistakes.txt")
SEPARATOR, SAYS, STEPS = "# -----\n", "# says\n", "# steps\n"


@lm.kernel
def product(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for i, j in lm.grid(C.shape):
        for k in range(A.shape[1]):
            C[i, j] += A[i, k] * B[k, j]


def said(text: str, tmp_path: Path) -> str:
    """The message about a body or about steps; nothing if there is none."""
    try:
        if text.startswith(STEPS):
            product.reset()
            exec(text, {"s": product.schedule()})
        else:
            module = load(tmp_path, HEAD + "".join(f"    {line}\n" for line in text.splitlines()))
            build_kernel(module.k)
    except (KernelError, ScheduleError) as error:
        message = re.sub(r"\S*kernels_\d+\.py", "k.py", str(error))
        return re.sub(r"\(\S*test_mistakes\.py:\d+\)", "(product.py)", message)
    return ""


def table() -> list[tuple[str, str]]:
    """Texts and messages."""
    parts = TABLE.read_text().split(SEPARATOR)
    return [(text, message.rstrip("\n")) for text, _, message in (part.partition(SAYS) for part in parts)]


def test_messages_are_those_of_the_table(tmp_path: Path) -> None:
    rows = table()
    now = [(text, said(text, tmp_path)) for text, _ in rows]
    if os.environ.get("LAMINA_UPDATE"):
        TABLE.write_text(SEPARATOR.join(f"{text}{SAYS}{message}\n" for text, message in now))
        pytest.skip("the table was written anew")
    assert now == rows


def test_each_has_its_line_the_rule_and_what_to_write_instead() -> None:
    rows = table()
    assert len(rows) >= 80
    for text, message in rows:
        first, *others = message.splitlines()
        if text.startswith(STEPS):
            assert re.match(r"(loop-\S+(\{.*?\})?: )?\S", first), message
            continue
        place, _, rule = first.partition(" ")
        assert re.fullmatch(r"k\.py:\d+:\d+:", place), message
        assert re.search(r"[:;] \S", rule), message  # the rule, then the remedy
        assert len(others) == 2 and others[1].strip() == "^", message
        assert "Error" not in rule or "Error(" in rule, message
