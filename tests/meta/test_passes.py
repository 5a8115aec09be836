"""One pass a file, named like the file, with a line of documentation and a FileCheck file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from lamina import passes

ROOT = Path(__file__).parent.parent.parent
PASSES = sorted(passes.our_passes())
FOLDER = {
    "transforms": "transforms",
    "transforms.target": "transforms/target",
    "lowering": "lowering",
    "lowering.schedule": "schedule",
    "interop.stablehlo": "interop/stablehlo",
}


def source(name: str) -> ast.Module:
    return ast.parse((ROOT / (passes.our_passes()[name].module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))


def is_pass(node: ast.stmt) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    bases = [ast.unparse(base) for base in node.bases]
    return (any("ModulePass" in base for base in bases) and node.name != "Primitive") or "Primitive" in bases


def is_primitive(node: ast.ClassDef) -> bool:
    return "Primitive" in [ast.unparse(base) for base in node.bases]


@pytest.mark.parametrize("name", PASSES)
def test_a_file_holds_one_pass_at_its_end(name: str) -> None:
    classes = [node for node in source(name).body if is_pass(node)]
    assert len(classes) == 1
    assert isinstance(classes[0], ast.ClassDef)
    assert is_primitive(classes[0]) or classes[0].name.endswith("Pass")
    assert passes.find_pass(name).name == name


@pytest.mark.thorough
@pytest.mark.parametrize("folder", passes.FOLDERS)
def test_every_pass_class_is_found(folder: str) -> None:
    for path in sorted((ROOT / folder).glob("*.py")):
        if any(is_pass(node) for node in ast.parse(path.read_text(encoding="utf-8")).body):
            module = f"{folder.replace('/', '.')}.{path.stem}"
            assert module in {info.module for info in passes.our_passes().values()}, f"{path}: file name is not the pass name"


@pytest.mark.parametrize("name", PASSES)
def test_the_first_line_of_the_file_says_what_the_pass_does(name: str) -> None:
    assert len(passes.our_passes()[name].summary) > 20


@pytest.mark.parametrize("name", PASSES)
def test_has_a_filecheck_file_with_a_case_where_it_does_nothing_or_refuses(name: str, awaited) -> None:
    module = passes.our_passes()[name].module
    folder = ROOT / "filecheck" / FOLDER[module.rpartition(".")[0]]
    awaited(folder)
    path = folder / f"{name}.mlir"
    assert path.is_file(), f"write {path.relative_to(ROOT)}"
    negative = (folder / f"{name}-invalid.mlir").is_file() or "@no_" in path.read_text() or "expected-error" in path.read_text()
    assert negative, f"{path.relative_to(ROOT)} needs a case @no_... or an expected-error"
