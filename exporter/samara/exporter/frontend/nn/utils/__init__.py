# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.utils`: gradient clipping, parameters as vectors, packed sequences."""

from samara.exporter.frontend.nn.utils import rnn as rnn
from samara.exporter.frontend.nn.utils.parameters import clip_grad_norm_ as clip_grad_norm_
from samara.exporter.frontend.nn.utils.parameters import clip_grad_value_ as clip_grad_value_
from samara.exporter.frontend.nn.utils.parameters import (
    parameters_to_vector as parameters_to_vector,
)
from samara.exporter.frontend.nn.utils.parameters import (
    vector_to_parameters as vector_to_parameters,
)

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]
