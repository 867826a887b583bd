# SPDX-License-Identifier: Apache-2.0
"""The training front end: eager tensors, autograd, layers, optimisers, trace and script."""

import sys

if "multiprocessing.reduction" in sys.modules:
    # Perhaps a process that was started by another: what it sends shall travel as handles, even
    # where its own code never imports samara.multiprocessing.
    from samara.exporter.frontend import multiprocessing as multiprocessing
