# SPDX-License-Identifier: Apache-2.0
"""samara.optim: optimisers and learning rate schedules, under PyTorch's names.

>>> model = nn.Linear(2, 1)
>>> optimizer = samara.optim.SGD(model.parameters(), lr=0.1)
>>> loss = model(samara.ones(1, 2)).square().sum()
>>> optimizer.zero_grad()
>>> loss.backward()
>>> optimizer.step()
>>> model(samara.ones(1, 2)).square().sum().item() < loss.item()
True
"""

from samara.exporter.frontend.optim import *
from samara.exporter.frontend.optim import __all__ as __all__
