"""The child process of `isolated.py`."""

from __future__ import annotations

import json
import sys

from ..errors import CompileError
from .compile import compile_object, emit_asm, optimized_llvm
from .targets import get


def main() -> None:
    """The child: a job on standard input, `+` and the result or `-` and an error message on standard output."""
    job = json.loads(sys.stdin.buffer.read())
    target = get(job["target"])
    functions = {
        "object": compile_object,
        "asm": emit_asm,
        "optimized": optimized_llvm,
    }
    try:
        result = functions[job["what"]](job["text"], target)
        answer = b"+" + (result if isinstance(result, bytes) else result.encode())
    except CompileError as error:
        answer = b"-" + str(error).encode()
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
