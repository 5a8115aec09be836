"""The groups of options of lamina-opt, in the order of `--help` and of their hooks. A new one is a name here and a file."""

from __future__ import annotations

from importlib import import_module

from .group import Group

NAMES = (
    "general",
    "plugins",
    "pipelines",
    "printing",
    "measuring",
    "checking",
    "messages",
    "limiting",
    "reproducers",
    "reducing",
    "provenance",
    "validating",
    "exploring",
    "summarizing",
)


def load() -> list[Group]:
    """A new instance of each group."""
    return [_of(import_module(f".{name}", __package__)) for name in NAMES]


def _of(module: object) -> Group:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Group) and value.__module__ == getattr(module, "__name__", None):
            return value()
    raise AssertionError(f"{module} has no class that derives from Group")
