"""One planted fault: `planted_child.py FILE OLD NEW PROGRAM` changes the text of a file as it is imported, and validates.

With `--reduce`, what is said begins with the number of ops that the reducer leaves.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["LAMINA_CACHE"] = "off"
ROOT = Path(__file__).resolve().parent.parent.parent


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file of the package with its text changed, and never from or to a cache."""

    change: tuple[str, str] = ("", "")

    def get_code(self, fullname: str) -> Any:
        text = Path(self.path).read_text(encoding="utf-8")
        old, new = self.change
        if old not in text:
            print(f"broken the text is not in {self.path}: {old[:60]}")
            os._exit(0)
        return compile(text.replace(old, new), self.path, "exec")


def plant(file: str, old: str, new: str) -> None:
    """Let the next import of a file of the package see a change of its text."""
    changed = str(ROOT / file)
    found = importlib.machinery.PathFinder.find_spec

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name.rpartition(".")[2] != Path(file).stem or path is None:
                return None
            spec = found(name, path, target)
            if spec is not None and spec.origin and os.path.samefile(spec.origin, changed):
                loader = _Loader(name, spec.origin)
                loader.change = old, new
                spec.loader = loader
                return spec
            return None

    sys.meta_path.insert(0, Finder)  # pyright: ignore[reportArgumentType]


def main() -> None:
    file, old, new, name = sys.argv[1:5]
    reduce = "--reduce" in sys.argv[5:]
    plant(file, old, new)
    sys.path.insert(0, str(Path(__file__).parent))
    from lamina.debugging.validate import ValidationError
    from lamina.errors import LaminaError
    from planted_programs import module_of, passes_of
    from valid_programs import validate

    module, said = None, ""
    try:
        module = module_of(name)
        report = validate(module.clone(), 1, first=passes_of(name))
    except ValidationError as error:
        said = str(error)
    except LaminaError as error:
        said = f"refused: {error}"
    except Exception as error:
        said = f"internal: {type(error).__name__}: {error}"
    else:
        print("missed", report.runs, "runs compared", flush=True)
        return
    if reduce and module is not None:
        said = f"{reduced(module, passes_of(name))}; {said}"
    print("named", said.replace("\n", " ")[:300], flush=True)


def reduced(module: Any, first: Sequence[Any]) -> str:
    """How many ops the reproducer of a module's fault has; the module that remains goes to standard error."""
    from lamina import pipeline
    from lamina.debugging.reproduce import reproduce

    passes = [*first, *(step.make() for step in pipeline.steps_to(module, "program"))]
    start = sum(os.times()[:4])
    with tempfile.TemporaryDirectory() as folder:
        found = reproduce(module, passes=passes, path=Path(folder) / "reproducer.mlir", tell=lambda _: None)
    if found is None:
        return "not reduced"
    print(found.module, file=sys.stderr)
    return f"reduced to {found.ops} ops in {sum(os.times()[:4]) - start:.0f} s of CPU"


if __name__ == "__main__":
    main()
