# SPDX-License-Identifier: Apache-2.0
"""samara.nn: layers and models, under PyTorch's names.

Write a model as a Module, or join layers with Sequential; samara.script and samara.trace turn it into a
Program, samara.quantize_aware prepares it for training in int8.

>>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
>>> model(samara.ones(3, 4)).shape
(3, 2)
>>> sum(p.numel() for p in model.parameters())
58
"""

from samara.exporter.frontend.nn import *
from samara.exporter.frontend.nn import __all__ as __all__
