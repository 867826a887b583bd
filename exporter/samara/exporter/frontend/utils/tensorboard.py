# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.tensorboard`: event files for TensorBoard, written by the package tensorboardX."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.operands import is_tensor
from samara.exporter.types import ArgumentError, require

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes numbers, histograms, images and texts by step into event files in a folder.

    log_dir: the folder; `runs/`, time, host and `comment` if None. purge_step: TensorBoard hides
    what an earlier run wrote from this step on. An event is written at the latest after `max_queue`
    others or `flush_secs` seconds. Tensors, arrays and Python numbers are taken as values.

    Needs the package tensorboardX (`pip install 'samara-nn[tensorboard]'`); raises UnsupportedError
    without it, and ArgumentError for a scalar of several elements.

        with samara.utils.tensorboard.SummaryWriter("runs/first") as writer:
            for step, (x, y) in enumerate(loader):
                writer.add_scalar("loss/train", train_step(x, y), step)

    PyTorch: `torch.utils.tensorboard.SummaryWriter`.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        require("SummaryWriter", "tensorboardX")
        import tensorboardX

        self._writer = tensorboardX.SummaryWriter(
            logdir=None if log_dir is None else str(log_dir),
            comment=comment,
            purge_step=purge_step,
            max_queue=max_queue,
            flush_secs=flush_secs,
            filename_suffix=filename_suffix,
        )

    @property
    def log_dir(self) -> str:
        """The folder of the event files."""
        return str(self._writer.logdir)

    def get_logdir(self) -> str:
        """The folder of the event files."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add one number. ArgumentError if the value has several elements."""
        self._writer.add_scalar(tag, _number(tag, scalar_value), _step(global_step), walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add several numbers that one chart shows; each name has a folder `main_tag/name`."""
        numbers = {k: _number(f"{main_tag}/{k}", v) for k, v in tag_scalar_dict.items()}
        self._writer.add_scalars(main_tag, numbers, _step(global_step), walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add how values are distributed. bins: a name or edges, as for `numpy.histogram`."""
        step = _step(global_step)
        self._writer.add_histogram(tag, _array(values), step, bins, walltime, max_bins)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add a picture: uint8 from 0 to 255, or floats from 0 to 1. Needs pillow."""
        require("add_image", "pillow")
        step = _step(global_step)
        self._writer.add_image(tag, _array(img_tensor), step, walltime, dataformats)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a text in Markdown."""
        self._writer.add_text(tag, text_string, _step(global_step), walltime)

    def flush(self) -> None:
        """Write all events to the disk."""
        self._writer.flush()

    def close(self) -> None:
        """Write all events and close the files."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _array(values: Any) -> np.ndarray[Any, Any]:
    return values.detach().numpy() if is_tensor(values) else np.asarray(values)


def _number(tag: str, value: Any) -> float:
    array = _array(value)
    if array.size != 1:
        raise ArgumentError(
            f"the scalar {tag!r} has shape {list(array.shape)}",
            fix="pass one number, such as the mean, or use add_histogram",
        )
    return float(array.reshape(()))


def _step(global_step: Any) -> int | None:
    return None if global_step is None else int(global_step)


name_counterparts(globals(), __all__, "torch.utils.tensorboard")
