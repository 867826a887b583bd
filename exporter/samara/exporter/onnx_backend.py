# SPDX-License-Identifier: Apache-2.0
"""samara as an ONNX backend: `onnx.backend.base` by import, passes, a file and the C runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx  # says which packages it needs
from samara.exporter.ir import Program
from samara.exporter.types import ShapeError, UnsupportedError
from samara.pybridge.model import Model
from samara.pybridge.session import Session

# isort: split
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

Array = npt.NDArray[Any]

__all__ = [
    "SamaraBackend",
    "SamaraRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class SamaraRep(BackendRep):
    """A model that was written to a `.samara` file and runs in a session of the C runtime; `program` is the
    content of the file.
    """

    def __init__(self, session: Session, program: Program) -> None:
        self.session = session
        self.program = program
        self._names = [spec.name for spec in session.outputs]
        self._result = namedtupledict("Outputs", self._names)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, by position and by name.

        inputs: arrays in the order of the graph's inputs that have no initializer, one array, or
        {name: array}. Raises ShapeError for arrays that do not fit.
        """
        if kwargs:
            raise UnsupportedError(f"run takes no option {', '.join(kwargs)}", fix="leave it out")
        outputs = self.session.run(self.feeds(inputs))
        made: tuple[Any, ...] = self._result(*(outputs[name] for name in self._names))
        return made

    def feeds(self, inputs: Any) -> Mapping[str, Any]:
        """The inputs of `run` as {name: array}."""
        if isinstance(inputs, Mapping):
            return inputs
        given = list(inputs) if isinstance(inputs, Sequence) else [inputs]
        specs = self.session.inputs
        if len(given) != len(specs):
            raise ShapeError(
                f"{len(given)} inputs given, the model has {len(specs)}",
                fix=f"they are {', '.join(s.name for s in specs)}",
            )
        return dict(zip((s.name for s in specs), given, strict=True))


class SamaraBackend(Backend):
    """Runs ONNX models on the CPU. Its class methods are those of `onnx.backend.base.Backend`."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be imported. `prepare` explains why not."""
        try:
            import_onnx(model, **kwargs)
        except UnsupportedError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> SamaraRep:
        """A model ready to run; `kwargs` are those of `samara.import_onnx`.

        Raises UnsupportedError with a table of everything that cannot be imported.
        """
        if not cls.supports_device(device):
            raise UnsupportedError(f"device {device!r} is not supported", fix='use device="CPU"')
        program = import_onnx(model, **kwargs)
        with tempfile.TemporaryDirectory(prefix="samara-") as folder:
            path = Path(folder) / "model.samara"
            report = export(program, path, check=False)
            return SamaraRep(Session(Model(path.read_bytes())), report.program)

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of a model that runs only once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node over arrays, one per input that the node names.

        outputs_info: (dtype, shape) of each output; ignored. opset_version: of the default domain; default:
        the newest.
        """
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        names = [n for n in node.input if n]
        arrays = [np.asarray(a) for a in inputs]
        if len(names) != len(arrays):
            raise ShapeError(f"{len(arrays)} inputs given, the node has {len(names)}")
        make = onnx.helper.make_tensor_value_info
        infos = [
            make(name, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in dict(zip(names, arrays, strict=True)).items()
        ]
        results = [onnx.helper.make_empty_tensor_value_info(n) for n in node.output if n]
        graph = onnx.helper.make_graph([node], "node", infos, results)
        version = int(kwargs.get("opset_version", onnx.defs.onnx_opset_version()))
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)]
        )
        return cls.run_model(model, dict(zip(names, arrays, strict=True)), device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` ("CPU", "CPU:0") can be used."""
        return device.split(":")[0] == "CPU"


is_compatible = SamaraBackend.is_compatible
prepare = SamaraBackend.prepare
run_model = SamaraBackend.run_model
run_node = SamaraBackend.run_node
supports_device = SamaraBackend.supports_device
