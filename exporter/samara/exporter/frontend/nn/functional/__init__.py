# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.functional`: layers without state, under PyTorch's names (NCHW)."""

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.nn.functional.activation import alpha_dropout as alpha_dropout
from samara.exporter.frontend.nn.functional.activation import celu as celu
from samara.exporter.frontend.nn.functional.activation import dropout as dropout
from samara.exporter.frontend.nn.functional.activation import dropout1d as dropout1d
from samara.exporter.frontend.nn.functional.activation import dropout2d as dropout2d
from samara.exporter.frontend.nn.functional.activation import dropout3d as dropout3d
from samara.exporter.frontend.nn.functional.activation import elu as elu
from samara.exporter.frontend.nn.functional.activation import gelu as gelu
from samara.exporter.frontend.nn.functional.activation import glu as glu
from samara.exporter.frontend.nn.functional.activation import hardshrink as hardshrink
from samara.exporter.frontend.nn.functional.activation import hardsigmoid as hardsigmoid
from samara.exporter.frontend.nn.functional.activation import hardswish as hardswish
from samara.exporter.frontend.nn.functional.activation import hardtanh as hardtanh
from samara.exporter.frontend.nn.functional.activation import leaky_relu as leaky_relu
from samara.exporter.frontend.nn.functional.activation import log_softmax as log_softmax
from samara.exporter.frontend.nn.functional.activation import logsigmoid as logsigmoid
from samara.exporter.frontend.nn.functional.activation import mish as mish
from samara.exporter.frontend.nn.functional.activation import normalize as normalize
from samara.exporter.frontend.nn.functional.activation import prelu as prelu
from samara.exporter.frontend.nn.functional.activation import relu as relu
from samara.exporter.frontend.nn.functional.activation import relu6 as relu6
from samara.exporter.frontend.nn.functional.activation import rrelu as rrelu
from samara.exporter.frontend.nn.functional.activation import selu as selu
from samara.exporter.frontend.nn.functional.activation import sigmoid as sigmoid
from samara.exporter.frontend.nn.functional.activation import silu as silu
from samara.exporter.frontend.nn.functional.activation import softmax as softmax
from samara.exporter.frontend.nn.functional.activation import softmin as softmin
from samara.exporter.frontend.nn.functional.activation import softplus as softplus
from samara.exporter.frontend.nn.functional.activation import softshrink as softshrink
from samara.exporter.frontend.nn.functional.activation import softsign as softsign
from samara.exporter.frontend.nn.functional.activation import tanh as tanh
from samara.exporter.frontend.nn.functional.activation import tanhshrink as tanhshrink
from samara.exporter.frontend.nn.functional.activation import threshold as threshold
from samara.exporter.frontend.nn.functional.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from samara.exporter.frontend.nn.functional.ctc import ctc_loss as ctc_loss
from samara.exporter.frontend.nn.functional.linear import bilinear as bilinear
from samara.exporter.frontend.nn.functional.linear import conv1d as conv1d
from samara.exporter.frontend.nn.functional.linear import conv2d as conv2d
from samara.exporter.frontend.nn.functional.linear import conv3d as conv3d
from samara.exporter.frontend.nn.functional.linear import conv_transpose1d as conv_transpose1d
from samara.exporter.frontend.nn.functional.linear import conv_transpose2d as conv_transpose2d
from samara.exporter.frontend.nn.functional.linear import conv_transpose3d as conv_transpose3d
from samara.exporter.frontend.nn.functional.linear import embedding as embedding
from samara.exporter.frontend.nn.functional.linear import embedding_bag as embedding_bag
from samara.exporter.frontend.nn.functional.linear import linear as linear
from samara.exporter.frontend.nn.functional.linear import one_hot as one_hot
from samara.exporter.frontend.nn.functional.loss import binary_cross_entropy as binary_cross_entropy
from samara.exporter.frontend.nn.functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from samara.exporter.frontend.nn.functional.loss import (
    cosine_embedding_loss as cosine_embedding_loss,
)
from samara.exporter.frontend.nn.functional.loss import cosine_similarity as cosine_similarity
from samara.exporter.frontend.nn.functional.loss import cross_entropy as cross_entropy
from samara.exporter.frontend.nn.functional.loss import hinge_embedding_loss as hinge_embedding_loss
from samara.exporter.frontend.nn.functional.loss import huber_loss as huber_loss
from samara.exporter.frontend.nn.functional.loss import kl_div as kl_div
from samara.exporter.frontend.nn.functional.loss import l1_loss as l1_loss
from samara.exporter.frontend.nn.functional.loss import margin_ranking_loss as margin_ranking_loss
from samara.exporter.frontend.nn.functional.loss import mse_loss as mse_loss
from samara.exporter.frontend.nn.functional.loss import nll_loss as nll_loss
from samara.exporter.frontend.nn.functional.loss import poisson_nll_loss as poisson_nll_loss
from samara.exporter.frontend.nn.functional.loss import smooth_l1_loss as smooth_l1_loss
from samara.exporter.frontend.nn.functional.margin import gaussian_nll_loss as gaussian_nll_loss
from samara.exporter.frontend.nn.functional.margin import gumbel_softmax as gumbel_softmax
from samara.exporter.frontend.nn.functional.margin import multi_margin_loss as multi_margin_loss
from samara.exporter.frontend.nn.functional.margin import (
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
)
from samara.exporter.frontend.nn.functional.margin import pairwise_distance as pairwise_distance
from samara.exporter.frontend.nn.functional.margin import soft_margin_loss as soft_margin_loss
from samara.exporter.frontend.nn.functional.margin import triplet_margin_loss as triplet_margin_loss
from samara.exporter.frontend.nn.functional.margin import (
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from samara.exporter.frontend.nn.functional.normalization import batch_norm as batch_norm
from samara.exporter.frontend.nn.functional.normalization import group_norm as group_norm
from samara.exporter.frontend.nn.functional.normalization import instance_norm as instance_norm
from samara.exporter.frontend.nn.functional.normalization import layer_norm as layer_norm
from samara.exporter.frontend.nn.functional.normalization import (
    local_response_norm as local_response_norm,
)
from samara.exporter.frontend.nn.functional.normalization import rms_norm as rms_norm
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
)
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_avg_pool2d as adaptive_avg_pool2d,
)
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_avg_pool3d as adaptive_avg_pool3d,
)
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_max_pool1d as adaptive_max_pool1d,
)
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_max_pool2d as adaptive_max_pool2d,
)
from samara.exporter.frontend.nn.functional.pooling import (
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from samara.exporter.frontend.nn.functional.pooling import avg_pool1d as avg_pool1d
from samara.exporter.frontend.nn.functional.pooling import avg_pool2d as avg_pool2d
from samara.exporter.frontend.nn.functional.pooling import avg_pool3d as avg_pool3d
from samara.exporter.frontend.nn.functional.pooling import lp_pool1d as lp_pool1d
from samara.exporter.frontend.nn.functional.pooling import lp_pool2d as lp_pool2d
from samara.exporter.frontend.nn.functional.pooling import max_pool1d as max_pool1d
from samara.exporter.frontend.nn.functional.pooling import max_pool2d as max_pool2d
from samara.exporter.frontend.nn.functional.pooling import max_pool3d as max_pool3d
from samara.exporter.frontend.nn.functional.vision import affine_grid as affine_grid
from samara.exporter.frontend.nn.functional.vision import channel_shuffle as channel_shuffle
from samara.exporter.frontend.nn.functional.vision import fold as fold
from samara.exporter.frontend.nn.functional.vision import grid_sample as grid_sample
from samara.exporter.frontend.nn.functional.vision import interpolate as interpolate
from samara.exporter.frontend.nn.functional.vision import pad as pad
from samara.exporter.frontend.nn.functional.vision import pixel_shuffle as pixel_shuffle
from samara.exporter.frontend.nn.functional.vision import pixel_unshuffle as pixel_unshuffle
from samara.exporter.frontend.nn.functional.vision import unfold as unfold
from samara.exporter.frontend.nn.functional.vision import upsample as upsample

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "embedding",
    "embedding_bag",
    "fold",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "rrelu",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
]

name_counterparts(globals(), __all__, "torch.nn.functional")
