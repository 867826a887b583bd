# SPDX-License-Identifier: Apache-2.0
"""samara.linalg: linear algebra of batches of matrices, under PyTorch's names.

It computes in NumPy, with gradients. Of its functions det and the norms that need no singular values export.

>>> a = samara.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
>>> samara.linalg.solve(a, samara.ones(2)).sum().backward()
>>> a.grad.shape
(2, 2)
"""

from samara.exporter.frontend.linalg import *
from samara.exporter.frontend.linalg import __all__ as __all__
