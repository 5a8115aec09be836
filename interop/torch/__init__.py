"""PyTorch: `from_torch` reads a module or an exported program as a function of arrays; `backend.py` is for `torch.compile`.

`nodes.py` has the calls of a graph and the table of their functions, which `ops/` fills, `run.py` evaluates a graph, and
`function.py` has what `from_torch` returns.
"""

from .function import TorchFunction, from_torch

__all__ = ["TorchFunction", "from_torch"]
