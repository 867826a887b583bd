# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules: torch, the C runtime and Program.run give one answer; errors name the user's line."""
# mypy: disable-error-code="misc"

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara

torch = pytest.importorskip("torch", reason="PyTorch is compared where it is installed")
pytest.importorskip("onnxscript", reason="torch's ONNX exporter needs it")

from torch import nn  # noqa: E402

from .torch_modules import SAMPLES, Sample  # noqa: E402

# torch's exporter copies tree specifications of a kind that it calls deprecated itself.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def flat(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(value, Mapping):
        return [t for v in value.values() for t in flat(v)]
    if isinstance(value, tuple | list):
        return [t for v in value for t in flat(v)]
    return [value.detach().numpy()]


def assert_close(name: str, got: Any, want: Any) -> None:
    """Integers exactly; floats within a tenth of what is promised for real models."""
    assert got.dtype == want.dtype, name
    assert got.shape == want.shape, name
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, name)
        return
    half = want.dtype == np.float16
    span = float(np.ptp(want.astype(np.float64))) if want.size else 0.0
    limit = (2e-3, 2e-3) if half else (1e-5 + 2e-6 * span, 1e-4)
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), atol=limit[0], rtol=limit[1], err_msg=name
    )


def made(sample: Sample) -> tuple[Any, dict[str, Any]]:
    """The module with weights and statistics of its name, and example inputs for its parameters."""
    torch.manual_seed(len(sample.name))
    module = sample.make().eval()
    for b in module.buffers():
        if b.dtype == torch.float32 and b.ndim == 1:
            nn.init.uniform_(b, 0.5, 1.5)
    return module, inputs_of(module, sample, sample.size)


def inputs_of(module: Any, sample: Sample, size: int) -> dict[str, Any]:
    """Inputs by the names that forward has: containers call theirs `input`."""
    names = list(inspect.signature(module.forward).parameters)
    given = sample.inputs(size)
    return {n if n in names else names[0]: v for n, v in given.items()}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_modules(sample: Sample, tmp_path: Path) -> None:
    module, inputs = made(sample)
    names = list(inspect.signature(module.forward).parameters)
    dynamic = {n if n in names else names[0]: axes for n, axes in sample.dynamic.items()}
    program = samara.from_torch(module, inputs, dynamic_shapes=dynamic or None)
    assert [v.name for v in program.main.inputs] == list(inputs)
    symbols = {s for v in program.main.inputs for s in v.type.symbols()}
    assert symbols == {n for axes in sample.dynamic.values() for n in axes.values()}
    samara.export(program, tmp_path / "m.samara", check=False)
    session = samara.Session(tmp_path / "m.samara", threads=1)
    for size in (sample.size, *sample.other):
        feeds = inputs if size == sample.size else inputs_of(module, sample, size)
        with torch.no_grad():
            want = flat(module(**feeds))
        arrays = {n: t.numpy() for n, t in feeds.items()}
        reference, answer = program.run(arrays), session.run(arrays)
        assert len(reference) == len(want)
        for (name, r), w in zip(reference.items(), want, strict=True):
            assert_close(f"Program.run {name}, size {size}", r, w)
            assert_close(f"Session {name}, size {size}", answer[name], w)


# ---- names, modes ----


class Pair(nn.Module):
    def forward(self, image: Any, scale: Any) -> Any:
        return {"big": image * scale, "parts": (image, [image + 1])}


def test_names_come_from_the_signature_and_the_results() -> None:
    program = samara.from_torch(Pair(), (torch.ones(2), torch.ones(2)))
    assert [v.name for v in program.main.inputs] == ["image", "scale"]
    assert list(program.main.output_names) == ["big", "parts.0", "parts.1.0"]
    got = program.run({"image": np.ones(2, np.float32), "scale": np.full(2, 3, np.float32)})
    assert [v.tolist() for v in got.values()] == [[3, 3], [1, 1], [2, 2]]
    one = samara.from_torch(nn.ReLU(), torch.ones(2))
    assert list(one.main.output_names) == ["output"]


def test_the_module_stays_as_it_was() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train()
    module[0].eval()
    program = samara.from_torch(module, torch.ones(1, 2))
    assert (module.training, module[0].training, module[1].training) == (True, False, True)
    assert [n.op.name for n in program.main.nodes] == ["matmul"]


def test_nodes_know_the_users_line() -> None:
    program = samara.from_torch(Pair(), (torch.ones(2), torch.ones(2)))
    (mul,) = (n for n in program.main.nodes if n.op.name == "mul")
    assert mul.source is not None
    assert mul.source.file == __file__
    lines, first = inspect.getsourcelines(Pair.forward)
    assert first < mul.source.line < first + len(lines)


@pytest.mark.parametrize(
    "given",
    [
        {"left": {0: "batch"}, "right": {0: "batch"}},
        ({0: torch.export.Dim("batch")}, {0: torch.export.Dim("batch")}),
        {"left": ("batch", None), "right": ("batch", None)},
    ],
    ids=["names", "torch's", "tuples"],
)
def test_forms_of_dynamic_shapes(given: Any) -> None:
    from .torch_modules import TwoWays

    program = samara.from_torch(
        TwoWays(), {"left": torch.ones(3, 4), "right": torch.ones(3, 4)}, dynamic_shapes=given
    )
    assert [str(v.type.shape[0]) for v in program.main.inputs] == ["batch", "batch"]
    assert str(program.main.outputs[0].type.shape[0]) == "batch"


