# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.data.distributed`: the sampler of one of several processes."""

from samara.exporter.frontend.data import DistributedSampler as DistributedSampler

__all__ = [
    "DistributedSampler",
]
