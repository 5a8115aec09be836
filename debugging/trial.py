"""A trial in a child of this process: a crash or a hang is an outcome of it, and not the end."""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .. import debug_counters

Note = Callable[[str], None]
"""Is told what begins, so that it is known after a crash."""

_WAITING = 5
"""How many times as long a trial may take by the clock: the machine may be busy."""


@dataclass(frozen=True)
class Ended:
    """How a trial ended without a result.

    Attributes:
        kind: `crash` or `hang`.
        signal: by its name; empty for a hang.
        at: what it was told last.
    """

    kind: str
    signal: str
    at: str


def can_fork() -> bool:
    """Whether a child can go on with the state of this process: threads of Python would be missing there, with their locks."""
    return hasattr(os, "fork") and threading.active_count() == 1


def in_child(work: Callable[[Note], Any], seconds: float) -> Any:
    """What a function returns in a child of this process, which may crash or hang; that costs about 10 ms.

    The counts of `debug_counters`, and what the child imports, are those of this process afterwards.

    Args:
        work: is given a `Note`. What it returns is sent as JSON.
        seconds: of processor time that it may take.

    Returns:
        `Ended` instead if the child had no result.
    """
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(read)
        _run(work, write, seconds)
    os.close(write)
    try:
        messages, is_late = _messages(read, time.monotonic() + _WAITING * seconds)
    finally:
        os.close(read)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # where it has a result, it has ended or is about to
        _, status = os.waitpid(child, 0)
    for module in messages.get("modules", ()):  # the next child has them
        with suppress(Exception):
            importlib.import_module(module)
    if "result" in messages:
        debug_counters.resume(messages["applications"])
        return messages["result"]
    name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
    debug_counters.resume(messages.get("applications", {}))
    hangs = is_late or name == "SIGXCPU"
    return Ended("hang" if hangs else "crash", "" if hangs else name, messages.get("at", ""))


def _run(work: Callable[[Note], Any], write: int, seconds: float) -> None:
    """The child: it ends here."""
    import faulthandler
    import resource

    status = 1
    try:
        faulthandler.disable()  # the end is told by its signal
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        before = set(sys.modules)

        def send(**message: Any) -> None:
            new = [name for name in list(sys.modules) if name not in before]
            before.update(new)
            data = json.dumps(message | {"modules": new, "applications": debug_counters.applications()}).encode()
            os.write(write, len(data).to_bytes(8, "little"))
            while data:
                data = data[os.write(write, data) :]

        send(result=work(lambda at: send(at=at)))
        status = 0
    except BaseException:  # the child never continues with its copy of the caller
        traceback.print_exc()
    finally:
        os._exit(status)


def _messages(read: int, end: float) -> tuple[dict[str, Any], bool]:
    """What a child sent, later messages over earlier ones, and whether the time was up."""
    data, found, modules = b"", dict[str, Any](), list[str]()
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, end - time.monotonic()))
        more = os.read(read, 1 << 16) if ready else b""
        data += more
        while len(data) >= 8 and len(data) >= 8 + (size := int.from_bytes(data[:8], "little")):
            found |= json.loads(data[8 : 8 + size])
            modules += found["modules"]
            data = data[8 + size :]
        if not more:
            return found | {"modules": modules}, not ready


__all__ = ["Ended", "Note", "can_fork", "in_child"]
