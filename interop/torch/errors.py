"""Errors of programs of torch: the node, its op, the line of the user, and what is wrong with it."""

from ...api.errors import FixedSizeError, LaminaError


class TorchError(LaminaError):
    """A program of torch has something that is not supported, or is called with other arguments; the message names the node."""


class UnsupportedOp(TorchError):
    """No function computes an op, or not with these arguments."""


class NeedsSize(TorchError, FixedSizeError):
    """An op is computed for known sizes alone: one with a symbolic size is compiled for each of its values, with a warning."""


class UnknownValue(UnsupportedOp):
    """The shape of a result depends on the values of an array, which are known when the program runs only."""
