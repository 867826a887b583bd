# SPDX-License-Identifier: Apache-2.0
"""`samara.nn`: layers and models, under PyTorch's names (NCHW)."""

from samara.exporter.frontend.nn import functional as functional
from samara.exporter.frontend.nn import init as init
from samara.exporter.frontend.nn import modules as modules
from samara.exporter.frontend.nn import parallel as parallel
from samara.exporter.frontend.nn import parameter as parameter
from samara.exporter.frontend.nn import utils as utils
from samara.exporter.frontend.nn.activations import CELU as CELU
from samara.exporter.frontend.nn.activations import ELU as ELU
from samara.exporter.frontend.nn.activations import GELU as GELU
from samara.exporter.frontend.nn.activations import GLU as GLU
from samara.exporter.frontend.nn.activations import SELU as SELU
from samara.exporter.frontend.nn.activations import AlphaDropout as AlphaDropout
from samara.exporter.frontend.nn.activations import Dropout as Dropout
from samara.exporter.frontend.nn.activations import Dropout1d as Dropout1d
from samara.exporter.frontend.nn.activations import Dropout2d as Dropout2d
from samara.exporter.frontend.nn.activations import Dropout3d as Dropout3d
from samara.exporter.frontend.nn.activations import Hardshrink as Hardshrink
from samara.exporter.frontend.nn.activations import Hardsigmoid as Hardsigmoid
from samara.exporter.frontend.nn.activations import Hardswish as Hardswish
from samara.exporter.frontend.nn.activations import Hardtanh as Hardtanh
from samara.exporter.frontend.nn.activations import LeakyReLU as LeakyReLU
from samara.exporter.frontend.nn.activations import LogSigmoid as LogSigmoid
from samara.exporter.frontend.nn.activations import LogSoftmax as LogSoftmax
from samara.exporter.frontend.nn.activations import Mish as Mish
from samara.exporter.frontend.nn.activations import PReLU as PReLU
from samara.exporter.frontend.nn.activations import ReLU as ReLU
from samara.exporter.frontend.nn.activations import ReLU6 as ReLU6
from samara.exporter.frontend.nn.activations import RReLU as RReLU
from samara.exporter.frontend.nn.activations import Sigmoid as Sigmoid
from samara.exporter.frontend.nn.activations import SiLU as SiLU
from samara.exporter.frontend.nn.activations import Softmax as Softmax
from samara.exporter.frontend.nn.activations import Softmin as Softmin
from samara.exporter.frontend.nn.activations import Softplus as Softplus
from samara.exporter.frontend.nn.activations import Softshrink as Softshrink
from samara.exporter.frontend.nn.activations import Softsign as Softsign
from samara.exporter.frontend.nn.activations import Tanh as Tanh
from samara.exporter.frontend.nn.activations import Tanhshrink as Tanhshrink
from samara.exporter.frontend.nn.activations import Threshold as Threshold
from samara.exporter.frontend.nn.attention import MultiheadAttention as MultiheadAttention
from samara.exporter.frontend.nn.cells import GRUCell as GRUCell
from samara.exporter.frontend.nn.cells import LSTMCell as LSTMCell
from samara.exporter.frontend.nn.cells import RNNCell as RNNCell
from samara.exporter.frontend.nn.containers import ModuleDict as ModuleDict
from samara.exporter.frontend.nn.containers import ModuleList as ModuleList
from samara.exporter.frontend.nn.containers import ParameterDict as ParameterDict
from samara.exporter.frontend.nn.containers import ParameterList as ParameterList
from samara.exporter.frontend.nn.containers import Sequential as Sequential
from samara.exporter.frontend.nn.decoder import GroupedQueryAttention as GroupedQueryAttention
from samara.exporter.frontend.nn.decoder import KeyValueCache as KeyValueCache
from samara.exporter.frontend.nn.decoder import RotaryEmbedding as RotaryEmbedding
from samara.exporter.frontend.nn.decoder import SwiGLU as SwiGLU
from samara.exporter.frontend.nn.embeddings import Embedding as Embedding
from samara.exporter.frontend.nn.embeddings import EmbeddingBag as EmbeddingBag
from samara.exporter.frontend.nn.images import Fold as Fold
from samara.exporter.frontend.nn.images import PixelShuffle as PixelShuffle
from samara.exporter.frontend.nn.images import PixelUnshuffle as PixelUnshuffle
from samara.exporter.frontend.nn.images import Unfold as Unfold
from samara.exporter.frontend.nn.images import Upsample as Upsample
from samara.exporter.frontend.nn.layers import Bilinear as Bilinear
from samara.exporter.frontend.nn.layers import Conv1d as Conv1d
from samara.exporter.frontend.nn.layers import Conv2d as Conv2d
from samara.exporter.frontend.nn.layers import Conv3d as Conv3d
from samara.exporter.frontend.nn.layers import ConvTranspose1d as ConvTranspose1d
from samara.exporter.frontend.nn.layers import ConvTranspose2d as ConvTranspose2d
from samara.exporter.frontend.nn.layers import ConvTranspose3d as ConvTranspose3d
from samara.exporter.frontend.nn.layers import Flatten as Flatten
from samara.exporter.frontend.nn.layers import Identity as Identity
from samara.exporter.frontend.nn.layers import Linear as Linear
from samara.exporter.frontend.nn.layers import Unflatten as Unflatten
from samara.exporter.frontend.nn.losses import BCELoss as BCELoss
from samara.exporter.frontend.nn.losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from samara.exporter.frontend.nn.losses import CosineEmbeddingLoss as CosineEmbeddingLoss
from samara.exporter.frontend.nn.losses import CosineSimilarity as CosineSimilarity
from samara.exporter.frontend.nn.losses import CrossEntropyLoss as CrossEntropyLoss
from samara.exporter.frontend.nn.losses import CTCLoss as CTCLoss
from samara.exporter.frontend.nn.losses import GaussianNLLLoss as GaussianNLLLoss
from samara.exporter.frontend.nn.losses import HingeEmbeddingLoss as HingeEmbeddingLoss
from samara.exporter.frontend.nn.losses import HuberLoss as HuberLoss
from samara.exporter.frontend.nn.losses import KLDivLoss as KLDivLoss
from samara.exporter.frontend.nn.losses import L1Loss as L1Loss
from samara.exporter.frontend.nn.losses import MarginRankingLoss as MarginRankingLoss
from samara.exporter.frontend.nn.losses import MSELoss as MSELoss
from samara.exporter.frontend.nn.losses import (
    MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss,
)
from samara.exporter.frontend.nn.losses import MultiMarginLoss as MultiMarginLoss
from samara.exporter.frontend.nn.losses import NLLLoss as NLLLoss
from samara.exporter.frontend.nn.losses import PairwiseDistance as PairwiseDistance
from samara.exporter.frontend.nn.losses import PoissonNLLLoss as PoissonNLLLoss
from samara.exporter.frontend.nn.losses import SmoothL1Loss as SmoothL1Loss
from samara.exporter.frontend.nn.losses import SoftMarginLoss as SoftMarginLoss
from samara.exporter.frontend.nn.losses import TripletMarginLoss as TripletMarginLoss
from samara.exporter.frontend.nn.losses import (
    TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss,
)
from samara.exporter.frontend.nn.module import Module as Module
from samara.exporter.frontend.nn.norms import BatchNorm1d as BatchNorm1d
from samara.exporter.frontend.nn.norms import BatchNorm2d as BatchNorm2d
from samara.exporter.frontend.nn.norms import BatchNorm3d as BatchNorm3d
from samara.exporter.frontend.nn.norms import GroupNorm as GroupNorm
from samara.exporter.frontend.nn.norms import InstanceNorm1d as InstanceNorm1d
from samara.exporter.frontend.nn.norms import InstanceNorm2d as InstanceNorm2d
from samara.exporter.frontend.nn.norms import InstanceNorm3d as InstanceNorm3d
from samara.exporter.frontend.nn.norms import LayerNorm as LayerNorm
from samara.exporter.frontend.nn.norms import LocalResponseNorm as LocalResponseNorm
from samara.exporter.frontend.nn.norms import RMSNorm as RMSNorm
from samara.exporter.frontend.nn.parallel import DataParallel as DataParallel
from samara.exporter.frontend.nn.parameter import Parameter as Parameter
from samara.exporter.frontend.nn.pools import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from samara.exporter.frontend.nn.pools import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from samara.exporter.frontend.nn.pools import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from samara.exporter.frontend.nn.pools import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from samara.exporter.frontend.nn.pools import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from samara.exporter.frontend.nn.pools import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from samara.exporter.frontend.nn.pools import AvgPool1d as AvgPool1d
from samara.exporter.frontend.nn.pools import AvgPool2d as AvgPool2d
from samara.exporter.frontend.nn.pools import AvgPool3d as AvgPool3d
from samara.exporter.frontend.nn.pools import CircularPad1d as CircularPad1d
from samara.exporter.frontend.nn.pools import CircularPad2d as CircularPad2d
from samara.exporter.frontend.nn.pools import CircularPad3d as CircularPad3d
from samara.exporter.frontend.nn.pools import ConstantPad1d as ConstantPad1d
from samara.exporter.frontend.nn.pools import ConstantPad2d as ConstantPad2d
from samara.exporter.frontend.nn.pools import ConstantPad3d as ConstantPad3d
from samara.exporter.frontend.nn.pools import MaxPool1d as MaxPool1d
from samara.exporter.frontend.nn.pools import MaxPool2d as MaxPool2d
from samara.exporter.frontend.nn.pools import MaxPool3d as MaxPool3d
from samara.exporter.frontend.nn.pools import ReflectionPad1d as ReflectionPad1d
from samara.exporter.frontend.nn.pools import ReflectionPad2d as ReflectionPad2d
from samara.exporter.frontend.nn.pools import ReflectionPad3d as ReflectionPad3d
from samara.exporter.frontend.nn.pools import ReplicationPad1d as ReplicationPad1d
from samara.exporter.frontend.nn.pools import ReplicationPad2d as ReplicationPad2d
from samara.exporter.frontend.nn.pools import ReplicationPad3d as ReplicationPad3d
from samara.exporter.frontend.nn.pools import ZeroPad1d as ZeroPad1d
from samara.exporter.frontend.nn.pools import ZeroPad2d as ZeroPad2d
from samara.exporter.frontend.nn.pools import ZeroPad3d as ZeroPad3d
from samara.exporter.frontend.nn.recurrent import GRU as GRU
from samara.exporter.frontend.nn.recurrent import LSTM as LSTM
from samara.exporter.frontend.nn.recurrent import RNN as RNN
from samara.exporter.frontend.nn.sync_batch_norm import SyncBatchNorm as SyncBatchNorm
from samara.exporter.frontend.nn.transformer import Transformer as Transformer
from samara.exporter.frontend.nn.transformer import TransformerDecoder as TransformerDecoder
from samara.exporter.frontend.nn.transformer import (
    TransformerDecoderLayer as TransformerDecoderLayer,
)
from samara.exporter.frontend.nn.transformer import TransformerEncoder as TransformerEncoder
from samara.exporter.frontend.nn.transformer import (
    TransformerEncoderLayer as TransformerEncoderLayer,
)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CTCLoss",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "DataParallel",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Fold",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "GroupedQueryAttention",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "KeyValueCache",
    "L1Loss",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNCell",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "RotaryEmbedding",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SwiGLU",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
