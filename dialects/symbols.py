"""Ops by their symbols, in the nearest symbol table around an op.

xDSL's lookup asks each op of a table for its traits, at 3 us an op: passes over hundreds of functions took longer for lookups
than for their work.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from .operations import ops_of


def find_symbol(op: Operation, name: SymbolRefAttr | StringAttr | str) -> Operation | None:
    """The op that a symbol names, as seen from `op`; None if there is none. 0.1 us an op of the table.

    A reference with nested names goes the way of xDSL.
    """
    if isinstance(name, SymbolRefAttr):
        if len(name.nested_references.data):
            return SymbolTable.lookup_symbol(op, name)
        name = name.root_reference
    wanted = name if isinstance(name, str) else name.data
    table: Operation | None = op
    while table is not None and not table.has_trait(SymbolTable):
        table = table.parent_op()
    if table is None:
        return None
    for block in table.regions[0].blocks:
        for inner in ops_of(block):
            symbol = inner.properties.get("sym_name") or inner.attributes.get("sym_name")
            if type(symbol) is StringAttr and symbol.data == wanted:
                return inner
    return None
