# SPDX-License-Identifier: Apache-2.0
"""Globals in pickles of checkpoints: what they become, and how others are refused."""

from __future__ import annotations

import argparse
import io
import pickle
import random
from collections import Counter, OrderedDict, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.torch_file.maker import (
    Call,
    Memory,
    Name,
    Pickler,
    Raw,
    parameter,
    tensor,
    zipped,
)

import samara
from samara import nn
from samara.exporter.types import SamaraError, UnsupportedError


def load(value: Any, **options: Any) -> Any:
    return samara.load(io.BytesIO(zipped(value)), **options)


@pytest.mark.parametrize("protocol", range(6))
def test_python_and_numpy(protocol: int) -> None:
    values = {
        "od": OrderedDict(a=1),
        "dd": defaultdict(list, {"a": [1]}),
        "none": defaultdict(None, {"a": [1]}),
        "counter": Counter("aab"),
        "random": random.Random(5).getstate(),
        "scalars": [np.float64(0.5), np.int64(-3), np.float16(2), np.bool_(True)],
        "arrays": [np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.array(5)],
        "swapped": np.arange(3, dtype=">i4"),
        "flags": np.array([True, False]),
        "empty": np.zeros((0, 2), np.int16),
    }
    got = samara.load(io.BytesIO(zipped(0, pickle=pickle.dumps(values, protocol))))
    for name, value in values.items():
        assert type(got[name]) is type(value)
        assert repr(got[name]) == repr(value) or name == "swapped"  # which is native afterwards
    assert got["swapped"].tolist() == [0, 1, 2]
    assert got["dd"]["new"] == []
    got["arrays"][0][0, 0] = 7  # may be written to


@pytest.mark.parametrize("protocol", range(2, 6))
def test_namespaces(protocol: int) -> None:
    args = argparse.Namespace(lr=0.1, names=["a"])
    got = samara.load(io.BytesIO(zipped(0, pickle=pickle.dumps({"args": args}, protocol))))["args"]
    assert isinstance(got, SimpleNamespace)
    assert vars(got) == vars(args)


def test_torchs_own_values() -> None:
    assert load(Name("torch", "float16")) is samara.float16
    assert load(Name("torch", "bfloat16")) is samara.bfloat16
    assert load(Name("torch", "long")) == samara.int64
    assert load(Call(Name("torch", "device"), ("cuda", 1))) == samara.device("cpu")
    assert load(Call(Name("torch", "Size"), ((2, 3),))) == (2, 3)


def test_tensors_with_attributes() -> None:
    plain = tensor(np.ones(2, np.float32))
    function = Name("torch._tensor", "_rebuild_from_type_v2")
    given = (Name("torch._utils", "_rebuild_tensor_v2"), Name("torch", "Tensor"))
    assert load(Call(function, (*given, plain.arguments, {"tag": "x"}))).tolist() == [1, 1]
    kind = Name("torch.nn.parameter", "Parameter")
    got = load(Call(function, (given[0], kind, plain.arguments, {})))
    assert isinstance(got, nn.Parameter)
    with_state = Name("torch._utils", "_rebuild_parameter_with_state")
    assert isinstance(load(Call(with_state, (*parameter(plain).arguments, {}))), nn.Parameter)
    old = Name("torch._utils", "_rebuild_tensor")
    assert load(Call(old, plain.arguments[:4])).tolist() == [1, 1]
    for wrong in (
        Call(function, (function, Name("torch", "Tensor"), (), {})),
        Call(function, (given[0], Name("numpy", "ndarray"), plain.arguments, {})),
        Call(function, (plain, plain, plain, plain)),
    ):
        with pytest.raises(SamaraError):
            load(wrong)


def test_gradients_are_wanted_where_they_were() -> None:
    assert load(tensor(np.ones(2, np.float32), learns=True)).requires_grad
    assert not load(tensor(np.ones(2, np.int64), learns=True)).requires_grad
    assert not load(parameter(tensor(np.ones(2)), learns=False)).requires_grad
    assert not load(parameter(tensor(np.ones(2, np.int64)))).requires_grad


REFUSED = {
    "to_dense": Call(Name("torch._utils", "_rebuild_sparse_tensor"), ()),
    "dequantize": Call(Name("torch._utils", "_rebuild_qtensor"), ()),
    "tensor.float()": Name("torch", "float8_e4m3fn"),
    "tensors with data": Call(Name("torch._utils", "_rebuild_meta_tensor_no_storage"), ()),
    "complex64": Name("torch", "ComplexHalfStorage"),
    "model.state_dict()": Call(Name("torch.nn.modules.linear", "Linear"), ()),
    "(model.state_dict(), path)": Call(Name("mynet", "Net"), (), {}, b"\x81"),
}


