# SPDX-License-Identifier: Apache-2.0
"""The op table: one declaration per IR operator. The imports below fill it; then it is closed."""

from samara.exporter.ops._numeric import DataError as DataError
from samara.exporter.ops._spec import REQUIRED as REQUIRED
from samara.exporter.ops._spec import Attr as Attr
from samara.exporter.ops._spec import AttrType as AttrType
from samara.exporter.ops._spec import Body as Body
from samara.exporter.ops._spec import Case as Case
from samara.exporter.ops._spec import Guard as Guard
from samara.exporter.ops._spec import InferContext as InferContext
from samara.exporter.ops._spec import OpSpec as OpSpec
from samara.exporter.ops._spec import Permuted as Permuted
from samara.exporter.ops._spec import Signature as Signature
from samara.exporter.ops._spec import all_ops as all_ops
from samara.exporter.ops._spec import bytes_of as bytes_of
from samara.exporter.ops._spec import freeze as freeze
from samara.exporter.ops._spec import get_op as get_op
from samara.exporter.ops._spec import op_by_code as op_by_code
from samara.exporter.ops.binary import add as add
from samara.exporter.ops.binary import atan2 as atan2
from samara.exporter.ops.binary import bitwise_and as bitwise_and
from samara.exporter.ops.binary import bitwise_or as bitwise_or
from samara.exporter.ops.binary import bitwise_xor as bitwise_xor
from samara.exporter.ops.binary import div as div
from samara.exporter.ops.binary import eq as eq
from samara.exporter.ops.binary import le as le
from samara.exporter.ops.binary import logical_and as logical_and
from samara.exporter.ops.binary import logical_or as logical_or
from samara.exporter.ops.binary import logical_xor as logical_xor
from samara.exporter.ops.binary import lt as lt
from samara.exporter.ops.binary import max_ as max_
from samara.exporter.ops.binary import min_ as min_
from samara.exporter.ops.binary import mod as mod
from samara.exporter.ops.binary import mul as mul
from samara.exporter.ops.binary import pow_ as pow_
from samara.exporter.ops.binary import prelu as prelu
from samara.exporter.ops.binary import shift as shift
from samara.exporter.ops.binary import sub as sub
from samara.exporter.ops.binary import sum_to as sum_to
from samara.exporter.ops.binary import where as where
from samara.exporter.ops.control import call as call
from samara.exporter.ops.control import custom as custom
from samara.exporter.ops.control import custom_attributes as custom_attributes
from samara.exporter.ops.control import custom_keys as custom_keys
from samara.exporter.ops.control import if_ as if_
from samara.exporter.ops.control import loop as loop
from samara.exporter.ops.control import register_custom as register_custom
from samara.exporter.ops.control import trap as trap
from samara.exporter.ops.indexing import dims as dims
from samara.exporter.ops.indexing import gather as gather
from samara.exporter.ops.indexing import gather_elements as gather_elements
from samara.exporter.ops.indexing import gather_nd as gather_nd
from samara.exporter.ops.indexing import iota as iota
from samara.exporter.ops.indexing import nonzero as nonzero
from samara.exporter.ops.indexing import range_ as range_
from samara.exporter.ops.indexing import scatter_elements as scatter_elements
from samara.exporter.ops.indexing import scatter_nd as scatter_nd
from samara.exporter.ops.linear import EPILOGUE as EPILOGUE
from samara.exporter.ops.linear import POSTS as POSTS
from samara.exporter.ops.linear import conv as conv
from samara.exporter.ops.linear import conv_transpose as conv_transpose
from samara.exporter.ops.linear import matmul as matmul
from samara.exporter.ops.movement import concat as concat
from samara.exporter.ops.movement import expand as expand
from samara.exporter.ops.movement import pad as pad
from samara.exporter.ops.movement import reshape as reshape
from samara.exporter.ops.movement import slice_ as slice_
from samara.exporter.ops.movement import split as split
from samara.exporter.ops.movement import tile as tile
from samara.exporter.ops.movement import transpose as transpose
from samara.exporter.ops.norm import hardmax as hardmax
from samara.exporter.ops.norm import instance_norm as instance_norm
from samara.exporter.ops.norm import layer_norm as layer_norm
from samara.exporter.ops.norm import log_softmax as log_softmax
from samara.exporter.ops.norm import lrn as lrn
from samara.exporter.ops.norm import rms_norm as rms_norm
from samara.exporter.ops.norm import softmax as softmax
from samara.exporter.ops.pool import avg_pool as avg_pool
from samara.exporter.ops.pool import lp_pool as lp_pool
from samara.exporter.ops.pool import max_pool as max_pool
from samara.exporter.ops.quantization import dequantize as dequantize
from samara.exporter.ops.quantization import quantize as quantize
from samara.exporter.ops.quantization import reinterpret as reinterpret
from samara.exporter.ops.quantization import requantize as requantize
from samara.exporter.ops.recurrent import gru as gru
from samara.exporter.ops.recurrent import lstm as lstm
from samara.exporter.ops.reduce import argmax as argmax
from samara.exporter.ops.reduce import argmin as argmin
from samara.exporter.ops.reduce import cumsum as cumsum
from samara.exporter.ops.reduce import reduce_max as reduce_max
from samara.exporter.ops.reduce import reduce_mean as reduce_mean
from samara.exporter.ops.reduce import reduce_min as reduce_min
from samara.exporter.ops.reduce import reduce_prod as reduce_prod
from samara.exporter.ops.reduce import reduce_sum as reduce_sum
from samara.exporter.ops.reduce import top_k as top_k
from samara.exporter.ops.resampling import resize as resize
from samara.exporter.ops.unary import abs_ as abs_
from samara.exporter.ops.unary import acos as acos
from samara.exporter.ops.unary import acosh as acosh
from samara.exporter.ops.unary import asin as asin
from samara.exporter.ops.unary import asinh as asinh
from samara.exporter.ops.unary import atan as atan
from samara.exporter.ops.unary import atanh as atanh
from samara.exporter.ops.unary import bitwise_not as bitwise_not
from samara.exporter.ops.unary import cast as cast
from samara.exporter.ops.unary import ceil as ceil
from samara.exporter.ops.unary import clamp as clamp
from samara.exporter.ops.unary import cos as cos
from samara.exporter.ops.unary import cosh as cosh
from samara.exporter.ops.unary import elu as elu
from samara.exporter.ops.unary import erf as erf
from samara.exporter.ops.unary import exp as exp
from samara.exporter.ops.unary import floor as floor
from samara.exporter.ops.unary import gelu as gelu
from samara.exporter.ops.unary import hard_sigmoid as hard_sigmoid
from samara.exporter.ops.unary import hard_swish as hard_swish
from samara.exporter.ops.unary import identity as identity
from samara.exporter.ops.unary import isinf as isinf
from samara.exporter.ops.unary import isnan as isnan
from samara.exporter.ops.unary import leaky_relu as leaky_relu
from samara.exporter.ops.unary import log as log
from samara.exporter.ops.unary import logical_not as logical_not
from samara.exporter.ops.unary import neg as neg
from samara.exporter.ops.unary import reciprocal as reciprocal
from samara.exporter.ops.unary import relu as relu
from samara.exporter.ops.unary import round_ as round_
from samara.exporter.ops.unary import rsqrt as rsqrt
from samara.exporter.ops.unary import sigmoid as sigmoid
from samara.exporter.ops.unary import sign as sign
from samara.exporter.ops.unary import silu as silu
from samara.exporter.ops.unary import sin as sin
from samara.exporter.ops.unary import sinh as sinh
from samara.exporter.ops.unary import softplus as softplus
from samara.exporter.ops.unary import sqrt as sqrt
from samara.exporter.ops.unary import tan as tan
from samara.exporter.ops.unary import tanh as tanh

# Inside their modules these would hide builtins.
max = max_
min = min_
pow = pow_
range = range_
slice = slice_
abs = abs_
round = round_

freeze()
