# SPDX-License-Identifier: Apache-2.0
"""One table of calls, proved three ways: central differences, float32 kernels, PyTorch.

A case is (function, *inputs): the function takes the module `samara` or `torch` and tensors, so the
same text runs with both. An input is a shape (standard normal numbers that require gradients), a
float array (the same with given numbers), an integer or bool array, or Fixed of one of these, which
requires no gradients.
"""

from __future__ import annotations

import copy
import inspect
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import samara
from samara.autograd import gradcheck, gradgradcheck
from samara.exporter.frontend.tensor import Tensor, wrap

Call = tuple[Any, ...]


class Fixed(NamedTuple):
    """An input that requires no gradients."""

    value: Any


Cases = dict[str, Call]


def methods(shape: tuple[int, ...], *names: str) -> Cases:
    """A case `name: x.name()` for each name."""
    return {name: (lambda m, x, name=name: getattr(x, name)(), shape) for name in names}


def functional(m: Any) -> Any:
    """The functions of `nn.functional` of the module `samara` or `torch`."""
    return m.nn.functional


def proofs(cases: Cases, *hows: Callable[..., None]) -> list[Callable[..., None]]:
    """A test of all cases for each function: `test_gradients, test_float32 = proofs(CASES, gradients, kernels)`."""

    def proof(how: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("name", cases)
        def test(name: str, request: pytest.FixtureRequest) -> None:
            if "folder" in inspect.signature(how).parameters:
                how(name, cases, request.getfixturevalue("tmp_path"))
            else:
                how(name, cases)

        return test

    return [proof(how) for how in hows]


def arrays(name: str, inputs: Sequence[Any]) -> list[Any]:
    """The inputs as arrays, floats in float64; drawn by the case's name."""
    source = np.random.default_rng(zlib.crc32(name.encode()))
    made = []
    for item in inputs:
        given = item.value if isinstance(item, Fixed) else item
        if isinstance(given, tuple):
            made.append(source.standard_normal(given))
        else:
            array = np.array(given)
            made.append(array.astype(np.float64) if array.dtype.kind == "f" else array)
    return made


def flat(value: Any) -> list[Any]:
    """The tensors in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [] if value is None else [value]


def closest(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Fails unless all elements agree to `tolerance` of the largest."""
    a, b = np.asarray(found), np.asarray(expected)
    assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
    if b.size == 0:
        return
    if b.dtype.kind != "f":
        np.testing.assert_array_equal(a, b, err_msg=what)
        return
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite], err_msg=what)
    scale = max(float(np.abs(b[finite]).max(initial=0.0)), 1e-3)
    worst = float(np.abs(a[finite].astype(np.float64) - b[finite]).max(initial=0.0)) / scale
    assert worst <= tolerance, f"{what}: off by {worst:.2e} of the largest element"


def closest_gradients(
    found: Sequence[Any], expected: Sequence[Any], tolerance: float, name: str
) -> None:
    """Fails unless the same gradients are None and all others agree as in `closest`."""
    for i, (g, h) in enumerate(zip(found, expected, strict=True)):
        assert (g is None) == (h is None), f"{name}: gradient {i}"
        if g is not None:
            closest(g, h, tolerance, f"{name}: gradient {i}")


def _learns(inputs: Sequence[Any], given: Sequence[Any]) -> list[bool]:
    """Which inputs require gradients."""
    return [
        array.dtype.kind == "f" and not isinstance(item, Fixed)
        for item, array in zip(inputs, given, strict=True)
    ]


def _tensors(given: Sequence[Any], learns: Sequence[bool], dtype: Any) -> list[Tensor]:
    out = []
    for array, learned in zip(given, learns, strict=True):
        t = wrap(array.astype(dtype) if array.dtype.kind == "f" else array.copy())
        t.requires_grad = learned
        out.append(t)
    return out


def _torch_tensors(torch: Any, given: Sequence[Any], learns: Sequence[bool]) -> list[Any]:
    both = zip(given, learns, strict=True)
    return [torch.from_numpy(a.copy()).requires_grad_(learned) for a, learned in both]


def _seeds(outs: Sequence[Any]) -> list[Any]:
    source = np.random.default_rng(1)
    return [source.standard_normal(tuple(o.shape)) for o in outs]


