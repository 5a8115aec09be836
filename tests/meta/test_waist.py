"""The boundary between compiler and libraries: what the tools load, and what `api.py` offers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from lamina import api, name_table
from lamina.names import public

ROOT = Path(__file__).parent.parent.parent
ABOVE = ("api", "frontend", "library", "compat", "train")
"""What stands on the pipeline. A person who runs `lamina-opt` loads none of it."""

RUN = f"""
import contextlib, io, sys
from lamina.tools.lamina_opt import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(sys.argv[1:])
print([name for name in sys.modules if name.startswith({tuple(f"lamina.{room}" for room in ABOVE)!r})])
"""


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--compile-to=llvmir", "examples/deployment/classifier.mlir"]],
    ids=["version", "compilation"],
)
def test_lamina_opt_loads_nothing_above_the_pipeline(arguments: list[str]) -> None:
    run = subprocess.run([sys.executable, "-c", RUN, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n", run.stderr


def test_every_name_of_the_face_is_used() -> None:
    """A name that no library needs is no part of the face."""
    used = set[str]()
    for room in ("library", "compat", "train"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module == "api":
                    used |= {alias.name for alias in node.names}
    for space in name_table.HOMES:
        used |= {home.name for home in public(space).values() if home.module == "api"}
    assert {*api.__all__} == used
