# SPDX-License-Identifier: Apache-2.0
"""samara.distributions: probability distributions, under PyTorch's names.

>>> policy = samara.distributions.Categorical(logits=samara.zeros(5, 3))
>>> action = policy.sample()
>>> policy.log_prob(action).shape, policy.entropy().shape
((5,), (5,))
"""

from samara.exporter.frontend.distributions import *
from samara.exporter.frontend.distributions import __all__ as __all__
