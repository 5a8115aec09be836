"""Public namespaces, whose names are loaded when they are first used. The table of them is `names.toml`.

`make names` writes from it `name_table.py`, which Python reads fastest, and the stubs (`.pyi`), from which type checkers and
editors know each name and its signature.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from .name_table import HIDDEN, HOMES, MODULES


class Home(NamedTuple):
    """Where an object comes from: as in `from module import name`, or `maker(name, public)` of the module.

    Attributes:
        module: its path in the package, with dots.
        public: the name under which the object is public.
    """

    module: str
    name: str
    maker: str
    public: str

    def load(self) -> Any:
        """The object."""
        module = load_module(self.module)
        if self.maker:
            return getattr(module, self.maker)(self.name, self.public)
        if hasattr(module, "__path__") and self.name not in vars(module):  # a package: `getattr` may be what asks for this
            return load_module(f"{self.module}.{self.name}".lstrip("."))
        return getattr(module, self.name)


def load_module(path: str) -> Any:
    """Import a module of the package, without collecting garbage meanwhile: nearly all stays, and that costs a sixth more."""
    from .runtime.gc_pause import collecting_later  # here: `import lamina` loads no file that it can do without

    with collecting_later(all_stays=True):
        return importlib.import_module(_full(path))


def _full(path: str) -> str:
    return f"{__package__}.{path}" if path else str(__package__)


@cache
def public(namespace: str) -> dict[str, Home]:
    """The names of a namespace, in the order of the table, and the home of each."""
    return dict(_homes(HOMES[namespace]))


@cache
def hidden(namespace: str) -> dict[str, Home]:
    """Attributes of a namespace that are no public names of it: other parts of the package use them."""
    return dict(_homes(HIDDEN.get(namespace, {})))


def _homes(table: dict[str, str]) -> Iterator[tuple[str, Home]]:
    for home, imported in table.items():
        module, _, maker = home.partition(":")
        for each in imported.split(", "):
            original, _, name = each.partition(" as ")
            yield name or original, Home(module, original, maker, name or original)


def attach(namespace: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of the module that is a namespace.

    >>> __getattr__, __dir__, __all__ = attach("nn")
    """
    names = public(namespace)
    module = _full(MODULES[namespace])

    def find(name: str) -> Any:
        home = names.get(name) or hidden(namespace).get(name)
        if home is None:
            raise AttributeError(f"module 'lamina.{namespace}' has no attribute {name!r}", name=name, obj=sys.modules[module])
        value = home.load()
        setattr(sys.modules[module], name, value)
        return value

    return find, lambda: sorted(names), list(names)


class Submodule(ModuleType):
    """A namespace as a submodule of the package, `lamina.numpy`, whose module is imported when it is first used.

    No module of the root may be called numpy, which programs that run in that folder would import in place of NumPy.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__all__", "__array_api_version__", "__array_namespace_info__"):
            raise AttributeError(name)
        home = load_module(MODULES[self.__name__.partition(".")[2]])
        value = self.__dict__[name] = getattr(home, name)
        self.__doc__ = home.__doc__
        return value

    def __dir__(self) -> list[str]:
        return dir(load_module(MODULES[self.__name__.partition(".")[2]]))


def add_submodules() -> None:
    """Let `import lamina.numpy` find the namespace, and `lamina.numpy`, too."""
    package = sys.modules[str(__package__)]
    for namespace, module in MODULES.items():
        if module not in ("", namespace):
            made = sys.modules[f"{__package__}.{namespace}"] = Submodule(f"{__package__}.{namespace}")
            if "." not in namespace:
                setattr(package, namespace, made)
