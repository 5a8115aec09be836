"""`loop.print`: a line of text with values in it, for debugging kernels."""

from __future__ import annotations

from string import Formatter
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IndexType, StringAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..syntax import TextOp
from ..types import is_bool, is_float, is_integer, numpy_dtype
from .base import LoopOp


@irdl_op_definition
class PrintOp(LoopOp, TextOp):
    """Write text to Python's `sys.stdout`: a format of Python's, whose fields are the numbers of the operands.

    The text ends as it says, and is written as a whole. Operands are NumPy scalars of their types, an index is an `int64`.

    ```mlir
    loop.print "x[{0}] = {1:.3f}\\n"(%i, %x) : (index, f32)
    ```

    (C1) The text is a format of the operands with known specifications: no field in a field, no attribute of a value.
    (C2) The operands are numbers, and their types take the specifications.
    """

    name = "loop.print"
    SYNTAX: ClassVar[str] = "'text' ?flush (values)"
    TYPES: ClassVar[str] = "operands"
    text = prop_def(StringAttr)
    flush = opt_prop_def(UnitAttr)
    values = var_operand_def()
    traits = traits_def(MemoryWriteEffect())

    @staticmethod
    def build_print(text: str, values: list[SSAValue], flush: bool) -> PrintOp:
        """The op that prints a text with values."""
        properties: dict[str, Attribute] = {"text": StringAttr(text)}
        if flush:
            properties["flush"] = UnitAttr()
        return PrintOp.create(operands=values, properties=properties)

    @property
    def dtypes(self) -> list[np.dtype]:
        """The types of the values in NumPy."""
        return [np.dtype(np.int64) if isinstance(v.type, IndexType) else numpy_dtype(v.type) for v in self.values]

    def verify_(self) -> None:
        for value in self.values:
            if not isinstance(value.type, IndexType) and not any(
                is_it(value.type) for is_it in (is_bool, is_float, is_integer)
            ):  # C2
                raise VerifyException(f"'loop.print' op prints numbers, got {value.type}")
        if (wrong := misfit(self.text.data, self.dtypes)) is not None:  # C1, C2
            raise VerifyException(f"'loop.print' op {wrong}")


def misfit(text: str, dtypes: list[np.dtype]) -> str | None:
    """Why a text is no format of values of these types; None: it is one."""
    try:
        fields = [(name, spec) for _, name, spec, _ in Formatter().parse(text) if name is not None]
    except ValueError as error:
        return f"text is no format: {error}"
    for name, spec in fields:
        if not name.isdecimal() or int(name) >= len(dtypes) or "{" in (spec or ""):
            return f"fields are the numbers of its {len(dtypes)} values, got {{{name}}}"
    try:
        text.format(*(dtype.type(0) for dtype in dtypes))
    except (ValueError, TypeError) as error:
        return f"cannot format its values: {error}"
    return None
