# SPDX-License-Identifier: Apache-2.0
"""Switches that PyTorch programs set: settings that hold here are accepted, others are errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samara
from samara.pybridge.errors import SamaraError, UnsupportedError


def test_inference_mode_records_nothing() -> None:
    x: Any = samara.ones(2, requires_grad=True)
    with samara.inference_mode():
        assert not (x * 2).requires_grad
        with samara.inference_mode(False):
            assert not (x * 2).requires_grad
        with samara.enable_grad():
            assert (x * 2).requires_grad
    assert (x * 2).requires_grad
    with samara.inference_mode(mode=False):
        assert (x * 2).requires_grad

    @samara.inference_mode()
    def double(t: Any, times: int = 2) -> Any:
        return t * times

    def three(t: Any) -> Any:
        """Three times."""
        return t * 3

    mode: Any = samara.inference_mode
    triple = mode(three)  # a decorator without parentheses

    assert not double(x, times=2).requires_grad
    assert not triple(x).requires_grad
    assert triple.__doc__ == "Three times."
    assert not samara.is_inference_mode_enabled()

    def rows() -> Iterator[int]:
        yield 1

    with pytest.raises(SamaraError, match="generator"):
        samara.inference_mode()(rows)
    with pytest.raises(ValueError, match="x"), samara.inference_mode():
        raise ValueError("x")
    assert samara.is_grad_enabled()


def test_compile_gives_the_module_back() -> None:
    net = samara.nn.Linear(1, 1)
    assert samara.compile(net) is net
    assert samara.compile(net, mode="max-autotune", fullgraph=True) is net

    @samara.compile
    def f(x: int) -> int:
        return x + 1

    dynamic: Any = samara.compile(dynamic=True)

    def g(x: int) -> int:
        return x + 2

    assert (f(1), dynamic(g)(1)) == (2, 3)
    net.compile(mode="reduce-overhead")


def test_what_is_so_is_accepted() -> None:
    samara.use_deterministic_algorithms(True)
    samara.use_deterministic_algorithms(False, warn_only=True)
    assert samara.are_deterministic_algorithms_enabled()
    for precision in ("highest", "high", "medium"):
        samara.set_float32_matmul_precision(precision)
    assert samara.get_float32_matmul_precision() == "highest"
    with pytest.raises(SamaraError, match="'low'"):
        samara.set_float32_matmul_precision("low")
    samara.set_num_interop_threads(4)
    assert samara.get_num_interop_threads() == 1
    samara.set_default_dtype(samara.float32)
    assert samara.get_default_dtype() == samara.float32
    samara.set_default_device("cpu")
    samara.set_default_device(samara.device("cpu"))
    assert samara.get_default_device() == samara.device("cpu")
    samara.set_default_tensor_type("torch.FloatTensor")
    samara.set_default_tensor_type(samara.FloatTensor)


def test_what_is_not_so_is_refused() -> None:
    wrongs: list[Any] = [
        lambda: samara.set_default_device("cuda"),
        lambda: samara.set_default_tensor_type("torch.cuda.FloatTensor"),
    ]
    for wrong in wrongs:
        with pytest.raises(UnsupportedError) as caught:
            wrong()
        assert caught.value.fix


@pytest.mark.parametrize("way", ["dtype", "tensor_type"])
@pytest.mark.parametrize(
    ("name", "kind", "fix"),
    [
        ("float64", "Double", r"call \.double\(\) on modules"),
        ("float16", "Half", r"call \.half\(\) on modules"),
        ("bfloat16", "BFloat16", "leave float32"),
    ],
)
def test_floats_that_are_no_default(name: str, kind: str, fix: str, way: str) -> None:
    setter: Any = getattr(samara, f"set_default_{way}")
    wanted = getattr(samara, name) if way == "dtype" else f"torch.{kind}Tensor"
    with pytest.raises(UnsupportedError, match=f"is float32 and cannot be {name}\n") as caught:
        setter(wanted)
    assert re.search(fix, caught.value.fix or "")
    assert samara.zeros(1).dtype == samara.float32


@pytest.mark.parametrize("wrong", [samara.int64, samara.bool, samara.LongTensor, "nope", None])
def test_what_is_no_float_is_a_type_error(wrong: Any) -> None:
    is_type = wrong is samara.LongTensor
    with pytest.raises(TypeError) as caught:
        (samara.set_default_tensor_type if is_type else samara.set_default_dtype)(wrong)
    assert isinstance(caught.value, SamaraError)


def test_constructors_by_dtype() -> None:
    assert samara.LongTensor([1, 2]).dtype == np.int64
    assert samara.FloatTensor(np.ones((2, 3))).dtype == np.float32
    assert samara.FloatTensor(2, 3).shape == (2, 3)
    assert samara.ByteTensor(4).dtype == np.uint8
    assert samara.DoubleTensor().shape == (0,)
    assert samara.BoolTensor([1, 0]).tolist() == [True, False]
    assert samara.LongTensor(range(3)).tolist() == [0, 1, 2]
    with pytest.raises(SamaraError, match="LongTensor takes"):
        samara.LongTensor([1], [2])
    assert samara.Tensor(2, 3).dtype == np.float32
    assert samara.Tensor(2, 3).shape == (2, 3)
    assert samara.Tensor().shape == (0,)
    assert samara.Tensor([1.5]).tolist() == [1.5]
    with pytest.raises(SamaraError, match="2 values"):
        samara.Tensor([1.0], [2.0])


def test_memory_formats_may_be_named() -> None:
    x = samara.ones(1, 2, 3, 3)
    assert x.to(memory_format=samara.channels_last) is x
    assert samara.zeros_like(x, memory_format=samara.preserve_format).shape == x.shape
    net = samara.nn.Conv2d(1, 1, 1)
    assert net.to(memory_format=samara.channels_last) is net
    assert repr(samara.contiguous_format) == "samara.contiguous_format"
    assert repr(samara.strided) == "samara.strided"
