"""What `make docs` adds to the pages of this folder: those that stand elsewhere, and the reference made from the classes.

mkdocs calls the functions by their names (https://www.mkdocs.org/user-guide/configuration/#hooks).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lamina import passes
from lamina.dialects.context import make_context
from lamina.frontend.kernel.schedules import primitives
from lamina.tools.names import reference_page
from lamina.tools.reference import op_page, pass_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
ELSEWHERE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/kernels/README.md": "examples/kernels.md",
    "examples/models/README.md": "examples/models.md",
}
"""Pages outside of docs/, and what they are in the site."""
DIALECTS = {
    "graph": "Ops on tensors: what programs, derivatives and graph optimizations are made of.",
    "loop": "Kernels: loops over buffers, and what schedules leave.",
    "program": "Host functions and their buffers.",
}

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]*)\]\((?P<to>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_TABLES = re.compile(r"^[A-Z][a-z ]+:$", re.MULTILINE)
"""Where prose of a reference text ends and its tables begin."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for source, page in ELSEWHERE.items():
        _add(files, config, page, (ROOT / source).read_text(encoding="utf-8"))
    context = make_context()
    for name, about in DIALECTS.items():
        dialect = context.get_dialect(name)
        pages = (op_page(op.name, context) for op in sorted(dialect.operations, key=lambda op: op.name))
        _add(files, config, f"reference/{name}.md", _page(f"{name} ops", about, pages))
    steps = {cls.name for cls in primitives().values()}
    names = [name for name in passes.all_names() if name in passes.infos()]
    about = "What `lamina-opt --list-passes` lists; `lamina-opt --help-pass NAME` prints one."
    _add(files, config, "reference/passes.md", _page("Passes", about, (pass_page(n) for n in names if n not in steps)))
    about = "Each is a pass, a method of schedules and a step of a schedule's text; [kernels](../kernels.md) has the contracts."
    found = (pass_page(n) for n in names if n in steps)
    _add(files, config, "reference/primitives.md", _page("Schedule primitives", about, found))
    _add(files, config, "reference/names.md", reference_page())
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Let links lead where a page is in the site; others keep their text only."""
    places = {page: source for source, page in ELSEWHERE.items()}
    here = places.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def moved(link: re.Match[str]) -> str:
        to, anchor = link["to"], link["anchor"] or ""
        if not to or ":" in to:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), to))
        target = ELSEWHERE.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(target) is None:
            return link["text"]
        relative = posixpath.relpath(target, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{link['text']}]({relative}{anchor})"

    pictures = re.sub(r"!\[([^\]]*)\]\(docs/", r"![\1](", markdown)
    return _LINK.sub(moved, pictures)


def _add(files: Files, config: MkDocsConfig, page: str, text: str) -> None:
    files.append(File.generated(config, page, content=text))


def _page(title: str, about: str, texts: Iterable[str]) -> str:
    return "\n".join([f"# {title}\n", about, "", *map(_section, texts)])


def _section(text: str) -> str:
    """A reference text as Markdown: its first line is the title, its tables stay as they are."""
    title, _, rest = text.partition("\n")
    found = _TABLES.search(rest)
    prose, tables = (rest, "") if found is None else (rest[: found.start()], rest[found.start() :])
    prose = re.sub(r"^\((C\d+)\)", r"- (\1)", prose, flags=re.MULTILINE)
    fenced = f"```text\n{tables.rstrip()}\n```\n" if tables else ""
    return f"## {title}\n\n{prose.strip()}\n\n{fenced}"
