"""`lamina.train.dataset`: pipelines of data for training, which can be saved and resumed."""

from __future__ import annotations

from .pipeline import Dataset as Dataset
from .pipeline import Iteration as Iteration
from .pipeline import from_arrays as from_arrays
from .pipeline import from_iterable as from_iterable
