"""ONNX: `from_onnx` reads a model as a function of arrays.

`model.py` reads and checks a file, `nodes.py` has the nodes and the table of their functions, which `ops/` fills, `run.py`
evaluates a graph, and `function.py` has what `from_onnx` returns.
"""

from .function import OnnxFunction, from_onnx

__all__ = ["OnnxFunction", "from_onnx"]
