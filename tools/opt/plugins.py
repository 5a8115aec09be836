"""`--load-pass-plugin` and `--load-dialect-plugin`: Python modules, by name or as files, that bring passes and dialects."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .group import Group

if TYPE_CHECKING:
    from .driver import Driver


class _Load(argparse.Action):
    """Imports a plugin while options are parsed, so that its passes are options, too; passes that it defines are registered."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        try:
            module = _imported(values)
            _register_passes(module)
            setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), module])
        except Exception as error:
            parser.error(f"plugin '{values}' cannot be loaded: {type(error).__name__}: {error}")


def _imported(name: str) -> ModuleType:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).resolve()
    if str(path) in (known := {getattr(module, "__file__", None): module for module in list(sys.modules.values())}):
        return known[str(path)]
    spec = importlib.util.spec_from_file_location(f"lamina_plugin_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _register_passes(module: ModuleType) -> None:
    from xdsl.passes import ModulePass

    from ... import passes

    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, ModulePass)) or value.__module__ != module.__name__:
            continue
        cls: type[ModulePass] = value
        if "name" in vars(cls) and not passes.exists(cls.name):
            passes.register_pass(cls)


class Plugins(Group):
    """Loads the modules; their dialects are loaded into the context."""

    title = "plugins"

    def add(self, add: Callable[..., Any]) -> None:
        add("--load-pass-plugin", action=_Load, metavar="MODULE", help="import a Python module, by name or file, with passes")
        add("--load-dialect-plugin", action=_Load, metavar="MODULE", help="import a Python module with dialects of xDSL")

    def start(self, driver: Driver) -> None:
        from xdsl.ir import Dialect

        for module in [*(driver.options.load_dialect_plugin or []), *(driver.options.load_pass_plugin or [])]:
            for value in vars(module).values():
                if isinstance(value, Dialect) and value.name not in driver.ctx.registered_dialect_names:
                    driver.ctx.load_dialect(value)
