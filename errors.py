"""User-facing errors. Every message says the rule, the facts, the place and, where there is one, the remedy."""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports]  # `signal` wraps it in enumerations: 100 us here instead of 2
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import LocationAttr


class LaminaError(Exception):
    """Base of every error a user can cause; the command line prints it without a traceback.

    Attributes:
        location: a location of IR that the error is about.
        op: an op that it is about, whose location is taken where there is no other.
        place: a place in Python source, (file, line, column), if the message begins with it.
    """

    location: LocationAttr | None = None
    op: object = None
    place: tuple[str, int, int] | None = None


class CompileError(LaminaError):
    """A lowering cannot proceed, said at the op that stops it."""


class ShapeError(LaminaError, ValueError):
    """Shapes of operands do not fit an op.

    >>> raise ShapeError("'graph.add' op operand shapes differ: lhs is [2], rhs is [3]")
    Traceback (most recent call last):
    ...
    lamina.errors.ShapeError: 'graph.add' op operand shapes differ: lhs is [2], rhs is [3]
    """


class BoundsError(ShapeError, IndexError):
    """An axis or an index is not one of the array's, which Python and NumPy call an IndexError."""


class DTypeError(LaminaError, TypeError):
    """Element types of operands do not fit an op."""


class TracingError(LaminaError, TypeError):
    """Python that needs a concrete value was applied to a traced one (`if x > 0`, `float(x)`, `x[i] = ...`)."""


class SizeError(TracingError):
    """Python needs the number of a size that only a call knows (`int(x.shape[0])`, `if n > 3` without bounds)."""


class LeastSizeError(SizeError):
    """An index needs a size that only a call knows to be large enough; `jit(dynamic=)` then asks that of each call.

    Attributes:
        name: the symbol.
        least: what it must be at least.
    """

    def __init__(self, message: str, name: str, least: int):
        super().__init__(message)
        self.name, self.least = name, least


class FixedSizeError(SizeError):
    """An op has code for known sizes alone, as `eigh`: `jit(dynamic=)` then compiles for each size by itself, and warns."""


class DifferentiationError(LaminaError):
    """A derivative was asked of something that has none, with the reason stated by the op."""


class CheckError(LaminaError, RuntimeError):
    """A condition that a program checks while it runs (`lm.check`) does not hold; the message is that of the check."""


class KernelError(LaminaError):
    """A kernel's Python source has what kernels do not have, or is wrong; says the line and the supported spelling."""


class ScheduleError(LaminaError):
    """A schedule step is refused: it would change what the kernel computes, it does not fit, or that cannot be decided.

    Attributes:
        witness: the two conflicting iterations when there are any (`lowering.analysis.dependence.Conflict`), else None.
    """

    def __init__(self, message: str, witness: object = None):
        super().__init__(message)
        self.witness = witness


class ExtensionError(LaminaError):
    """What is to be registered lacks something that the compiler asks of its kind, or its name is taken."""


class DeviceError(LaminaError):
    """Arrays or programs that a device cannot take, or no device of that name."""


class InternalError(Exception):
    """A fault of the compiler itself: please report it with the IR it names."""

    location: LocationAttr | None = None


def placed(error: Exception, op: object) -> Exception:
    """The same error, about an op unless it says itself which op or place it is about."""
    if getattr(error, "location", None) is None and getattr(error, "op", None) is None:
        error.op = op  # pyright: ignore[reportAttributeAccessIssue]
    return error


@contextmanager
def about(op: object) -> Iterator[None]:
    """Errors that leave the block are about an op, unless they are about another one."""
    try:
        yield
    except Exception as error:
        placed(error, op)
        raise


def is_interruption(error: BaseException, timeouts: bool = True) -> bool:
    """Whether an exception stops what the process does, where another one says that what it did was wrong.

    Whoever has another way where something fails asks this first, since the other way would take as long, or as much memory,
    and a time limit is raised once: exceptions that are no `Exception`, as KeyboardInterrupt, exhausted memory, and whatever a
    handler of a signal raises, of any class.

    Args:
        error: what was caught.
        timeouts: whether every TimeoutError is one: not where it may be what the user's program raises itself.

    >>> is_interruption(MemoryError()), is_interruption(KeyboardInterrupt()), is_interruption(ValueError())
    (True, True, False)
    """
    if isinstance(error, MemoryError) or not isinstance(error, Exception) or (timeouts and isinstance(error, TimeoutError)):
        return True
    handlers = {_code_of(_signal.getsignal(number)) for number in range(1, _signal.NSIG)} - {None}
    if not handlers:
        return False
    raised: BaseException | None = error
    while raised is not None:
        at = raised.__traceback__
        while at is not None:
            if at.tb_frame.f_code in handlers:
                return True
            at = at.tb_next
        raised = raised.__cause__
    return False


def _code_of(handler: object) -> CodeType | None:
    """The code that a handler of a signal runs, if it is Python's."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = getattr(handler, "__func__", handler)
    code = getattr(handler, "__code__", None)
    if code is None and callable(handler):
        code = getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


class GraphBreakError(LaminaError):
    """A function of `lm.compile` has a statement that no graph can take, inside of `lm.no_breaks()`.

    Do what the message says, or leave the block.
    """


class RecompileError(LaminaError):
    """A call of a function of `lm.compile` fails a guard, inside of `lm.no_recompile()`.

    Call the function for such values before the block.
    """
