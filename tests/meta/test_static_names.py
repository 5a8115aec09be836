"""What type checkers and editors know of an installed package: `import lamina.numpy` leads to names and signatures.

The repository root is the package, and a namespace is a module of another name. Tools that do not run Python see
neither. An installation has stubs for them (`namespaces/`), and so has an editable one in setuptools' strict mode, and
`.venv/types`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lamina.tools import names

PROGRAM = """\
import lamina as lm
import lamina.numpy as lnp
import lamina.nn.initializers as initializers
from lamina.scipy import signal

reveal_type(lnp.sort)
reveal_type(lm.numpy.tanh)
reveal_type(initializers.zeros)
reveal_type(signal.convolve2d)
reveal_type(lm.linalg.cg)
lnp.no_such_name
"""
SHOWN = ("(a: Any, axis: int", "(x: Any", "(key: Any, shape", "mode: str", "(A: Any, b: Any")
BUILD = """\
import sys
from setuptools import build_meta
if sys.argv[1] == "wheel":
    build_meta.build_wheel(sys.argv[2])
else:
    build_meta.build_editable(sys.argv[2], {"editable_mode": "strict"})
"""


@pytest.fixture(scope="module", params=["wheel", "editable", "links"])
def folder(request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation in which `lamina` is."""
    built = tmp_path_factory.mktemp(request.param)
    if request.param == "links":
        names.write_links(built / "lamina")
        return built
    pytest.importorskip("setuptools")
    copy = built / "copy"
    rooms = {path.parent.name if path.parent.parent == root else path.name for path in root.glob("*/__init__.py")}
    for entry in root.iterdir():
        if entry.name in (*rooms, "namespaces"):
            shutil.copytree(entry, copy / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.is_file() and not entry.name.startswith("."):
            copy.mkdir(exist_ok=True)
            shutil.copy(entry, copy)
    (built / "out").mkdir()
    command = [sys.executable, "-c", BUILD, request.param, str(built / "out")]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (built / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(built / "site")
    paths = [path.read_text(encoding="utf-8").strip() for path in (built / "site").glob("*.pth")]
    return Path(*paths) if paths else built / "site"


@pytest.mark.thorough
def test_a_type_checker_knows_names_and_signatures(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("basedpyright")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(folder)]}), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)["generalDiagnostics"]
    shown = [each["message"] for each in found if each["severity"] == "information"]
    assert len(shown) == len(SHOWN)
    assert [part for part, message in zip(SHOWN, shown, strict=True) if part not in message] == []
    errors = [(each["range"]["start"]["line"], each["message"]) for each in found if each["severity"] == "error"]
    assert [line for line, _ in errors] == [PROGRAM.count("\n") - 1], errors
    assert "no_such_name" in errors[0][1]


@pytest.mark.thorough
def test_an_editor_completes_names(folder: Path) -> None:
    jedi = pytest.importorskip("jedi")
    script = jedi.Script("import lamina.numpy as lnp\nlnp.matm", project=jedi.Project(folder, added_sys_path=[str(folder)]))
    assert [each.name for each in script.complete(2, 8)] == ["matmul"]
    script = jedi.Script("import lamina as lm\nlm.nn.softm", project=jedi.Project(folder, added_sys_path=[str(folder)]))
    assert [each.name for each in script.complete(2, 11)] == ["softmax"]