@pytest.mark.parametrize("instead", REFUSED)
def test_refusals_say_what_to_save_instead(instead: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        load(REFUSED[instead])
    assert instead in str(caught.value.fix)


def test_lazy_conjugates() -> None:
    plain = tensor(np.ones(2, np.complex64))
    call = Call(plain.function, (*plain.arguments, {"conj": True}))
    with pytest.raises(UnsupportedError, match="conj"):
        load(call)
    assert load(Call(plain.function, (*plain.arguments, {"conj": False}))).tolist() == [1, 1]


HOOKS = Call(Name("collections", "OrderedDict"), ())
DTYPE = Call(Name("numpy", "dtype"), ("f4",))
V2 = Name("torch._utils", "_rebuild_tensor_v2")
ARRAY = Name("numpy.core.multiarray", "_reconstruct")
BARE = (Name("numpy", "ndarray"), (0,), "b")
DAMAGED = [
    Call(V2, ()),
    Call(V2, (1, 2, 3, 4)),
    Call(V2, (None, 0, (1,), (1,), False, HOOKS)),
    Call(V2, (Memory(np.ones(2)), 0, (3,), (1,), False, HOOKS)),
    Call(Name("torch._utils", "_rebuild_parameter"), (3, True, HOOKS)),
    Call(Name("torch", "Size"), (("a",),)),
    Call(Name("torch", "Size"), ((1,) * 65,)),
    Call(Name("torch", "Size"), ()),
    Call(Name("collections", "OrderedDict"), (3,)),
    Call(Name("collections", "OrderedDict"), ([1],)),
    Call(Name("collections", "OrderedDict"), ([([], 1)],)),
    Call(Name("collections", "defaultdict"), (Name("builtins", "bytearray"),)),
    Call(Name("collections", "defaultdict"), (3,)),
    Call(Name("builtins", "set"), (3,)),
    Call(Name("builtins", "bytearray"), (10**12,)),
    Call(Name("builtins", "complex"), ("1", "2")),
    Call(Name("_codecs", "encode"), ("a", "rot13")),
    Call(Name("_codecs", "encode"), (3,)),
    Call(Name("argparse", "Namespace"), (1,)),
    Call(Name("argparse", "Namespace"), (), {1: 2}),
    Call(Name("numpy", "dtype"), ("O8",)),
    Call(Name("numpy", "dtype"), ([],)),
    Call(Name("numpy", "dtype"), ("f4",), (3, "x", None, None, None)),
    Call(Name("numpy", "dtype"), ("f4",), (3, "<", None, ("a",), {"a": 1})),
    Call(Name("numpy.core.multiarray", "scalar"), (DTYPE, "abc")),
    Call(Name("numpy.core.multiarray", "scalar"), ("f4", "abcd")),
    Call(ARRAY, BARE, (1, (2,), DTYPE, False, "abcd")),
    Call(ARRAY, BARE, (1, (1 << 61, 1 << 61), DTYPE, False, "")),
    Call(ARRAY, BARE, (1, (-1,), DTYPE, False, "")),
    Call(ARRAY, BARE, (1, (1,) * 33, DTYPE, False, "abcd")),
    Call(ARRAY, BARE, (1, 2)),
    Call(ARRAY, (Name("torch", "Tensor"), (0,), "b")),
    Call(Raw(b"}"), ()),
    DTYPE,
    [Name("torch", "FloatStorage")],
    {"a": (Memory(np.ones(2)),)},
    [Name("torch", "Tensor")],
]


@pytest.mark.parametrize("value", DAMAGED, ids=[str(i) for i in range(len(DAMAGED))])
def test_damage_is_found(value: Any) -> None:
    with pytest.raises(SamaraError):
        load(value)


def test_an_array_has_one_state() -> None:
    state = (1, (1,), DTYPE, False, "abcd")
    once = Call(ARRAY, BARE, state)
    assert load(once).dtype == np.float32
    pickled = Pickler().dump(once)
    again = Pickler()
    again.save(state)
    with pytest.raises(SamaraError, match="sets the state"):
        samara.load(io.BytesIO(zipped(0, pickle=pickled[:-1] + bytes(again.out) + b"b.")))
