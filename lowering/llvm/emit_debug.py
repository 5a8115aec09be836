"""Line tables: the source line of each instruction of the LLVM IR.

Debuggers, profilers (`perf annotate`) and the explorer read them. A function gets a `DISubprogram`, an instruction a
`DILocation` in it: the source location of the op that wrote it, the first one where several were fused. Instructions of no op
(the entry of a function, the bookkeeping of parallel loops) belong to the line of their function. Values are not described:
`emissionKind: LineTablesOnly`. The form is that of https://llvm.org/docs/SourceLevelDebugging.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from xdsl.ir import Operation

from ...codegen.text import Builder, Module
from ...diagnostics import FilePosition, position_of_op

_MARK = re.compile(r", !dbg @(\d+)")
_NAME = re.compile(r"@(\"[^\"]*\"|[\w.$-]+)\(")
_VERSION = '!{i32 2, !"Debug Info Version", i32 3}'


class LocatedBuilder(Builder):
    """A builder whose instructions are marked with the source location last given to `locate`."""

    def __init__(self, module: Module, table: LineTable):
        super().__init__(module)
        self.table = table
        self.mark = ""

    def locate(self, op: Operation) -> None:
        """Attribute the instructions that follow to an op."""
        place = position_of_op(op)
        self.mark = "" if place is None else f", !dbg @{self.table.number(place)}"

    def emit(self, text: str) -> str:
        return super().emit(text + self.mark)

    def emit_void(self, text: str) -> None:
        super().emit_void(text + self.mark)

    def br(self, target: str) -> None:
        super().br(target + self.mark)

    def cond_br(self, condition: str, then: str, otherwise: str) -> None:
        super().cond_br(condition, then, otherwise + self.mark)

    def ret(self, value: str | None = None, ty: str = "void") -> None:
        super().ret(value, ty)
        self.lines[-1] += self.mark

    def store(self, value: str, pointer: str, ty: str, align: int = 0, suffix: str = "") -> None:
        super().store(value, pointer, ty, align, suffix + self.mark)  # pyright: ignore[reportArgumentType]


class LineTable:
    """The source locations of one module, and the metadata that describes them."""

    def __init__(self) -> None:
        self.places: list[FilePosition] = []
        self.numbers: dict[FilePosition, int] = {}
        self.nodes: list[str] = []
        self.known: dict[str, int] = {}

    def number(self, place: FilePosition) -> int:
        """The number of a source location in marks."""
        found = self.numbers.get(place)
        if found is None:
            found = self.numbers[place] = len(self.places)
            self.places.append(place)
        return found

    def attach(self, definition: str) -> str:
        """The text of a function whose marks have become locations; one without marks is returned as it is.

        Each call of a function with a subprogram needs a location where the caller has a subprogram too, since it may be
        inlined: so all instructions get one.
        """
        first = _MARK.search(definition)
        if first is None:
            return definition
        name = _NAME.search(definition)
        assert name is not None, definition
        home = self.places[int(first[1])]
        file = self._file(home.file)
        signature = self._node("!DISubroutineType(types: !{})")
        subprogram = self._node(
            f'distinct !DISubprogram(name: "{_escaped(name[1].strip(chr(34)))}", scope: !{file}, file: !{file}, '
            f"line: {home.line}, type: !{signature}, spFlags: DISPFlagDefinition, unit: !{self._unit(file)})"
        )
        scopes = {home.file: subprogram}

        def located(place: FilePosition) -> int:
            if place.file not in scopes:
                text = f"distinct !DILexicalBlock(scope: !{subprogram}, file: !{self._file(place.file)}, line: 0)"
                scopes[place.file] = self._node(text)
            line, column = max(place.line, 0), min(max(place.column, 0), 65535)
            return self._node(f"!DILocation(line: {line}, column: {column}, scope: !{scopes[place.file]})")

        elsewhere = f", !dbg !{located(home)}"
        head, _, body = definition.partition(" {\n")
        lines = [
            _MARK.sub(lambda found: f", !dbg !{located(self.places[int(found[1])])}", line)
            if ", !dbg @" in line
            else line + elsewhere
            if line.startswith("  ")
            else line
            for line in body.split("\n")
        ]
        return f"{head} !dbg !{subprogram} {{\n" + "\n".join(lines)

    def text(self) -> str:
        """The metadata at the end of the module; empty if no function has locations."""
        if not self.nodes:
            return ""
        version, units = len(self.nodes), [k for k, node in enumerate(self.nodes) if "!DICompileUnit" in node]
        lines = [f"!{k} = {node}" for k, node in enumerate(self.nodes)]
        lines += [f"!{version} = {_VERSION}", f"!llvm.module.flags = !{{!{version}}}"]
        return "\n".join([*lines, f"!llvm.dbg.cu = !{{{', '.join(f'!{unit}' for unit in units)}}}"]) + "\n"

    def _file(self, name: str) -> int:
        path = PurePath(name)
        folder = "" if str(path.parent) == "." else str(path.parent)
        return self._node(f'!DIFile(filename: "{_escaped(path.name)}", directory: "{_escaped(folder)}")')

    def _unit(self, file: int) -> int:
        return self._node(
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, producer: "lamina", isOptimized: true, '
            "runtimeVersion: 0, emissionKind: LineTablesOnly)"
        )

    def _node(self, text: str) -> int:
        """The number of a node; equal nodes are shared, except for subprograms, whose text is unique by their names."""
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = len(self.nodes)
            self.nodes.append(text)
        return found


def _escaped(text: str) -> str:
    """The characters of a string of LLVM IR: non-printable characters, quotes and backslashes as `\\xx`."""
    return "".join(_bytes(text))


def _bytes(text: str) -> Iterator[str]:
    for byte in text.encode("utf-8", "surrogateescape"):
        yield chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
