"""The layout of the package: folders, import directions, relative imports."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
OUTSIDE = {"tests", "filecheck", "benchmarks", "examples", "docs", "build", "dist"}
ROOMS = (
    "api",
    "train",
    "interop",
    "kernels",
    "debugging",
    "compat",
    "library",
    "frontend",
    "dialects",
    "transforms",
    "lowering",
    "codegen",
    "runtime",
    "executor",
    "explorer",
    "tools",
)

MAY_IMPORT = {
    "errors": set(),
    "name_table": set(),
    "names": {"name_table", "runtime.gc_pause"},
    "thresholds": set(),
    "extensions": {"errors"},
    "runtime": {"errors", "dialects"},  # the reference interpreter reads the meanings of the ops
    "dialects": {"debug_counters", "extensions", "errors", "thresholds"},
    "codegen": {"extensions", "errors", "runtime"},  # an executable is machine code with its signature
    # the derivative of a call of a kernel is one of a kernel that is derived from its loops
    "transforms": {"debug_counters", "dialects", "errors", "lowering.derivatives", "thresholds"},
    # what a composite stands for is fused again where its own loops cannot be built
    "lowering": {
        "dialects",
        "extensions",
        "codegen.targets",
        "codegen.text",
        "codegen.tuned",  # schedules that were found by measuring
        "diagnostics",  # positions in source files
        "debug_counters",
        "errors",
        "thresholds",
        "transforms.graph_collapse_dims",
        "transforms.graph_decompose",
        "transforms.graph_fuse",
        "transforms.graph_name_sizes",  # what reads sizes finds no `?`, wherever a module comes from
    },
    # passes that choose an algorithm for a machine ask what it costs
    "transforms.target": {
        "transforms",
        "lowering",
        "codegen.targets",
        "dialects",
        "extensions",
        "debug_counters",
        "errors",
        "thresholds",
    },
    "diagnostics": {"errors"},
    "debug_counters": set(),
    "pass_text": {"errors"},
    "passes": {"pass_text", "extensions", "dialects", "errors", "transforms", "lowering", "codegen.tuned"},
    "pass_manager": {"debug_counters", "pass_text", "passes"},
    "pipeline": {"extensions", "dialects", "errors", "transforms", "lowering", "codegen", "runtime", "passes"},
    "explorer": {"pipeline", "dialects", "lowering", "codegen", "errors", "diagnostics"},
    "debugging": {
        "explorer",
        "passes",
        "debug_counters",
        "pass_manager",
        "pipeline",
        "dialects",
        "transforms",
        "lowering",
        "codegen",
        "runtime",
        "errors",
        "diagnostics",
    },
    "executor": {"pipeline", "passes", "debugging", "dialects", "lowering", "codegen", "runtime", "errors"},
    "frontend": {
        "debugging",
        "explorer",
        "extensions",
        "pipeline",
        "executor",
        "passes",
        "dialects",
        "transforms",
        "lowering",
        "codegen",
        "runtime",
        "errors",
        "diagnostics",
    },
    # the waist: libraries import the face and each other
    "api": {"names", "frontend", "diagnostics", "dialects", "runtime", "errors"},
    "library": {"api", "names"},
    "compat": {"api", "library", "names"},
    "train": {"api", "compat", "library"},
    "interop": {"api", "compat", "library"},
    "kernels": {"api"},
    "tools": {
        "library",
        "interop.onnx",  # files of models, which are opened when one is named
        "names",
        "debugging",
        "explorer",
        "debug_counters",
        "pipeline",
        "executor",
        "pass_manager",
        "pass_text",
        "passes",
        "frontend",
        "dialects",
        "lowering.target",
        "lowering.llvm.emit",  # objects for other programs
        "codegen",
        "runtime",
        "errors",
        "diagnostics",
    },
}
"""What each room may import besides itself: one way, never back."""


def files(rooms: Sequence[str] = (*ROOMS, ".")) -> Iterator[Path]:
    for room in rooms:
        yield from sorted((ROOT / room).glob("*.py") if room == "." else (ROOT / room).rglob("*.py"))


every_room = pytest.mark.parametrize("folder", (*ROOMS, "."))


def dotted(path: Path) -> list[str]:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and target, relative to the root, of every import of this package."""
    package = list(path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            module = [*base, *(node.module.split(".") if node.module else [])]
            if module:
                yield node.lineno, ".".join(module)
            else:
                yield from ((node.lineno, alias.name) for alias in node.names)


def test_packages_are_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(["lamina", *path.parent.relative_to(ROOT).parts])
        for path in ROOT.rglob("__init__.py")
        if not path.relative_to(ROOT).parts[0].startswith(".") and path.relative_to(ROOT).parts[0] not in OUTSIDE
    }
    folders |= {f"lamina.{path.name}" for path in (ROOT / "namespaces").iterdir()}  # stubs of public names
    assert set(listed) == folders
    assert len(listed) == len(set(listed))


