"""`lamina.train`: modules, optimizers, data sets, the training loop, checkpoints and files of arrays."""

from __future__ import annotations

from . import dataset as dataset
from . import modules as modules
from . import optim as optim
from .checkpoints import Checkpoints as Checkpoints
from .files import FileError as FileError
from .files import load as load
from .files import load_metadata as load_metadata
from .files import save as save
from .loop import TrainState as TrainState
from .loop import fit as fit
from .loop import make_step as make_step
from .loop import start as start
