# SPDX-License-Identifier: Apache-2.0
"""samara.data: datasets, samplers, loaders, readers and transforms.

>>> pairs = samara.data.TensorDataset(samara.arange(6), samara.arange(6) * 10)
>>> for x, y in samara.data.DataLoader(pairs, batch_size=4):
...     print(x.tolist(), y.tolist())
[0, 1, 2, 3] [0, 10, 20, 30]
[4, 5] [40, 50]
"""

from samara.exporter.frontend.data import *
from samara.exporter.frontend.data import __all__ as __all__
