"""The language server under random sessions: documents opened, changed, and closed, with requests at any position between.

    python tests/tools/language_server_fuzz.py --count 20 [--first 0]

Session `k` is the same in every run. All messages are sent at once, so that documents are closed before what was asked about
them is answered. Each request must be answered, none with an internal error, and nothing may be raised.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from mutants import Unit, mutate, units

INSERTED = ("é", "\U0001d465", "\x00", "\u2028", "\x0c", "\t", "\r", "// RUN: lamina-opt %s -", "%", "@", "graph.", '"')
REQUESTS = ("hover", "definition", "references", "completion")
INTERNAL_ERROR = -32603
SECONDS = 300.0
"""A session that takes longer hangs."""


def text_of(rng: random.Random, known: list[Unit]) -> str:
    """A text that may be wrong in any way, or end anywhere."""
    text = mutate(rng.choice(known).text, rng)
    if rng.random() < 0.3:
        text = text[: rng.randrange(len(text) + 1)]
    if rng.random() < 0.3:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(INSERTED) + text[at:]
    return text.replace("\n", "\r\n") if rng.random() < 0.1 else text


def position_in(rng: random.Random, text: str) -> dict[str, int]:
    """A position in a text, or outside."""
    lines = text.split("\n")
    line = rng.choice((0, rng.randrange(len(lines)), rng.randrange(len(lines)), len(lines), (1 << 31) - 1))
    width = len(lines[line]) if line < len(lines) else 0
    return {"line": line, "character": rng.choice((0, rng.randrange(width + 1), width, width + 1, (1 << 31) - 1))}


def session(number: int, steps: int = 25) -> list[dict[str, Any]]:
    """The messages of a session."""
    rng, known = random.Random(number), units()
    texts: dict[str, str] = {}
    messages: list[dict[str, Any]] = []

    def say(method: str, params: Any, asks: bool = False) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        messages.append(message | {"id": len(messages)} if asks else message)

    encodings = {"positionEncodings": rng.choice((["utf-16"], ["utf-32", "utf-16"], ["utf-8"]))}
    say("initialize", {"processId": None, "rootUri": None, "capabilities": {"general": encodings}}, asks=True)
    say("initialized", {})
    for step in range(steps):
        uri = f"file:///nowhere/{rng.randrange(3)}.mlir"
        kind = rng.random()
        if uri not in texts and kind < 0.8:
            texts[uri] = text_of(rng, known)
            document = {"uri": uri, "languageId": "mlir", "version": step, "text": texts[uri]}
            say("textDocument/didOpen", {"textDocument": document})
        elif uri in texts and kind < 0.2:
            change: dict[str, Any] = {"text": text_of(rng, known)}
            if rng.random() < 0.5:
                change["range"] = {"start": {"line": 0, "character": 0}, "end": position_in(rng, texts[uri])}
            else:
                texts[uri] = change["text"]
            changed = {"textDocument": {"uri": uri, "version": step}, "contentChanges": [change]}
            say("textDocument/didChange", changed)
        elif uri in texts and kind < 0.25:
            del texts[uri]
            say("textDocument/didClose", {"textDocument": {"uri": uri}})
        else:
            params: dict[str, Any] = {"textDocument": {"uri": uri}, "position": position_in(rng, texts.get(uri, ""))}
            method = rng.choice(REQUESTS)
            if method == "references":
                params["context"] = {"includeDeclaration": True}
            say(f"textDocument/{method}", params, asks=True)
    say("shutdown", None, asks=True)
    say("exit", None)
    return messages


def replies_in(data: bytes) -> Iterator[dict[str, Any]]:
    """The messages in what a server wrote."""
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        length = int(next(line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")))
        yield json.loads(data[:length])
        data = data[length:]


def faults_of(messages: list[dict[str, Any]]) -> list[str]:
    """What is wrong with how the server takes these messages."""
    sent = b""
    for message in messages:
        body = json.dumps(message).encode()
        sent += b"Content-Length: %d\r\n\r\n" % len(body) + body
    command = [sys.executable, "-m", "lamina.tools.lamina_lsp"]
    try:
        ended = subprocess.run(command, input=sent, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [f"hangs: {SECONDS:g} s"]
    answers = {reply["id"]: reply for reply in replies_in(ended.stdout) if "id" in reply}
    asked = {message["id"]: message["method"] for message in messages if "id" in message}
    faults = [f"{method} is not answered" for number, method in asked.items() if number not in answers]
    faults += [
        f"{asked.get(number)}: {reply['error']['message']}"
        for number, reply in answers.items()
        if reply.get("error", {}).get("code") == INTERNAL_ERROR
    ]
    errors = ended.stderr.decode(errors="replace")
    if "Traceback" in errors:
        faults.append(errors[-1500:])
    return faults + ([f"exit status {ended.returncode}"] if ended.returncode else [])


def main() -> None:
    parser = argparse.ArgumentParser(description="Random sessions of the language server.")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20, help="sessions")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.count)
    found = {number: faults for number in numbers if (faults := faults_of(session(number)))}
    for number, faults in found.items():
        print(f"session {number}: " + "\n  ".join(faults))
    print(f"{options.count} sessions, {len(found)} with faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
