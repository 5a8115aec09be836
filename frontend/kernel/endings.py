"""Loops over a range that a `break` or a `return` may end: they count while no flag is set."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ...dialects.loop.loops import WhileOp
from ...dialects.types import index as index_type
from .arithmetic import Arithmetic
from .loops import Header, Loops
from .scope import hint_of
from .source import assigned
from .values import UNSET, Extreme, Index, Kind, Scalar, Value, default, held, kind_of


class Endings(Loops):
    """Turns loops that may end early into ops."""

    def nest(self, node: ast.For, headers: list[Header]) -> None:
        until: Sequence[str] = getattr(node, "until", ())
        if not until:
            return super().nest(node, headers)
        header, rest = headers[0], headers[1:]
        if header.kind == "parallel":
            self.refuse(node, "a parallel loop has no break and no return, as its iterations run at once: use range")
        if header.name in assigned(node.body)[0]:
            self.refuse(node.target, f"'{header.name}' is assigned in its own loop: use another name there")
        carried = self.carried(node)
        if header.name in self.live.get(node, set()):
            self.env.setdefault(header.name, UNSET)
            carried = [*(name for name in carried if name != header.name), header.name]
        else:
            self.env.pop(header.name, None)

        def body(counter: SSAValue, arguments: Sequence[SSAValue], kinds: list[Kind]) -> list[Value]:
            self.enter(carried, arguments, kinds)
            value: Value = Index.of(counter)
            if header.first is not None:
                b = self.math(node)
                value = b.binary("+", header.first, b.binary("*", value, header.by))
            self.env[header.name] = value
            if rest:
                self.nest(node, rest)
            else:
                self.run(node.body)
            return [self.current(node, *pair) for pair in zip(carried, kinds, strict=True)]

        def attempt(kinds: list[Kind]) -> list[Kind]:
            counter, *arguments = Block(arg_types=[index_type, *(default(kind) for kind in kinds)]).args
            return [kind_of(value) for value in body(counter, arguments, kinds)]

        carried, kinds = self.without_unset(carried, self.kinds(node, carried, attempt))
        b = self.math(node)
        first, stop = b.index(_one("max", header.lower)), b.index(_one("min", header.upper))
        inits = self.inits(node, carried, kinds)
        started = [held(init, kind) for init, kind in zip(inits, kinds, strict=True)]
        going = self.goes_on(b, first, stop, [v for v, name in zip(started, carried, strict=True) if name in until])
        names = [header.name, *carried]
        loop = WhileOp.build_loop(going, [first, *inits], [*map(hint_of, names)])
        with self.fork(loop.body.block):
            counter, *arguments = loop.body.block.args
            values = body(counter, arguments, kinds)
            for variable, value, kind in zip(carried, values, kinds, strict=True):
                self.joined(node, variable, kind, kind_of(value))
            b = self.math(node)
            after = [b.scalar(value, default(kind)) for value, kind in zip(values, kinds, strict=True)]
            following = b.builder.add(counter, b.builder.const(header.step, index_type))
            flags: list[Value] = [Scalar(x) for x, name in zip(after, carried, strict=True) if name in until]
            self.end(node, [self.goes_on(b, following, stop, flags), following, *after])
        self.insert(loop, node)
        self.leave(node, carried, kinds, loop.results[1:])

    def goes_on(self, b: Arithmetic, counter: SSAValue, stop: SSAValue, flags: Sequence[Value]) -> SSAValue:
        """Whether the next iteration runs: it is one of the range, and no flag is set."""
        result = b.builder.cmp("lt", counter, stop)
        for flag in flags:
            result = b.builder.binary("and", result, b.builder.invert(b.truth(flag)))
        return result


def _one(which: str, items: Sequence[Index]) -> Value:
    return items[0] if len(items) == 1 else Extreme(which, tuple(items))
