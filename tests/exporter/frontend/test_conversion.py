# SPDX-License-Identifier: Apache-2.0
"""Copies, dtypes, numpy and DLPack, without copies where none are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of

import samara
from samara.pybridge.errors import SamaraError, UnsupportedError


def test_numpy_shares_memory_both_ways() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = samara.from_numpy(array)
    assert x.numpy() is array
    x[0, 0] = 9.0
    array[1, 1] = 7.0
    assert (array[0, 0], x[1, 1].item()) == (9, 7)
    assert samara.from_numpy(array[:, ::2]).stride() == (3, 2)
    assert samara.from_numpy(array[::-1]).tolist() == array[::-1].tolist()
    with pytest.raises(SamaraError, match="needs an array"):
        samara.from_numpy([1, 2])


def test_numpy_of_what_learns_is_refused() -> None:
    x = samara.ones(2, requires_grad=True)
    for wrong in (x.numpy, lambda: np.asarray(x), x.__dlpack__):
        with pytest.raises(SamaraError, match="detach"):
            wrong()
    assert x.detach().numpy().tolist() == [1, 1]


def test_array_protocol() -> None:
    x = samara.tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.asarray(x, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(x), x.numpy())
    assert np.stack([x, x]).shape == (2, 2)
    assert np.concatenate([np.zeros(1, np.float32), x]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "?"])
def test_dlpack_both_ways(dtype: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(dtype)
    x = samara.from_numpy(array)
    out = np.from_dlpack(x)
    assert np.shares_memory(out, array)
    np.testing.assert_array_equal(out, array)
    for source in (array, array[:, ::2], array.T, x):
        back = samara.from_dlpack(source)
        assert np.shares_memory(back.numpy(), array)
        np.testing.assert_array_equal(back.numpy(), np.asarray(source))


def test_dlpack_keeps_memory_alive() -> None:
    x = samara.full((100, 1000), 3.0)
    out = np.from_dlpack(x)
    del x
    samara.zeros(100, 1000), samara.zeros(100, 1000)
    assert (out == 3).all()


def test_dlpack_of_something_else() -> None:
    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("on another device")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(SamaraError, match="DLPack"):
        samara.from_dlpack(Elsewhere())
    with pytest.raises(SamaraError, match="DLPack"):
        samara.from_dlpack([1, 2])


def test_dlpack_with_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    t = torch.arange(6.0).reshape(2, 3)
    x = samara.from_dlpack(t.t())
    x[0, 1] = 50.0
    assert t[1, 0].item() == 50
    back = torch.from_dlpack(samara.ones(2, 2))
    assert back.sum().item() == 4
    assert torch.utils.dlpack.from_dlpack(samara.ones(2)).tolist() == [1, 1]


def test_conversions() -> None:
    x = samara.tensor([1.7, -2.5, 0.0])
    kinds = {
        "float": "f4", "double": "f8", "half": "f2", "long": "i8", "int": "i4", "bool": "?",
    }  # fmt: skip
    for name, dtype in kinds.items():
        y = getattr(x, name)()
        assert y.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(y.numpy(), x.numpy().astype(dtype))
    assert x.float() is x
    assert x.to(samara.float32) is x
    assert x.to(samara.float32, copy=True) is not x
    assert x.to(samara.tensor([1])).dtype == np.int64
    assert x.type_as(samara.tensor(True)).tolist() == [True, True, False]
    assert x.type(np.int16).element_size() == 2
    assert x.is_floating_point()
    assert not x.long().is_floating_point()


def test_gradients_pass_through_float_dtypes() -> None:
    x = samara.tensor([1.5, -2.0], requires_grad=True)
    (x.double() * 3 + x.half().double()).sum().backward()
    assert grad_of(x).dtype == np.float32
    assert grad_of(x).tolist() == [4, 4]
    assert not x.long().requires_grad


def test_clone_keeps_the_order_and_contiguous_does_not() -> None:
    x = samara.arange(6).float().reshape(2, 3).t()
    assert x.clone().stride() == x.stride() == (1, 3)
    assert x.contiguous().stride() == (2, 1)
    assert x.contiguous().view(6).tolist() == [0, 3, 1, 4, 2, 5]
    big = samara.randn(50, 300).t()
    assert big.contiguous().is_contiguous()
    assert big.contiguous().tolist() == big.tolist()
    w = samara.ones(2, 3, requires_grad=True)
    (w.t().contiguous().view(6) * samara.arange(6)).sum().backward()
    assert grad_of(w).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_items() -> None:
    assert samara.tensor([[3]]).item() == 3
    assert isinstance(samara.tensor(3).item(), int)
    assert isinstance(samara.tensor(3.0).item(), float)
    assert isinstance(samara.tensor(True).item(), bool)
    assert samara.tensor([[1.0], [2.0]]).tolist() == [[1], [2]]
    with pytest.raises(SamaraError, match="one element"):
        samara.ones(2).item()
    x = samara.ones(4)
    assert x[1:].data_ptr() - x.data_ptr() == 4


def test_new_tensors_like_this_one() -> None:
    x = samara.zeros(2, dtype=samara.float64)
    assert x.new_zeros(2, 3).dtype == np.float64
    assert x.new_ones((2,)).tolist() == [1, 1]
    assert x.new_full((1, 2), 7).tolist() == [[7, 7]]
    assert x.new_tensor([1, 2], dtype=samara.int64).dtype == np.int64
    assert x.new_empty(3).shape == (3,)
    assert x.new_zeros(1, dtype=samara.bool).tolist() == [False]


def test_bytes_read_as_another_dtype() -> None:
    x = samara.ones(2, 2)
    assert x.view(samara.int32).tolist() == [[0x3F800000] * 2] * 2
    assert np.shares_memory(x.view(samara.int32).numpy(), x.numpy())
    with pytest.raises(SamaraError, match="reading of the same bytes"):
        x.requires_grad_().view(samara.int32)


def test_what_ported_programs_ask_of_tensors() -> None:
    x = samara.ones(2)
    assert x.to("cpu", non_blocking=True) is x
    assert x.to(samara.device("cpu", 0), samara.float32) is x
    assert x.to(x) is x
    assert x.to("cpu", samara.float32, False, True) is not x
    assert x.to(samara.float64, copy=True).dtype == samara.float64
    assert x.pin_memory() is x
    assert not x.is_pinned()
    assert not x.is_cuda
    assert x.get_device() == -1
    assert x.byte().dtype == samara.uint8
    assert x.short().dtype == samara.int16
    assert x.char().dtype == samara.int8
    assert x.type() == "torch.FloatTensor"
    assert x.long().type() == "torch.LongTensor"
    assert x.type("torch.LongTensor").dtype == samara.int64
    assert x.type(samara.DoubleTensor).dtype == samara.float64
    assert x.type(samara.half).dtype == samara.float16
    assert x.new_full((2,), 3.0, device="cpu").tolist() == [3, 3]
    assert x.new_tensor([1, 2], requires_grad=True).requires_grad
    assert samara.device(type="cpu", index=0).index == 0
    with samara.device("cpu") as where:
        assert where.type == "cpu"


def test_dtypes_that_tensors_cannot_have() -> None:
    x, net = samara.ones(2), samara.nn.Linear(1, 1)
    uses: list[Any] = [
        lambda: x.to(samara.bfloat16),
        lambda: x.type("torch.cuda.FloatTensor"),
        lambda: samara.zeros(2, dtype=samara.bfloat16),
        lambda: net.to(samara.bfloat16),
        lambda: net.bfloat16(),
    ]
    for use in uses:
        with pytest.raises(UnsupportedError):
            use()
    assert repr(samara.bfloat16) == "samara.bfloat16"
