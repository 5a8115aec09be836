"""Checkpoints: the states of a training, in a folder that keeps the last ones."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .files import FileError, load, save

_NAME = re.compile(r"step_(\d+)\.safetensors")


class Checkpoints:
    """A folder of states by step. Each is written as a whole or not at all, and then the oldest ones are removed.

    Args:
        folder: is made when it is missing.
        keep: how many of the last ones stay; None keeps all.

    Raises:
        ValueError: `keep` is less than 1.

    >>> import lamina as lm, numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = lm.train.Checkpoints(folder, keep=2)
    ...     for step in (10, 20, 30):
    ...         checkpoints.save(step, {"w": np.float32([step])})
    ...     checkpoints.steps(), checkpoints.restore({"w": np.float32([0])})
    ([20, 30], {'w': array([30.], dtype=float32)})
    """

    def __init__(self, folder: str | os.PathLike[str], keep: int | None = 3):
        if keep is not None and keep < 1:
            raise ValueError(f"Checkpoints keeps one or more, got keep={keep}")
        self.folder, self.keep = Path(folder), keep

    def path(self, step: int) -> Path:
        """The file of a step."""
        return self.folder / f"step_{step:09d}.safetensors"

    def steps(self) -> list[int]:
        """The steps there are, in order."""
        if not self.folder.is_dir():
            return []
        return sorted(int(found[1]) for path in self.folder.iterdir() if (found := _NAME.fullmatch(path.name)))

    def save(self, step: int, tree: Any, metadata: Mapping[str, str] | None = None) -> None:
        """Keep a tree of arrays as the state of a step; raises the errors of `lm.save`."""
        save(self.path(step), tree, metadata)
        if self.keep is not None:
            for old in self.steps()[: -self.keep]:
                self.path(old).unlink(missing_ok=True)

    def restore(self, like: Any, step: int | None = None) -> Any:
        """The tree of a step, by default of the last one.

        Args:
            like: a tree of the structure, shapes and dtypes that it has.
            step: one of `steps()`.

        Raises:
            FileError: there is no such step, or the file is damaged or holds another tree.
        """
        known = self.steps()
        if not known or (step is not None and step not in known):
            wanted = "checkpoint" if step is None else f"step {step}"
            raise FileError(f"{self.folder} holds no {wanted}; it has the steps {known}")
        return load(self.path(known[-1] if step is None else step), like)
