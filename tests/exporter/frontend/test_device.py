# SPDX-License-Identifier: Apache-2.0
"""The only device: the CPU."""

from __future__ import annotations

import pickle

import numpy as np

import samara
from samara.exporter.frontend import conversion
from samara.exporter.frontend.device import device


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


def test_a_device_can_be_pickled_and_found_where_older_pickles_name_it() -> None:
    assert pickle.loads(pickle.dumps(device("cpu:0"))) == device()
    assert vars(conversion)["device"] is device
