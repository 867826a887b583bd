# SPDX-License-Identifier: Apache-2.0
"""A model that is trained through a record exports it, and gets the same bits of the same picture or sound."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import ArgumentError, nn
from samara.data import DataLoader, Dataset
from samara.data.transforms import Compose, FromRecord, RandomCrop

RECORD = "rgb float32 nchw resize=16 crop=12 mean=127.5,120,110 std=60,61,62"
OTHER = "rgb float32 nchw resize=16 crop=12 mean=127.5 std=127.5"
SOUND = "logmel float32 ntf rate=16000 window=400 hop=160 bins=8 frames=4"
EXACT = str(samara.ImageRecord.parse(RECORD))


class Samples(Dataset[Any]):
    """Pictures of noise, cropped anywhere before the record; or tones."""

    def __init__(self, transform: Any, sound: bool = False) -> None:
        rng = np.random.default_rng(1)
        self.transform = transform
        shape = (24, 880) if sound else (24, 30, 40, 3)
        self.given = rng.integers(0, 256, shape).astype(np.int16 if sound else np.uint8)

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return self.transform(self.given[i]), i % 3


def train(model: nn.Module, transform: Any, workers: int = 0, sound: bool = False) -> list[Any]:
    """An epoch; the batches."""
    samara.manual_seed(0)
    optimizer = samara.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Samples(transform, sound), 8, num_workers=workers)
    seen = []
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.to("cpu")), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(x.numpy().copy())
    return seen


def net() -> nn.Module:
    samara.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 3))


def export(model: nn.Module, path: Path, **options: Any) -> Any:
    program = samara.trace(
        model.eval(), (samara.zeros(1, 3, 12, 12),), input_names=["image"], output_names=["y"]
    )
    return samara.export(program, path, **options)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_file_makes_what_training_saw(
    workers: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, file = net(), tmp_path / "net.samara"
    seen = train(model, FromRecord(RECORD), workers)
    with caplog.at_level(logging.INFO, "samara.export"):
        report = export(model, file)
    assert report.trained == ("image",)
    assert report.records == {"image": EXACT}
    assert f"input 'image' takes pictures by '{EXACT}', as in training" in str(report)
    assert "input image has the record that training used" in caplog.text
    session = samara.Session(file)
    pictures = Samples(FromRecord(RECORD)).given
    for picture, tensor in zip(pictures, np.concatenate(seen), strict=True):
        assert np.array_equal(samara.preprocess(EXACT, picture)[0], tensor)
        by_picture = session.run({"image": picture})["y"]
        assert np.array_equal(by_picture, session.run({"image": tensor[None]})["y"])


def test_augmentation_comes_before_the_record(tmp_path: Path) -> None:
    model = net()
    train(model, Compose([RandomCrop(20), FromRecord(RECORD)]))
    assert export(model, tmp_path / "a.samara").records == {"image": EXACT}
    model = net()
    train(model, Compose([FromRecord(RECORD), RandomCrop(12, padding=1)]))
    assert export(model, tmp_path / "b.samara").records == {}


def test_two_records_are_refused_until_one_is_named(tmp_path: Path) -> None:
    model, file = net(), tmp_path / "net.samara"
    train(model, FromRecord(OTHER))
    train(model, FromRecord(RECORD))
    with pytest.raises(ArgumentError, match="input 'image' was used with 2 records"):
        export(model, file)
    assert not file.exists()
    assert export(model, file, preprocess={"image": RECORD}).records == {"image": EXACT}
    for none in ("", {"image": ""}):
        report = export(model, file, preprocess=none)
        assert (report.records, report.trained) == ({}, ())
        assert samara.Model(file).function(None).inputs[0].record is None


def test_what_the_caller_says_counts(tmp_path: Path) -> None:
    model = net()
    train(model, FromRecord(RECORD))
    report = export(
        model, tmp_path / "a.samara", preprocess={"photo": OTHER}, rename={"image": "photo"}
    )
    assert report.records == {"photo": str(samara.ImageRecord.parse(OTHER))}
    assert report.trained == ()
    renamed = export(
        model, tmp_path / "b.samara", rename={"image": "photo"}, layout={"image": "NHWC"}
    )
    assert renamed.records == {"photo": EXACT.replace("nchw", "nhwc")}


def test_a_batch_in_the_program_leaves_the_record_out(tmp_path: Path) -> None:
    model = net()
    train(model, FromRecord(RECORD))
    program = samara.trace(model.eval(), samara.zeros(8, 3, 12, 12))
    report = samara.export(program, tmp_path / "net.samara")
    assert report.records == {}
    assert "does not get the record of training" in str(report)
    assert report.to_json()["untaken"].keys() == {"input"}


def test_quantization_calibrates_through_it(tmp_path: Path) -> None:
    model = net()
    train(model, FromRecord(RECORD))
    program = samara.trace(model.eval(), samara.zeros(1, 3, 12, 12), input_names=["image"])
    pictures = [{"image": picture} for picture in Samples(None).given]
    small = samara.quantize(program, pictures)
    report = samara.export(small, tmp_path / "net.samara")
    assert report.trained == ("image",)
    session = samara.Session(tmp_path / "net.samara")
    picture = Samples(None).given[0]
    tensor = samara.preprocess(RECORD, picture)
    of_tensor = session.run({"image": tensor})["output"]
    assert np.array_equal(session.run(picture)["output"], of_tensor)


def test_sound(tmp_path: Path) -> None:
    samara.manual_seed(3)
    model = nn.Sequential(nn.Flatten(), nn.Linear(32, 3))
    seen = train(model, FromRecord(SOUND), 2, sound=True)
    program = samara.trace(model.eval(), samara.zeros(1, 4, 8), input_names=["audio"])
    report = samara.export(program, tmp_path / "net.samara")
    assert report.trained == ("audio",)
    assert "input 'audio' takes sound by 'logmel float32 ntf" in str(report)
    session = samara.Session(tmp_path / "net.samara")
    for samples, tensor in zip(Samples(None, True).given, np.concatenate(seen), strict=True):
        by_sound = session.run({"audio": samples})["output"]
        assert np.array_equal(by_sound, session.run({"audio": tensor[None]})["output"])
