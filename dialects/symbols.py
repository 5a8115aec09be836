"""Ops by their symbols, in the nearest symbol table around an op.

xDSL's lookup reads a table from its start, and asks each op for its traits: passes that make hundreds of functions, and look
each one up, spent their time there, the square of it. Here a table remembers where names were found. That is a guess, which
holds if the op is still in the table under this name; otherwise the table is read again.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, Region
from xdsl.traits import SymbolTable

from .operations import ops_of


def find_symbol(op: Operation, name: SymbolRefAttr | StringAttr | str) -> Operation | None:
    """The op that a symbol names, as seen from `op`; None if there is none. 0.1 us an op of the table where a name is new.

    A reference with nested names goes the way of xDSL.
    """
    if isinstance(name, SymbolRefAttr):
        if len(name.nested_references.data):
            return SymbolTable.lookup_symbol(op, name)
        name = name.root_reference
    wanted = name if isinstance(name, str) else name.data
    region = _table_around(op)
    if region is None:
        return None
    known = _remembered(region)
    found = known.get(wanted)
    if found is not None and found.parent is not None and found.parent.parent is region and _symbol_of(found) == wanted:
        return found
    return _read(region, known).get(wanted)


def unique_name(op: Operation, base: str) -> str:
    """A symbol name that is still free in the table around `op`: `base`, or with a number.

    The op that is inserted under the name is told to `remember_symbol`, so that n of them do not read the table n times.
    """
    region = _table_around(op)
    if region is None:
        return base
    known = _remembered(region) or _read(region, _remembered(region))
    name, k = base, 1
    while name in known and find_symbol(op, name) is not None:
        name, k = f"{base}_{k}", k + 1
    return name


def remember_symbol(op: Operation) -> None:
    """Let lookups know of an op that was just inserted into a table under a name from `unique_name`."""
    symbol, region = _symbol_of(op), op.parent.parent if op.parent is not None else None
    if symbol is not None and region is not None and (known := _remembered(region)):
        known[symbol] = op


def forget_symbols(op: Operation) -> None:
    """Read the tables of an op again on the next lookup: others may have inserted ops under names of their own."""
    for region in op.regions:
        _remembered(region).clear()


def _table_around(op: Operation) -> Region | None:
    table: Operation | None = op
    while table is not None and type(table) is not ModuleOp and not table.has_trait(SymbolTable):
        table = table.parent_op()
    return None if table is None else table.regions[0]


def _remembered(region: Region) -> dict[str, Operation]:
    return vars(region).setdefault("_symbols", {})


def _read(region: Region, known: dict[str, Operation]) -> dict[str, Operation]:
    known.clear()
    for block in region.blocks:
        for inner in ops_of(block):
            symbol = inner.properties.get("sym_name") or inner.attributes.get("sym_name")
            if type(symbol) is StringAttr:
                known.setdefault(symbol.data, inner)
    return known


def _symbol_of(op: Operation) -> str | None:
    symbol = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return symbol.data if type(symbol) is StringAttr else None
