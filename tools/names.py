"""Write what follows from the table of public names, `names.toml`: the table in Python, and the stubs of the namespaces.

    python -m lamina.tools.names            # write the files that differ
    python -m lamina.tools.names --check    # fail where one differs
    python -m lamina.tools.names --links .venv/types    # a folder where static tools find the package of this checkout

A name that a file defines by `def` or `class` is imported in the stub, so that editors lead to its source; a function that is
made otherwise is written with the signature and the first line of its docstring that it has at run time.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import names as table_of_names
from ..names import Home, hidden, load_module, public

ROOT = Path(__file__).parent.parent
_LINE = 128
"""Longest line, in characters."""

_TYPES = {"int", "float", "bool", "str", "tuple", "list", "dict"}
"""The builtin types that annotations of stubs name."""

_MADE = "from the table names.toml by `make names`: do not edit"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="lamina.tools.names", description="Write name_table.py and stubs from names.toml.")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where a file differs")
    parser.add_argument(
        "--links", metavar="FOLDER", type=Path, help="write links to the package of this checkout, and nothing else"
    )
    options = parser.parse_args(arguments)
    if options.links is not None:
        write_links(options.links / "lamina")
        return 0
    check = options.check
    changed = _changed("name_table.py", name_table(), check)
    if changed:  # the stubs are to be those of the table as it is now
        table_of_names.MODULES = {space: row["module"] for space, row in table().items()}
        table_of_names.HOMES, table_of_names.HIDDEN = homes("names"), homes("hidden")
        public.cache_clear()
        hidden.cache_clear()
    changed += [name for path, text in (*stubs(), *submodules()) for name in _changed(path, text, check)]
    if check:
        print("".join(f"{name} is not what names.toml says: run `make names`\n" for name in changed), end="", file=sys.stderr)
    return int(check and bool(changed))


def _changed(path: str, text: str, check: bool) -> list[str]:
    file = ROOT / path
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return []
    if not check:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return [path]


# The table


@cache
def table() -> dict[str, Any]:
    """What `names.toml` says, by namespaces."""
    return tomllib.loads((ROOT / "names.toml").read_text(encoding="utf-8"))


def homes(key: str) -> dict[str, dict[str, str]]:
    """For each namespace the names that are imported from each home; `key` is "names" or "hidden"."""
    return {
        space: {home: ", ".join(imported) for home, imported in row[key].items()}
        for space, row in table().items()
        if key in row
    }


def name_table() -> str:
    """The text of `name_table.py`."""
    lines = [f'"""The public names, {_MADE}."""', "", "from __future__ import annotations", ""]
    lines += ["MODULES: dict[str, str] = {"]
    lines += [f'    "{space}": "{row["module"]}",' for space, row in table().items()]
    lines += ["}", '"""The module of each namespace."""', ""]
    for variable, key in (("HOMES", "names"), ("HIDDEN", "hidden")):
        lines.append(f"{variable}: dict[str, dict[str, str]] = {{")
        for space, row in homes(key).items():
            lines += [f'    "{space}": {{', *(f'        "{home}": "{imported}",' for home, imported in row.items()), "    },"]
        lines += ["}", '"""For each namespace the names that are imported from each home."""', ""]
    return "\n".join(lines)


# Stubs


def stubs() -> Iterator[tuple[str, str]]:
    """The path and the text of the stub of each namespace that does not define its names itself."""
    seen = set[str]()
    for space, row in table().items():
        module = row["module"]
        if "names" in row and set(row["names"]) != {module} and module not in seen:
            seen.add(module)
            yield _path(module).with_suffix(".pyi").as_posix(), stub(space, module)


SUBMODULES = "namespaces"
"""The folder of stubs of what programs import as `lamina.numpy`: packages of these names in an installation alone, as a folder
`numpy` in the root would stand before NumPy for tools that run there."""


def submodules() -> Iterator[tuple[str, str]]:
    """The path and the text of the stub of each namespace whose module has another name."""
    for space, row in table().items():
        if (module := row["module"]) not in ("", space):
            package = sys.modules[str(load_module.__module__).rpartition(".")[0]].__name__
            lines = [
                f"# {_MADE}",
                f"from {package}.{module} import *",
                f"from {package}.{module} import __all__ as __all__",
                "",
            ]
            yield f"{SUBMODULES}/{space.replace('.', '/')}/__init__.pyi", "\n".join(lines)


def write_links(package: Path) -> None:
    """Links to the rooms, files and stubs of namespaces of this checkout: the package as an installation has it.

    Static tools follow no editable installation of a package whose folder has another name.
    """
    if package.is_symlink():
        package.unlink()
    package.mkdir(parents=True, exist_ok=True)
    for entry in (*ROOT.iterdir(), *(ROOT / SUBMODULES).iterdir()):
        link = package / entry.name
        is_part = (entry / "__init__.py").exists() or entry.suffix in (".py", ".pyi") or entry.parent.name == SUBMODULES
        if is_part and not link.is_symlink():
            link.symlink_to(entry)


def _path(module: str) -> Path:
    """The file of a module, relative to the root."""
    path = Path(*module.split("."))
    return path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")


def stub(space: str, module: str) -> str:
    """The text of a stub."""
    path = _path(module)
    imported: list[str] = []
    written: list[str] = []
    loaded = load_module(module) if module else sys.modules[str(load_module.__module__).rpartition(".")[0]]
    for name, home in sorted({**public(space), **hidden(space)}.items()):
        home = _origin(home)
        if home.module == module:  # defined beside the loader, or a package below it
            value = getattr(loaded, name)
            written.append(f"from . import {name} as {name}" if isinstance(value, ModuleType) else _declared(name, value))
        elif home.maker or (home.name not in _definitions(home.module) and is_function(home.load())):
            written.append(_declared(name, home.load()))
        else:
            imported.append(f"from {_relative(path, home.module)} import {home.name} as {name}")
    written += [_declared(name, value) for name, value in _own(loaded, module, public(space))]
    names = textwrap.wrap(" ".join(f'"{name}",' for name in sorted(public(space))), _LINE - 4)
    body = "\n".join([*sorted(imported), "", *written])
    if hidden_types := "|".join(sorted(_TYPES & public(space).keys())):
        body = re.sub(rf"(?<=[:>|] )({hidden_types})\b(?=[ ,)|:])", r"builtins.\1", body)
        body = f"import builtins\n{body}"
    head = [f"# {_MADE}", f'"""{(loaded.__doc__ or "").strip()}"""', "", "from typing import Any", ""]
    return "\n".join([*head, body, "__all__ = [", *(f"    {line}" for line in names), "]", ""])


def _origin(home: Home) -> Home:
    """Where a name comes from that a namespace has from another one."""
    spaces = {row["module"]: space for space, row in table().items() if set(row.get("names", ())) - {row["module"]}}
    while (space := spaces.get(home.module)) and public(space).get(home.name, home) != home:
        home = public(space)[home.name]
    return home


def _own(loaded: ModuleType, module: str, known: dict[str, Home]) -> Iterator[tuple[str, Any]]:
    """What a module defines beside its names, for other parts of the package."""
    for name in sorted(_definitions(module)):
        if name not in known and getattr(loaded.__dict__[name], "__module__", "") == loaded.__name__ and name[0] != "_":
            yield name, getattr(loaded, name)


def _relative(path: Path, module: str) -> str:
    """A module as a file of the package imports it."""
    here, there = path.parent.parts, module.split(".")
    shared = next((k for k, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
    return "." * (len(here) - shared + 1) + ".".join(there[shared:])


@cache
def _definitions(module: str) -> frozenset[str]:
    """What a file imports or defines by `def` or `class`, and other names for it: type checkers know the signatures."""
    found = set[str]()
    for node in ast.parse((ROOT / _path(module)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in found:
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def is_function(value: Any) -> bool:
    """Whether a value is a function; aliases of types can be called, too, and bind to no object."""
    return callable(value) and not isinstance(value, type) and hasattr(type(value), "__get__")


def _declared(name: str, value: Any) -> str:
    """A function or a value as a stub declares it."""
    if not is_function(value):
        return f"{name}: {type(value).__name__}"
    doc = (inspect.getdoc(value) or "").strip().partition("\n")[0]
    return f"def {name}{signature(value)}:\n    {_quoted(doc)}\n"


def _quoted(doc: str) -> str:
    return f'r"""{doc} """' if doc.endswith(('"', "\\")) else f'r"""{doc}"""' if "\\" in doc else f'"""{doc}"""'


def signature(function: Callable[..., Any]) -> str:
    """The signature of a function, with the annotations that need no import."""
    try:
        found = inspect.signature(function)
    except ValueError:
        return "(*args: Any, **kwargs: Any) -> Any"
    parameters = [
        p.replace(annotation="Any" if p.annotation is p.empty else _annotation(p.annotation),
                  default=p.default if p.default is p.empty or _is_plain(p.default) else ...)
        for p in found.parameters.values()
    ]  # fmt: skip
    result = "Any" if found.return_annotation is found.empty else _annotation(found.return_annotation)
    text = str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return re.sub(r": '([^']*)'", r": \1", text).replace("=Ellipsis", "=...") + f" -> {result}"


def _is_plain(value: Any) -> bool:
    return value is None or (type(value) in (bool, int, float, str) and value == value)


def _annotation(annotation: Any) -> str:
    """An annotation of builtins alone, else Any."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    words = set(re.findall(r"[A-Za-z_][\w.]*", text))
    return text if words and words <= {*_TYPES, "None", "Any"} else "Any"


# Reference


def reference_page() -> str:
    """Markdown with each public name, its signature and its first line."""
    lines = ["# Public names", "", "Each name of each namespace, from the table `names.toml`.", ""]
    for space, row in table().items():
        if "names" not in row:
            continue
        loaded = load_module(row["module"]) if row["module"] else sys.modules[str(__package__).rpartition(".")[0]]
        title = "lamina" if space == "lamina" else f"lamina.{space}"
        lines += [f"## {title}", "", (loaded.__doc__ or "").strip().partition("\n")[0], ""]
        for name in sorted(public(space), key=str.lower):
            value = getattr(loaded, name)
            doc = (inspect.getdoc(value) or "").strip().partition("\n")[0] if callable(value) else ""
            shown = _shown_signature(value) if is_function(value) else ""
            lines.append(f"- `{name}{shown}`{': ' if doc else ''}{doc}")
        lines.append("")
    return "\n".join(lines)


def _shown_signature(function: Callable[..., Any]) -> str:
    try:
        found = inspect.signature(function)
    except ValueError:
        return "(...)"
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


if __name__ == "__main__":
    sys.exit(main())
