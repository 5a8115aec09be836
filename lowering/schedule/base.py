"""The base class of schedule primitives: parameters, a check, a rewrite. The pass and the Python method follow from it.

@dataclass(frozen=True)
class Split(Primitive):
    name = "loop-split"
    loop: str
    size: int
    def check(self, kernel): ...      # raises ScheduleError
    def rewrite(self, kernel): ...    # returns the names of the new loops
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import StringAttr
from xdsl.passes import ModulePass

from ...dialects.loop.loops import LARGEST_STEP, ForOp, KernelOp
from ...dialects.loop.prints import PrintOp
from ...errors import ScheduleError, placed
from ..analysis.facts import changing
from ..analysis.nests import holds, loops, unique_names
from ..analysis.placement import are_placed, drop_obstacles

_SCHEDULED = StringAttr("scheduled")


@dataclass(frozen=True)
class Primitive(ModulePass):
    """One step of a schedule; its fields are its parameters. `kernel` is needed only in modules of several kernels."""

    kernel: str | None = field(default=None, kw_only=True)
    places: ClassVar[bool] = False
    """Whether the primitive only assigns loops to threads or outlines them. Analyses of the kernel then stay valid."""

    keeps_lines: ClassVar[bool] = False
    """Whether what a kernel prints stays, and in the order that its loops give it."""

    def check(self, kernel: KernelOp) -> None:
        """Raise ScheduleError unless the primitive keeps the meaning of the kernel."""
        raise NotImplementedError

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        """Rewrite a kernel that `check` accepts; returns the names of the new loops, in the order that the docstring says."""
        raise NotImplementedError

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        self.run(self.target(op))

    def run(self, kernel: KernelOp) -> tuple[str, ...]:
        """Check and rewrite one kernel; returns the names of the new loops."""
        unique_names(kernel)
        try:
            self._check_numbers()
            if not self.keeps_lines and holds(kernel.body.block, PrintOp):
                raise self.refuse("the kernel prints, and this step does not keep its lines in order: take print(...) out")
            self.check(kernel)
            made = self.commit(kernel)
        except ScheduleError as error:
            placed(error, self._subject(kernel))
            raise
        unique_names(kernel)  # copies get unique names now, so that a refused primitive that follows changes nothing
        return made

    def _subject(self, kernel: KernelOp) -> ForOp | KernelOp:
        """The op that a refusal points to: the first loop that the primitive names, else the kernel."""
        known = loops(kernel)
        values = [getattr(self, option.name) for option in dataclasses.fields(self)]
        names = [name for value in values for name in (value if isinstance(value, tuple) else (value,))]
        return next((known[name] for name in names if isinstance(name, str) and name in known), kernel)

    def commit(self, kernel: KernelOp) -> tuple[str, ...]:
        """Rewrite a checked kernel, and mark its module as scheduled."""
        module = kernel.parent_op()
        if module is not None:  # the default schedule skips kernels that are scheduled by hand
            module.attributes["lamina.phase"] = _SCHEDULED
        if self.places:  # no cached analysis depends on it
            made = self.rewrite(kernel)
            drop_obstacles(kernel)
            return made
        checks = are_placed(kernel)
        with changing():
            made = self.rewrite(kernel)
            if checks:
                drop_obstacles(kernel)
        return made

    def _check_numbers(self) -> None:
        """Check that sizes, factors and counts leave room for arithmetic on indices in 64 bits."""
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            for number in value if isinstance(value, tuple) else (value,):
                if type(number) is int and abs(number) > LARGEST_STEP:
                    raise self.refuse(f"{option.name} is at most {LARGEST_STEP} in size, got {number}")

    def target(self, module: builtin.ModuleOp) -> KernelOp:
        """The kernel of a module to which the primitive applies."""
        kernels = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}
        if self.kernel is not None:
            if self.kernel not in kernels:
                raise ScheduleError(f"{self.name}: no kernel @{self.kernel}; there are: {', '.join(kernels) or 'none'}")
            return kernels[self.kernel]
        if len(kernels) != 1:
            raise ScheduleError(
                f"{self.name}: the module holds {len(kernels)} kernels ({', '.join(kernels)}); say which: kernel=<name>"
            )
        return next(iter(kernels.values()))

    def refuse(self, reason: str, witness: object = None) -> ScheduleError:
        """The error that says why the primitive is not legal."""
        return ScheduleError(f"{self.as_text()}: {reason}", witness)

    def as_text(self) -> str:
        """The primitive as pipeline text: `loop-split{loop=i size=16}`. Fields at their defaults are left out."""
        parts = []
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            if option.name == "name" or value == option.default:
                continue
            name = option.name.replace("_", "-")
            parts.append(name if value == () else f"{name}={_shown(value)}")
        return self.name + ("{" + " ".join(parts) + "}" if parts else "")


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(_shown(v) for v in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.replace("_", "a").isalnum() and not value[:1].isdigit() else f'"{value}"'
    return str(value)
