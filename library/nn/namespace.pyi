# from the table names.toml by `make names`: do not edit
"""`lamina.nn`: functions of neural networks, each one composite op that passes can recognise."""

from typing import Any

from . import initializers as initializers
from .activations import celu as celu
from .activations import elu as elu
from .activations import erf as erf
from .activations import gelu as gelu
from .activations import glu as glu
from .activations import hard_sigmoid as hard_sigmoid
from .activations import hard_silu as hard_silu
from .activations import hard_swish as hard_swish
from .activations import hard_tanh as hard_tanh
from .activations import identity as identity
from .activations import leaky_relu as leaky_relu
from .activations import log1mexp as log1mexp
from .activations import log_sigmoid as log_sigmoid
from .activations import mish as mish
from .activations import relu as relu
from .activations import relu6 as relu6
from .activations import selu as selu
from .activations import sigmoid as sigmoid
from .activations import silu as silu
from .activations import soft_sign as soft_sign
from .activations import softplus as softplus
from .activations import sparse_plus as sparse_plus
from .activations import sparse_sigmoid as sparse_sigmoid
from .activations import squareplus as squareplus
from .activations import standardize as standardize
from .activations import swish as swish
from .attention import attention as attention
from .attention import dot_product_attention as dot_product_attention
from .attention import rotary_embedding as rotary_embedding
from .detection import box_iou as box_iou
from .detection import non_max_suppression as non_max_suppression
from .dropout import dropout as dropout
from .embedding import embedding as embedding
from .embedding import one_hot as one_hot
from .losses import binary_cross_entropy as binary_cross_entropy
from .losses import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .losses import cosine_embedding_loss as cosine_embedding_loss
from .losses import cosine_similarity as cosine_similarity
from .losses import ctc_loss as ctc_loss
from .losses import focal_loss as focal_loss
from .losses import gaussian_nll_loss as gaussian_nll_loss
from .losses import hinge_embedding_loss as hinge_embedding_loss
from .losses import huber_loss as huber_loss
from .losses import kl_div as kl_div
from .losses import l1_loss as l1_loss
from .losses import margin_ranking_loss as margin_ranking_loss
from .losses import mse_loss as mse_loss
from .losses import nll_loss as nll_loss
from .losses import poisson_nll_loss as poisson_nll_loss
from .losses import smooth_l1_loss as smooth_l1_loss
from .losses import soft_margin_loss as soft_margin_loss
from .losses import triplet_margin_loss as triplet_margin_loss
from .norms import batch_norm as batch_norm
from .norms import batch_norm_train as batch_norm_train
from .norms import group_norm as group_norm
from .norms import instance_norm as instance_norm
from .norms import layer_norm as layer_norm
from .norms import normalize as normalize
from .norms import rms_norm as rms_norm
from .recurrent import gru as gru
from .recurrent import lstm as lstm
from .recurrent import rnn as rnn
from .resize import interpolate as interpolate
from .resize import resize as resize
from .softmax import cross_entropy as cross_entropy
from .softmax import log_softmax as log_softmax
from .softmax import logmeanexp as logmeanexp
from .softmax import logsumexp as logsumexp
from .softmax import softmax as softmax

def adaptive_avg_pool1d(x: Any, size: Any, layout: str = 'NCW') -> Any:
    """`adaptive_avg_pool2d` of sequences `[batch, features, width]`; layouts are "NCW" and "NWC"."""

def adaptive_avg_pool2d(x: Any, size: Any, layout: str = 'NCHW') -> Any:
    """The means of `size` windows that cover the images, as even as can be: neighbouring ones share elements if need be."""

def adaptive_avg_pool3d(x: Any, size: Any, layout: str = 'NCDHW') -> Any:
    """`adaptive_avg_pool2d` of volumes `[batch, features, depth, height, width]`; layouts are "NCDHW" and "NDHWC"."""

def adaptive_max_pool1d(x: Any, size: Any, layout: str = 'NCW') -> Any:
    """`adaptive_max_pool2d` of sequences `[batch, features, width]`; layouts are "NCW" and "NWC"."""

def adaptive_max_pool2d(x: Any, size: Any, layout: str = 'NCHW') -> Any:
    """The maxima of the windows of `adaptive_avg_pool2d`."""

def adaptive_max_pool3d(x: Any, size: Any, layout: str = 'NCDHW') -> Any:
    """`adaptive_max_pool2d` of volumes `[batch, features, depth, height, width]`; layouts are "NCDHW" and "NDHWC"."""

