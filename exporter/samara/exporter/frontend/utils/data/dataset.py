# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.data.dataset`: datasets, where PyTorch has them."""

from samara.exporter.frontend.data import ChainDataset as ChainDataset
from samara.exporter.frontend.data import ConcatDataset as ConcatDataset
from samara.exporter.frontend.data import Dataset as Dataset
from samara.exporter.frontend.data import IterableDataset as IterableDataset
from samara.exporter.frontend.data import StackDataset as StackDataset
from samara.exporter.frontend.data import Subset as Subset
from samara.exporter.frontend.data import TensorDataset as TensorDataset
from samara.exporter.frontend.data import random_split as random_split

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]
