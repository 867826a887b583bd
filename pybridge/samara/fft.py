# SPDX-License-Identifier: Apache-2.0
"""samara.fft: Fourier transforms of pairs of real numbers, with PyTorch's arguments.

>>> x = samara.tensor([0.0, 1.0, 0.0, -1.0], requires_grad=True)
>>> power = samara.fft.rfft_as_real(x).square().sum(-1)
>>> power.tolist()
[0.0, 4.0, 0.0]
>>> power.sum().backward()
"""

from samara.exporter.frontend.fft import *
from samara.exporter.frontend.fft import __all__ as __all__
