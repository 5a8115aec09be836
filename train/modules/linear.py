"""Linear maps and embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...api.errors import ShapeError
from ...library.nn import namespace as nn
from ...library.numpy import namespace as lnp
from ...library.random import namespace as random
from .initializers import Initializer, normal, torch_uniform
from .module import Module

__all__ = ["Embedding", "Linear"]


class Linear(Module):
    """`x @ weight.T + bias`.

    Args:
        in_features, out_features: sizes of the last dims of argument and result.
        bias: whether there is one.
        key: of `lamina.random`.
        dtype: of the parameters.
        init: fills the weight; by default, and for the bias always, uniform within `1 / sqrt(in_features)`.

    Attributes:
        weight: floats[out_features, in_features].
        bias: floats[out_features], or None.

    Cost: `2 * in_features * out_features` flops a row.

    >>> import lamina as lm, numpy as np
    >>> lm.train.modules.Linear(3, 2, key=lm.random.key(0))(np.ones((5, 3), np.float32)).shape
    (5, 2)
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        key: Any,
        dtype: Any = np.float32,
        init: Initializer | None = None,
    ) -> None:
        keys = random.split(key)
        fill = torch_uniform(in_features)
        self.weight = (init or fill)(keys[0], (out_features, in_features), dtype)
        self.bias = fill(keys[1], (out_features,), dtype) if bias else None

    def __call__(self, x: Any) -> Any:
        """From floats[..., in_features], floats[..., out_features].

        Raises:
            ShapeError: the last dim is another.
        """
        if lnp.shape(x)[-1:] != self.weight.shape[1:]:
            raise ShapeError(f"Linear takes [..., {self.weight.shape[1]}], got {list(lnp.shape(x))}")
        y = lnp.matmul(x, self.weight.T)
        return y if self.bias is None else y + self.bias


class Embedding(Module):
    """Rows of a table, by their numbers.

    Args:
        num_embeddings, embedding_dim: rows and columns of the table.
        key, dtype, init: as of `Linear`; by default normal numbers of deviation 1.

    Attributes:
        weight: floats[num_embeddings, embedding_dim].
    """

    weight: Any

    def __init__(
        self, num_embeddings: int, embedding_dim: int, *, key: Any, dtype: Any = np.float32, init: Initializer | None = None
    ) -> None:
        self.weight = (init or normal())(key, (num_embeddings, embedding_dim), dtype)

    def __call__(self, ids: Any) -> Any:
        """From integers[...], floats[..., embedding_dim]."""
        return nn.embedding(ids, self.weight)

    def attend(self, x: Any) -> Any:
        """Scores of each row, `x @ weight.T`: for models whose last layer is the transpose of their first."""
        return lnp.matmul(x, self.weight.T)
