"""Files that documents and comments name exist: `lowering/schedule/tile.py`, `tests/meta/`, or the end of such a path."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PATH = re.compile(r"`((?:[a-z_]+/)+|(?:[\w-]+/)*\w+\.py)`")
MADE = ("build/", "out/")
"""What commands make, and the tree does not hold."""


def files() -> list[str]:
    """The files of the repository; of a copy without git, those that are there."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.splitlines()
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]


def test_files_that_texts_name_exist() -> None:
    names = files()
    known = {f"/{name}" for name in names}
    ends = {name[at:] for name in known for at in range(len(name)) if name[at] == "/"}
    folders = {end[: at + 1] for end in ends for at in range(1, len(end)) if end[at] == "/"}
    missing = []
    for name in names:
        if (
            not name.endswith((".py", ".md"))
            or name == "CHANGELOG.md"
            or name.startswith("tests/meta/")
            or not (ROOT / name).exists()
        ):
            continue
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            for said in PATH.findall(line):
                if said not in MADE and f"/{said}" not in (folders if said.endswith("/") else ends):
                    missing.append(f"{name}:{number}: {said}")
    assert not missing, "texts name files that do not exist:\n" + "\n".join(missing)
