# SPDX-License-Identifier: Apache-2.0
"""Devices of PyTorch that samara lacks: questions are answered, use is refused."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara.pybridge.errors import UnsupportedError


def test_there_is_no_device_to_train_on() -> None:
    modules: list[Any] = [samara.cuda, samara.mps, samara.xpu, samara.accelerator]
    for module in modules:
        assert not module.is_available()
        assert module.device_count() == 0
        module.synchronize()
        module.empty_cache()
    found: Any = samara.accelerator.current_accelerator
    assert found() is None
    assert not samara.cuda.is_bf16_supported()
    assert not samara.cuda.is_initialized()


def test_what_programs_call_whether_or_not_there_is_one() -> None:
    samara.manual_seed(5)
    want = samara.rand(3).tolist()
    samara.manual_seed(5)
    samara.cuda.manual_seed(1)
    samara.cuda.manual_seed_all(1)
    samara.mps.manual_seed(1)
    assert samara.rand(3).tolist() == want
    assert samara.cuda.memory_allocated() == samara.cuda.max_memory_allocated("cuda:0") == 0
    samara.cuda.reset_peak_memory_stats()
    samara.cuda.ipc_collect()
    samara.cuda.init()
    assert samara.cuda.get_rng_state_all() == []
    samara.cuda.set_rng_state_all([])


def test_use_is_refused_in_one_sentence() -> None:
    x, net = samara.ones(2), samara.nn.Linear(1, 1)
    uses: list[Any] = [
        lambda: samara.cuda.set_device(0),
        lambda: samara.cuda.current_device(),
        lambda: samara.cuda.get_device_name(0),
        lambda: samara.cuda.get_device_properties(0),
        lambda: samara.cuda.current_stream(),
        lambda: samara.cuda.Stream(),
        lambda: samara.cuda.Event(enable_timing=True),
        lambda: samara.cuda.set_rng_state_all([1]),
        lambda: samara.accelerator.set_device_index(0),
        lambda: x.cuda(),
        lambda: x.cuda(0),
        lambda: x.to("cuda:1", non_blocking=True),
        lambda: x.to(0),
        lambda: x.to("cuda"),
        lambda: x.to(device="opencl"),
        lambda: net.cuda(),
        lambda: net.to("cuda"),
        lambda: net.to(device="mps"),
        lambda: samara.device("cuda", 0),
        lambda: samara.device(0),
        lambda: samara.zeros(2, device="cuda"),
        lambda: samara.zeros(2, device="cuda:0"),
        lambda: samara.tensor([1], device="mps"),
        lambda: samara.randperm(2, device="cuda"),
        lambda: samara.Generator(device="cuda"),
        lambda: x.new_zeros(2, device="cuda"),
        lambda: samara.tril_indices(2, 2, device="cuda"),
    ]
    for use in uses:
        with pytest.raises(UnsupportedError, match=r"no device .* for tensors") as caught:
            use()
        assert "training runs on the CPU" in str(caught.value.fix)
        assert "exported models run on" in str(caught.value.fix)


def test_backends_take_assignments() -> None:
    backends: Any = samara.backends
    backends.cudnn.benchmark = True
    backends.cudnn.deterministic = False
    backends.cuda.matmul.allow_tf32 = True
    backends.mkldnn.enabled = False
    assert backends.cudnn.benchmark is True
    assert not backends.cudnn.is_available()
    assert backends.cudnn.version() is None
    assert not backends.mps.is_available()
    assert not backends.mps.is_built()
    assert not backends.cuda.is_built()
    backends.cuda.enable_flash_sdp(True)
    import samara.backends.cudnn as cudnn

    cudnn.enabled = True
