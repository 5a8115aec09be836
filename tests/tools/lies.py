"""Ops that claim what is not so: each attribute and each type of an op is replaced, one at a time, by what it cannot be.

    python tests/tools/lies.py [--count 5000] [--first 0] [--step 1] [--only graph.] [--show K]

The ops are those of the texts of `mutants.py`, one of each name at each phase, printed in generic syntax, which any attribute
can be written in. A lie must be refused with a placed error, or be harmless: what runs gives the interpreter's results.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from mutants import Mutants, run

LARGE = 1 << 63
_MARK = '"what is claimed"'
_MARKED_TYPE = "tensor<97x89x83xi1>"

ATTRIBUTES = (
    "unit",
    "0 : i64",
    "-1 : i64",
    f"{LARGE - 1} : i64",
    f"{2 * LARGE} : i64",
    "1 : i1",
    "true",
    "1.0 : f32",
    "0x7FC00000 : f32",
    '""',
    '"nope"',
    "[]",
    "[1, 2]",
    "{}",
    "array<i64>",
    "array<i64: -1>",
    "array<i64: 0, 0>",
    f"array<i64: {LARGE - 1}, 1>",
    "array<i32: 1>",
    "array<i32: 0, 9>",
    "dense<1> : tensor<2xi64>",
    "dense<> : tensor<0xi64>",
    "dense<1.0> : tensor<4096x4096x4096x4096xf32>",
    "f32",
    "tensor<?xf32>",
    "() -> ()",
    "@nope",
    "@nope::@inner",
    "affine_map<(d0, d1) -> (d1, d0)>",
    "affine_map<(d0)[s0] -> (d0 floordiv 0, s0)>",
    "strided<[-1], offset: ?>",
)
"""What any attribute may be replaced by."""

TYPES = (
    "tensor<f32>",
    "tensor<4xf32>",
    "tensor<?xf32>",
    "tensor<0x3xf32>",
    "tensor<4xi1>",
    "tensor<4xui8>",
    "tensor<4xcomplex<f64>>",
    "tensor<4xvector<4xf32>>",
    "tensor<*xf32>",
    f"tensor<{LARGE // 8}xf32>",
    "memref<4xf32>",
    "memref<?x4xf32, strided<[?, 1], offset: ?>>",
    "memref<4xf32, strided<[-1]>>",
    "memref<4xf32, strided<[0]>>",
    "memref<4xf32, 3>",
    "memref<*xf32>",
    "vector<4xf32>",
    "vector<3x[4]xf32>",
    "f32",
    "f80",
    "i64",
    "i65536",
    "si7",
    "index",
    "none",
    "tuple<f32, i1>",
    "complex<f32>",
    "(f32) -> f32",
)
"""What any type may be replaced by."""


@dataclass(frozen=True)
class Lie:
    """One replacement.

    Attributes:
        name: of the op, with the phase.
        text: of its module, with a mark.
        mark: what is replaced.
        claims: what stands there instead, one for each text; None: the attribute is left out.
    """

    name: str
    text: str
    mark: str
    claims: tuple[str | None, ...]


def _of_attribute(written: str, symbols: list[str]) -> tuple[str | None, ...]:
    """The replacements of an attribute: any, and neighbors of what it is."""
    near: list[str | None] = [None]
    if (found := re.fullmatch(r"(-?\d+) : (\w+)", written)) is not None:
        n = int(found[1])
        near += [f"{m} : {found[2]}" for m in (n + 1, n - 1, -n, 2 * n, 1 << 31)] + [f"{n} : i32"]
    if (found := re.fullmatch(r"array<(\w+)(?:: (.*))?>", written)) is not None:
        values = [int(v) for v in (found[2] or "").split(", ") if re.fullmatch(r"-?\d+", v)]
        others = [values[::-1], values[:-1], [*values, 1], [*values, *values], [-v for v in values], [v + 1 for v in values]]
        others += [[0] * len(values), [LARGE - 1] * len(values), [7, *values[1:]], [1 << 31, *values[1:]]]
        near += [f"array<{found[1]}: {', '.join(map(str, other))}>" if other else f"array<{found[1]}>" for other in others]
    if written.startswith("@"):
        near += symbols
    if written.startswith('"'):
        near += ['"add"', '"none"', '"eq"', '"é"']
    return tuple(dict.fromkeys(one for one in (*near, *ATTRIBUTES) if one != written))


class Lies(Mutants):
    """Lies by number, under the interface of mutants."""

    def __init__(self, only: str = "") -> None:
        super().__init__("")
        self.lies = [lie for lie in self._all() if only in lie.name]
        self._ends: list[int] = []
        for lie in self.lies:
            self._ends.append((self._ends[-1] if self._ends else 0) + len(lie.claims))

    @property
    def count(self) -> int:
        return self._ends[-1] if self._ends else 0

    def text(self, number: int) -> tuple[str, str]:
        """Name and text of a lie."""
        from bisect import bisect_right

        k = bisect_right(self._ends, number)
        lie = self.lies[k]
        claim = lie.claims[number - (self._ends[k - 1] if k else 0)]
        if claim is not None:
            return f"{lie.name} = {claim}", lie.text.replace(lie.mark, claim)
        return f"{lie.name} left out", re.sub(rf'(?:, )?(?:"[\w.]+"|[\w.]+) = {re.escape(lie.mark)}', "", lie.text)

    def _all(self) -> Iterator[Lie]:
        from lamina import pipeline
        from lamina.dialects.context import make_context
        from lamina.dialects.dominance import verify_module
        from lamina.dialects.parsing import parse_module

        seen: set[str] = set()
        for unit in self.units:
            try:
                module = parse_module(make_context(), unit.text)
                verify_module(module)
            except Exception:  # refused on purpose
                continue
            names = {op.name for op in module.walk()}
            is_new = not names <= seen
            seen |= names
            if not is_new:
                continue
            yield from self._of_module(module)
            for phase in ("loop", "program"):
                try:
                    pipeline.run_to(module, phase)
                except Exception:  # an op that cannot be lowered: its earlier phases are changed alone
                    break
                yield from self._of_module(module)

    def _of_module(self, module: Any) -> Iterator[Lie]:
        names: set[str] = self.__dict__.setdefault("_done", set())
        for op in list(module.walk()):
            if op.name in names or op.name == "builtin.module":
                continue
            names.add(op.name)
            yield from _of_op(module, op)


def _of_op(module: Any, op: Any) -> Iterator[Lie]:
    from xdsl.dialects.builtin import StringAttr, TensorType, i1

    symbols = sorted({f"@{o.properties['sym_name'].data}" for o in module.walk() if "sym_name" in o.properties})
    mark, type = StringAttr(_MARK[1:-1]), TensorType(i1, [97, 89, 83])
    for table in (op.properties, op.attributes):
        for key, value in list(table.items()):
            table[key] = mark
            yield Lie(f"{op.name} {key}", _generic(module), _MARK, _of_attribute(str(value), symbols))
            table[key] = value
    values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
    for k, value in enumerate(values):
        before, value._type = value.type, type
        yield Lie(f"{op.name} type {k}", _generic(module), _MARKED_TYPE, tuple(t for t in TYPES if t != str(before)))
        value._type = before


def _generic(module: Any) -> str:
    from xdsl.printer import Printer

    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--count", type=int, help="how many (all)")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1, help="every how manieth one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="ops whose name, or attribute, holds this text")
    parser.add_argument("--show", type=int, help="print one and leave")
    options = parser.parse_args()
    lies = Lies(options.only)
    if options.show is not None:
        print("// {}\n{}".format(*lies.text(options.show)))
        return 0
    wanted = range(options.first, lies.count, options.step)[: options.count]
    result = run(wanted, options.jobs, options.only, verbose=True, kind="lies")
    print(f"{result.total} of {lies.count} lies: {', '.join(f'{n} {v}' for v, n in sorted(result.counts.items()))}")
    return 1 if result.findings else 0


if __name__ == "__main__":
    sys.exit(main())
