# SPDX-License-Identifier: Apache-2.0
"""A small convolutional net for 8x8 digits: trained with the front end, also written as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.frontend import nn, optim
from samara.exporter.frontend.autograd import no_grad
from samara.exporter.frontend.data import DataLoader, TensorDataset, transforms
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.qat import QuantizedModule, quantize_aware
from samara.exporter.frontend.random import manual_seed
from samara.exporter.frontend.script import script
from samara.exporter.frontend.tensor import wrap
from samara.exporter.ir import Program

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Progress = Callable[[int, int, float, float], None]

CLASSES = 10
SIDE = 8
EPOCHS = 12
_BATCH = 32
_RATE = 1e-2  # AdamW's maximum, in the middle of one cycle
QUANTIZED_EPOCHS = 4
_TUNING_RATE = 1e-3  # the initial rate for a net that is already trained


class Shifted(TensorDataset):
    """Images shifted at random by at most one pixel in every epoch, so that the net does not memorise positions."""

    _move = transforms.RandomCrop(SIDE, padding=1)

    def __getitem__(self, index: Any) -> Any:
        image, label = super().__getitem__(index)
        return self._move(image), label


def net() -> Any:
    """[N, 1, 8, 8] images in 0..1 to [N, 10] logits. The convolutions need no bias before batch-norm."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
        nn.MaxPool2d(2),
        *(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        nn.MaxPool2d(2),
        nn.Flatten(),
        *(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, CLASSES)),
    )


def fit(
    images: Floats,
    labels: Ints,
    seed: int,
    progress: Progress = lambda _done, _of, _loss, _accuracy: None,
    *,
    epochs: int = EPOCHS,
) -> Any:
    """A net trained on images [N, 1, 8, 8] in 0..1 and labels, in evaluation mode.

    progress(steps done, steps, mean loss and accuracy of the epoch so far) is called after each step. The
    seed determines every bit of the result.
    """
    manual_seed(seed)
    model = net()
    loader = _batches(images, labels)
    optimizer = optim.AdamW(model.parameters(), lr=_RATE)
    steps = epochs * len(loader)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps)
    trainer = _Trainer(model, loader, optimizer, scheduler, progress, steps)
    for _ in range(epochs):
        trainer.epoch()
    return model.eval()


def fit_quantized(
    model: Any,
    images: Floats,
    labels: Ints,
    seed: int,
    progress: Progress = lambda _done, _of, _loss, _accuracy: None,
    *,
    epochs: int = QUANTIZED_EPOCHS,
) -> Any:
    """The trained net after quantization-aware training, in evaluation mode.

    Ranges and batch statistics are updated in the first half of the epochs and fixed in the second. The
    result's `program` is the int8 Program. Otherwise as `fit`.
    """
    manual_seed(seed)
    quantized = quantize_aware(model).train()
    loader = _batches(images, labels)
    optimizer = optim.AdamW(quantized.parameters(), lr=_TUNING_RATE)
    steps = epochs * len(loader)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    trainer = _Trainer(quantized, loader, optimizer, scheduler, progress, steps)
    for epoch in range(epochs):
        if 2 * epoch >= epochs:
            quantized.freeze_observers().freeze_batch_norm()
        trainer.epoch()
    return quantized.eval()


def _batches(images: Floats, labels: Ints) -> Any:
    return DataLoader(Shifted(wrap(images), wrap(labels)), _BATCH, shuffle=True, drop_last=True)


@dataclass(slots=True)
class _Trainer:
    """The state that continues from one epoch to the next."""

    model: Any
    loader: Any
    optimizer: Any
    scheduler: Any
    progress: Progress
    steps: int
    done: int = 0

    def epoch(self) -> None:
        """Train on all batches once."""
        loss_sum, right, seen = 0.0, 0, 0
        for x, y in self.loader:
            logits = self.model(x)
            loss = F.cross_entropy(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.done += 1
            seen += len(y)
            loss_sum += loss.item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            self.progress(self.done, self.steps, loss_sum / seen, right / seen)


def with_softmax(model: Any) -> Any:
    """The net, quantization-aware or not, with probabilities instead of logits."""
    layers = [model] if isinstance(model, QuantizedModule) else model
    return nn.Sequential(*layers, nn.Softmax(1)).eval()


def probabilities(model: Any, images: Floats) -> Floats:
    """The outputs of the trained net for images, in Python."""
    with no_grad():
        return np.asarray(with_softmax(model)(wrap(images)).numpy(), np.float32)


def program(model: Any) -> Program:
    """The net as a Program: image [batch, 1, 8, 8] to probability [batch, 10]."""
    example = wrap(np.zeros((2, 1, SIDE, SIDE), np.float32))
    return script(
        with_softmax(model),
        example,
        dynamic={"image": {0: "batch"}},
        input_names=["image"],
        output_names=["probability"],
    )


def onnx_model(model: Any) -> bytes:
    """The same as a serialized ONNX model, in the form of other exporters."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = []
    name = "image"
    for i, layer in enumerate(with_softmax(model)):
        kind, attributes = _ONNX[type(layer)]
        weights = _onnx_weights(f"layer{i}", layer)
        out = "probability" if isinstance(layer, nn.Softmax) else f"layer{i}"
        nodes.append(helper.make_node(kind, [name, *weights], [out], f"layer{i}", **attributes))
        name = out
    arrays = {
        name: array
        for i, layer in enumerate(model)
        for name, array in _onnx_weights(f"layer{i}", layer).items()
    }
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(w, name) for name, w in arrays.items()],
    )
    proto = helper.make_model(
        graph,
        producer_name="samara demo",
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(proto)
    return bytes(proto.SerializeToString())


# Layer -> ONNX operator and its attributes.
_ONNX: dict[type, tuple[str, dict[str, Any]]] = {
    nn.Conv2d: ("Conv", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    nn.BatchNorm2d: ("BatchNormalization", {"epsilon": 1e-5}),
    nn.ReLU: ("Relu", {}),
    nn.MaxPool2d: ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
    nn.Flatten: ("Flatten", {}),
    nn.Linear: ("Gemm", {"transB": 1}),
    nn.Softmax: ("Softmax", {"axis": 1}),
}


def _onnx_weights(name: str, layer: Any) -> dict[str, Floats]:
    """Weights of a layer in the order of the ONNX operator's inputs."""
    parts = ("weight", "bias", "running_mean", "running_var")
    state = layer.state_dict()
    return {f"{name}.{p}": state[p].numpy() for p in parts if p in state}
