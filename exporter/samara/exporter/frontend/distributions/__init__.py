# SPDX-License-Identifier: Apache-2.0
"""`samara.distributions`: probability distributions, under PyTorch's names."""

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.distributions.base import Distribution as Distribution
from samara.exporter.frontend.distributions.discrete import Bernoulli as Bernoulli
from samara.exporter.frontend.distributions.discrete import Categorical as Categorical
from samara.exporter.frontend.distributions.divergence import kl_divergence as kl_divergence
from samara.exporter.frontend.distributions.normal import Normal as Normal

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "kl_divergence"]

name_counterparts(globals(), __all__, "torch.distributions")
