# SPDX-License-Identifier: Apache-2.0
"""`samara.backends`: switches of the libraries that PyTorch computes with. Samara has none of them."""

from samara.exporter.frontend.backends import cuda as cuda
from samara.exporter.frontend.backends import cudnn as cudnn
from samara.exporter.frontend.backends import mkldnn as mkldnn
from samara.exporter.frontend.backends import mps as mps

__all__ = ["cuda", "cudnn", "mkldnn", "mps"]
