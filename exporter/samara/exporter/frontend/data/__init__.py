# SPDX-License-Identifier: Apache-2.0
"""samara.data: datasets, samplers, loaders, readers and transforms."""

from __future__ import annotations

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.data import transforms
from samara.exporter.frontend.data._worker import WorkerInfo, get_worker_info
from samara.exporter.frontend.data.collate import default_collate, default_convert
from samara.exporter.frontend.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from samara.exporter.frontend.data.folder import DatasetFolder, ImageFolder, load_image
from samara.exporter.frontend.data.loader import DataLoader
from samara.exporter.frontend.data.readers import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    digits,
    load_wav,
    read_idx,
)
from samara.exporter.frontend.data.sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DatasetFolder",
    "DistributedSampler",
    "FashionMNIST",
    "ImageFolder",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "digits",
    "get_worker_info",
    "load_image",
    "load_wav",
    "random_split",
    "read_idx",
    "transforms",
]

# PyTorch has these names; those of torchvision and of samara itself are elsewhere.
_OF_TORCH = (
    *(
        "BatchSampler",
        "ChainDataset",
        "ConcatDataset",
        "DataLoader",
        "Dataset",
        "DistributedSampler",
    ),
    *("IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset"),
    *("SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate"),
    *("default_convert", "get_worker_info", "random_split"),
)
name_counterparts(globals(), _OF_TORCH, "torch.utils.data")