def ours(
    function: Callable[..., Any], given: Sequence[Any], learns: Sequence[bool], dtype: Any
) -> tuple[Any, Any, Any]:
    """(all results, those that flow, gradients of the inputs that learn) in `dtype`."""
    tensors = _tensors(given, learns, dtype)
    outs = flat(function(samara, *tensors))
    flowing = [o for o in outs if o.requires_grad]
    if flowing:
        seeds = [wrap(s.astype(dtype)) for s in _seeds(flowing)]
        samara.autograd.backward(flowing, seeds)
    return outs, flowing, [t.grad for t in tensors if t.requires_grad]


def gradients(name: str, cases: Cases, check: Callable[..., bool] = gradcheck) -> None:
    """Rules against central differences in float64."""
    function, *inputs = cases[name]
    given = arrays(name, inputs)
    tensors = _tensors(given, _learns(inputs, given), np.float64)
    if any(o.requires_grad for o in flat(function(samara, *tensors))):
        assert check(lambda *x: tuple(flat(function(samara, *x))), tensors)


def second_gradients(name: str, cases: Cases) -> None:
    """Gradients of gradients (create_graph) against central differences in float64."""
    gradients(name, cases, gradgradcheck)


def kernels(name: str, cases: Cases, tolerance: float = 2e-5) -> None:
    """float32 (the C kernels) against float64 (numpy): results and gradients."""
    function, *inputs = cases[name]
    given = arrays(name, inputs)
    learns = _learns(inputs, given)
    found, _, found_grads = ours(function, given, learns, np.float32)
    wide, _, wide_grads = ours(function, given, learns, np.float64)
    for i, (a, b) in enumerate(zip(found, wide, strict=True)):
        assert a.dtype == (np.float32 if b.dtype == np.float64 else b.dtype), f"result {i}"
        closest(a.detach().numpy(), b.detach().numpy(), tolerance, f"{name}: result {i}")
    closest_gradients(found_grads, wide_grads, tolerance, name)


