"""What cannot be captured is refused with the line, the facts and a remedy: refused.txt has the texts."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import lamina as lm
import pytest

HERE = Path(__file__).parent


def test_texts_of_refusals() -> None:
    spec = importlib.util.spec_from_file_location("refused", HERE / "refused.py")
    assert spec is not None and spec.loader is not None
    refused = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refused)
    said: list[str] = []
    for function, args in refused.CASES.items():
        with pytest.raises((lm.TracingError, lm.ShapeError)) as caught:
            lm.jit(function)(*args)
        text = re.sub(r"^\S*(refused\.py:\d+:\d+: )", r"\1", str(caught.value))
        said.append(f"{function.__name__}: {text}\n")
    assert "".join(said) == (HERE / "refused.txt").read_text()
