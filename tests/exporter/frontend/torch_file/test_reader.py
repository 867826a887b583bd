# SPDX-License-Identifier: Apache-2.0
"""Whole files of torch.save: contents, ties, refusals, damage, and mutants of valid files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import tracemalloc
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.torch_file.maker import (
    MAGIC,
    Call,
    Memory,
    Name,
    Pickler,
    Raw,
    bfloat16,
    parameter,
    size,
    stream,
    tensor,
    zipped,
)

import samara
from samara import nn
from samara.exporter.types import ModelFormatError, SamaraError, UnsupportedError

Make = Callable[[Any], bytes]
FORMS = pytest.mark.parametrize("make", [zipped, stream])


def load(data: bytes, **options: Any) -> Any:
    return samara.load(io.BytesIO(data), **options)


def a_state() -> dict[str, Any]:
    """A checkpoint as training programs write it."""
    rng = np.random.default_rng(0)
    base = Memory(np.arange(24, dtype=np.float32))
    model: OrderedDict[str, Any] = OrderedDict()
    model["fc.weight"] = tensor(rng.standard_normal((2, 3)).astype(np.float32))
    model["fc.bias"] = tensor(rng.standard_normal(2))
    model._metadata = OrderedDict({"": {"version": 1}})  # type: ignore[attr-defined]
    return {
        "epoch": 3,
        "model": model,
        "optimizer": {
            "state": {0: {"step": tensor(np.float32(7)), "exp_avg": tensor(np.ones((2, 3)))}},
            "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 1], "fused": None}],
        },
        "tied": tensor(base, (4, 6), (6, 1)),
        "view": tensor(base, (4, 3), (6, 1), 1),
        "columns": tensor(base, (6, 4), (1, 6)),
        "half": tensor(np.arange(3, dtype=np.float16)),
        "flags": tensor(np.array([True, False])),
        "empty": tensor(np.zeros((0, 3), np.int64)),
        "learned": parameter(tensor(np.ones(2, np.float32), learns=True)),
        "shape": size(2, 3),
        "names": ["a", "é", None, True],
    }


# ---- what is read


@FORMS
def test_a_checkpoint(make: Make) -> None:
    got = load(make(a_state()))
    assert got["epoch"] == 3
    assert isinstance(got["model"], OrderedDict)
    assert got["model"]._metadata[""]["version"] == 1  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    weight = got["model"]["fc.weight"]
    assert isinstance(weight, samara.Tensor)
    assert weight.numpy().tolist() == rng.standard_normal((2, 3)).astype(np.float32).tolist()
    assert got["model"]["fc.bias"].dtype == samara.float64
    assert got["optimizer"]["state"][0]["step"].item() == 7
    assert got["optimizer"]["param_groups"][0]["betas"] == (0.9, 0.999)
    assert isinstance(got["learned"], nn.Parameter)
    assert got["learned"].requires_grad
    assert got["empty"].shape == (0, 3)
    assert got["shape"] == (2, 3)
    assert got["names"] == ["a", "é", None, True]


@FORMS
def test_ties_stay_tied(make: Make) -> None:
    got = load(make(a_state()))
    assert got["columns"].stride() == (1, 6)
    got["tied"][0, 1] = 99.0
    assert got["view"][0, 0].item() == 99
    assert got["columns"][1, 0].item() == 99
    one = tensor(np.ones(2, np.float32))
    pair = load(make([one, one]))
    assert pair[0] is pair[1]


def test_a_change_in_place_is_found_through_another_view() -> None:
    base = Memory(np.ones(4, np.float32))
    a, b = load(zipped([tensor(base, (4,), (1,)), tensor(base, (2, 2), (2, 1))]))
    x = samara.ones(4, requires_grad=True)
    y = (x * a).sum()
    b.add_(1)
    with pytest.raises(SamaraError, match="changed in place"):
        y.backward()


@FORMS
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
)
def test_dtypes_and_byte_orders(make: Any, big: bool, dtype: str) -> None:
    array = np.array([[1, 0, 3], [100, 0, 1]]).astype(dtype)
    got = load(make(tensor(array), big=big))
    assert got.dtype == np.dtype(dtype)
    assert got.tolist() == array.tolist()
    got.numpy()[...] = 1  # may be written to


@FORMS
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_what_tensors_cannot_be_is_an_array(make: Make, dtype: str) -> None:
    got = load(make(tensor(np.array([1 + 2j], dtype))))
    assert isinstance(got, np.ndarray)
    assert got.tolist() == [1 + 2j]


@FORMS
@pytest.mark.parametrize("big", [False, True])
def test_bfloat16_is_float32(make: Any, big: bool) -> None:
    bits = [0x3F80, 0xC049, 0x7F80, 0x0001]
    with pytest.warns(UserWarning, match="1 bfloat16 tensors were loaded as float32"):
        got = load(make({"x": bfloat16(bits)}, big=big))["x"]
    assert got.dtype == samara.float32
    assert got.numpy().view(np.uint32).tolist() == [b << 16 for b in bits]


@FORMS
def test_bfloat16_weights_go_into_a_module(make: Make) -> None:
    weight, bias = [0x3F80, 0xC049, 0x0001], [0x4000, 0x8000, 0xBF80]
    with pytest.warns(UserWarning, match="2 bfloat16 tensors were loaded as float32"):
        state = load(make(OrderedDict({"weight": bfloat16(weight), "bias": bfloat16(bias)})))
    layer = nn.LayerNorm(3)
    assert not any(layer.load_state_dict(state))
    for name, bits in (("weight", weight), ("bias", bias)):
        held: Any = getattr(layer, name)
        assert held.dtype == samara.float32
        assert held.detach().numpy().view(np.uint32).tolist() == [b << 16 for b in bits]
    layer(samara.randn(2, 3)).sum().backward()
    assert layer.weight is not None
    assert layer.weight.grad is not None


def test_unsigned_integers_come_as_raw_bytes() -> None:
    function = Name("torch._utils", "_rebuild_tensor_v3")
    for dtype in ("uint16", "uint32", "uint64", "float32"):
        array = np.array([1, 2, 3], dtype)
        raw = Memory(array.view(np.uint8), "UntypedStorage")
        hooks = Call(Name("collections", "OrderedDict"), ())
        call = Call(function, (raw, 1, (2,), (1,), False, hooks, Name("torch", dtype)))
        got = load(zipped(call))
        assert got.tolist() == [2, 3]
        assert got.dtype == dtype
        with pytest.raises(UnsupportedError, match="big-endian"):
            load(zipped(call, big=True))


@pytest.mark.parametrize("prefix", ["", "archive/", "a b/ü/", "resnet.18/"])
def test_any_folder_in_the_archive(prefix: str) -> None:
    assert load(zipped({"a": tensor(np.ones(2))}, prefix))["a"].tolist() == [1, 1]


def test_from_paths_and_open_files(tmp_path: Path) -> None:
    for make in (zipped, stream):
        data = make({"a": tensor(np.arange(3))})
        path = tmp_path / "x.pt"
        path.write_bytes(b"head" + data)
        with path.open("rb") as file:
            file.read(4)
            assert samara.load(file)["a"].tolist() == [0, 1, 2]
        path.write_bytes(data)
        for where in (path, str(path)):
            for mmap in (False, True, None):
                assert samara.load(where, mmap=mmap)["a"].tolist() == [0, 1, 2]
    with open(tmp_path / "two.pt", "wb") as file:
        file.write(stream({"a": 1}) + stream([tensor(np.ones(1))]))
    with open(tmp_path / "two.pt", "rb") as file:
        assert samara.load(file) == {"a": 1}
        assert samara.load(file)[0].tolist() == [1]


def test_mapped_arrays_are_private(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(zipped({"a": tensor(np.arange(1000))}))
    a = samara.load(path, mmap=True)["a"]
    assert not a.numpy().flags.owndata
    a[0] = 7
    assert samara.load(path, mmap=True)["a"][0].item() == 0


def test_the_views_of_files_before_0_4() -> None:
    """A persistent id with a part of another storage."""
    data = stream([tensor(Memory(np.arange(6, dtype=np.float32)), (2,), (1,))])
    pickled = Pickler(legacy=True)
    pickled.dump(0)
    whole = b"\x8a\x01\x06N"  # 6 elements, no view
    assert whole in data
    part = b"\x8a\x01\x06(X\1\0\0\0v\x8a\x01\x02\x8a\x01\x04t"
    assert load(data.replace(whole, part))[0].tolist() == [2, 3]
    outside = part.replace(b"\x8a\x01\x04t", b"\x8a\x01\x05t")
    with pytest.raises(ModelFormatError, match="leaves storage"):
        load(data.replace(whole, outside))


def test_map_location_and_weights_only() -> None:
    data = zipped({"a": tensor(np.ones(2))})
    for where in (None, "cpu", samara.device("cpu"), {"cuda:0": "cpu"}, lambda s, place: s):
        for only in (None, True, False):
            assert load(data, map_location=where, weights_only=only)["a"].tolist() == [1, 1]
    for wrong in ("cuda", {"cuda:0": "cuda:1"}, "meta"):
        with pytest.raises(UnsupportedError, match="no device"):
            load(data, map_location=wrong)


def test_texts_of_python_2() -> None:
    data = zipped(0, pickle=b"\x80\x02U\x02\xe9a.")
    with pytest.raises(ModelFormatError, match="latin1"):
        load(data)
    assert load(data, encoding="latin1") == "éa"
    assert load(data, encoding="bytes") == b"\xe9a"


def test_pytorch_agrees(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch writes the files where it is installed")
    base = torch.arange(24.0)
    names = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"
    tensors = {n: torch.arange(6).reshape(2, 3).to(getattr(torch, n)) for n in names.split()}
    tensors |= {"complex64": torch.ones(2, dtype=torch.complex64), "view": base[3:9:2]}
    tensors |= {"t": base.view(4, 6).t(), "expanded": torch.ones(1).expand(3, 4)}
    tensors |= {"parameter": torch.nn.Parameter(base[:3]), "empty": torch.zeros(0, 3)}
    for zip_file in (True, False):
        for protocol in (2, 3, 4, 5):
            path = tmp_path / "x.pt"
            options = {"_use_new_zipfile_serialization": zip_file, "pickle_protocol": protocol}
            torch.save(tensors, path, **options)
            got = samara.load(path)
            for name, want in tensors.items():
                value = (
                    got[name].detach().numpy()
                    if isinstance(got[name], samara.Tensor)
                    else got[name]
                )
                assert value.tolist() == want.tolist()
                assert value.dtype == str(want.dtype).removeprefix("torch.")
                if value.size:
                    assert tuple(s // value.itemsize for s in value.strides) == want.stride()


# ---- what is refused


def test_a_whole_module() -> None:
    module = Call(Name("torch.nn.modules.linear", "Linear"), (), {"training": True}, b"\x81")
    for make in (zipped, stream):
        with pytest.raises(UnsupportedError, match="whole module") as caught:
            load(make(module))
        assert "torch.save(model.state_dict(), path)" in str(caught.value.fix)
    pid = ("module", Name("torch", "Tensor"), "net.py", "class Net: ...")
    pickler = Pickler(legacy=True)
    pickler.save(pid)
    with pytest.raises(UnsupportedError, match="whole module"):
        load(zipped(0, pickle=b"\x80\x02" + bytes(pickler.out) + b"Q."))


def test_archives_of_others() -> None:
    script = zipped({}, more={"constants.pkl": b"", "code/__torch__.py": b""})
    with pytest.raises(UnsupportedError, match="TorchScript") as caught:
        load(script)
    assert "torch.jit.load(path).state_dict()" in str(caught.value.fix)
    with pytest.raises(UnsupportedError, match=r"torch\.export"):
        load(zipped({}, more={"archive_format": b"pt2"}))
    arrays = io.BytesIO()
    np.savez(arrays, a=np.ones(2))
    with pytest.raises(ModelFormatError, match=r"numpy\.savez"):
        load(arrays.getvalue())
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "x")
    with pytest.raises(ModelFormatError, match="did not write"):
        load(other.getvalue())
    with pytest.raises(ModelFormatError, match=r"2 times"):
        load(zipped({}, more={"x/data.pkl": b""}))


def test_other_pickles_and_the_tar_format() -> None:
    with pytest.raises(ModelFormatError, match="a pickle that"):
        load(b"\x80\x04\x95\x10\0\0\0\0\0\0\0" + b"}\x94\x8c\x01a\x94K\x01s." + bytes(20))
    with pytest.raises(UnsupportedError, match="tar archive"):
        load(bytes(257) + b"ustar" + bytes(250))


def test_a_stream_of_another_version() -> None:
    head = Pickler().dump(MAGIC)
    with pytest.raises(ModelFormatError, match="version 7"):
        load(head + Pickler().dump(7) + Pickler().dump({}) + Pickler().dump({}))


@FORMS
def test_every_truncation(make: Make) -> None:
    data = make({"a": tensor(np.arange(5)), "b": ["x", 1.5]})
    for cut in range(len(data)):
        with pytest.raises(SamaraError):
            load(data[:cut])


def test_declared_sizes_take_no_memory() -> None:
    """Elements that a pickle claims and the file lacks."""
    for count in (10**6, 10**12, 2**61, 2**70):
        memory = Memory(np.ones(4, np.float32), count=count)
        for make in (zipped, stream):
            tracemalloc.start()
            with pytest.raises(SamaraError):
                load(make(tensor(memory, (4,), (1,))))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2_000_000


def _bomb(kind: str) -> Raw:
    """Opcodes of a value that cannot be written out, compared or hashed in reasonable time."""
    if kind == "doubled":
        return Raw(b")" + b"r\xff\xff\x00\x000j\xff\xff\x00\x00j\xff\xff\x00\x00\x86" * 50)
    return Raw(b")" + b"\x85" * 20_000)


@pytest.mark.parametrize("kind", ["doubled", "deep"])
def test_bombs_in_the_places_of_plain_values(kind: str) -> None:
    bomb = _bomb(kind)
    good = tensor(np.ones(2))
    memory, offset, shape, stride, learns, hooks = good.arguments
    values: list[Any] = [
        Call(good.function, (memory, bomb, shape, stride, learns, hooks)),
        Call(good.function, (memory, offset, bomb, stride, learns, hooks)),
        Call(good.function, (memory, offset, (bomb,), (1,), learns, hooks)),
        Call(good.function, (bomb, offset, shape, stride, learns, hooks)),
        Call(Name("torch._utils", "_rebuild_tensor_v3"), (memory, 0, (1,), (1,), 0, 0, bomb)),
        Call(Name("torch", "Size"), (bomb,)),
        Call(Name("torch", "Size"), ((bomb,),)),
        Call(Name("numpy", "dtype"), (bomb,)),
        Call(Name("numpy", "dtype"), ("f4",), (3, bomb, bomb, bomb)),
        Call(Name("collections", "OrderedDict"), ([(bomb, 1)],)),
        Call(Name("builtins", "set"), ([bomb],)),
        Call(Name("_codecs", "encode"), ("a", bomb)),
        Call(bomb, bomb),  # type: ignore[arg-type]
        {"a": Call(Name("argparse", "Namespace"), (), bomb)},
    ]
    for value in values:
        with pytest.raises(SamaraError):
            load(zipped(0, pickle=Pickler().dump(value)))
    store = Name("torch", "DoubleStorage")
    for place in (
        (bomb, store, "0", "cpu", 2),
        ("storage", bomb, "0", "cpu", 2),
        ("storage", store, bomb, "cpu", 2),
        ("storage", store, "0", "cpu", bomb),
    ):
        pickler = Pickler()
        pickler.save(place)
        with pytest.raises(SamaraError):
            load(zipped(0, pickle=b"\x80\x02" + bytes(pickler.out) + b"Q."))
    head = Pickler().dump(MAGIC)
    for version, machine, keys in ((bomb, {}, []), (1001, bomb, []), (1001, {}, [bomb])):
        parts: list[Any] = [version, machine, 0, keys]
        with pytest.raises(SamaraError):
            load(head + b"".join(Pickler().dump(part) for part in parts))


def test_storages_that_do_not_fit() -> None:
    two = [Memory(np.ones(2), key="0"), Memory(np.ones(4, np.float32), key="0")]
    both = [tensor(m, (2,), (1,)) for m in two]
    with pytest.raises(ModelFormatError, match="elsewhere"):
        load(zipped(both))
    with pytest.raises(ModelFormatError, match="not in the zip archive"):
        load(zipped(0, pickle=Pickler().dump(tensor(np.ones(2)))))
    with pytest.raises(ModelFormatError, match="other than 0 and 1"):
        load(zipped(tensor(Memory(np.array([0, 2], np.uint8), "BoolStorage"), (2,), (1,))))
    with pytest.raises(ModelFormatError, match="checksum"):
        load(zipped({}).replace(b"little", b"litter"))


# ---- mutants


def _mutant(data: bytes, rng: random.Random) -> bytes:
    """A file with some bytes changed, cut out, doubled or put in."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(out))
        kind = rng.randrange(5)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at] = rng.choice(b"\x00\xff\x80\x7f.(t}]RbQcqjhue\x81\x93\x8b\x8a\x96\x8e\x94")
        elif kind == 2:
            del out[at : at + rng.randrange(1, 16)]
        elif kind == 3:
            out[at:at] = out[at : at + rng.randrange(1, 32)]
        else:
            out[at : at + 8] = rng.randbytes(rng.randrange(9))
        if not out:
            out = bytearray(data)
    return bytes(out)


