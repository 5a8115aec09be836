"""User-facing errors. Every message says the rule, the facts, the location and, where there is one, the remedy."""

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
        location: the location in IR of the error.
        op: the op at fault, whose location is used where there is no other.
        place: the location in Python source, (file, line, column), if the message begins with it.
    """

    location: LocationAttr | None = None
    op: object = None
    place: tuple[str, int, int] | None = None


class CompileError(LaminaError):
    """A lowering cannot proceed; the error names the op that stops it."""


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
    """Python needs the value of a symbolic size (`int(x.shape[0])`, `if n > 3` without bounds)."""


class LeastSizeError(SizeError):
    """An index needs a symbolic size to be large enough; `jit(dynamic=)` then checks that in each call.

    Attributes:
        name: the symbol.
        least: the smallest value that suffices.
    """

    def __init__(self, message: str, name: str, least: int):
        super().__init__(message)
        self.name, self.least = name, least


class FixedSizeError(SizeError):
    """An op, such as `eigh`, has code for known sizes alone: `jit(dynamic=)` then compiles for each size, and warns."""


class DifferentiationError(LaminaError):
    """A derivative was requested of an op that has none; the message has the op's reason."""


class CheckError(LaminaError, RuntimeError):
    """A condition that a program checks while it runs (`lm.check`) does not hold; the message is that of the check."""


class KernelError(LaminaError):
    """A kernel's Python source is wrong or unsupported; the message has the line and the supported spelling."""


class ScheduleError(LaminaError):
    """A schedule step is refused: it would change the kernel's results, it does not apply, or its legality cannot be decided.

    Attributes:
        witness: the two conflicting iterations when there are any (`lowering.analysis.dependence.Conflict`), else None.
    """

    def __init__(self, message: str, witness: object = None):
        super().__init__(message)
        self.witness = witness


class ExtensionError(LaminaError):
    """An object to register lacks something that the compiler requires of its kind, or its name is taken."""


class DeviceError(LaminaError):
    """A device cannot take arrays or programs, or does not exist."""


class InternalError(Exception):
    """A fault of the compiler itself: please report it with the IR that the message names."""

    location: LocationAttr | None = None


def placed(error: Exception, op: object) -> Exception:
    """The same error, about an op unless it already has an op or a location."""
    if getattr(error, "location", None) is None and getattr(error, "op", None) is None:
        error.op = op  # pyright: ignore[reportAttributeAccessIssue]
    return error


@contextmanager
def about(op: object) -> Iterator[None]:
    """Attach an op to errors that leave the block, unless they have another one."""
    try:
        yield
    except Exception as error:
        placed(error, op)
        raise


def is_interruption(error: BaseException, timeouts: bool = True) -> bool:
    """Whether an exception interrupts the process (by a signal, a time limit, exhausted memory) and is no error.

    Code with a fallback for failures asks this first, since the fallback would take as long or as much memory, and a time limit
    is raised only once. Interruptions are exceptions that are no `Exception`, such as KeyboardInterrupt, MemoryError, and any
    exception that a signal handler raises.

    Args:
        error: the caught exception.
        timeouts: whether every TimeoutError is one; False where the user's program may raise it.

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
