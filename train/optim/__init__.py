"""`lamina.train.optim`: optimizers as pairs of pure functions, their parts, and schedules of rates."""

from __future__ import annotations

from .optimizers import adagrad as adagrad
from .optimizers import adam as adam
from .optimizers import adamw as adamw
from .optimizers import lion as lion
from .optimizers import nadam as nadam
from .optimizers import rmsprop as rmsprop
from .optimizers import sgd as sgd
from .parts import accumulate as accumulate
from .parts import add_decayed_weights as add_decayed_weights
from .parts import averaged as averaged
from .parts import clip as clip
from .parts import clip_by_global_norm as clip_by_global_norm
from .parts import clip_by_norm as clip_by_norm
from .parts import ema as ema
from .parts import global_norm as global_norm
from .parts import scale as scale
from .parts import scale_by_adagrad as scale_by_adagrad
from .parts import scale_by_adam as scale_by_adam
from .parts import scale_by_lion as scale_by_lion
from .parts import scale_by_rate as scale_by_rate
from .parts import scale_by_rms as scale_by_rms
from .parts import trace as trace
from .schedules import Schedule as Schedule
from .schedules import constant_schedule as constant_schedule
from .schedules import cosine_decay as cosine_decay
from .schedules import exponential_decay as exponential_decay
from .schedules import join_schedules as join_schedules
from .schedules import linear_schedule as linear_schedule
from .schedules import one_cycle as one_cycle
from .schedules import piecewise_constant as piecewise_constant
from .schedules import warmup_cosine_decay as warmup_cosine_decay
from .transformation import Optimizer as Optimizer
from .transformation import apply_updates as apply_updates
from .transformation import chain as chain
