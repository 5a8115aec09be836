"""`lamina.training`: steps, loops, checkpoints and files."""

from __future__ import annotations

from .checkpoints import Checkpoints as Checkpoints
from .files import FileError as FileError
from .files import load as load
from .files import load_metadata as load_metadata
from .files import save as save
from .fit import TrainState as TrainState
from .fit import fit as fit
from .fit import make_step as make_step
from .fit import start as start
