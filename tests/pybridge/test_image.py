# SPDX-License-Identifier: Apache-2.0
"""Pictures: what an Image takes, refuses and says, and what Pillow brings."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import samara
from samara.pybridge.errors import ArgumentError, FileError, ShapeError, UnsupportedError
from samara.pybridge.image import Image, as_image

FRAME = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_attributes() -> None:
    image = Image(FRAME, "bgr", crop=(1, 0, 4, 3), rotation=90, mirror=True)
    assert (image.format, image.width, image.height) == ("bgr", 6, 4)
    assert (image.crop, image.rotation, image.mirror) == ((1, 0, 4, 3), 90, True)
    assert (image.matrix, image.range) == (None, None)
    assert image.size == (3, 4)
    assert repr(image) == "Image(bgr 6x4, crop=(1, 0, 4, 3), rotation=90, mirror=True)"
    frame = Image(bytes(6), "i420", 2, 2, matrix="bt709", range="full")
    assert repr(frame) == "Image(i420 2x2, matrix='bt709', range='full')"
    assert [plane[1:] for plane in frame.planes] == [(2, 1), (1, 1), (1, 1)]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_the_size_is_that_of_the_oriented_picture(rotation: int) -> None:
    size = Image(FRAME, "rgb", crop=(0, 0, 5, 2), rotation=rotation).size
    assert size == ((5, 2) if rotation in (0, 180) else (2, 5))


def test_it_is_frozen_and_travels() -> None:
    image = Image(FRAME, "rgb", rotation=180)
    with pytest.raises(AttributeError):
        image.rotation = 90  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(image))
    assert repr(again) == repr(image)
    assert np.array_equal(again.planes[0].data, image.planes[0].data)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"format": "rgbx"}, ArgumentError, "the picture's format is 'rgbx'"),
        ({"format": None}, ArgumentError, "the picture's format is None"),
        ({"rotation": 45}, ArgumentError, "rotation is 45"),
        ({"rotation": -90}, ArgumentError, "rotation is -90"),
        ({"rotation": 90.0}, ArgumentError, "rotation is 90.0"),
        ({"rotation": False}, ArgumentError, "rotation is False"),
        ({"mirror": 1}, ArgumentError, "mirror is an int"),
        ({"matrix": "bt601"}, ArgumentError, "matrix='bt601' is given for a picture in rgb"),
        ({"range": "full"}, ArgumentError, "range='full' is given for a picture in rgb"),
        ({"range": "tv"}, ArgumentError, "range is 'tv'"),
        ({"matrix": "601"}, ArgumentError, "matrix is '601'"),
        ({"crop": (0, 0, 3)}, ArgumentError, r"crop is \(0, 0, 3\)"),
        ({"crop": 3}, ArgumentError, "crop is 3"),
        ({"crop": (0, 0, 3, 1.5)}, ArgumentError, "crop is 1.5"),
        ({"crop": (0, 0, 7, 4)}, ShapeError, r"\(0, 0, 7, 4\), outside the picture of 6x4"),
        ({"crop": (3, 1, 3, 4)}, ShapeError, "outside the picture"),
        ({"crop": (-1, 0, 3, 4)}, ShapeError, "outside the picture"),
        ({"crop": (0, -1, 3, 4)}, ShapeError, "outside the picture"),
        ({"crop": (1, 1, 0, 1)}, ShapeError, "outside the picture"),
        ({"crop": (1, 1, 1, 0)}, ShapeError, "outside the picture"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], error: type[ShapeError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        Image(FRAME, **{"format": "rgb", **given})
    assert caught.value.fix


def test_what_a_picture_may_be() -> None:
    image = Image(FRAME, "bgr")
    assert as_image(image) is image
    assert samara.Image is Image
    assert repr(as_image(FRAME)) == "Image(rgb 6x4)"
    assert repr(as_image(FRAME[:, :, 0])) == "Image(gray 6x4)"
    assert repr(as_image(FRAME[:, :, :1])) == "Image(gray 6x4)"
    assert repr(as_image(np.zeros((4, 6, 4), np.uint8))) == "Image(rgba 6x4)"
    for value in (None, 3, [[1, 2]], b"123"):
        with pytest.raises(ArgumentError, match="the picture is"):
            as_image(value)
    with pytest.raises(ShapeError) as caught:
        as_image(np.moveaxis(FRAME, -1, 0))
    assert caught.value.fix == "put the channels last: np.moveaxis(x, 0, -1)"
    with pytest.raises(ArgumentError, match="float64"):
        as_image(FRAME / 255)


# ---- Pillow ----


def pixels(image: Image) -> npt.NDArray[np.uint8]:
    """The oriented picture, from the planes of an interleaved Image."""
    (data, row, _), sample = image.planes[0], {"gray": 1, "rgb": 3, "rgba": 4}[image.format]
    whole = data.reshape(image.height, row)[:, : image.width * sample]
    turned = np.rot90(whole.reshape(image.height, image.width, sample), -image.rotation // 90)
    return turned[:, ::-1] if image.mirror else turned


@pytest.fixture
def pillow(missing: Callable[[str, str], None]) -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        missing("pillow", "not installed")


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_without_moving_pixels(pillow: Any, tmp_path: Path, orientation: int) -> None:
    from PIL import ImageOps

    exif = pillow.Exif()
    exif[0x0112] = orientation
    pillow.fromarray(FRAME).save(tmp_path / "a.png", exif=exif)
    image = Image.open(tmp_path / "a.png")
    assert (image.width, image.height) == (6, 4)
    with pillow.open(tmp_path / "a.png") as opened:
        wanted = np.asarray(ImageOps.exif_transpose(opened))
        assert np.array_equal(pixels(as_image(opened)), wanted)
        # What a method of Pillow made is taken unchanged, although a copy keeps the tag.
        assert np.array_equal(pixels(as_image(opened.copy())), FRAME)
        assert np.array_equal(pixels(as_image(ImageOps.exif_transpose(opened))), wanted)
    assert np.array_equal(pixels(image), wanted)
    assert image.size == (wanted.shape[1], wanted.shape[0])


def test_modes(pillow: Any) -> None:
    colour = pillow.fromarray(FRAME)
    assert Image.from_pil(colour).format == "rgb"
    assert Image.from_pil(colour.convert("L")).format == "gray"
    assert Image.from_pil(colour.convert("RGBA")).format == "rgba"
    for mode in ("P", "LA", "CMYK", "YCbCr", "HSV", "1"):
        other = colour.convert(mode)
        image = Image.from_pil(other)
        assert image.format == "rgb"
        assert np.array_equal(pixels(image), np.asarray(other.convert("RGB")))
    for mode in ("I", "F", "I;16"):
        with pytest.raises(UnsupportedError, match=f"mode {mode}, which has more than 8 bits"):
            Image.from_pil(pillow.new(mode, (3, 3)))
    with pytest.raises(ArgumentError, match="not an image of Pillow"):
        Image.from_pil(FRAME)


def test_a_file_of_deeper_pixels(pillow: Any, tmp_path: Path) -> None:
    pillow.new("F", (3, 3)).save(tmp_path / "a.tiff")
    with pytest.raises(UnsupportedError, match=r"a\.tiff is of Pillow's mode F"):
        Image.open(tmp_path / "a.tiff")


def test_files_that_cannot_be_read(
    pillow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.png"):
        as_image(tmp_path / "none.png")
    (tmp_path / "a.png").write_bytes(b"junk")
    with pytest.raises(FileError, match=r"a\.png cannot be read by Pillow"):
        as_image(str(tmp_path / "a.png"))
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    pillow.fromarray(noise).save(tmp_path / "b.png")
    whole = (tmp_path / "b.png").read_bytes()
    for length in range(1, len(whole) - 20, 97):
        (tmp_path / "c.png").write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"c\.png cannot be read by Pillow"):
            Image.open(tmp_path / "c.png")
    monkeypatch.setattr(pillow, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(FileError, match=r"b\.png is larger than Pillow opens"):
        Image.open(tmp_path / "b.png")
    with pytest.raises(ArgumentError, match="not a path"):
        as_image("")


def test_damaged_files_end_in_one_error(pillow: Any, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for name in ("a.png", "a.jpg", "a.gif", "a.tiff"):
        pillow.fromarray(FRAME).save(tmp_path / name)
        whole = np.frombuffer((tmp_path / name).read_bytes(), np.uint8)
        for _ in range(60):
            damaged = whole.copy()
            damaged[rng.integers(0, whole.size, 4)] = rng.integers(0, 256, 4)
            (tmp_path / name).write_bytes(damaged.tobytes())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's own, of files that it reads all the same
                with contextlib.suppress(FileError, ShapeError, UnsupportedError):
                    Image.open(tmp_path / name)


def test_a_picture_of_too_many_pixels(pillow: Any) -> None:
    with pytest.raises(ShapeError, match="16385x1 pixels"):
        Image.from_pil(pillow.new("L", (16385, 1)))


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "PIL":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UnsupportedError, match="needs pillow, which is not") as caught:
        Image.open(tmp_path / "a.png")
    assert caught.value.fix == "pip install pillow"


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("format", ["rgb", "bgr", "rgba", "bgra", "gray"])
def test_upright_is_what_models_see(format: str, rotation: int, mirror: bool) -> None:
    channels = {"gray": 1, "rgba": 4, "bgra": 4}.get(format, 3)
    # Rows with some bytes behind them, as cameras have.
    rows = np.random.default_rng(2).integers(0, 256, (7, 12 * channels), np.uint8)
    turned: Any = {"crop": (2, 1, 5, 4), "rotation": rotation, "mirror": mirror}
    image = Image(rows.tobytes(), format, 9, 7, strides=12 * channels, **turned)
    pixels = rows.reshape(7, 12, channels)[:, :9]
    assert np.array_equal(image.pixels(), pixels)
    record = f"{'gray' if format == 'gray' else 'rgb'} uint8 nhwc"
    upright = image.upright()
    assert (upright.rotation, upright.mirror, upright.size) == (0, False, image.size)
    assert np.array_equal(samara.preprocess(record, upright), samara.preprocess(record, image))


def test_planes_are_no_pixels() -> None:
    with pytest.raises(UnsupportedError, match="nv21 has planes, not interleaved pixels"):
        Image(bytes(6), "nv21", 2, 2).upright()
