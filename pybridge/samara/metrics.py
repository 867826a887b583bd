# SPDX-License-Identifier: Apache-2.0
"""samara.metrics: measures of a model's answers, for modules and sessions alike.

>>> accuracy = samara.metrics.Accuracy()
>>> _ = accuracy.update([[0.1, 0.9], [0.8, 0.2]], [1, 1])
>>> accuracy.compute()
0.5
"""

from samara.exporter.frontend.metrics import *
from samara.exporter.frontend.metrics import __all__ as __all__
