"""The signature of a kernel: arrays whose sizes are symbols, numbers, and how a call lays them out for machine code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from .signature import ArrayParam, Param, expect, params_from_data, params_to_data

STATUS_WORDS = 4
# The name of the keyword of every call that is not a parameter.
THREADS = "threads"


@dataclass(frozen=True)
class KernelSignature:
    """Parameters of a kernel, in order, and the symbols that their sizes and strides bind.

    `heavy`: from this total number of array elements, a call releases the GIL.

    `@<name>.invoke(ptr slots)` takes words of 8 bytes: one for each parameter (data pointer; float bits in the low
    bytes; integers and bool as i64), one for each symbol (i64), `threads` (0 is the default), and four words of status
    (zero before the call; after it the first is not zero if the kernel failed, and the others are facts about that).

    >>> from lamina.runtime.signature import Dim, ScalarParam
    >>> n = Dim(0)
    >>> s = KernelSignature("saxpy", (ScalarParam("a", "float32"), ArrayParam("x", "float32", (n,)),
    ...                               ArrayParam("y", "float32", (n,), writes=True)), ("N",))
    >>> print(s)
    saxpy(a: float32, x: float32[N], y: inout float32[N])
    >>> s.threads_slot, s.status_slot, s.slots
    (4, 5, 9)
    >>> KernelSignature.from_json(s.to_json()) == s
    True
    """

    name: str
    params: tuple[Param, ...]
    symbols: tuple[str, ...] = ()
    heavy: int = 1 << 15
    arrays: tuple[ArrayParam, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrays", tuple(p for p in self.params if isinstance(p, ArrayParam)))
        names = [param.name for param in self.params]
        for kind, spelled in (("parameters", names), ("symbols", self.symbols)):
            if len(set(spelled)) != len(spelled):
                raise ValueError(f"kernel '{self.name}' has two {kind} of one name: {', '.join(spelled)}")
        if THREADS in names:
            raise ValueError(f"kernel '{self.name}' has a parameter '{THREADS}', a keyword of every call: rename it")
        if not 0 <= self.heavy < 1 << 63:
            raise ValueError(f"kernel '{self.name}' is heavy from {self.heavy} elements: not a 64-bit size")
        uses = [d.symbol for p in self.arrays for d in (*p.dims, *(p.strides or ())) if d.symbol is not None]
        if any(not 0 <= use < len(self.symbols) for use in uses):
            raise ValueError(f"kernel '{self.name}' has {len(self.symbols)} symbols and uses number {max(uses, key=abs)}")
        for index, symbol in enumerate(self.symbols):
            if index not in uses:
                raise ValueError(f"kernel '{self.name}': no size or stride of an argument gives the symbol '{symbol}'")

    @property
    def threads_slot(self) -> int:
        """Index of the `threads` word."""
        return len(self.params) + len(self.symbols)

    @property
    def status_slot(self) -> int:
        """Index of the first word of status."""
        return self.threads_slot + 1

    @property
    def slots(self) -> int:
        """Number of words."""
        return self.status_slot + STATUS_WORDS

    def to_json(self) -> str:
        """The signature as JSON text."""
        return json.dumps(
            {
                "name": self.name,
                "params": params_to_data(self.params),
                "symbols": self.symbols,
                "heavy": self.heavy,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> KernelSignature:
        """The inverse of `to_json`; any fault in the text raises ValueError."""
        try:
            data = json.loads(text)
            params = params_from_data(data["params"])
            symbols = tuple(expect(str, symbol) for symbol in expect(list, data["symbols"]))
            return cls(expect(str, data["name"]), params, symbols, expect(int, data["heavy"]))
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not a signature: {error}") from None

    def __str__(self) -> str:
        parts = []
        for param in self.params:
            inout = "inout " if isinstance(param, ArrayParam) and param.writes else ""
            parts.append(f"{param.name}: {inout}{param.spell(self.symbols)}")
        return f"{self.name}({', '.join(parts)})"