def _run_mutants(count: int, seed: int) -> int:
    """Load mutants of files and of pickles inside good archives; how many were still valid."""
    rng = random.Random(seed)
    state = a_state()
    whole = [zipped(state), stream(state), zipped({"x": bfloat16([1, 2])})]
    pickles = [Pickler().dump(state), Pickler().dump([size(1), parameter(tensor(np.ones(3)))])]
    samples = rng_samples()
    valid = 0
    for i in range(count):
        if i % 3 == 0:
            data = _mutant(rng.choice(whole), rng)
        elif i % 3 == 1:
            data = zipped(state, pickle=_mutant(pickles[0], rng))
        else:
            data = zipped(0, pickle=_mutant(rng.choice([*pickles[1:], *samples]), rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                load(data)
            valid += 1
        except SamaraError:
            pass
    return valid


def rng_samples() -> list[bytes]:
    """Pickles with everything that `known` allows."""
    dtype = Call(Name("numpy", "dtype"), ("f4", False, True), (3, "<", None, None, None, -1, -1, 0))
    number = Call(
        Name("numpy.core.multiarray", "scalar"),
        (dtype, Call(Name("_codecs", "encode"), ("abcd", "latin1"))),
    )
    space = Call(Name("argparse", "Namespace"), (), {"lr": 0.1}, b"\x81")
    members = Call(Name("builtins", "set"), ([1, 2],))
    return [
        Pickler().dump({"n": number, "s": space, "m": members, ("k", 1): [None]}),
        b"\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94]\x94(K\x01K\x02es.",
        b"(dp0\nS'a'\np1\n(lp2\nI1\naL2L\naF0.5\nasVb\np3\n(I1\ntp4\ns.",
    ]


def test_mutants_that_are_mapped(seed: int, tmp_path: Path) -> None:
    """The data of these are not checked against their sums."""
    rng, path = random.Random(seed), tmp_path / "x.pt"
    whole = zipped(a_state())
    for _ in range(200):
        path.write_bytes(_mutant(whole, rng))
        with contextlib.suppress(SamaraError):
            samara.load(path, mmap=True)


def test_mutants(seed: int) -> None:
    assert 0 < _run_mutants(1200, seed) < 1200


@pytest.mark.extended
def test_many_mutants(seed: int) -> None:
    for i in range(100):
        _run_mutants(2000, seed + i)


# ---- files that PyTorch wrote


@pytest.fixture(scope="module")
def samples(missing: Callable[[str, str], None]) -> Path:
    """pt-samples beside the folder SAMARA_MODELS, or a skip that says so."""
    value = os.environ.get("SAMARA_MODELS", "")
    folder = Path(value).resolve().parent / "pt-samples"
    if not value or not (folder / "expected.json").is_file():
        missing("pt-samples", "no pt-samples/expected.json beside the folder SAMARA_MODELS")
    return folder


def test_samples_hold_what_pytorch_says(samples: Path) -> None:
    expected = json.loads((samples / "expected.json").read_text(encoding="utf-8"))
    for name, tensors in expected.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of bfloat16
            got = samara.load(samples / name)
        state = got.get("model", got)
        assert set(state) == set(tensors)
        for key, (dtype, shape, total) in tensors.items():
            array = state[key].detach().numpy()
            assert array.dtype == ("float32" if dtype == "bfloat16" else dtype)
            assert list(array.shape) == shape
            assert array.sum(dtype=np.float64) == pytest.approx(total, abs=1e-9)
    odd = samara.load(samples / "checkpoint.pth")
    assert odd["epoch"] == 3
    assert odd["classes"] == ("a", "b")


@pytest.mark.filterwarnings("ignore:.*bfloat16:UserWarning")
def test_samples_share_storages(samples: Path) -> None:
    odd = samara.load(samples / "odd_tensors.pt")
    odd["tied"][0, 1] = -5.0
    assert odd["view"][0, 0].item() == -5
    assert odd["transposed"][1, 0].item() == -5
    assert isinstance(odd["parameter"], nn.Parameter)


def test_nets_with_loaded_weights_answer_as_in_pytorch(samples: Path) -> None:
    cnn = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)
    )
    optimizer = samara.optim.AdamW(cnn.parameters())
    checkpoint = samara.load(samples / "checkpoint.pth", map_location="cpu")
    assert cnn.load_state_dict(checkpoint["model"]) == ([], [])
    optimizer.load_state_dict(checkpoint["optimizer"])
    assert optimizer.state_dict()["state"][0]["step"].item() == 1
    gru = nn.GRU(6, 5, num_layers=2, bidirectional=True, batch_first=True)
    gru.load_state_dict(samara.load(samples / "gru_state_dict.pt"))
    for net, name in ((cnn, "cnn"), (gru, "gru")):
        answer = np.load(samples / f"{name}_answer.npz")
        got = net.eval()(samara.from_numpy(answer["x"]))
        results = dict(zip("yh", got if isinstance(got, tuple) else (got,), strict=False))
        assert set(results) == set(answer.files) - {"x"}
        for key, value in results.items():
            assert np.allclose(value.detach().numpy(), answer[key], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "instead"),
    [("whole_module.pt", "model.state_dict()"), ("torchscript.pt", "torch.jit.load")],
)
def test_samples_that_hold_code(samples: Path, name: str, instead: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        samara.load(samples / name, weights_only=False)
    assert instead in str(caught.value.fix)
