# SPDX-License-Identifier: Apache-2.0
"""Folders of Hugging Face: config.json and safetensors as modules."""

from samara.exporter.frontend.pretrained.cached import CachedLM as CachedLM
from samara.exporter.frontend.pretrained.decoder import CausalLM as CausalLM
from samara.exporter.frontend.pretrained.encoder import TextEncoder as TextEncoder
from samara.exporter.frontend.pretrained.folder import from_pretrained as from_pretrained
