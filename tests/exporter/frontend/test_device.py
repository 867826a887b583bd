# SPDX-License-Identifier: Apache-2.0
"""The only device, the CPU, and how others are refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend import conversion
from samara.exporter.frontend.device import device
from samara.pybridge.errors import UnsupportedError


def test_devices() -> None:
    x = samara.ones(2)
    assert x.device == "cpu"
    assert str(x.device) == "cpu"
    assert repr(x.device) == "device(type='cpu')"
    assert x.to("cpu") is x
    assert x.to(x.device, samara.float64).dtype == np.float64
    assert x.cpu() is x
    assert device("cpu:0") == device(x.device)
    assert hash(x.device) == hash(device())
    wrongs: list[Any] = [
        lambda: x.to("cuda"),
        lambda: x.to(device="opencl"),
        lambda: samara.zeros(2, device="cuda:0"),
        lambda: samara.tensor([1], device="mps"),
    ]
    for wrong in wrongs:
        with pytest.raises(UnsupportedError, match="no device"):
            wrong()


def test_a_device_can_be_pickled_and_found_where_older_pickles_name_it() -> None:
    assert pickle.loads(pickle.dumps(device("cpu:0"))) == device()
    assert vars(conversion)["device"] is device
