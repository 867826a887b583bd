# SPDX-License-Identifier: Apache-2.0
"""`samara.backends.cuda`: absent; its switches may be set but change nothing."""

from samara.exporter.frontend.absent import is_available as is_built
from samara.exporter.frontend.absent import matmul as matmul
from samara.exporter.frontend.absent import nothing as enable_cudnn_sdp
from samara.exporter.frontend.absent import nothing as enable_flash_sdp
from samara.exporter.frontend.absent import nothing as enable_math_sdp
from samara.exporter.frontend.absent import nothing as enable_mem_efficient_sdp

__all__ = [
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "is_built",
    "matmul",
]
