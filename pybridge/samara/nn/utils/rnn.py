# SPDX-License-Identifier: Apache-2.0
"""samara.nn.utils.rnn: sequences of different lengths in one tensor."""

from samara.exporter.frontend.nn.utils.rnn import *
from samara.exporter.frontend.nn.utils.rnn import __all__ as __all__
