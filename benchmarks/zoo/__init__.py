# SPDX-License-Identifier: Apache-2.0
"""The models of the benchmark: well-known nets with seeded random weights, written as ONNX.

The bytes are the same on every machine. `python -m benchmarks.zoo FOLDER [NAME…]` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import onnx
from benchmarks.zoo import mobile, residual, sequences, unlisted
from benchmarks.zoo.mobile import mobilenet_v2
from benchmarks.zoo.net import Net
from benchmarks.zoo.residual import resnet18
from benchmarks.zoo.sequences import transformer

__all__ = ["MODELS", "Model", "Net", "mobilenet_v2", "resnet18", "transformer", "write"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the benchmark. listed: whether the targets per model apply to it. tiny: the smallest form with all
    its operators, for tests.
    """

    title: str
    build: Callable[[], onnx.ModelProto]
    tiny: Callable[[], onnx.ModelProto]
    listed: bool = True


MODELS: dict[str, Model] = {
    "mobilenet_v1": Model(
        "MobileNetV1", mobile.mobilenet_v1, lambda: mobile.mobilenet_v1(32, 0.25)
    ),
    "mobilenet_v2": Model("MobileNetV2", mobilenet_v2, lambda: mobilenet_v2(32)),
    "mobilenet_v3_large": Model(
        "MobileNetV3-Large", mobile.mobilenet_v3_large, lambda: mobile.mobilenet_v3_large(32)
    ),
    "efficientnet_lite0": Model(
        "EfficientNet-Lite0", mobile.efficientnet_lite0, lambda: mobile.efficientnet_lite0(32)
    ),
    "squeezenet": Model("SqueezeNet 1.1", mobile.squeezenet, lambda: mobile.squeezenet(48)),
    "shufflenet_v2": Model(
        "ShuffleNetV2 1.0", mobile.shufflenet_v2, lambda: mobile.shufflenet_v2(32)
    ),
    "resnet18": Model("ResNet-18", resnet18, lambda: resnet18(32, 8)),
    "resnet50": Model("ResNet-50", residual.resnet50, lambda: residual.resnet50(32, 8)),
    "vgg19": Model("VGG-19", residual.vgg19, lambda: residual.vgg19(32, 64, 8)),
    "vit_tiny": Model("ViT-Tiny/16", sequences.vit_tiny, lambda: sequences.vit_tiny(32, 1)),
    "minilm": Model("MiniLM, 6 layers", sequences.minilm, lambda: sequences.minilm(1, 64, 8)),
    "lstm": Model("LSTM 2 x 128, 100 steps", sequences.lstm, lambda: sequences.lstm(5, 16)),
    "ds_cnn": Model("keyword DS-CNN", mobile.ds_cnn, lambda: mobile.ds_cnn(21)),
    "resnet8": Model("ResNet-8", residual.resnet8, lambda: residual.resnet8(16)),
    "mobilenet_v1_025": Model(
        "MobileNetV1-0.25, 96x96", mobile.mobilenet_v1_025, lambda: mobile.mobilenet_v1_025(32)
    ),
    "autoencoder": Model("autoencoder", mobile.autoencoder, lambda: mobile.autoencoder(64)),
    "yolo": Model("YOLO-style detector", unlisted.yolo, lambda: unlisted.yolo(64, 8), listed=False),
    "unet": Model("U-Net", unlisted.unet, lambda: unlisted.unet(32, 4), listed=False),
    "densenet": Model(
        "DenseNet-121", unlisted.densenet, lambda: unlisted.densenet(32, 8, (2, 2)), listed=False
    ),
    "ghostnet": Model("GhostNet", unlisted.ghostnet, lambda: unlisted.ghostnet(32), listed=False),
    "mobilevit": Model(
        "MobileViT-XS", unlisted.mobilevit, lambda: unlisted.mobilevit(64, (1, 1, 1)), listed=False
    ),
    "convnext_tiny": Model(
        "ConvNeXt-Tiny",
        unlisted.convnext_tiny,
        lambda: unlisted.convnext_tiny(32, (1, 1, 1, 1)),
        listed=False,
    ),
    "tcn": Model("TCN", unlisted.tcn, lambda: unlisted.tcn(64, 8), listed=False),
    "conformer": Model(
        "conformer block", unlisted.conformer, lambda: unlisted.conformer(16, 32), listed=False
    ),
    "super_resolution": Model(
        "super-resolution x3",
        unlisted.super_resolution,
        lambda: unlisted.super_resolution(16, 8, 1),
        listed=False,
    ),
    "keyword_transformer": Model(
        "keyword transformer",
        unlisted.keyword_transformer,
        lambda: unlisted.keyword_transformer(8, 1),
        listed=False,
    ),
}


def write(folder: Path, names: Iterable[str]) -> list[Path]:
    """Write the named models to the folder; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names:
        path = folder / f"{name}.onnx"
        path.write_bytes(MODELS[name].build().SerializeToString(deterministic=True))
        paths.append(path)
    return paths
