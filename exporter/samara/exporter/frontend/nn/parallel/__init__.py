# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.parallel`: one module trained by several ranks, or by several threads."""

from samara.exporter.frontend.nn.parallel.data_parallel import DataParallel as DataParallel
from samara.exporter.frontend.nn.parallel.distributed import (
    DistributedDataParallel as DistributedDataParallel,
)
from samara.exporter.frontend.nn.parallel.join import Join as Join
from samara.exporter.frontend.nn.parallel.replicas import parallel_apply as parallel_apply
from samara.exporter.frontend.nn.parallel.replicas import replicate as replicate
from samara.exporter.frontend.nn.parallel.scatter_gather import gather as gather
from samara.exporter.frontend.nn.parallel.scatter_gather import scatter as scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "Join",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]
