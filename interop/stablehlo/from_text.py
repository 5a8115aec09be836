"""`lm.from_stablehlo`: a function from the text of a StableHLO module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...api.errors import CompileError
from ...api.functions import jit
from ...api.programs import make_context, parse_module, verify_module
from ...api.programs import message_of as diagnosed
from .program import Module

MOST_BYTES = 1 << 30
"""Largest file that is read."""


def from_stablehlo(text_or_path: str | Path, entry: str = "main") -> Callable[..., Any]:
    """A function from the text of a StableHLO module, as `jax.jit(f).lower(x).as_text()` returns it.

    The function is one of `lm.jit`: it takes and returns arrays, is compiled at its first call, and `grad`, `vmap`, `lower`
    and other functions take it. Several results are a tuple. The custom form of ops and the generic one are read, without jax.

    Args:
        text_or_path: the text, or the path of a file.
        entry: the function of the module.

    Raises:
        CompileError: the text is no such module, or has an op that cannot be imported; with its line. Ops are read when the
            function is traced, so errors in them come with the first call.
        FileNotFoundError: there is no such file.

    >>> import numpy as np, lamina as lm
    >>> f = lm.from_stablehlo('''
    ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    ...   %y = stablehlo.exponential %x : tensor<3xf32>
    ...   return %y : tensor<3xf32>
    ... }''')
    >>> f(np.zeros(3, np.float32))
    array([1., 1., 1.], dtype=float32)
    """
    text, name = _read(text_or_path)
    module = Module(parsed(text, name))
    if entry not in module.functions:
        there = ", ".join(f"@{known}" for known in module.functions) or "none"
        raise CompileError(f"{name}: there is no function @{entry}; there are: {there}")
    return jit(module.callable(entry), capture="trace")


def _read(text_or_path: str | Path) -> tuple[str, str]:
    if isinstance(text_or_path, str) and ("\n" in text_or_path or "{" in text_or_path or not text_or_path.strip()):
        return text_or_path, "<stablehlo>"
    path = Path(text_or_path)
    if path.stat().st_size > MOST_BYTES:
        raise CompileError(f"{path} has {path.stat().st_size} bytes, at most {MOST_BYTES} are read")
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except UnicodeDecodeError as error:
        raise CompileError(f"{path} is no UTF-8 text, at byte {error.start}") from None


def parsed(text: str, name: str) -> Any:
    """The verified module of a text.

    Raises:
        CompileError: the text does not parse or verify.
    """
    try:
        module = parse_module(make_context(), text, name)
        verify_module(module)
    except Exception as error:  # the parser and the verifier raise errors of many classes; `diagnosed` gives each a line
        raise CompileError(diagnosed(error, {name: text})) from None
    return module
