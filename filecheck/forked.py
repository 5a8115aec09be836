"""Tools without Python's start-up: a command of a RUN line is a fork of lit's process, which has imported the tools already.

Each command still is a process with its own arguments, environment, streams and exit status; only `python -m` is left out,
whose start-up and imports would be two thirds of the time of these tests.
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import lit.TestRunner

MAINS = {
    **{f"lamina.tools.{tool}": f"lamina.tools.{tool}" for tool in ("lamina_opt", "lamina_run", "lamina_compile")},
    "filecheck": "filecheck.main",
}
"""What `python -m` is given, and the module whose `main` it calls."""
LAZY = ("lamina.dialects", "lamina.transforms", "lamina.lowering", "lamina.codegen", "lamina.runtime")
"""Packages whose modules the tools import when they need them."""


@functools.cache
def mains() -> dict[str, Callable[[], object]]:
    """The tools' functions, by what `python -m` is given; everything they need is imported."""
    for package in LAZY:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    found = {name: importlib.import_module(module).main for name, module in MAINS.items()}
    gc.freeze()  # a collection in a fork would copy all pages
    return found


def install() -> None:
    """From now on lit starts tools as forks, where there is fork."""
    if hasattr(os, "fork"):
        mains()
        lit.TestRunner.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})


def start(args: Sequence[str], **options: Any) -> subprocess.Popen:
    """`subprocess.Popen`, by a fork if a tool is called."""
    python, dash, name = [*args, "", "", ""][:3]
    if (python, dash) == (sys.executable, "-m") and name in MAINS and starts_alike(options["env"]):
        options["preexec_fn"] = functools.partial(become, mains()[name], args[2:], options["env"])
    return subprocess.Popen(args, **options)


def starts_alike(env: Mapping[str, str]) -> bool:
    """Whether Python would start with `env` as this process did: a fork cannot read PYTHONPATH and its like again."""
    return all(os.environ.get(name) == value for name, value in env.items() if name.startswith("PYTHON"))


def become(main: Callable[[], object], args: Sequence[str], env: dict[str, str]) -> None:
    """Be the tool, between fork and the exec that is never reached; streams and folder are set up."""
    status: object = 1
    try:
        os.closerange(3, 1 << 16)  # with the ends of pipes, for one of which Popen waits
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python starts
        os.environ.clear()
        os.environ.update(env)
        sys.argv = list(args)
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
        sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)
        try:
            status = main()
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
        sys.stderr.flush()
        os._exit(int(status or 0))
