"""The reference interpreter: the meaning of IR, in NumPy. See `run.py`."""

from .buffers import InterpreterError, TooLongError
from .run import Interpreter, interpret, shape_and_dtype

__all__ = ["Interpreter", "InterpreterError", "TooLongError", "interpret", "shape_and_dtype"]
