"""The reference interpreter: the meaning of IR, in NumPy. See `run.py`."""

from .buffers import InterpreterError, TooLongError
from .interpret import interpret
from .run import Interpreter, shape_and_dtype

__all__ = ["Interpreter", "InterpreterError", "TooLongError", "interpret", "shape_and_dtype"]
