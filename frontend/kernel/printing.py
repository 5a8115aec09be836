"""`print(...)` in kernels: one `loop.print` with a format of Python's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from ...dialects.loop.prints import PrintOp, misfit
from ...dialects.types import numpy_dtype
from .source import MISSING
from .values import Array, Complex, Items, Number, default, kind_of

if TYPE_CHECKING:
    from .statements import Statements


class Line:
    """The text of one `print` so far, and its values."""

    def __init__(self, statements: Statements):
        self.statements = statements
        self.text = ""
        self.values: list[SSAValue] = []

    def add(self, text: str) -> None:
        """Text that stands for itself."""
        self.text += text.replace("{", "{{").replace("}", "}}")

    def argument(self, node: ast.expr) -> None:
        """What `print` shows of an argument: a text, or a number as `str` shows it."""
        s = self.statements
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.Constant):
                    self.add(str(part.value))
                elif isinstance(part, ast.FormattedValue):
                    self.field(part)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.add(node.value)
        elif isinstance(found := s.resolve(node) if isinstance(node, ast.Name | ast.Attribute) else MISSING, str):
            self.add(found)
        else:
            self.value(node, s.thing(node), "!s", "")

    def field(self, part: ast.FormattedValue) -> None:
        """A field of an f-string."""
        s, spec = self.statements, ""
        for piece in part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else ():
            if not isinstance(piece, ast.Constant):
                s.refuse(part.value, "a format in a kernel is known: write its digits as a number")
            spec += str(piece.value)
        if "{" in spec or "}" in spec:
            s.refuse(part.value, "a format in a kernel has no braces: write its digits as a number")
        found = s.resolve(part.value) if isinstance(part.value, ast.Name | ast.Attribute) else MISSING
        if isinstance(found, str):
            self.add(format(repr(found) if part.conversion == ord("r") else found, spec))
            return
        conversion = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
        self.value(part.value, s.thing(part.value), conversion, spec)

    def value(self, node: ast.expr, found: Any, conversion: str, spec: str) -> None:
        """A number."""
        s = self.statements
        if isinstance(found, Complex):
            s.refuse(node, "print takes no complex numbers in kernels: print z.real and z.imag")
        if isinstance(found, Array | Items):
            s.refuse(node, "print takes numbers and texts in kernels: write a loop over the elements, or subscript it")
        conversion = "!s" if conversion else ""  # repr of a number would name its type
        if isinstance(found, Number):
            number = found.value if found.type is None else numpy_dtype(found.type).type(found.value)
            try:
                self.add(f"{{0{conversion}:{spec}}}".format(number))
            except ValueError as error:
                s.refuse(node, f"{error}: take another format")
            return
        ssa = s.math(node).scalar(found, default(kind_of(found)))
        if ssa not in self.values:
            self.values.append(ssa)
        field = f"{{{self.values.index(ssa)}{conversion}{':' + spec if spec else ''}}}"
        dtypes = PrintOp.build_print("", self.values, False).dtypes
        if (wrong := misfit(field, dtypes)) is not None:
            s.refuse(node, f"{wrong.partition(': ')[2]}: take another format")
        self.text += field


def add_print(statements: Statements, node: ast.Call) -> None:
    """`print(...)` as a statement."""
    given: dict[str, Any] = {"sep": " ", "end": "\n", "flush": False}
    for keyword in node.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else statements.resolve(keyword.value)
        if keyword.arg not in given:
            statements.refuse(node, "print takes values, sep, end and flush in kernels: it writes to sys.stdout")
        if not isinstance(value, bool if keyword.arg == "flush" else str | None):
            what = "True or False" if keyword.arg == "flush" else "a text"
            statements.refuse(keyword.value, f"{keyword.arg} of print is known in a kernel: write {what}")
        given[keyword.arg] = given[keyword.arg] if value is None else value
    line = Line(statements)
    for k, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred):
            statements.refuse(argument, "print takes its values one by one in kernels: name each")
        if k:
            line.add(given["sep"])
        line.argument(argument)
    line.add(given["end"])
    statements.insert(PrintOp.build_print(line.text, line.values, given["flush"]), node)