@every_room
def test_imports_point_one_way(folder: str) -> None:
    for path in files((folder,)):
        parts = dotted(path)
        if not parts:
            continue  # the public face re-exports
        room = ".".join(parts[:2]) if ".".join(parts[:2]) in MAY_IMPORT else parts[0]
        for line, target in imports(path):
            first = target.split(".")[0]
            allowed = first == parts[0] or any(target == one or target.startswith(one + ".") for one in MAY_IMPORT[room])
            known = first in MAY_IMPORT
            assert allowed or not known, f"{path.relative_to(ROOT)}:{line}: {room} may not import {target}"


@every_room
def test_imports_inside_the_package_are_relative(folder: str) -> None:
    for path in files((folder,)):
        for node in ast.walk(parsed(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            for name in names:
                assert name.split(".")[0] not in {*ROOMS, *MAY_IMPORT, "lamina"}, (
                    f"{path.relative_to(ROOT)}:{node.lineno}: import {name} relatively"
                )


def imported_files(path: Path, known: set[str]) -> Iterator[str]:
    """The files that a file imports, anywhere in it but for types alone."""
    package = list(path.relative_to(ROOT).parts[:-1])
    tree = parsed(path)
    for_types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    left_out = {id(inner) for node in for_types for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in left_out:
            base = package[: len(package) - (node.level - 1)]
            module = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                yield next(name for name in (f"{module}.{alias.name}".strip("."), module, "") if name in known)


@pytest.mark.thorough
def test_files_do_not_import_each_other() -> None:
    known = {".".join(dotted(path)): path for path in files()}
    graph = {name: {*imported_files(path, {*known, ""})} - {name} for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"files that import each other: {' <- '.join(error.args[1])}")


def callers(*functions: str) -> list[str]:
    """The files that call one of some functions, by the text of the call."""
    return [
        str(path.relative_to(ROOT))
        for path in files()
        if any(isinstance(node, ast.Call) and ast.unparse(node.func) in functions for node in ast.walk(parsed(path)))
    ]


def test_the_executor_alone_builds_and_keeps() -> None:
    assert callers("pipeline.build", "kernels.build") == ["executor/executor.py"]
    keeping = callers("object_cache.put")
    assert [path for path in keeping if not path.startswith("codegen/")] == [
        "executor/executor.py"
    ]  # codegen keeps its runtime
    for path in files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in ("pipeline", "kernels"):
                assert "build" not in [alias.name for alias in node.names], f"{path}:{node.lineno}: use executor.program"


def test_one_file_generates_python() -> None:
    assert callers("exec", "compile", "eval", "builtins.exec", "builtins.compile") == [
        "frontend/python/compile/compiled.py",  # `lm.compile` itself
        "frontend/python/compile/report.py",
        "frontend/trace/generated.py",
    ]


def late_names(path: Path) -> set[str]:
    """The names of a file that nothing has a value for when it is loaded: None, or annotated as Any."""
    found: set[str] = set()
    for node in parsed(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        is_any = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) in ("Any", "None")
        is_none = (
            isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant) and node.value.value is None
        )
        if is_any or is_none:
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_no_file_fills_a_name_of_another_file() -> None:
    """A value that another file has is passed, or registered by a function with types (`runtime/array.py`, `provide`)."""
    late = {".".join(dotted(path)): names for path in files() if (names := late_names(path))}
    for path in files():
        modules: dict[str, str] = {}
        package = list(path.relative_to(ROOT).parts[:-1])
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*package[: len(package) - (node.level - 1)], *(node.module.split(".") if node.module else [])]
                modules |= {alias.asname or alias.name: ".".join([*base, alias.name]) for alias in node.names}
        if late.keys().isdisjoint(modules.values()):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
                home = modules.get(node.value.id, "")
                assert node.attr not in late.get(home, ()), f"{path.relative_to(ROOT)}:{node.lineno} fills {home}.{node.attr}"
