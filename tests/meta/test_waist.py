"""The boundary between compiler and libraries: what the tools load, and what `api` offers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from lamina import name_table
from lamina.names import public

ROOT = Path(__file__).parent.parent.parent
LIBRARIES = ("library", "compat", "interop", "train")
ABOVE = ("api", "frontend", "kernels", *LIBRARIES)
"""What stands on the pipeline. A person who runs `lamina-opt` loads none of it, but a kernel's text for an op that has one."""

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


def test_lamina_opt_loads_the_text_of_a_kernel_when_an_op_is_lowered(tmp_path: Path) -> None:
    path = tmp_path / "factor.mlir"
    path.write_text(
        "func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {\n"
        "  %l = graph.cholesky %x : tensor<3x3xf32>\n  return %l : tensor<3x3xf32>\n}\n"
    )
    loaded = {
        phase: ast.literal_eval(
            subprocess.run(
                [sys.executable, "-c", RUN, f"--compile-to={phase}", str(path)],
                cwd=ROOT, capture_output=True, text=True, check=True,
            ).stdout
        )
        for phase in ("optimized", "asm")
    }  # fmt: skip
    assert loaded["optimized"] == [] and "lamina.kernels.cholesky" in loaded["asm"]
    assert not [name for name in loaded["asm"] if name.split(".")[1] in LIBRARIES]


FACE = [space for space in name_table.HOMES if space.partition(".")[0] == "api"]
"""The namespaces of the face: `api`, and its modules by subject."""

LARGEST = {"api": 45}
"""Number of names of a namespace of the face at most; of the modules by subject 30."""


def names_in_libraries() -> set[tuple[str, str]]:
    """The names that libraries import of the face, each with its namespace."""
    used = set[tuple[str, str]]()
    for room in ("library", "compat", "train", "interop", "kernels"):
        for path in (ROOT / room).rglob("*.py"):
            package = list(path.relative_to(ROOT).parts[:-1])
            modules: dict[str, str] = {}
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.level:
                    base = package[: len(package) - (node.level - 1)]
                    space = ".".join([*base, *(node.module.split(".") if node.module else [])])
                    if space in FACE:
                        used |= {(space, alias.name) for alias in node.names}
                        modules |= {alias.asname or alias.name: f"{space}.{alias.name}" for alias in node.names}
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and modules.get(node.value.id) in FACE:
                    used.add((modules[node.value.id], node.attr))
    return used


@pytest.mark.parametrize("space", FACE)
def test_the_face_is_small_and_used(space: str) -> None:
    """A name that no library needs is no part of the face."""
    used = {name for home, name in names_in_libraries() if home == space}
    for other in name_table.HOMES:
        used |= {home.name for home in public(other).values() if home.module == space and other not in FACE}
    names = {*public(space)}
    assert names - {each.partition(".")[2] for each in FACE} <= used
    assert not used - names, f"lamina.{space} has no such names; docs/extending.md lists those of each module"
    assert len(names) <= LARGEST.get(space, 30), "a function of other names belongs to a library"


def test_the_face_is_documented() -> None:
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    missing = [f"{space}.{name}" for space in FACE for name in public(space) if f"`{name}`" not in text]
    assert not missing, "docs/extending.md describes each name of the face"
