"""LLVM in a child process: an abort there is an error here."""

from __future__ import annotations

import json
import subprocess
import sys

from ..errors import CompileError
from .targets import Target

_TIMEOUT_SECONDS = 300.0
_START = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__package__}.child import main; main()"


def run_in_child(what: str, text: str, target: Target) -> bytes:
    """Do `what` (`object`, `asm` or `optimized`) in a child; the bytes it yields."""
    job = json.dumps({"what": what, "text": text, "target": str(target)}).encode()
    command = [sys.executable, "-I", "-c", _START, json.dumps(sys.path)]
    try:
        done = subprocess.run(command, input=job, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CompileError(f"LLVM took more than {_TIMEOUT_SECONDS:.0f} s for target '{target}'") from None
    if done.returncode == 0 and done.stdout[:1] == b"+":
        return done.stdout[1:]
    if done.returncode == 0 and done.stdout[:1] == b"-":
        raise CompileError(done.stdout[1:].decode(errors="replace"))
    raise CompileError(f"LLVM aborted on this module for target '{target}': {_reason(done)}")


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    for line in lines:
        if "LLVM ERROR" in line or "Assertion" in line:
            return line.strip()
    return lines[-1].strip() if lines else f"exit status {done.returncode}"
