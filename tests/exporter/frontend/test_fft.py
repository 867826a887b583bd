# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of pairs against NumPy's complex ones, their gradients, and exported files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import fft
from samara.autograd import gradcheck
from samara.pybridge.errors import ArgumentError, RangeError, ShapeError, UnsupportedError

# Name, shape without the parts, and arguments.
CASES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("fft", (8,), {}),
    ("fft", (3, 5), {"n": 7, "dim": 0, "norm": "ortho"}),
    ("ifft", (3, 5), {"n": 4, "norm": "forward"}),
    ("ifft", (6, 2), {"dim": -2, "norm": "ortho"}),
    ("rfft", (2, 9), {}),
    ("rfft", (8,), {"n": 5, "norm": "forward"}),
    ("irfft", (2, 5), {}),
    ("irfft", (5, 2), {"n": 9, "dim": 0, "norm": "ortho"}),
    ("irfft", (4,), {"n": 3, "norm": "forward"}),
    ("fft2", (2, 4, 3), {}),
    ("ifft2", (4, 3, 2), {"s": (5, 2), "dim": (0, 1), "norm": "ortho"}),
    ("rfft2", (2, 4, 6), {"norm": "forward"}),
    ("rfft2", (4, 6, 2), {"s": (3, 8), "dim": (1, 0)}),
    ("irfft2", (2, 4, 3), {}),
    ("irfft2", (2, 4, 3), {"s": (3, 5), "norm": "ortho"}),
]


def numbers(name: str, shape: tuple[int, ...]) -> Any:
    """Random pairs, or real numbers if the transform takes these."""
    parts = () if name.startswith("r") else (2,)
    return np.random.default_rng(0).standard_normal((*shape, *parts))


def expected(name: str, x: Any, settings: dict[str, Any]) -> Any:
    names = {"n": "n", "s": "s", "norm": "norm", "dim": "axes" if "2" in name else "axis"}
    given = x if name.startswith("r") else x[..., 0] + 1j * x[..., 1]
    y = getattr(np.fft, name)(given, **{names[k]: v for k, v in settings.items()})
    return np.stack((y.real, y.imag), -1) if np.iscomplexobj(y) else y


def test_values_and_gradients() -> None:
    for name, shape, settings in CASES:
        x = numbers(name, shape)
        transform = getattr(fft, f"{name}_as_real")
        wanted = expected(name, x, settings)
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-6), (np.float16, 5e-3)):
            found = transform(samara.tensor(x.astype(dtype)), **settings)
            assert found.dtype == dtype
            assert found.shape == wanted.shape, (name, settings)
            error = np.abs(found.numpy().astype(np.float64) - wanted).max()
            assert error <= tolerance * np.abs(wanted).max(), (name, settings, dtype)
        leaf = samara.tensor(x, requires_grad=True)
        assert gradcheck(lambda t, f=transform, s=settings: f(t, **s), (leaf,))


def test_they_export(tmp_path: Path) -> None:
    def spectrum(x: samara.Tensor) -> dict[str, samara.Tensor]:
        z = fft.rfft_as_real(x, norm="ortho")
        return {"power": z.square().sum(-1), "again": fft.irfft_as_real(z, norm="ortho")}

    x = numbers("rfft", (2, 8)).astype(np.float32)
    program = samara.trace(spectrum, samara.tensor(x), dynamic={"x": {0: "n", 1: "t"}})
    samara.export(program, tmp_path / "f.samara")
    session = samara.Session(tmp_path / "f.samara")
    for given in (x, np.concatenate((x, x[:, ::-1], x), 1)):
        found = session.run({"x": given})
        wanted = np.abs(np.fft.rfft(given, norm="ortho")) ** 2
        np.testing.assert_allclose(found["power"], wanted, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found["again"], given, atol=1e-6)


def test_frequencies_and_shifts() -> None:
    for n in (1, 6, 7):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(fft.rfftfreq(n).numpy(), np.fft.rfftfreq(n), rtol=1e-6)
    assert fft.fftfreq(3, dtype=samara.float64).dtype == np.float64
    x = np.arange(15.0).reshape(3, 5)
    for dim, axes in ((None, None), (1, 1), ((0, -1), (0, -1))):
        for name in ("fftshift", "ifftshift"):
            found = getattr(fft, name)(samara.tensor(x), dim)
            assert found.tolist() == getattr(np.fft, name)(x, axes).tolist()


def test_what_is_refused() -> None:
    x = samara.ones(4, 2)
    for name in ("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2"):
        with pytest.raises(UnsupportedError, match=rf"fft\.{name} works on complex") as error:
            getattr(fft, name)(x)
        assert f"samara.fft.{name}_as_real" in (error.value.fix or "")
    with pytest.raises(ShapeError, match="pairs"):
        fft.fft_as_real(samara.ones(4, 3))
    with pytest.raises(ShapeError, match="positive"):
        fft.fft_as_real(x, n=0)
    with pytest.raises(ShapeError, match="0 dimensions"):
        fft.rfft_as_real(1.0)
    with pytest.raises(ShapeError, match="two different axes"):
        fft.rfft2_as_real(x, dim=(1, 1))
    with pytest.raises(RangeError):
        fft.fft_as_real(x, dim=1)
    for wrong in ({"norm": "both"}, {"n": 2.5}):
        with pytest.raises(ArgumentError):
            fft.fft_as_real(x, **wrong)
