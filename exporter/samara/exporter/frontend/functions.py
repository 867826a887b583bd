# SPDX-License-Identifier: Apache-2.0
"""The tensor methods as functions: `samara.exp(x)` is `x.exp()`."""

from samara.exporter.frontend.tensor import Tensor

abs = Tensor.abs
absolute = Tensor.abs
acos = Tensor.acos
acosh = Tensor.acosh
add = Tensor.add
addcdiv = Tensor.addcdiv
addcmul = Tensor.addcmul
addmm = Tensor.addmm
all = Tensor.all
amax = Tensor.amax
amin = Tensor.amin
aminmax = Tensor.aminmax
any = Tensor.any
arccos = Tensor.acos
arcsin = Tensor.asin
arctan = Tensor.atan
argmax = Tensor.argmax
argmin = Tensor.argmin
argsort = Tensor.argsort
argwhere = Tensor.argwhere
asin = Tensor.asin
asinh = Tensor.asinh
atan = Tensor.atan
atan2 = Tensor.atan2
atanh = Tensor.atanh
baddbmm = Tensor.baddbmm
bincount = Tensor.bincount
bitwise_and = Tensor.bitwise_and
bitwise_not = Tensor.bitwise_not
bitwise_or = Tensor.bitwise_or
bitwise_xor = Tensor.bitwise_xor
bmm = Tensor.bmm
broadcast_to = Tensor.broadcast_to
ceil = Tensor.ceil
chunk = Tensor.chunk
clamp = Tensor.clamp
clamp_max = Tensor.clamp_max
clamp_min = Tensor.clamp_min
clip = Tensor.clip
clone = Tensor.clone
cos = Tensor.cos
cosh = Tensor.cosh
count_nonzero = Tensor.count_nonzero
cross = Tensor.cross
cumprod = Tensor.cumprod
cumsum = Tensor.cumsum
diag = Tensor.diag
diagonal = Tensor.diagonal
diff = Tensor.diff
dist = Tensor.dist
div = Tensor.div
divide = Tensor.div
dot = Tensor.dot
eq = Tensor.eq
erf = Tensor.erf
erfc = Tensor.erfc
exp = Tensor.exp
exp2 = Tensor.exp2
expm1 = Tensor.expm1
flatten = Tensor.flatten
flip = Tensor.flip
fliplr = Tensor.fliplr
flipud = Tensor.flipud
floor = Tensor.floor
floor_divide = Tensor.floor_divide
fmod = Tensor.fmod
frac = Tensor.frac
gather = Tensor.gather
ge = Tensor.ge
greater = Tensor.gt
greater_equal = Tensor.ge
gt = Tensor.gt
hypot = Tensor.hypot
index_add = Tensor.index_add
index_copy = Tensor.index_copy
index_fill = Tensor.index_fill
index_select = Tensor.index_select
inner = Tensor.inner
is_floating_point = Tensor.is_floating_point
isclose = Tensor.isclose
isfinite = Tensor.isfinite
isinf = Tensor.isinf
isnan = Tensor.isnan
kthvalue = Tensor.kthvalue
le = Tensor.le
lerp = Tensor.lerp
less = Tensor.lt
less_equal = Tensor.le
log = Tensor.log
log10 = Tensor.log10
log1p = Tensor.log1p
log2 = Tensor.log2
log_softmax = Tensor.log_softmax
logaddexp = Tensor.logaddexp
logical_and = Tensor.logical_and
logical_not = Tensor.logical_not
logical_or = Tensor.logical_or
logical_xor = Tensor.logical_xor
logit = Tensor.logit
logsumexp = Tensor.logsumexp
lt = Tensor.lt
masked_fill = Tensor.masked_fill
masked_scatter = Tensor.masked_scatter
masked_select = Tensor.masked_select
matmul = Tensor.matmul
max = Tensor.max
maximum = Tensor.maximum
mean = Tensor.mean
median = Tensor.median
min = Tensor.min
minimum = Tensor.minimum
mm = Tensor.mm
moveaxis = Tensor.movedim
movedim = Tensor.movedim
mul = Tensor.mul
multiply = Tensor.mul
mv = Tensor.mv
nan_to_num = Tensor.nan_to_num
nanmean = Tensor.nanmean
nansum = Tensor.nansum
narrow = Tensor.narrow
ne = Tensor.ne
neg = Tensor.neg
negative = Tensor.neg
nonzero = Tensor.nonzero
norm = Tensor.norm
not_equal = Tensor.ne
numel = Tensor.numel
outer = Tensor.outer
permute = Tensor.permute
pow = Tensor.pow
prod = Tensor.prod
quantile = Tensor.quantile
ravel = Tensor.ravel
reciprocal = Tensor.reciprocal
relu = Tensor.relu
remainder = Tensor.remainder
repeat_interleave = Tensor.repeat_interleave
reshape = Tensor.reshape
roll = Tensor.roll
rot90 = Tensor.rot90
round = Tensor.round
rsqrt = Tensor.rsqrt
scatter = Tensor.scatter
scatter_add = Tensor.scatter_add
scatter_reduce = Tensor.scatter_reduce
select = Tensor.select
sgn = Tensor.sign
sigmoid = Tensor.sigmoid
sign = Tensor.sign
sin = Tensor.sin
sinh = Tensor.sinh
softmax = Tensor.softmax
sort = Tensor.sort
split = Tensor.split
sqrt = Tensor.sqrt
square = Tensor.square
squeeze = Tensor.squeeze
std = Tensor.std
sub = Tensor.sub
subtract = Tensor.sub
sum = Tensor.sum
swapaxes = Tensor.swapaxes
swapdims = Tensor.swapdims
t = Tensor.t
take = Tensor.take
take_along_dim = Tensor.take_along_dim
tan = Tensor.tan
tanh = Tensor.tanh
tensor_split = Tensor.tensor_split
tile = Tensor.tile
topk = Tensor.topk
transpose = Tensor.transpose
tril = Tensor.tril
triu = Tensor.triu
true_divide = Tensor.div
trunc = Tensor.trunc
unbind = Tensor.unbind
unflatten = Tensor.unflatten
unique = Tensor.unique
unsqueeze = Tensor.unsqueeze
var = Tensor.var
var_mean = Tensor.var_mean
xlogy = Tensor.xlogy

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "arccos",
    "arcsin",
    "arctan",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "baddbmm",
    "bincount",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "broadcast_to",
    "ceil",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "diag",
    "diagonal",
    "diff",
    "dist",
    "div",
    "divide",
    "dot",
    "eq",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "floor_divide",
    "fmod",
    "frac",
    "gather",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "hypot",
    "index_add",
    "index_copy",
    "index_fill",
    "index_select",
    "inner",
    "is_floating_point",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "kthvalue",
    "le",
    "lerp",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsumexp",
    "lt",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multiply",
    "mv",
    "nan_to_num",
    "nanmean",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "negative",
    "nonzero",
    "norm",
    "not_equal",
    "numel",
    "outer",
    "permute",
    "pow",
    "prod",
    "quantile",
    "ravel",
    "reciprocal",
    "relu",
    "remainder",
    "repeat_interleave",
    "reshape",
    "roll",
    "rot90",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "select",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor_split",
    "tile",
    "topk",
    "transpose",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "unbind",
    "unflatten",
    "unique",
    "unsqueeze",
    "var",
    "var_mean",
    "xlogy",
]
