# SPDX-License-Identifier: Apache-2.0
"""A small convolutional net for 8x8 digits: trained with the front end, also written as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.frontend import nn, optim
from samara.exporter.frontend.autograd import no_grad
from samara.exporter.frontend.data import DataLoader, TensorDataset, transforms
from samara.exporter.frontend.nn import functional as F
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
_RATE = 1e-2  # AdamW's at its highest, in the middle of one cycle


class Shifted(TensorDataset):
    """Images moved by at most one pixel, anew each time, so that the net learns no places by
    heart.
    """

    _move = transforms.RandomCrop(SIDE, padding=1)

    def __getitem__(self, index: Any) -> Any:
        image, label = super().__getitem__(index)
        return self._move(image), label


def net() -> Any:
    """[N, 1, 8, 8] images in 0..1 to [N, 10] logits; the convolutions need no bias before
    batch-norm.
    """
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

    progress(steps done, steps, mean loss and accuracy of the epoch so far) after each step. The
    seed decides every bit of the result.
    """
    manual_seed(seed)
    model = net()
    loader = DataLoader(Shifted(wrap(images), wrap(labels)), _BATCH, shuffle=True, drop_last=True)
    steps = epochs * len(loader)
    optimizer = optim.AdamW(model.parameters(), lr=_RATE)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps)
    done = 0
    for _ in range(epochs):
        loss_sum, right, seen = 0.0, 0, 0
        for x, y in loader:
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            done += 1
            seen += len(y)
            loss_sum += loss.item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            progress(done, steps, loss_sum / seen, right / seen)
    return model.eval()


def with_softmax(model: Any) -> Any:
    """The net with probabilities instead of logits."""
    return nn.Sequential(*model, nn.Softmax(1)).eval()


def probabilities(model: Any, images: Floats) -> Floats:
    """What the trained net makes of images, in Python."""
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
    """The same as a serialized ONNX model, as other exporters write it."""
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
