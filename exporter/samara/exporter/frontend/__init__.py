# SPDX-License-Identifier: Apache-2.0
"""The training front end: eager tensors, autograd, layers, optimisers, trace and script."""

import sys

if "multiprocessing.reduction" in sys.modules:
    # Another process may have started this one. Tensors that it sends must travel as handles, even if
    # its own code never imports samara.multiprocessing.
    from samara.exporter.frontend import multiprocessing as multiprocessing
