# SPDX-License-Identifier: Apache-2.0
"""The device of tensors, which is always the CPU."""

from __future__ import annotations

from typing import Any

from samara.pybridge.errors import UnsupportedError


class device:
    """The device of a tensor, always the CPU: `device("cpu")`, `device("cpu", 0)`.

    As a context manager it does nothing. Raises UnsupportedError for every other device.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        text = str(type)
        kind, _, number = text.partition(":")
        if kind != "cpu" or not (number == "" or number.isdecimal()):
            shown = (
                f"cuda:{text}" if isinstance(type, int) else text
            )  # in PyTorch a number is a GPU
            raise UnsupportedError(
                f"there is no device {shown!r} for tensors, which are on the CPU",
                fix='use "cpu": training runs on the CPU; exported models run on the devices that '
                "samara.devices() lists",
            )
        self.type = "cpu"
        self.index = int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) or other == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")

    def __enter__(self) -> device:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return self.type


CPU = device()
