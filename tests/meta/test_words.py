"""Phrases that the prose of the package avoids: docstrings, comments and Markdown say it in the field's words."""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
NAMESPACES = {name.partition(".")[2] for name in SETUPTOOLS["package-dir"]}
PACKAGE = sorted({name.split(".")[1] for name in SETUPTOOLS["packages"] if "." in name} - NAMESPACES)
"""The folders of the package."""
ROOMS = (*PACKAGE, "*.py", "tests", "benchmarks", "examples", "docs", "README.md", "CONTRIBUTING.md")

PHRASES = {
    r"\bas (it lies|they lie)\b": "in place, unpacked",
    r"\basked for ahead\b": "prefetched",
    r"\b(is|are|was|were|first|if|when) asked for\b": "requested",
    r"\bpast the caches\b": "non-temporal (stores)",
    r"\b(told|tells?\b.*|taken?|takes?\b.*) apart\b": "distinguish, split or flatten",
    r"\bfrom each other apart\b|\bboth words apart\b": "separately",
    r"\bis what is\b|\bof what is not\b": "a noun: `the elements that are not NaN`",
    r"\bonly (a call|calls) knows?\b": "symbolic (size)",
    r"\b(one|a|an|two) (number|value|index|entry|element|label)s? (a|an) (dim|row|lane|result|window)\b": "for each, per",
    r"\bdtypes? that (is|are) only stored\b": "storage-only dtype",
    r"\bthe dtype of what (it|they) meets?\b": "the dtype of the other operand",
    r"\bin the places? of\b": "instead of, or: replaces",
    r"\bat the place of\b|\bthe user's place\b": "source location",
    r"\bmemory (that )?nobody (has )?(wrote|written)\b": "uninitialized memory",
    r"\bgo(es)? on (from|to|in|where|as|until)\b": "continue",
    r"\bwhat comes in\b": "the arguments, or the operands",
}
"""Phrases that are avoided, as regular expressions, and what to write instead."""

PATTERNS = [(re.compile(phrase, re.IGNORECASE), instead) for phrase, instead in PHRASES.items()]
ANY = re.compile("|".join(PHRASES), re.IGNORECASE)


def is_test(path: Path) -> bool:
    """Whether a file is a test, whose strings may be data."""
    return "tests" in path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else False


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of prose of a file with their numbers: of Python, strings and comments; of Markdown, all but code blocks.

    Of strings in tests only docstrings count, since others may be what is tested.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        is_code = False
        for number, line in enumerate(text.splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            if not is_code:
                yield number, line
        return
    if not ANY.search(text):  # reading tokens takes most of the time
        return
    tree = ast.parse(text)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (id(node) in docstrings or not is_test(path)):
            for k, line in enumerate(node.value.split("\n")):
                if not line.lstrip().startswith((">>>", "...")):
                    yield node.lineno + k, line
    with path.open("rb") as file:
        yield from (
            (token.start[0], token.string) for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT
        )


def faults(path: Path) -> list[str]:
    """A line for each avoided phrase of a file: where it is, the phrase, and what to write."""
    found = [
        f"{path}:{number}: '{match[0]}': use instead: {instead}"
        for number, line in prose(path)
        for pattern, instead in PATTERNS
        for match in pattern.finditer(line)
    ]
    return [fault.replace(f"{ROOT}/", "") for fault in found]


@pytest.mark.parametrize("room", ROOMS)
def test_prose_uses_the_words_of_the_field(room: str) -> None:
    tops = sorted(ROOT.glob(room))
    assert tops, f"no such room: {room}"
    files = [
        path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*"))) if path.suffix in (".py", ".md")
    ]
    found = [fault for path in files if path != Path(__file__) for fault in faults(path)]
    assert not found, "\n".join(found)


def test_phrases_are_found_in_prose_alone(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text('"""Read\nas it lies."""\n\nas_it_lies = 1  # stored past the caches\nprint("is asked for")\n')
    first, message, second = faults(source)
    assert "module.py:5: 'is asked for': use instead: requested" in message
    assert "module.py:2: 'as it lies': use instead: in place, unpacked" in first
    assert "module.py:4: 'past the caches': use instead: non-temporal (stores)" in second
    page = tmp_path / "page.md"
    page.write_text("A row is asked for.\n\n```\nas they lie\n```\n")
    assert ["is asked for" in fault and "page.md:1:" in fault for fault in faults(page)] == [True]
