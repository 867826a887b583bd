# SPDX-License-Identifier: Apache-2.0
"""`samara.linalg`: linear algebra of batches of matrices, under PyTorch's names."""

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.linalg.matrices import LinAlgError as LinAlgError
from samara.exporter.frontend.linalg.norms import matrix_norm as matrix_norm
from samara.exporter.frontend.linalg.norms import norm as norm
from samara.exporter.frontend.linalg.norms import vector_norm as vector_norm
from samara.exporter.frontend.linalg.solving import cholesky as cholesky
from samara.exporter.frontend.linalg.solving import det as det
from samara.exporter.frontend.linalg.solving import inv as inv
from samara.exporter.frontend.linalg.solving import slogdet as slogdet
from samara.exporter.frontend.linalg.solving import solve as solve
from samara.exporter.frontend.linalg.spectral import eigh as eigh
from samara.exporter.frontend.linalg.spectral import eigvalsh as eigvalsh
from samara.exporter.frontend.linalg.spectral import qr as qr
from samara.exporter.frontend.linalg.spectral import svd as svd
from samara.exporter.frontend.linalg.spectral import svdvals as svdvals

__all__ = [
    "LinAlgError",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "matrix_norm",
    "norm",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "vector_norm",
]

name_counterparts(globals(), __all__, "torch.linalg")