def avg_pool1d(x: Any, window: Any, stride: Any = None, padding: Any = 'VALID', count_include_pad: bool = True, layout: str = 'NCW') -> Any:
    """`avg_pool2d` of sequences `[batch, features, width]`; layouts are "NCW" and "NWC"."""

def avg_pool2d(x: Any, window: Any, stride: Any = None, padding: Any = 'VALID', count_include_pad: bool = True, layout: str = 'NCHW') -> Any:
    """The mean of every window of images; over whole images it is `x.mean((2, 3))`."""

def avg_pool3d(x: Any, window: Any, stride: Any = None, padding: Any = 'VALID', count_include_pad: bool = True, layout: str = 'NCDHW') -> Any:
    """`avg_pool2d` of volumes `[batch, features, depth, height, width]`; layouts are "NCDHW" and "NDHWC"."""

def conv1d(x: Any, w: Any, stride: Any = 1, padding: Any = 'VALID', dilation: Any = 1, groups: int = 1, layout: str = 'NCW', tile: int | None = None) -> Any:
    """`conv2d` of sequences `[batch, features, width]`; layouts are "NCW" and "NWC"."""

def conv2d(x: Any, w: Any, stride: Any = 1, padding: Any = 'VALID', dilation: Any = 1, groups: int = 1, layout: str = 'NCHW', tile: int | None = None) -> Any:
    """The convolution of images with filters (without mirroring them, as in torch and jax)."""

def conv3d(x: Any, w: Any, stride: Any = 1, padding: Any = 'VALID', dilation: Any = 1, groups: int = 1, layout: str = 'NCDHW', tile: int | None = None) -> Any:
    """`conv2d` of volumes `[batch, features, depth, height, width]`; layouts are "NCDHW" and "NDHWC"."""

def conv_transpose1d(x: Any, w: Any, stride: Any = 1, padding: Any = 'VALID', output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layout: str = 'NCW') -> Any:
    """`conv_transpose2d` of sequences `[batch, features, width]`; layouts are "NCW" and "NWC"."""

def conv_transpose2d(x: Any, w: Any, stride: Any = 1, padding: Any = 'VALID', output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layout: str = 'NCHW') -> Any:
    """The transpose of `conv2d` by its images, as torch's function of the name: each element of x adds a filter."""

def conv_transpose3d(x: Any, w: Any, stride: Any = 1, padding: Any = 'VALID', output_padding: Any = 0, dilation: Any = 1, groups: int = 1, layout: str = 'NCDHW') -> Any:
    """`conv_transpose2d` of volumes `[batch, features, depth, height, width]`; layouts are "NCDHW" and "NDHWC"."""

def max_pool1d(x: Any, window: Any, stride: Any = None, padding: Any = 'VALID', dilation: Any = 1, layout: str = 'NCW') -> Any:
    """`max_pool2d` of sequences `[batch, features, width]`; layouts are "NCW" and "NWC"."""

def max_pool2d(x: Any, window: Any, stride: Any = None, padding: Any = 'VALID', dilation: Any = 1, layout: str = 'NCHW') -> Any:
    """The maximum of every window of images; NaN where one holds a NaN."""

def max_pool3d(x: Any, window: Any, stride: Any = None, padding: Any = 'VALID', dilation: Any = 1, layout: str = 'NCDHW') -> Any:
    """`max_pool2d` of volumes `[batch, features, depth, height, width]`; layouts are "NCDHW" and "NDHWC"."""

def tanh(x: Any, /) -> Any:
    """`np.tanh`, on arrays and traced arrays."""

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "attention", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "batch_norm_train",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "box_iou", "celu", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy",
    "ctc_loss", "dot_product_attention", "dropout", "elu", "embedding", "erf", "focal_loss", "gaussian_nll_loss", "gelu", "glu",
    "group_norm", "gru", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "hinge_embedding_loss", "huber_loss",
    "identity", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "log1mexp", "log_sigmoid",
    "log_softmax", "logmeanexp", "logsumexp", "lstm", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "mish",
    "mse_loss", "nll_loss", "non_max_suppression", "normalize", "one_hot", "poisson_nll_loss", "relu", "relu6", "resize",
    "rms_norm", "rnn", "rotary_embedding", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "soft_sign",
    "softmax", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus", "standardize", "swish", "tanh", "triplet_margin_loss",
]
