"""One planted fault: `planted_child.py FILE OLD NEW PROGRAM` changes the text of a file as it is imported, and validates."""

from __future__ import annotations

import importlib.machinery
import os
import sys
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
    plant(file, old, new)
    sys.path.insert(0, str(Path(__file__).parent))
    from lamina.debugging.validate import ValidationError
    from lamina.errors import LaminaError
    from planted_programs import module_of, passes_of
    from valid_programs import validate

    try:
        module = module_of(name)
        report = validate(module, 1, first=passes_of(name))
    except ValidationError as error:
        print("named", str(error).replace("\n", " ")[:300])
    except LaminaError as error:
        print("named", "refused:", str(error).replace("\n", " ")[:300])
    except Exception as error:
        print("named", f"internal: {type(error).__name__}: {error}".replace("\n", " ")[:300])
    else:
        print("missed", report.runs, "runs compared")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
