# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.data`: the names of `torch.utils.data`, which are those of `samara.data`."""

from samara.exporter.frontend.data import BatchSampler as BatchSampler
from samara.exporter.frontend.data import ChainDataset as ChainDataset
from samara.exporter.frontend.data import ConcatDataset as ConcatDataset
from samara.exporter.frontend.data import DataLoader as DataLoader
from samara.exporter.frontend.data import Dataset as Dataset
from samara.exporter.frontend.data import DistributedSampler as DistributedSampler
from samara.exporter.frontend.data import IterableDataset as IterableDataset
from samara.exporter.frontend.data import RandomSampler as RandomSampler
from samara.exporter.frontend.data import Sampler as Sampler
from samara.exporter.frontend.data import SequentialSampler as SequentialSampler
from samara.exporter.frontend.data import StackDataset as StackDataset
from samara.exporter.frontend.data import Subset as Subset
from samara.exporter.frontend.data import SubsetRandomSampler as SubsetRandomSampler
from samara.exporter.frontend.data import TensorDataset as TensorDataset
from samara.exporter.frontend.data import WeightedRandomSampler as WeightedRandomSampler
from samara.exporter.frontend.data import default_collate as default_collate
from samara.exporter.frontend.data import default_convert as default_convert
from samara.exporter.frontend.data import get_worker_info as get_worker_info
from samara.exporter.frontend.data import random_split as random_split
from samara.exporter.frontend.utils.data import dataloader as dataloader
from samara.exporter.frontend.utils.data import dataset as dataset
from samara.exporter.frontend.utils.data import distributed as distributed
from samara.exporter.frontend.utils.data import sampler as sampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "dataloader",
    "dataset",
    "default_collate",
    "default_convert",
    "distributed",
    "get_worker_info",
    "random_split",
    "sampler",
]
