# SPDX-License-Identifier: Apache-2.0
"""`samara.cuda.amp`: autocast and GradScaler with the arguments of the older module."""

from samara.exporter.frontend.amp import CudaGradScaler as GradScaler
from samara.exporter.frontend.amp import autocast as autocast
from samara.exporter.frontend.amp import custom_bwd as custom_bwd
from samara.exporter.frontend.amp import custom_fwd as custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
