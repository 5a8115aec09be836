"""`chain`: functions and models one after the other as one compiled program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..api.errors import LaminaError, ShapeError, SizeError, is_interruption
from ..api.functions import jit
from ..api.trees import leaves


def chain(*stages: Callable[..., Any], dynamic: Mapping[str, Sequence[Any]] | None = None) -> Callable[..., Any]:
    """Functions one after the other, as one compiled program: what comes before a model, the model, what comes after it.

    The result of a stage is the argument of the next one; a tuple is several arguments. Stages are fused as the ops of one
    function are. The chain is a function of `lm.jit`: `grad`, `vmap`, `lower` and `to_onnx` take it, `lower(...).module`
    is what `lamina-compile` makes an object of.

    Args:
        stages: functions of arrays: Python's, of `jit`, of `from_onnx` or `from_stablehlo`.
        dynamic: symbolic sizes of the arguments of the first stage, as `jit` takes them; by default the dims that it names, if
            it is a model.

    Raises:
        TypeError: there is no stage, or one is no function.
        ShapeError: when it is called: a stage does not take what the one before it returns, or its results depend on values
            (`NonMaxSuppression` of a model; `lm.nn.non_max_suppression` has a fixed number of results). The message names the
            stage and the types that it was given.

    >>> import numpy as np, lamina as lm, lamina.numpy as lnp
    >>> normalize = lambda image: (image.astype(np.float32) / 255 - 0.5) * 2
    >>> best = lambda scores: (lnp.argmax(scores, -1), lnp.max(scores, -1))
    >>> f = lm.chain(normalize, lm.nn.softmax, best, dynamic={"image": ("n", None)})
    >>> f(np.uint8([[0, 255], [255, 0], [128, 0]]))
    (array([1, 0, 0]), array([0.880797 , 0.880797 , 0.7318289], dtype=float32))
    """
    if not stages:
        raise TypeError("chain() needs at least one function")
    for k, stage in enumerate(stages):
        if not callable(stage):
            raise TypeError(f"chain() takes functions, stage {k + 1} is {type(stage).__name__}: {stage!r:.60}")

    def chained(*args: Any, **named: Any) -> Any:
        values: Any = args
        for k, stage in enumerate(stages):
            try:
                made = stage(*values, **named) if k == 0 else stage(*values)
            except SizeError:  # `jit` compiles for other sizes
                raise
            except (LaminaError, TypeError, ValueError) as error:
                if is_interruption(error):
                    raise
                given = ", ".join(
                    f"{x.dtype}[{', '.join(map(str, x.shape))}]" for x in leaves((values, named)) if hasattr(x, "shape")
                )
                where = f"stage {k + 1} of {len(stages)}, {_name(stage)}, given {given or 'nothing'}"
                raise ShapeError(f"chain: {where}: {error}") from error
            values = made if type(made) is tuple else (made,)
        return values[0] if len(values) == 1 else values

    chained.__name__ = chained.__qualname__ = "chain"
    if (signature := _signature(stages[0])) is not None:
        chained.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    if dynamic is None:
        dynamic = getattr(stages[0], "dynamic", None)
    return jit(chained, dynamic=dynamic, capture="trace")


def _name(stage: Any) -> str:
    return getattr(stage, "__name__", None) or type(stage).__name__


def _signature(stage: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(stage)
    except (TypeError, ValueError):
        return None
