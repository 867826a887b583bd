# SPDX-License-Identifier: Apache-2.0
"""Train the net of words.onnx, which hears "yes", "no" and "stop". Needs espeak-ng and scipy.

    python train_words.py

240 voices say the words and others, at several speeds, somewhere in a second, in noise. It is then
right about 96 % of the seconds of 12 other voices, one of which speaks in words.wav.
"""

from __future__ import annotations

import concurrent.futures
import math
import runpy
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from scipy.signal import resample_poly

import samara
from samara import nn

HERE = Path(__file__).parent
TASK = runpy.run_path(str(HERE.parents[2] / "examples" / "keyword_spotting.py"))
RECORD = samara.AudioRecord.parse(TASK["SOUND"])
WORDS = tuple(TASK["LABELS"][1:])
OTHERS = (
    "hello morning tea guess less go slow top step start off on up down left right one two"
    " three seven nine house tree bird happy wow never said us coffee low so"
    " best test now new not near nose though toe yet yard chess jazz spot stock stuff stone"
)
LANGUAGES = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-029", "en-us-nyc")
VARIANTS = (
    "m1 m2 m3 m4 m5 m6 m7 m8 f1 f2 f3 f5 klatt klatt4 Alex Alicia Annie Diogo Gene Lee Michael Mike"
    " Storm adam anika antonio belinda benjamin boris caleb david ed john linda max norbert paul"
    " steph victor zac f4 Andy"
)
VOICES = [f"{language}+{variant}" for variant in VARIANTS.split() for language in LANGUAGES]
TESTED = 12  # voices, of the last two variants
SECOND = 16000
Array = npt.NDArray[np.float64]
Sound = npt.NDArray[np.int16]


def spoken(voice: str, word: str, speed: int, pitch: int) -> Array:
    """A word at 16 kHz, without the silence around it."""
    command = ["espeak-ng", "--stdout", "-v", voice, "-s", str(speed), "-p", str(pitch), word]
    wav = subprocess.run(command, check=True, capture_output=True).stdout
    samples = resample_poly(np.frombuffer(wav[44:], "<i2").astype(np.float64), 320, 441)
    loud = np.flatnonzero(np.abs(samples) > 300)
    return np.asarray(samples[loud[0] : loud[-1]])


def second_of(rng: np.random.Generator, word: Array, before: Array, behind: Array) -> Sound:
    """A second of sound in noise, with a word in it, and others at its ends."""
    made = rng.normal(0, 10 ** rng.uniform(0, 2), 3 * SECOND)
    start = SECOND + int(rng.integers(max(1, SECOND - len(word))))
    gap = rng.integers(1500, 6000, 2)
    gain = 10 ** rng.uniform(-0.8, -0.1)
    for part, at in (
        (word, start),
        (before[-start:], start - gap[0] - len(before[-start:])),
        (behind, start + len(word) + gap[1]),
    ):
        at = max(0, int(at))
        part = part[: len(made) - at]
        made[at : at + len(part)] += gain * part
    return made[SECOND : 2 * SECOND].round().clip(-32768, 32767).astype(np.int16)


