"""`lamina.data`: pipelines of data for training, which can be saved and resumed."""

from __future__ import annotations

from .dataset import Dataset as Dataset
from .dataset import Iteration as Iteration
from .dataset import from_arrays as from_arrays
from .dataset import from_iterable as from_iterable
