"""`lamina.train.modules`: models as trees of arrays. `Module`, the layers, and initial values of their parameters."""

from __future__ import annotations

from . import initializers as initializers
from .attention import KeyValueCache as KeyValueCache
from .attention import MultiHeadAttention as MultiHeadAttention
from .containers import MLP as MLP
from .containers import Dropout as Dropout
from .containers import Flatten as Flatten
from .containers import Lambda as Lambda
from .containers import Sequential as Sequential
from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .conv import ConvTranspose1d as ConvTranspose1d
from .conv import ConvTranspose2d as ConvTranspose2d
from .conv import ConvTranspose3d as ConvTranspose3d
from .linear import Embedding as Embedding
from .linear import Linear as Linear
from .module import Module as Module
from .module import buffer as buffer
from .module import combine as combine
from .module import partition as partition
from .module import static as static
from .norms import BatchNorm as BatchNorm
from .norms import GroupNorm as GroupNorm
from .norms import LayerNorm as LayerNorm
from .norms import RMSNorm as RMSNorm
from .pool import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pool import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pool import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from .pool import AvgPool1d as AvgPool1d
from .pool import AvgPool2d as AvgPool2d
from .pool import AvgPool3d as AvgPool3d
from .pool import MaxPool1d as MaxPool1d
from .pool import MaxPool2d as MaxPool2d
from .pool import MaxPool3d as MaxPool3d
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
