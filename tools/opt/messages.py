"""The form of messages: text for people, or JSON for editors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .group import Group


class Messages(Group):
    """`--diagnostics=text|json`."""

    title = "messages"

    def add(self, add: Callable[..., Any]) -> None:
        add(
            "--diagnostics",
            choices=("text", "json"),
            default="text",
            metavar="FORM",
            help="text (default), or json: an object a line with severity, message, file, line, column, end, notes, suggestion",
        )
