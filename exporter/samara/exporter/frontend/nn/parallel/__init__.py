# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.parallel`: one module trained by several ranks, or by several threads."""

from samara.exporter.frontend.nn.parallel.data_parallel import DataParallel
from samara.exporter.frontend.nn.parallel.distributed import DistributedDataParallel
from samara.exporter.frontend.nn.parallel.join import Join

__all__ = ["DataParallel", "DistributedDataParallel", "Join"]