def dataset(voices: list[str], seed: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features [N, 49, 40] and labels: 0 for others, then WORDS."""
    rng = np.random.default_rng(seed)
    wanted = [
        (voice, word, int(rng.integers(110, 200)), int(rng.integers(20, 80)))
        for voice in voices
        for word in (*WORDS * 3, *rng.choice(OTHERS.split(), 9))
    ]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda w: spoken(*w), wanted))
    nothing = np.zeros(0)
    # Two words may both be heard whole, so those at the ends are no keywords.
    others = [
        sound for (_, word, _, _), sound in zip(wanted, said, strict=True) if word not in WORDS
    ]
    seconds, labels = [], []

    def add(label: int, sound: Array) -> None:
        ends = [
            others[int(rng.integers(len(others)))] if rng.random() < 0.5 else nothing for _ in "ab"
        ]
        seconds.append(second_of(rng, sound, *ends))
        labels.append(label)

    for (_, word, _, _), sound in zip(wanted, said, strict=True):
        label = WORDS.index(word) + 1 if word in WORDS else 0
        add(label, sound)
        add(label, sound)
        # A part of a word is another one; so is nothing.
        share = rng.uniform(0.1, 0.35)
        add(0, sound[: int(len(sound) * share)])
        add(0, sound[int(len(sound) * (1 - share)) :] if rng.random() < 0.5 else nothing)
    features = [samara.preprocess(RECORD, samara.Audio(s, SECOND))[0] for s in seconds]
    return np.concatenate(features), np.array(labels)


def as_others_say_it(
    rng: np.random.Generator, x: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Features [N, 49, 40] of other microphones, and of longer and shorter throats."""
    shifted = np.stack([np.roll(row, rng.integers(-2, 3), 1) for row in x])
    colour = rng.normal(0, 0.15, (len(x), 1, 40)) + rng.normal(0, 0.15, (len(x), 1, 1))
    return (shifted + colour).astype(np.float32)


class Net(nn.Module):
    """Three convolutions over time, and the largest of each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(40, 32, 5, stride=2)
        self.conv2 = nn.Conv1d(32, 32, 5, stride=2)
        self.conv3 = nn.Conv1d(32, 32, 5)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(32, 1 + len(WORDS))

    def forward(self, x: samara.Tensor) -> samara.Tensor:
        x = self.conv1(x.transpose(1, 2)).relu()
        x = self.conv2(x).relu()
        return self.head(self.drop(self.conv3(x).relu().amax(2)))


def save_onnx(net: Net, path: Path) -> None:
    """The net as an ONNX file: audio [1, 49, 40] to scores [1, 4]."""
    weights = [
        numpy_helper.from_array(np.asarray(v.detach().numpy(), np.float32), k)
        for k, v in net.state_dict().items()
    ]
    nodes = [helper.make_node("Transpose", ["audio"], ["x0"], perm=[0, 2, 1])]
    for i, stride in ((1, 2), (2, 2), (3, 1)):
        names = [f"x{i - 1}", f"conv{i}.weight", f"conv{i}.bias"]
        nodes.append(helper.make_node("Conv", names, [f"c{i}"], strides=[stride]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"x{i}"]))
    nodes += [
        helper.make_node("ReduceMax", ["x3"], ["top"], axes=[2], keepdims=0),
        helper.make_node("Gemm", ["top", "head.weight", "head.bias"], ["logits"], transB=1),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
    ]
    audio = helper.make_tensor_value_info("audio", TensorProto.FLOAT, [1, 49, 40])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 1 + len(WORDS)])
    graph = helper.make_graph(nodes, "words", [audio], [scores], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main() -> None:
    """Train, and write words.onnx beside this file."""
    samara.manual_seed(1)
    x, y = dataset(VOICES[:-TESTED], 1)
    test_x, test_y = dataset(VOICES[-TESTED:], 2)
    net = Net()
    epochs, batch = 24, 64
    steps = epochs * (len(x) // batch)
    optimizer = samara.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
    rng = np.random.default_rng(3)
    step = 0
    for epoch in range(epochs):
        order = rng.permutation(len(x))
        for at in range(0, len(x) - batch + 1, batch):
            rows = order[at : at + batch]
            for group in optimizer.param_groups:
                group["lr"] = 3e-3 * 0.5 * (1 + math.cos(math.pi * step / steps))
            optimizer.zero_grad()
            scores = net(samara.tensor(as_others_say_it(rng, x[rows])))
            loss = nn.functional.cross_entropy(scores, samara.tensor(y[rows]))
            loss.backward()
            optimizer.step()
            step += 1
        net.eval()
        found = net(samara.tensor(test_x)).detach().numpy().argmax(1)
        net.train()
        print(
            f"{epoch}: loss {loss.item():.4f}, right {(found == test_y).mean():.4f} of new voices"
        )
    save_onnx(net, HERE / "words.onnx")


if __name__ == "__main__":
    main()
