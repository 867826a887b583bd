# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.data.sampler`: samplers, where PyTorch has them."""

from samara.exporter.frontend.data import BatchSampler as BatchSampler
from samara.exporter.frontend.data import RandomSampler as RandomSampler
from samara.exporter.frontend.data import Sampler as Sampler
from samara.exporter.frontend.data import SequentialSampler as SequentialSampler
from samara.exporter.frontend.data import SubsetRandomSampler as SubsetRandomSampler
from samara.exporter.frontend.data import WeightedRandomSampler as WeightedRandomSampler

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]
