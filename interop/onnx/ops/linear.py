"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....library.linalg import namespace as linalg
from ....library.numpy import namespace as lnp
from ..nodes import Node, op
from ..values import lifted, operands


@op("MatMul")
def matmul(node: Node, x: Any, y: Any) -> Any:
    return lnp.matmul(lifted(x), lifted(y))


@op("Gemm")
def gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    """`alpha * a @ b + beta * c`, each matrix transposed where its attribute says so."""
    a = a.T if node.get("transA", 0) else a
    b = b.T if node.get("transB", 0) else b
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    y = lnp.matmul(a, b)
    y = y if alpha == 1 else y * np.asarray(alpha, y.dtype)
    if c is None or not beta:
        return y
    return y + (c if beta == 1 else c * np.asarray(beta, c.dtype))


@op("Einsum")
def einsum(node: Node, *given: Any) -> Any:
    xp, *values = operands(*given)
    return xp.einsum(node.need("equation").replace(" ", ""), *values)


@op("Det")
def det(node: Node, x: Any) -> Any:
    return linalg.det(x)
