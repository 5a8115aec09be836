"""Examples of docstrings as programs: they run in order, and the values of those that are expressions count."""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import importlib
import inspect
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LEFT_OUT = (
    *(
        "matplotlib",
        "plt.",
        "open(",
        "save",
        "lower(",
        "make_jaxpr",
        "profiler",
        "devices",
        "pallas",
        "sharding",
        "Mesh",
        "environment",
    ),
    *("np.random", "np.ma", "np.testing", "matrix(", "recarray", "poly1d", "datetime", "timedelta", "dtype=[", "object"),
)
"""Text of examples that are of files, pictures, internals and kinds of arrays that are none here."""


def programs(modules: Sequence[str], names: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """A program for each function with examples, by its full name; `names` are what they find without an import."""
    command = [
        sys.executable,
        str(Path(__file__).resolve()),
        *modules,
    ]  # the library itself, also where something stands in for it
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {name: functools.partial(_run, examples, names) for name, examples in found.items()}


def _run(examples: Sequence[str], names: dict[str, Any]) -> list[Any]:
    """The values of expressions; a text replaces an error."""
    world, values = dict(names), []
    for source in examples:
        tree = ast.parse(source)
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
                    values.append(_plain(eval(compile(ast.Expression(tree.body[0].value), source, "eval"), world)))
                else:
                    exec(compile(tree, source, "exec"), world)
        except Exception:  # whatever an example raises, some on purpose
            values.append("an error")
    return values


def _plain(value: Any) -> Any:
    """A tree of arrays; what is none has no value here."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return [_plain(value[key]) for key in value]
    if not isinstance(value, bool | int | float | complex | np.generic) and not hasattr(value, "__array__"):
        return None
    array = np.asarray(value)
    return None if array.dtype.kind in "OSU" else array


def _examples(modules: Sequence[str]) -> dict[str, list[str]]:
    parser, seen, found = doctest.DocTestParser(), set(), {}
    for module in map(importlib.import_module, modules):
        for name, function in inspect.getmembers(module, callable):
            text = getattr(function, "__doc__", None) or ""
            if name.startswith("_") or isinstance(function, type) or text in seen:
                continue
            seen.add(text)
            with contextlib.suppress(ValueError, SyntaxError):
                sources = [example.source for example in parser.get_examples(text)]
                if (
                    sources
                    and not any(part in source for part in LEFT_OUT for source in sources)
                    and all(map(ast.parse, sources))
                ):
                    found[f"{module.__name__}.{name}"] = sources
    return found


if __name__ == "__main__":
    print(json.dumps(_examples(sys.argv[1:])))
