# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models, and their witness: onnxruntime, or onnx.reference for what it lacks."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper as oh
import onnx.parser
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program
from samara.exporter.types import SamaraError
from samara.pybridge.model import Model
from samara.pybridge.session import Session

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]
Errors = type[SamaraError] | tuple[type[SamaraError], ...]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def scalar(value: float, dtype: Any = np.float32) -> Array:
    return np.array(value, dtype)


def tensor(array: Array, name: str) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(array, name)


def parse(graph: str, opset: int = 21, more: str = "") -> onnx.ModelProto:
    """A model from the text of its graph, `name (inputs) => (outputs) { nodes }`."""
    head = f'<ir_version: 8, opset_import: ["" : {opset}{more}]>\n'
    return onnx.parser.parse_model(head + graph)


def built(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array | tuple[int, Sequence[Any]]],
    outputs: Sequence[str],
    initializers: Sequence[onnx.TensorProto] = (),
    opset: int = 21,
    domain: str = "",
    *,
    ir_version: int = 10,
) -> onnx.ModelProto:
    """A model of these nodes. An input is given by an array to feed, or by element type and shape."""
    infos = []
    for name, x in inputs.items():
        if isinstance(x, np.ndarray):
            x = oh.np_dtype_to_tensor_dtype(x.dtype), x.shape
        infos.append(oh.make_tensor_value_info(name, *x))
    results = [oh.make_empty_tensor_value_info(n) for n in outputs]
    graph = oh.make_graph(nodes, "tested", infos, results, initializers)
    opsets = [oh.make_opsetid("", opset)] + [oh.make_opsetid(domain, 1)] * bool(domain)
    return oh.make_model(graph, opset_imports=opsets, ir_version=ir_version)


@dataclass(frozen=True)
class Case:
    """One ONNX node over arrays. None is an absent input; `constants` are the indices that become initializers."""

    op: str
    inputs: Sequence[Array | None]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 21
    constants: Sequence[int] = ()
    outputs: int = 1
    domain: str = ""
    symbolic: bool = False  # dims of the inputs are symbols
    atol: float = 1e-6
    rtol: float = 1e-5
    steps: int = 0  # largest allowed error of integer results
    reference: bool = False  # onnx.reference is the witness

    def model(self) -> onnx.ModelProto:
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        made = [f"y{i}" for i in range(self.outputs)]
        node = oh.make_node(self.op, names, made, domain=self.domain, name="tested", **self.attrs)
        given = [(i, x) for i, x in enumerate(self.inputs) if x is not None]
        constants = [tensor(x, f"x{i}") for i, x in given if i in self.constants]
        inputs: dict[str, Array | tuple[int, Sequence[Any]]] = {}
        for name, x in self.feeds().items():
            inputs[name] = x
            # A possible shape operand keeps its length.
            if self.symbolic and not (x.dtype == np.int64 and x.ndim == 1):
                shape = [f"d{name[1:]}_{a}" for a in range(x.ndim)]
                inputs[name] = (oh.np_dtype_to_tensor_dtype(x.dtype), shape)
        return built([node], inputs, made, constants, self.opset, self.domain, ir_version=8)

    def feeds(self) -> dict[str, Array]:
        given = ((i, x) for i, x in enumerate(self.inputs) if i not in self.constants)
        return {f"x{i}": x for i, x in given if x is not None}

    def run(self) -> dict[str, Array]:
        """The interpreter's results."""
        return import_onnx(self.model()).run(self.feeds())

    def refused(self, error: Errors, match: str | None = None) -> SamaraError:
        """The import raises this error. Returns it."""
        return refused(self.model(), error, match)

    def fails(self, error: Errors, match: str | None = None) -> None:
        """A run by the interpreter raises this error."""
        with pytest.raises(error, match=match):
            self.run()

    def gives(self, want: Feeds, **limits: Any) -> Program:
        """The interpreter and the C runtime compute these results. Returns the Program."""
        program = import_onnx(self.model())
        agree_both(program, self.feeds(), want, **limits)
        return program

    def check(self) -> Program:
        """Import the node; its results are the witness's. Returns the Program."""
        model, feeds = self.model(), self.feeds()
        want = witness(model, feeds, reference=self.reference)
        program = import_onnx(model)
        agree(program.run(feeds), want, atol=self.atol, rtol=self.rtol, steps=self.steps)
        return program

    def check_native(self) -> Program:
        """check(), by the C runtime too."""
        want = witness(self.model(), self.feeds(), reference=self.reference)
        return self.gives(want, atol=self.atol, rtol=self.rtol, steps=self.steps)


