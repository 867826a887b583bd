# SPDX-License-Identifier: Apache-2.0
"""Reading what `torch.save` wrote, without torch and without running anything a file asks for."""

from samara.exporter.frontend.torch_file.reader import START_BYTES as START_BYTES
from samara.exporter.frontend.torch_file.reader import looks_like as looks_like
from samara.exporter.frontend.torch_file.reader import read as read
