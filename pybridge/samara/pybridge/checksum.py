# SPDX-License-Identifier: Apache-2.0
"""The checksum of a file's data, by the same function that runtimes use."""

from __future__ import annotations

from samara.pybridge._native import ffi, library


def checksum(data: bytes | bytearray | memoryview) -> int:
    """The 64-bit checksum that `.samara` files hold for every MiB of their segments (docs/reference/format.md).

    >>> hex(checksum(b"samara"))
    '0x56cb2aa23fb3b88c'
    """
    return int(library().samara_checksum(ffi.from_buffer(data), len(data)))
