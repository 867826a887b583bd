# SPDX-License-Identifier: Apache-2.0
"""Reads files of `torch.save`, without torch and without running code that a file names."""

from samara.exporter.frontend.torch_file.reader import START_BYTES as START_BYTES
from samara.exporter.frontend.torch_file.reader import looks_like as looks_like
from samara.exporter.frontend.torch_file.reader import read as read
