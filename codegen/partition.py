r"""A large module in parts, which are compiled at the same time.

Code generation is most of what LLVM does, and goes from function to function. Which functions make a part is decided by their
sizes alone, so that what is compiled does not depend on the machine. Functions that another part calls become visible to it;
constants, and functions that are always inlined, are in each part that uses them.

>>> text = "define void @f() {\n  call void @g()\n  ret void\n}\ndefine internal void @g() {\n  ret void\n}"
>>> one, other = parts_of(text, 3)
>>> print(one)
define void @f() {
  call void @g()
  ret void
}
declare void @g()
>>> print(other)
define void @g() {
  ret void
}
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property

from ..errors import CompileError, is_interruption
from .compile import compile_object, computes
from .targets import Target
from .text import OPTIMIZED

LEAST_LINES = 600
"""Lines of a part: with as many, the overhead of each part is small."""

LEAST_CALLING_LINES = 200
"""Lines of a function that only calls others from which on it is a part of its own: beside one that computes LLVM would find it
the best registers, too, which takes several times as long."""

_MAGIC = b"lamina objects\n"

_SYMBOL = re.compile(r'@("[^"]*"|[\w.$-]+)')


class Ahead:
    """Compiles texts on other threads while the rest of their module is written.

    Each is a module of its own, and names that others use are visible in it.

    Args:
        workers: prepares the thread runtime, where the code is going to be loaded here: called on another thread, once, if
            there are parallel loops; loading raises its errors, too.
    """

    def __init__(self, target: Target | None = None, *, workers: Callable[[], object] | None = None):
        self.target = target
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._objects: list[tuple[str, Future[bytes] | bytes]] = []
        self._readying: Future[object] | None = None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def is_used(self) -> bool:
        """Whether it was given anything."""
        return bool(self._objects)

    def add(self, text: str) -> None:
        """Compile a text as soon as a thread is free."""
        try:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max(1, _processors() - 1))  # and the thread that writes the texts
            made = self._pool.submit(compile_object, text, self.target)
            if self._workers is not None and "@lamina_parallel" in text:
                self._readying = self._pool.submit(self._workers)
                self._workers = None
        except RuntimeError as error:  # there are no more threads to have, as when the interpreter is about to end
            if is_interruption(error):
                raise
            made = compile_object(text, self.target)
        self._objects.append((text, made))

    def objects(self) -> list[bytes]:
        """The objects of all texts.

        Raises:
            CompileError: as `compile_object`.
        """
        for k, (text, made) in reversed([*enumerate(self._objects)]):  # threads take the first, this one the last
            if isinstance(made, Future) and made.cancel():
                self._objects[k] = text, compile_object(text, self.target)
        if self._readying is not None:
            wait([self._readying])
        return [made.result() if isinstance(made, Future) else made for _, made in self._objects]


def compile_parts(text: str, target: Target | None = None, ahead: Ahead | None = None) -> bytes:
    """The objects of the parts of a module as one piece of data, which `jit.load_object` takes.

    Args:
        ahead: the parts of the module that are being compiled already.

    Raises:
        CompileError: as `compile_object`.
    """
    parts = parts_of(text)
    with ahead or Ahead(target) as compiling:
        if len(parts) == 1 and not compiling.is_used:
            return compile_object(text, target)
        for part in parts:
            compiling.add(part)
        return joined(compiling.objects())


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def joined(objects: Sequence[bytes]) -> bytes:
    """Several objects as one piece of data; `separated` splits it.

    >>> separated(joined([b"one", b"two"])), separated(b"one")
    ([b'one', b'two'], [b'one'])
    """
    return _MAGIC + b"".join(struct.pack("<Q", len(obj)) + obj for obj in objects)


def separated(data: bytes) -> list[bytes]:
    """The objects that `joined` has put together, or the one that it is.

    Raises:
        CompileError: the data ends within an object.
    """
    if not data.startswith(_MAGIC):
        return [data]
    found: list[bytes] = []
    at = len(_MAGIC)
    while at < len(data):
        end = at + 8 + struct.unpack_from("<Q", data.ljust(at + 8, b"\0"), at)[0]
        if end > len(data):
            raise CompileError("cannot link: one object ends within the data of another")
        found.append(data[at + 8 : end])
        at = end
    return found


@dataclass
class _Definition:
    """Something of a module: a function, a declaration or a global.

    Attributes:
        is_called: whether it is called in the part that only calls others, though it would be expanded where it is used.
    """

    name: str
    lines: Sequence[str]
    is_called: bool = False

    @property
    def is_function(self) -> bool:
        return self.lines[0].startswith("define")

    @property
    def is_copied(self) -> bool:
        """Whether each part that uses it has one of its own."""
        first = self.lines[0]
        is_inlined = self.is_function and "alwaysinline" in first and " internal " in first  # else two parts would export it
        return first.startswith("declare") or " private " in first or (is_inlined and not self.is_called)

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def used(self) -> dict[str, None]:
        """The symbols it refers to, itself included."""
        return {name.strip('"'): None for name in _SYMBOL.findall(self.text)}

    def visible(self) -> str:
        """The text, for use by other parts."""
        return self.text.replace(" internal ", " ", 1)

    def elsewhere(self) -> str:
        """The declaration in a part that uses it without defining it."""
        if not self.is_function:
            return f"{self.lines[0].partition('=')[0]}= external global i8"
        return "declare" + self.lines[0].replace(" internal ", " ", 1).removeprefix("define").removesuffix(" {")


def parts_of(text: str, least: int = LEAST_LINES) -> list[str]:
    """The parts of a module, the longest first and host functions last; the module itself where there is but one, or where
    it is not ours."""
    definitions = _definitions(text)
    if definitions is None:
        return [text]
    owned = [d for d in definitions.values() if not d.is_copied and d.is_function]
    calling = [d for d in owned if len(d.lines) >= LEAST_CALLING_LINES and not computes(d.text)]
    for name in {name for d in calling for name in d.used} & definitions.keys():
        definitions[name].is_called = True  # expanded there, it would have LLVM find all of it the best registers
    computing = [d for d in definitions.values() if not d.is_copied and d.is_function and d not in calling]
    optimized = [d for d in computing if OPTIMIZED in d.lines[0]]  # by passes that would take long over the others
    computing = [d for d in computing if d not in optimized]
    count = min(len(computing), sum(len(d.lines) for d in computing) // least)
    parts = _even_parts(computing, count, least) if count > 1 else [computing] if computing else []
    parts += [part for part in (optimized, calling) if part]
    return [text] if len(parts) < 2 else _texts(definitions, parts)


def _even_parts(owned: Sequence[_Definition], count: int, least: int) -> list[list[_Definition]]:
    """The functions in so many parts of about as many lines, the longest first."""
    parts: list[list[_Definition]] = [[] for _ in range(count)]
    sizes = [0] * count
    for definition in sorted(owned, key=lambda d: -len(d.lines)):
        smallest = sizes.index(min(sizes))
        parts[smallest].append(definition)
        sizes[smallest] += len(definition.lines)
    parts.sort(key=_length)
    while len(parts) > 1 and _length(parts[0]) < least // 3:  # beside a function that is most of all
        parts[:2] = [parts[0] + parts[1]]
    return parts[::-1]


def _length(part: Sequence[_Definition]) -> int:
    return sum(len(definition.lines) for definition in part)


def _definitions(text: str) -> dict[str, _Definition] | None:
    """All of a module by name; None where there is something else in it."""
    found: dict[str, _Definition] = {}
    lines = text.split("\n")
    k = 0
    while k < len(lines):
        first, start = lines[k], k
        k += 1
        if not first:
            continue
        name = _SYMBOL.search(first)
        if name is None or not first.startswith(("define ", "declare ", "@")) or "\\" in name[1]:
            return None
        if first.startswith("define "):
            while lines[k - 1] != "}":
                k += 1
        plain = name[1].strip('"')
        if _SYMBOL.fullmatch("@" + plain) is None:
            return None
        found[plain] = _Definition(plain, lines[start:k])
    return found


def _texts(definitions: dict[str, _Definition], parts: Sequence[Sequence[_Definition]]) -> list[str]:
    """The text of each part; globals other than functions are in the first one that uses them."""
    members: list[dict[str, None]] = []
    needed: list[dict[str, None]] = []
    home: dict[str, int] = {}
    for k, part in enumerate(parts):
        own, uses = {d.name: None for d in part}, dict[str, None]()
        home.update((name, k) for name in own)
        waiting = list(own)
        while waiting:
            for name in definitions[waiting.pop()].used:
                if name in uses or name not in definitions:
                    continue
                uses[name] = None
                if definitions[name].is_copied:
                    waiting.append(name)
                elif not definitions[name].is_function:
                    home.setdefault(name, k)
        members.append(own)
        needed.append(uses)
    texts: list[str] = []
    for k, (own, uses) in enumerate(zip(members, needed, strict=True)):
        lines: list[str] = []
        for name, definition in definitions.items():
            if name not in own and name not in uses:
                continue
            shared = any(name in other for other in needed[:k] + needed[k + 1 :])
            if definition.is_copied:
                lines.append(definition.text)
            elif home[name] != k:
                lines.append(definition.elsewhere())
            else:
                lines.append(definition.visible() if shared else definition.text)
        texts.append("\n".join(lines))
    return texts
