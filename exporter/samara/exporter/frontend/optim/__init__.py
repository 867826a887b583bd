# SPDX-License-Identifier: Apache-2.0
"""`samara.optim`: optimisers and learning rate schedules, under PyTorch's names."""

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.optim import lr_scheduler as lr_scheduler
from samara.exporter.frontend.optim import swa_utils as swa_utils
from samara.exporter.frontend.optim.adaptive import Adagrad as Adagrad
from samara.exporter.frontend.optim.algorithms import SGD as SGD
from samara.exporter.frontend.optim.algorithms import Adam as Adam
from samara.exporter.frontend.optim.algorithms import AdamW as AdamW
from samara.exporter.frontend.optim.algorithms import RMSprop as RMSprop
from samara.exporter.frontend.optim.lbfgs import LBFGS as LBFGS
from samara.exporter.frontend.optim.optimizer import Optimizer as Optimizer

__all__ = [
    "LBFGS",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Optimizer",
    "RMSprop",
    "lr_scheduler",
    "swa_utils",
]

name_counterparts(globals(), __all__, "torch.optim")
