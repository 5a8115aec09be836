"""A training loop: a step, its data, a progress bar and checkpoints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..api.functions import jit, value_and_grad
from ..library.random import namespace as random
from .checkpoints import Checkpoints
from .dataset import Dataset, from_iterable
from .optim import Optimizer


class TrainState(NamedTuple):
    """The state that a training step takes and returns.

    Attributes:
        model: any tree of arrays, as a `Module`.
        optimizer: the state of the optimizer.
        key: of `lamina.random`; a step uses `fold_in(key, step)`.
        step: how many steps there were, an int32.
    """

    model: Any
    optimizer: Any
    key: Any
    step: Any


def start(model: Any, optimizer: Optimizer, key: Any) -> TrainState:
    """The state before the first step."""
    return TrainState(model, optimizer.init(model), key, np.zeros((), np.int32))


def make_step(
    loss: Callable[..., Any],
    optimizer: Optimizer,
    *,
    stateful: bool = False,
    jit: bool = True,
    capture: str = "auto",
    donate: bool = False,
) -> Callable[[TrainState, Any], tuple[TrainState, Any]]:
    """The function of a training step: forward, backward and update in one program.

    Args:
        loss: `loss(model, batch, key)` is a scalar; with `stateful` a pair of it and the model for the next step, as layers
            like `BatchNorm` return it.
        optimizer: computes the updates of the parameters.
        stateful: see above. Buffers are those of the returned model, parameters those of the optimizer.
        jit: whether the step is compiled; otherwise each call traces the loss anew.
        capture: how Python's control flow in the loss is captured, as of `lm.jit`.
        donate: whether a state is given away, so that the next one takes its memory; arrays that the first state was made from
            are then overwritten.

    Returns:
        A function from a state and a batch to the next state and the loss before it.
    """

    def step(state: TrainState, batch: Any) -> tuple[TrainState, Any]:
        key = random.fold_in(state.key, state.step)
        out, grads = value_and_grad(loss, has_aux=stateful)(state.model, batch, key)
        value, model = out if stateful else (out, state.model)
        model, after = optimizer.step(grads, state.optimizer, model)
        return TrainState(model, after, state.key, np.int32(1) + state.step), value

    return _compiled(step, donate, capture) if jit else step


def _compiled(step: Callable[..., Any], donate: bool, capture: str) -> Callable[..., Any]:
    return jit(step, donate_argnums=(0,) if donate else (), capture=capture)


def fit(
    step: Callable[[Any, Any], tuple[Any, Any]],
    state: Any,
    data: Dataset | Iterable[Any],
    *,
    steps: int | None = None,
    epochs: int | None = None,
    checkpoints: Checkpoints | None = None,
    every: int = 100,
    progress: bool = True,
    on_step: Callable[[int, Any, Any], None] | None = None,
) -> tuple[Any, np.ndarray[Any, Any]]:
    """Train: call a step with each batch in turn.

    With checkpoints, training continues from the last one, at its position in the data, with the bits of a training without a
    stop would have.

    Args:
        step: from a state and a batch to the next state and a scalar, as from `make_step`.
        state: at first, any tree of arrays.
        data: of batches; an iterable is one of `lm.train.dataset.from_iterable`.
        steps: how many in all, with those before a checkpoint; or
        epochs: how often the data are passed through in all.
        checkpoints: where the state and the position in the data are kept, every `every` steps and at the end.
        every: see above.
        progress: whether a bar is shown, on a terminal and where `rich` is installed.
        on_step: called with the number of steps so far, the state and the scalar, after each.

    Returns:
        The last state, and the scalars of the steps of this call, float64.

    Raises:
        ValueError: neither `steps` nor `epochs` is given.

    >>> import lamina as lm, numpy as np
    >>> data = lm.train.dataset.from_arrays(np.float32([1, 2, 3, 4])).batch(2)
    >>> loss = lambda w, x, key: ((x - w) ** 2).mean()
    >>> optimizer = lm.train.optim.sgd(0.1)
    >>> state = lm.train.start(np.float32(0), optimizer, lm.random.key(0))
    >>> state, losses = lm.train.fit(lm.train.make_step(loss, optimizer), state, data, epochs=50)
    >>> len(losses), abs(float(state.model) - 2.6) < 0.5
    (100, True)
    """
    if steps is None and epochs is None:
        raise ValueError("fit needs to know when to end: give steps or epochs")
    source = data if isinstance(data, Dataset) else from_iterable(data)
    done, place = 0, None
    if checkpoints is not None and (known := checkpoints.steps()):
        empty = {"epoch": np.int64(0), "position": np.int64(0)}
        kept = checkpoints.restore({"state": state, "data": empty})
        done, state, place = known[-1], kept["state"], kept["data"]
    scalars = []
    with source.iterate(epochs, place) as batches, _bar(progress, steps, done) as show:
        for batch in batches if steps is None or done < steps else ():
            state, value = step(state, batch)
            done += 1
            scalars.append(float(value))
            show(done, scalars[-1])
            if on_step is not None:
                on_step(done, state, value)
            last = steps is not None and done >= steps
            if checkpoints is not None and (done % every == 0 or last):
                checkpoints.save(done, {"state": state, "data": batches.state()})
            if last:
                break
        if checkpoints is not None and scalars and checkpoints.steps()[-1:] != [done]:
            checkpoints.save(done, {"state": state, "data": batches.state()})
    return state, np.array(scalars, np.float64)


@contextmanager
def _bar(wanted: bool, total: int | None, done: int) -> Iterator[Callable[[int, float], None]]:
    """A function that shows how many steps are done, and their scalar."""
    if not wanted or not sys.stderr.isatty():
        yield lambda done, value: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    except ImportError:
        yield lambda done, value: None
        return
    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, completed=done)
        yield lambda done, value: bar.update(task, completed=done, description=f"loss {value:.4g}")