def native(program: Program, *feeds: Feeds) -> list[dict[str, Array]]:
    """What the C runtime computes from the optimized program, its file written and read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tested.samara"
        export(program, path, check=False)
        session = Session(Model(path.read_bytes()))
    return [session.run(dict(f)) for f in feeds]


def witness(model: onnx.ModelProto, feeds: Feeds, *, reference: bool = False) -> dict[str, Array]:
    """What another implementation computes."""
    names = [o.name for o in model.graph.output]
    if reference:
        with np.errstate(all="ignore"):
            return dict(zip(names, ReferenceEvaluator(model).run(None, dict(feeds)), strict=True))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def agree(
    got: Feeds, want: Feeds, *, atol: float = 1e-6, rtol: float = 1e-5, steps: int = 0
) -> None:
    """AssertionError unless all results agree in dtype, shape and values."""
    assert got.keys() == want.keys()
    for name, w in want.items():
        g = got[name]
        assert (g.dtype, g.shape) == (w.dtype, w.shape), name
        if w.dtype.kind == "f":
            np.testing.assert_allclose(
                g.astype(np.float64), w.astype(np.float64), rtol=rtol, atol=atol, err_msg=name
            )
        elif steps:
            assert np.abs(g.astype(np.int64) - w.astype(np.int64)).max() <= steps, name
        else:
            np.testing.assert_array_equal(g, w, err_msg=name)


def agree_both(program: Program, feeds: Feeds, want: Feeds, **limits: Any) -> None:
    """AssertionError unless the interpreter and the C runtime compute these results."""
    for got in (program.run(feeds), *native(program, feeds)):
        agree(got, want, **limits)


def answer(model: onnx.ModelProto, feeds: Feeds) -> dict[str, Array]:
    """What the C runtime computes, which is what the interpreter computes."""
    program = import_onnx(model)
    (got,) = native(program, feeds)
    agree(got, program.run(feeds))
    return got


def refused(model: Any, error: Errors, match: str | None = None, **options: Any) -> SamaraError:
    """The import of a model (with options) raises this error. Returns it."""
    with pytest.raises(error, match=match) as caught:
        import_onnx(model, **options)
    return caught.value


def ms(op: str, inputs: Any, attrs: Any = None, constants: Any = (), **more: Any) -> Case:
    """A node of onnxruntime's own domain, which computes less exactly."""
    more = {"rtol": 1e-4, "atol": 2e-5, **more}
    return Case(op, inputs, attrs or {}, 17, constants, domain="com.microsoft", **more)


def check(
    model: onnx.ModelProto, *feeds: Feeds, atol: float = 1e-6, rtol: float = 1e-5, **options: Any
) -> Program:
    """Import a model (with options); for all feeds its results are the witness's. Returns the Program."""
    program = import_onnx(model, **options)
    for f in feeds:
        agree(program.run(f), witness(model, f), atol=atol, rtol=rtol)
    return program


def check_native(
    model: onnx.ModelProto, *feeds: Feeds, atol: float = 1e-6, rtol: float = 1e-5, **options: Any
) -> Program:
    """check(), by the C runtime too."""
    program = check(model, *feeds, atol=atol, rtol=rtol, **options)
    for f, got in zip(feeds, native(program, *feeds), strict=True):
        agree(got, witness(model, f), atol=atol, rtol=rtol)
    return program


def kinds(program: Program) -> list[str]:
    """The operators of the default entry, in order."""
    return [n.op.name for n in program.main.nodes]