def against_torch(name: str, cases: Cases, tolerance: float = 2e-7) -> None:
    """Results, dtypes and gradients in float64 against PyTorch; skips where it is absent.

    Settings of operators are float32 (a slope of 0.1 is 0.10000000149), hence the tolerance.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    function, *inputs = cases[name]
    given = arrays(name, inputs)
    learns = _learns(inputs, given)
    found, flowing, grads = ours(function, given, learns, np.float64)
    tensors = _torch_tensors(torch, given, learns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's remarks on arguments
        outs = flat(function(torch, *tensors))
    assert len(outs) == len(found)
    for i, (a, b) in enumerate(zip(found, outs, strict=True)):
        assert a.dtype.name == str(b.dtype).removeprefix("torch."), f"{name}: result {i}"
        closest(a.detach().numpy(), b.detach().numpy(), tolerance, f"{name}: result {i}")
    theirs = [o for o in outs if o.requires_grad]
    assert len(theirs) == len(flowing), f"{name}: which results require gradients"
    if not theirs:
        return
    torch.autograd.backward(theirs, [torch.from_numpy(s) for s in _seeds(flowing)])
    wanted = [t for t in tensors if t.requires_grad]
    for i, (g, t) in enumerate(zip(grads, wanted, strict=True)):
        expected = np.zeros(tuple(t.shape)) if t.grad is None else t.grad.numpy()
        got = np.zeros(tuple(t.shape)) if g is None else g.numpy()
        closest(got, expected, tolerance, f"{name}: gradient {i}")


def _run_layer(layer: Any, tensors: Sequence[Any], backward: Any) -> tuple[list[Any], list[Any]]:
    """Results and gradients of all parameters and inputs, as arrays."""
    outs = flat(layer(*tensors))
    flowing = [o for o in outs if o.requires_grad]
    if flowing:
        backward(flowing, _seeds(flowing))
    leaves = [*layer.parameters(), *(t for t in tensors if t.requires_grad)]
    grads = [None if t.grad is None else np.asarray(t.grad) for t in leaves]
    return [np.asarray(o.detach()) for o in outs], grads


def _back(outs: Sequence[Any], seeds: Sequence[Any]) -> None:
    samara.autograd.backward(outs, [wrap(s.astype(outs[0].dtype)) for s in seeds])


def layer_kernels(name: str, cases: Cases, tolerance: float = 2e-5) -> None:
    """A layer in float32 against a copy in float64: results, buffers, gradients of parameters."""
    make, *inputs = cases[name]
    samara.manual_seed(1)
    narrow = make(samara)
    wide = copy.deepcopy(narrow).double()
    given = arrays(name, inputs)
    learns = _learns(inputs, given)
    found, grads = _run_layer(narrow, _tensors(given, learns, np.float32), _back)
    exact, exact_grads = _run_layer(wide, _tensors(given, learns, np.float64), _back)
    for i, (a, b) in enumerate(zip(found, exact, strict=True)):
        closest(a, b, tolerance, f"{name}: result {i}")
    closest_gradients(grads, exact_grads, tolerance, name)
    for (key, a), b in zip(narrow.state_dict().items(), wide.state_dict().values(), strict=True):
        closest(a.numpy(), b.numpy(), tolerance, f"{name}: {key} afterwards")


def layer_as_torch(name: str, cases: Cases, folder: Path, tolerance: float = 2e-7) -> None:
    """A layer against PyTorch's in float64, its state carried over in safetensors files."""
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    files = pytest.importorskip("safetensors.torch", reason="PyTorch's files are written with it")
    make, *inputs = cases[name]
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice about PyTorch's own speed
        theirs = make(torch).double()
    mine = make(samara).double()
    state = {k: v.contiguous() for k, v in theirs.state_dict().items()}
    own = mine.state_dict()
    assert list(own) == list(state)
    assert [tuple(t.shape) for t in own.values()] == [tuple(t.shape) for t in state.values()]
    if state:
        files.save_file(state, folder / "torch.safetensors")
        mine.load_state_dict(samara.load(folder / "torch.safetensors"))
        samara.save(mine.state_dict(), folder / "samara.safetensors")
        theirs.load_state_dict(files.load_file(folder / "samara.safetensors"))
    given = arrays(name, inputs)
    learns = _learns(inputs, given)
    tensors = _torch_tensors(torch, given, learns)
    found, grads = _run_layer(mine, _tensors(given, learns, np.float64), _back)

    def back(outs: Any, seeds: Any) -> None:
        torch.autograd.backward(outs, [torch.from_numpy(s) for s in seeds])

    expected, their_grads = _run_layer(theirs, tensors, back)
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        closest(a, b, tolerance, f"{name}: result {i}")
    closest_gradients(grads, their_grads, tolerance, name)
    after = theirs.state_dict()
    for key, t in mine.state_dict().items():
        closest(t.numpy(), after[key].numpy(), tolerance, f"{name}: {key} afterwards")


def exported(name: str, cases: Cases, folder: Path, tolerance: float = 5e-5) -> None:
    """The call traced, optimized, written to a file and run by the C runtime: eager's results."""
    function, *inputs = cases[name]
    _export(name, lambda *x: function(samara, *x), inputs, folder, tolerance)


def layer_exported(name: str, cases: Cases, folder: Path, tolerance: float = 5e-5) -> None:
    """A layer in inference, as `exported`."""
    make, *inputs = cases[name]
    samara.manual_seed(1)
    _export(name, make(samara).eval(), inputs, folder, tolerance)


def _export(
    name: str, function: Callable[..., Any], inputs: Sequence[Any], folder: Path, tolerance: float
) -> None:
    given = arrays(name, inputs)
    tensors = _tensors(given, [False] * len(given), np.float32)
    arguments = {f"x{i}": t for i, t in enumerate(tensors)}
    expected = [o.detach().numpy() for o in flat(function(*tensors))]

    def traced(named: dict[str, Any]) -> Any:
        return tuple(flat(function(*named.values())))

    program = samara.trace(traced, (arguments,))
    samara.export(program, folder / "case.samara", check=False)
    session = samara.Session(samara.Model(folder / "case.samara"))
    names = [v.name for v in program.functions[program.entries[0]].inputs]
    found = session.run({n: t.numpy() for n, t in zip(names, tensors, strict=True)})
    assert len(found) == len(expected)
    for i, (a, b) in enumerate(zip(found.values(), expected, strict=True)):
        closest(a, b, tolerance, f"{name}: result {i}")


# What is proved of functions, of layers, and of a tensor's methods.
CALLS = (gradients, second_gradients, kernels, exported, against_torch)
LAYERS = (layer_kernels, layer_exported, layer_as_torch)
METHODS = (gradients, kernels, against_torch)
