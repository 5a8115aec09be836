"""Errors of models: the node, its op, and what is wrong with it."""

from ...api.errors import FixedSizeError, LaminaError


class OnnxError(LaminaError):
    """An ONNX model is malformed, too large, or has something that is not supported; the message names the node."""


class UnsupportedOp(OnnxError):
    """No function computes an op, or not with these attributes."""


class NeedsSize(OnnxError, FixedSizeError):
    """An op is computed for known sizes alone: one with a symbolic size is compiled for each of its values, with a warning."""


class UnknownValue(OnnxError):
    """An op needs the value of an input, such as a shape, that is known when the program runs only."""
