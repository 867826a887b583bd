# SPDX-License-Identifier: Apache-2.0
"""Gradients at kinks, ties and zeros: those of PyTorch, eager and in programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import samara
from samara.nn import functional

INF, NAN = math.inf, math.nan

# A function, its inputs, and the gradients of the sum of its result, recorded with PyTorch 2.13.0 on a CPU. Ties of
# cdist with p=inf are left out: PyTorch gives each of the largest differences the whole gradient, samara divides it
# among them, as both do for `norm` and `amax`. Another rule for ties would slow down every exported distance.
Case = tuple[Callable[..., Any], Sequence[Any], Sequence[Any]]
KINKS: dict[str, Case] = {
    "relu": (lambda m, F, x: F.relu(x), [[-1, -0.0, 0, 1, NAN]], [[0, 0, 0, 1, 1]]),
    "relu6": (lambda m, F, x: F.relu6(x), [[-1, 0, 3, 6, 7]], [[0, 0, 1, 0, 0]]),
    "hardtanh": (lambda m, F, x: F.hardtanh(x), [[-2, -1, 0, 1, 2]], [[0, 0, 1, 0, 0]]),
    "hardtanh_wide": (lambda m, F, x: F.hardtanh(x, -2.0, 3.0), [[-3, -2, 0, 3, 4]], [[0, 0, 1, 0, 0]]),
    "clamp": (lambda m, F, x: x.clamp(-1.0, 1.0), [[-2, -1, 0, 1, 2, NAN]], [[0, 1, 1, 1, 0, 0]]),
    "clamp_min": (lambda m, F, x: x.clamp(min=0.0), [[-1, 0, 1]], [[0, 1, 1]]),
    "clamp_max": (lambda m, F, x: x.clamp(max=0.0), [[-1, 0, 1]], [[1, 1, 0]]),
    "clamp_tensor": (
        lambda m, F, x, a, b: m.clamp(x, a, b),
        [[-1, 0, 0.5, 1, 2], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
    ),
    "clamp_crossed": (lambda m, F, x: x.clamp(1.0, -1.0), [[-2, -1, 0, 1, 2]], [[0, 0, 0, 0, 0]]),
    "clip": (lambda m, F, x: m.clip(x, -1.0, 1.0), [[-1, 1]], [[1, 1]]),
    "abs": (lambda m, F, x: x.abs(), [[-1, -0.0, 0, 1]], [[-1, 0, 0, 1]]),
    "sign": (lambda m, F, x: x.sign(), [[-1, 0, 1]], [[0, 0, 0]]),
    "floor": (lambda m, F, x: x.floor(), [[-1, 0, 0.5, 1]], [[0, 0, 0, 0]]),
    "ceil": (lambda m, F, x: x.ceil(), [[-1, 0, 0.5, 1]], [[0, 0, 0, 0]]),
    "round": (lambda m, F, x: x.round(), [[-0.5, 0.5, 1.5]], [[0, 0, 0]]),
    "trunc": (lambda m, F, x: x.trunc(), [[-1, 0, 0.5, 1]], [[0, 0, 0, 0]]),
    "frac": (lambda m, F, x: x.frac(), [[-1, 0, 0.5, 1]], [[1, 1, 1, 1]]),
    "leaky_relu": (lambda m, F, x: F.leaky_relu(x, 0.25), [[-1, 0, 1]], [[0.25, 0.25, 1]]),
    "elu": (lambda m, F, x: F.elu(x, 2.0), [[-1, 0, 1]], [[0.7357589, 2, 1]]),
    "celu": (lambda m, F, x: F.celu(x, 2.0), [[-1, 0, 1]], [[0.60653067, 1, 1]]),
    "selu": (lambda m, F, x: F.selu(x), [[-1, 0, 1]], [[0.64676863, 1.7580993, 1.050701]]),
    "prelu": (lambda m, F, x, w: F.prelu(x, w), [[-1, 0, 1], [0.25]], [[0.25, 0.25, 1], [-1]]),
    "hardswish": (lambda m, F, x: F.hardswish(x), [[-4, -3, 0, 3, 4]], [[0, 0, 0.5, 1, 1]]),
    "hardsigmoid": (lambda m, F, x: F.hardsigmoid(x), [[-4, -3, 0, 3, 4]], [[0, 0, 0.16666667, 0, 0]]),
    "hardshrink": (lambda m, F, x: F.hardshrink(x, 0.5), [[-1, -0.5, 0, 0.5, 1]], [[1, 0, 0, 0, 1]]),
    "softshrink": (lambda m, F, x: F.softshrink(x, 0.5), [[-1, -0.5, 0, 0.5, 1]], [[1, 0, 0, 0, 1]]),
    "threshold": (lambda m, F, x: F.threshold(x, 0.5, 3.0), [[0, 0.5, 1]], [[0, 0, 1]]),
    "rrelu": (lambda m, F, x: F.rrelu(x, 0.125, 0.375), [[-1, 0, 1]], [[0.25, 0.25, 1]]),
    "softplus": (lambda m, F, x: F.softplus(x), [[0, 20, 21, -20]], [[0.5, 1, 1, 0]]),
    "softplus_beta": (lambda m, F, x: F.softplus(x, 2.0, 4.0), [[0, 2, 2.5]], [[0.5, 0.98201376, 1]]),
    "softsign": (lambda m, F, x: F.softsign(x), [[-1, 0, 1]], [[0.25, 1, 0.25]]),
    "logsigmoid": (lambda m, F, x: F.logsigmoid(x), [[-1, 0, 1]], [[0.7310586, 0.5, 0.26894143]]),
    "gelu": (lambda m, F, x: F.gelu(x), [[-1, 0, 1]], [[-0.083315432, 0.5, 1.0833154]]),
    "silu": (lambda m, F, x: F.silu(x), [[-1, 0, 1]], [[0.072329484, 0.5, 0.92767054]]),
    "mish": (lambda m, F, x: F.mish(x), [[-1, 0, 1]], [[0.05921673, 0.60000002, 1.0490363]]),
    "glu": (lambda m, F, x: F.glu(x), [[1, 2, 0, -1]], [[0.5, 0.26894143, 0.25, 0.39322388]]),
    "sqrt": (lambda m, F, x: x.sqrt(), [[0, 1]], [[INF, 0.5]]),
    "rsqrt": (lambda m, F, x: x.rsqrt(), [[0, 1]], [[-INF, -0.5]]),
    "reciprocal": (lambda m, F, x: x.reciprocal(), [[0, 1]], [[-INF, -1]]),
    "log": (lambda m, F, x: x.log(), [[0, 1]], [[INF, 1]]),
    "asin": (lambda m, F, x: x.asin(), [[-1, 0, 1]], [[INF, 1, INF]]),
    "acos": (lambda m, F, x: x.acos(), [[-1, 0, 1]], [[-INF, -1, -INF]]),
    "acosh": (lambda m, F, x: x.acosh(), [[1, 2]], [[INF, 0.57735026]]),
    "atanh": (lambda m, F, x: x.atanh(), [[-1, 0, 1]], [[INF, 1, INF]]),
    "xlogy": (
        lambda m, F, x, y: m.xlogy(x, y),
        [[0, 0, 1, 0, 0, 2], [0, 1, 0, NAN, -1, 0]], [[0, 0, -INF, NAN, 0, -INF], [NAN, 0, INF, NAN, 0, INF]],
    ),
    "xlogy_by_0": (lambda m, F, x: m.xlogy(x, 0.0), [[0, 1, 0]], [[0, -INF, 0]]),
    "xlogy_of_0": (lambda m, F, y: m.xlogy(0.0, y), [[0, 1, 2]], [[NAN, 0, 0]]),
    "hypot": (
        lambda m, F, x, y: m.hypot(x, y),
        [[0, 0, 3, -0.0, 3], [0, 1, 0, 0, -4]], [[NAN, 0, 1, NAN, 0.6], [NAN, 1, 0, NAN, -0.8]],
    ),
    "atan2": (lambda m, F, x, y: m.atan2(x, y), [[0, 0, 1], [0, -1, 0]], [[0, -1, 0], [0, 0, -1]]),
    "heaviside": (lambda m, F, x: x.sign().clamp(min=0) * x, [[-1, 0, 1]], [[0, 0, 1]]),
    "pow_2": (lambda m, F, x: x ** 2, [[0, -1]], [[0, -2]]),
    "pow_1": (lambda m, F, x: x ** 1, [[0, -1]], [[1, 1]]),
    "pow_0": (lambda m, F, x: x ** 0, [[0, -1]], [[0, 0]]),
    "pow_half": (lambda m, F, x: x ** 0.5, [[0, 1]], [[INF, 0.5]]),
    "pow_3_2": (lambda m, F, x: x ** 1.5, [[0, 1]], [[0, 1.5]]),
    "pow_minus": (lambda m, F, x: x ** (-1.0), [[0, 1]], [[-INF, -1]]),
    "pow_scalar_base": (lambda m, F, x: 0.0 ** x, [[0, 1, 2]], [[0, 0, 0]]),
    "pow_scalar_base2": (lambda m, F, x: 2.0 ** x, [[0, 1]], [[0.69314718, 1.3862944]]),
    "pow": (
        lambda m, F, x, y: x ** y, [[0, 0, 0, -1, 2], [0, 1, 2, 2, 0]], [[0, 1, 0, -2, 0], [0, 0, 0, NAN, 0.69314718]],
    ),
    "pow_half_t": (lambda m, F, x, y: x ** y, [[0, 0], [0.5, -1]], [[INF, -INF], [0, -INF]]),
    "remainder": (lambda m, F, x, y: m.remainder(x, y), [[0, 2, -3, 5], [2, 2, 2, -2]], [[1, 1, 1, 1], [0, -1, 2, 3]]),
    "remainder_scalar": (lambda m, F, x: x % 2.0, [[0, 2, 3]], [[1, 1, 1]]),
    "fmod": (lambda m, F, x, y: m.fmod(x, y), [[0, 2, -3, 5], [2, 2, 2, -2]], [[1, 1, 1, 1], [0, -1, 1, 2]]),
    "floor_divide": (
        lambda m, F, x, y: m.div(x, y, rounding_mode='floor'), [[0, 2, 3], [2, 2, 2]], [[0, 0, 0], [0, 0, 0]],
    ),
    "trunc_divide": (
        lambda m, F, x, y: m.div(x, y, rounding_mode='trunc'), [[0, 2, 3], [2, 2, 2]], [[0, 0, 0], [0, 0, 0]],
    ),
    "div": (lambda m, F, x, y: x / y, [[0, 1, 0], [1, 0, 0]], [[1, INF, INF], [0, -INF, NAN]]),
    "maximum": (lambda m, F, x, y: m.maximum(x, y), [[0, 1, 2, NAN], [0, 2, 1, 1]], [[0.5, 0, 1, 1], [0.5, 1, 0, 1]]),
    "minimum": (lambda m, F, x, y: m.minimum(x, y), [[0, 1, 2, NAN], [0, 2, 1, 1]], [[0.5, 1, 0, 1], [0.5, 0, 1, 1]]),
    "max_two": (lambda m, F, x, y: m.max(x, y), [[0, 1, 2], [0, 2, 1]], [[0.5, 0, 1], [0.5, 1, 0]]),
    "min_two": (lambda m, F, x, y: m.min(x, y), [[0, 1, 2], [0, 2, 1]], [[0.5, 1, 0], [0.5, 0, 1]]),
    "where": (lambda m, F, x, y: m.where(x > 0, x, y), [[0, 1, -1], [5, 6, 7]], [[0, 1, 0], [1, 0, 1]]),
    "where_sqrt": (lambda m, F, x: m.where(x > 0, x.sqrt(), x * 0), [[0, 1]], [[NAN, 0.5]]),
    "lerp": (lambda m, F, x, y: m.lerp(x, y, 0.5), [[0, 1], [1, 1]], [[0.5, 0.5], [0.5, 0.5]]),
    "max_all": (lambda m, F, x: x.max(), [[1, 3, 3, 2]], [[0, 0.5, 0.5, 0]]),
    "min_all": (lambda m, F, x: x.min(), [[1, 3, 1, 2]], [[0.5, 0, 0.5, 0]]),
    "max_dim": (lambda m, F, x: x.max(0)[0], [[1, 3, 3, 2]], [[0, 1, 0, 0]]),
    "min_dim": (lambda m, F, x: x.min(0)[0], [[1, 3, 1, 2]], [[1, 0, 0, 0]]),
    "amax": (lambda m, F, x: x.amax(0), [[1, 3, 3, 2]], [[0, 0.5, 0.5, 0]]),
    "amin": (lambda m, F, x: x.amin(0), [[1, 3, 1, 2]], [[0.5, 0, 0.5, 0]]),
    "amax_all": (lambda m, F, x: x.amax(), [[[3, 3], [3, 1]]], [[0.33333334, 0.33333334, 0.33333334, 0]]),
    "amax_two": (lambda m, F, x: x.amax((0, 1)), [[[3, 3], [3, 1]]], [[0.33333334, 0.33333334, 0.33333334, 0]]),
    "aminmax": (lambda m, F, x: sum(m.aminmax(x)), [[1, 3, 3, 1]], [[0.5, 0.5, 0.5, 0.5]]),
    "median": (lambda m, F, x: x.median(), [[1, 3, 3, 2]], [[0, 0, 0, 1]]),
    "median_dim": (lambda m, F, x: x.median(0)[0], [[1, 3, 3, 3]], [[0, 1, 0, 0]]),
    "median_odd_ties": (lambda m, F, x: x.median(), [[3, 1, 3, 3, 5]], [[0.33333334, 0, 0.33333334, 0.33333334, 0]]),
    "median_odd_ties_dim": (lambda m, F, x: x.median(0)[0], [[3, 1, 3, 3, 5]], [[0, 0, 1, 0, 0]]),
    "kthvalue": (lambda m, F, x: m.kthvalue(x, 2)[0], [[3, 1, 3, 1]], [[0, 0, 0, 1]]),
    "sort": (lambda m, F, x: x.sort()[0] * m.arange(4), [[3, 1, 3, 1]], [[2, 0, 3, 1]]),
    "sort_descending": (
        lambda m, F, x: x.sort(descending=True, stable=True)[0] * m.arange(4), [[3, 1, 3, 1]], [[0, 2, 1, 3]],
    ),
    "topk": (lambda m, F, x: x.topk(2)[0] * m.arange(1, 3), [[3, 1, 2, 5]], [[2, 0, 0, 1]]),
    "cumprod": (lambda m, F, x: x.cumprod(0), [[2, 0, 3, 0]], [[1, 8, 0, 0]]),
    "prod": (lambda m, F, x: x.prod(), [[2, 0, 3]], [[0, 6, 0]]),
    "prod_two_zeros": (lambda m, F, x: x.prod(), [[2, 0, 0]], [[0, 0, 0]]),
    "prod_dim": (lambda m, F, x: x.prod(0), [[[2, 0], [0, 0]]], [[0, 0, 2, 0]]),
    "norm": (lambda m, F, x: x.norm(), [[0, 0]], [[0, 0]]),
    "norm_dim": (lambda m, F, x: x.norm(dim=1), [[[0, 0], [3, 4]]], [[0, 0, 0.60000002, 0.80000001]]),
    "norm_1": (lambda m, F, x: x.norm(1), [[0, -1, 2]], [[0, -1, 1]]),
    "norm_inf": (lambda m, F, x: x.norm(INF), [[2, -2, 1]], [[0.5, -0.5, 0]]),
    "norm_minus_inf": (lambda m, F, x: x.norm(-INF), [[2, -2, 1, -1]], [[0, 0, 0.5, -0.5]]),
    "norm_3": (lambda m, F, x: x.norm(3), [[0, 0]], [[0, 0]]),
    "norm_3b": (lambda m, F, x: x.norm(3), [[0, 1]], [[0, 1]]),
    "norm_half": (lambda m, F, x: x.norm(0.5), [[0, 1]], [[0, 1]]),
    "normalize": (lambda m, F, x: F.normalize(x, dim=0), [[0, 0]], [[1000000000000.0, 1000000000000.0]]),
    "std": (lambda m, F, x: x.std(), [[1, 1, 1]], [[0, 0, 0]]),
    "var": (lambda m, F, x: x.var(), [[1, 1, 1]], [[0, 0, 0]]),
    "logsumexp": (lambda m, F, x: x.logsumexp(0), [[-INF, -INF]], [[NAN, NAN]]),
    "logsumexp_b": (lambda m, F, x: x.logsumexp(0), [[-INF, 1]], [[0, 1]]),
    "logsumexp_c": (lambda m, F, x: x.logsumexp(0), [[INF, 1]], [[NAN, 0]]),
    "logaddexp": (
        lambda m, F, x, y: m.logaddexp(x, y), [[0, -INF, -INF], [0, 1, -INF]], [[0.5, 0, NAN], [0.5, 1, NAN]],
    ),
    "softmax": (lambda m, F, x: x.softmax(0) * m.arange(2), [[-INF, 0]], [[0, 0]]),
    "log_softmax": (lambda m, F, x: x.log_softmax(0)[1:], [[-INF, 0]], [[0, 0]]),
    "l1_loss": (lambda m, F, x, y: F.l1_loss(x, y, reduction='sum'), [[0, 1, 2], [0, 2, 1]], [[0, -1, 1], [0, 1, -1]]),
    "smooth_l1": (
        lambda m, F, x, y: F.smooth_l1_loss(x, y, reduction='sum', beta=1.0),
        [[0, 1, -1, 2], [0, 0, 0, 0]], [[0, 1, -1, 1], [0, -1, 1, -1]],
    ),
    "smooth_l1_half": (
        lambda m, F, x, y: F.smooth_l1_loss(x, y, reduction='sum', beta=0.5),
        [[0, 0.5, -0.5, 2], [0, 0, 0, 0]], [[0, 1, -1, 1], [0, -1, 1, -1]],
    ),
    "smooth_l1_zero": (
        lambda m, F, x, y: F.smooth_l1_loss(x, y, reduction='sum', beta=0.0), [[0, 1], [0, 0]], [[0, 1], [0, -1]],
    ),
    "huber": (
        lambda m, F, x, y: F.huber_loss(x, y, reduction='sum', delta=2.0),
        [[0, 2, -2, 3], [0, 0, 0, 0]], [[0, 2, -2, 2], [0, -2, 2, -2]],
    ),
    "hinge_embedding": (
        lambda m, F, x: F.hinge_embedding_loss(x, m.tensor([1.0, -1.0, -1.0, -1.0]), reduction='sum'),
        [[0, 1, 0, 2]], [[1, -1, -1, 0]],
    ),
    "margin_ranking": (
        lambda m, F, x, y: F.margin_ranking_loss(x, y, m.tensor([1.0, 1.0, 1.0]), margin=1.0, reduction='sum'),
        [[0, 1, 2], [0, 0, 0]], [[-1, -1, 0], [1, 1, 0]],
    ),
    "margin_ranking0": (
        lambda m, F, x, y: F.margin_ranking_loss(x, y, m.tensor([1.0]), reduction='sum'), [[0], [0]], [[-1], [1]],
    ),
    "triplet": (
        lambda m, F, x, y, z: F.triplet_margin_loss(x, y, z, margin=1.0, reduction='sum'),
        [[[0, 0]], [[0, 0]], [[1, 0]]], [[1.7071068, 0.70710576], [-0.70710677, -0.70710677], [-1, 1.000001e-06]],
    ),
    "cosine_embedding": (
        lambda m, F, x, y: F.cosine_embedding_loss(x, y, m.tensor([-1.0]), reduction='sum'),
        [[[1, 0]], [[0, 1]]], [[0, 1], [1, 0]],
    ),
    "cosine_similarity": (
        lambda m, F, x, y: F.cosine_similarity(x, y, dim=0), [[0, 0], [1, 0]], [[100000000.0, 0], [0, 0]],
    ),
    "pairwise_distance": (
        lambda m, F, x, y: F.pairwise_distance(x, y),
        [[[1, 0]], [[1, 0]]], [[0.70710677, 0.70710677], [-0.70710677, -0.70710677]],
    ),
    "pairwise_distance0": (
        lambda m, F, x, y: F.pairwise_distance(x, y, eps=0.0), [[[1, 0]], [[1, 0]]], [[0, 0], [0, 0]],
    ),
    "multi_margin": (
        lambda m, F, x: F.multi_margin_loss(x, m.tensor([0]), reduction='sum'),
        [[[1, 0, 2]]], [[-0.33333334, 0, 0.33333334]],
    ),
    "bce": (
        lambda m, F, x: F.binary_cross_entropy(x, m.tensor([0.0, 1.0, 1.0, 0.0]), reduction='sum'),
        [[0, 0, 1, 1]], [[0, -1000000000000.0, 0, 1000000000000.0]],
    ),
    "bce_logits": (
        lambda m, F, x: F.binary_cross_entropy_with_logits(x, m.tensor([0.0, 1.0]), reduction='sum'),
        [[0, 0]], [[0.5, -0.5]],
    ),
    "cdist": (
        lambda m, F, x, y: m.cdist(x, y),
        [[[0, 0], [1, 1]], [[0, 0]]], [[0, 0, 0.70710677, 0.70710677], [-0.70710677, -0.70710677]],
    ),
    "cdist_1": (lambda m, F, x, y: m.cdist(x, y, p=1.0), [[[0, 0], [1, 1]], [[0, 1]]], [[0, -1, 1, 0], [-1, 1]]),
    "max_pool": (lambda m, F, x: F.max_pool1d(x, 2), [[[[1, 1, 2, 3]]]], [[1, 0, 0, 1]]),
    "max_pool2d": (
        lambda m, F, x: F.max_pool2d(x, 2, 1), [[[[[1, 1, 1], [1, 1, 0], [0, 1, 1]]]]], [[1, 1, 0, 1, 1, 0, 0, 0, 0]],
    ),
    "kl_div": (
        lambda m, F, x, y: F.kl_div(x, y, reduction='sum'),
        [[0, -1, 0, -1], [0, 0, 1, 0.5]], [[0, 0, -1, -0.5], [NAN, NAN, 1, 1.3068528]],
    ),
    "kl_div_log": (
        lambda m, F, x, y: F.kl_div(x, y, reduction='sum', log_target=True),
        [[0, 0], [0, 1]], [[-1, -2.7182817], [1, 5.4365635]],
    ),
    "adaptive_max_pool": (lambda m, F, x: F.adaptive_max_pool1d(x, 1), [[[[1, 3, 3]]]], [[0, 1, 0]]),
    "lp_pool": (lambda m, F, x: F.lp_pool1d(x, 2.0, 2), [[[[0, 0, 3, 4]]]], [[0, 0, 0.60000002, 0.80000001]]),
    "nan_to_num": (lambda m, F, x: x.nan_to_num(0.0, 1.0, -1.0), [[NAN, INF, -INF, 2]], [[0, 0, 0, 1]]),
    "masked_fill": (lambda m, F, x: x.masked_fill(x == 0, 5.0), [[0, 1]], [[0, 1]]),
    "dist": (lambda m, F, x, y: m.dist(x, y), [[1, 2], [1, 2]], [[0, 0], [0, 0]]),
    "scatter_amax": (
        lambda m, F, x, y: x.scatter_reduce(0, m.tensor([0, 0, 1]), y, 'amax'),
        [[1, 5], [1, 1, 5]], [[0.33333334, 0.5], [0.33333334, 0.33333334, 0.5]],
    ),
    "scatter_prod": (
        lambda m, F, x, y: x.scatter_reduce(0, m.tensor([0, 0, 1]), y, 'prod'),
        [[0, 5], [2, 0, 0]], [[0, 0], [0, 0, 5]],
    ),
}  # fmt: skip


def _flat(value: Any) -> list[float]:
    return np.asarray(value, np.float64).reshape(-1).tolist()


@pytest.mark.parametrize("name", KINKS)
def test_as_pytorch(name: str) -> None:
    function, inputs, expected = KINKS[name]
    xs = [samara.tensor(x, dtype=samara.float32).requires_grad_() for x in inputs]
    function(samara, functional, *xs).sum().backward()
    for x, want in zip(xs, expected, strict=True):
        np.testing.assert_allclose(_flat(x.grad), want, 1e-5, 1e-6, equal_nan=True)


# The rule of `bce` at 0 and 1 needs `detach`, which `Program.gradient` does not support.
@pytest.mark.parametrize("name", [name for name in KINKS if name != "bce"])
def test_in_a_program(name: str) -> None:
    function, inputs, expected = KINKS[name]
    names = "xyz"[: len(inputs)]
    arrays = [np.asarray(x, np.float32) for x in inputs]

    def loss(*xs: Any) -> Any:
        return function(samara, functional, *xs).sum()

    traced: dict[int, Callable[..., Any]] = {
        1: lambda x: loss(x),
        2: lambda x, y: loss(x, y),
        3: lambda x, y, z: loss(x, y, z),
    }
    program = samara.trace(traced[len(inputs)], tuple(map(samara.tensor, arrays)))
    program = program.gradient(program.main.outputs[0].name, list(names))
    found = program.run(dict(zip(names, arrays, strict=True)))
    for x, want in zip(names, expected, strict=True):
        np.testing.assert_allclose(_flat(found[f"grad/{x}"]), want, 1e-5, 1e-6, equal_nan=True)


def test_saturated_probabilities_in_a_step() -> None:
    _, inputs, expected = KINKS["bce"]
    p = samara.nn.Parameter(samara.tensor(inputs[0], dtype=samara.float32))

    def step(t: Any) -> Any:
        p.grad = None
        loss = functional.binary_cross_entropy(p, t, reduction="sum")
        loss.backward()
        return loss, p.grad

    target = samara.tensor([0.0, 1.0, 1.0, 0.0])
    loss, gradient = samara.trace(step, (target,)).run({"t": target.numpy()}).values()
    assert loss == 200
    np.testing.assert_allclose(gradient, expected[0], 1e-5)


def test_random_slopes() -> None:
    samara.manual_seed(0)
    x: Any = samara.tensor([-1.0, 0.0, 1.0, -2.0] * 64).requires_grad_()
    y = samara.nn.RReLU(0.1, 0.3)(x)
    y.sum().backward()
    slopes = x.grad.numpy()
    positive = x.detach().numpy() > 0
    assert (slopes[positive] == 1).all()
    assert ((slopes[~positive] >= 0.1) & (slopes[~positive] < 0.3)).all()
    assert len(set(slopes[~positive].tolist())) > 100
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy() * slopes)
    layer = samara.nn.RReLU().eval()
    np.testing.assert_allclose(layer(samara.tensor([-24.0, 2.0])).tolist(), [-5.5, 2], 1e-6)
    assert repr(layer) == "RReLU(lower=0.125, upper=0.3333333333333333, inplace=False)"
    with pytest.raises(samara.SamaraError, match=r"from 0\.5 to 0\.1"):
        functional.rrelu(x, 0.5, 0.1)


def test_medians_keep_their_values() -> None:
    for values in ([3.0, 1.0, 3.0, 3.0, 5.0], [0.1] * 7, [2.0, -INF, -INF]):
        x = samara.tensor(values)
        assert samara.tensor(values).requires_grad_().median().item() == x.median().item()
    assert math.isnan(samara.tensor([1.0, NAN, 2.0]).requires_grad_().median().item())