def test_axes_without_a_name() -> None:
    program = samara.from_torch(
        nn.ReLU(), torch.ones(3, 4), dynamic_shapes={"input": {0: torch.export.Dim.AUTO}}
    )
    assert str(program.main.inputs[0].type.shape[0]) == "input.0"


# ---- custom operators ----


class Scale(nn.Module):
    def forward(self, x: Any) -> Any:
        attributes = {"by": 3.0, "mode": "m"}
        return 1 + torch.onnx.ops.symbolic(
            "samara_test::scaled", (x,), attributes, dtype=x.dtype, shape=x.shape
        )


def test_custom_operators_meet() -> None:
    samara.register_op(
        "samara_test::scaled", reference=lambda x, *, by=1.0, mode="": x * np.float32(by)
    )
    program = samara.from_torch(Scale(), torch.ones(2), dynamic_shapes={"x": {0: "n"}})
    assert [n.op.name for n in program.main.nodes] == ["custom", "add"]
    assert program.run({"x": np.ones(3, np.float32)})["output"].tolist() == [4, 4, 4]


# ---- errors ----


class Branch(nn.Module):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:  # here
            return x + 1
        return x


class Spectral(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.svd(x)[1]  # here


class Outer(nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([inner])

    def forward(self, x: Any) -> Any:
        return self.blocks[0](x)


def line_of(kind: type) -> str:
    """file:line of the line of a class that says `# here`."""
    lines, first = inspect.getsourcelines(kind)
    return f"{__file__}:{first + next(k for k, t in enumerate(lines) if '# here' in t)}"


def test_what_torch_cannot_capture_is_said_at_the_users_line() -> None:
    with pytest.raises(samara.UnsupportedError, match=r"torch\.export cannot capture it") as e:
        samara.from_torch(Outer(Branch()), torch.ones(3))
    assert line_of(Branch) in str(e.value)
    assert "torch.where" in str(e.value.fix)


def test_what_torch_cannot_convert_is_said_at_the_users_line() -> None:
    with pytest.raises(samara.UnsupportedError, match=r"torch\.onnx cannot convert aten") as e:
        samara.from_torch(Outer(Spectral()), torch.ones(3, 2))
    assert line_of(Spectral) in str(e.value)
    assert "of submodule blocks.0" in str(e.value)


class Random(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + torch.rand_like(x)  # here


def test_what_the_importer_cannot_is_said_at_the_users_line() -> None:
    with pytest.raises(samara.UnsupportedError, match="RandomUniformLike") as e:
        samara.from_torch(Outer(Random()), torch.ones(3))
    assert f"({line_of(Random)} in blocks.0)" in str(e.value)


class Fixed(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.reshape(2, 3) + 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"x": {0: "batch"}}, r"axis 0 of x cannot be symbolic: your code specialized it"),
        ({"y": {0: "batch"}}, "dynamic_shapes names an input 'y'"),
        ({"x": {4: "batch"}}, "x has no axis 4"),
        ((None, None), "2 entries for 1 inputs"),
    ],
)
def test_dynamic_shapes_that_do_not_fit(given: Any, what: str) -> None:
    with pytest.raises(samara.ShapeError, match=what):
        samara.from_torch(Fixed(), torch.ones(2, 3), dynamic_shapes=given)


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(samara.ShapeError, match=r"the arguments do not fit Fixed\.forward"):
        samara.from_torch(Fixed(), (torch.ones(2, 3), torch.ones(2)))
    with pytest.raises(samara.UnsupportedError, match=r"takes a torch\.nn\.Module, got function"):
        samara.from_torch(line_of, torch.ones(2))


# ---- without torch, without onnxscript ----


def test_the_older_exporter_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        *(importlib.util, "find_spec"), lambda n: None if n == "onnxscript" else real(n)
    )
    module = nn.Sequential(nn.Linear(3, 2), nn.Tanh()).eval()
    with pytest.warns(RuntimeWarning, match="onnxscript is not installed"):
        program = samara.from_torch(
            module, torch.ones(2, 3), dynamic_shapes={"input": {0: "batch"}}
        )
    assert str(program.main.inputs[0].type) == "f32[batch, 3]"
    x = torch.randn(4, 3)
    got = program.run({"input": x.numpy()})["output"]
    assert_close("output", got, module(x).detach().numpy())


def test_a_missing_torch_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None)
    with pytest.raises(
        samara.UnsupportedError, match="needs torch, onnxscript and onnx, which are not installed"
    ) as e:
        samara.from_torch(None, ())
    assert e.value.fix == "pip install torch onnxscript onnx"


def test_the_page(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (repo / "docs" / "guides" / "pytorch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) >= 4
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    exec(compile("\n".join(blocks), str(tmp_path / "page.py"), "exec"), {"__name__": "page"})
