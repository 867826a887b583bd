# SPDX-License-Identifier: Apache-2.0
"""What has no operator stops an export, with the user's line and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import samara
from samara import linalg, nn
from samara.exporter.frontend.eager_only import refuse_traced
from samara.pybridge.errors import UnsupportedError


class Whitened(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cov = nn.Parameter(samara.eye(3) * 4)

    def forward(self, x: samara.Tensor) -> samara.Tensor:
        return x @ linalg.inv(self.cov)


def scaled(x: samara.Tensor) -> samara.Tensor:
    if x.sum() > 0:
        x = linalg.solve(x, x)
    return x


def test_traced_values_are_refused() -> None:
    for capture in (samara.trace, samara.script):
        with pytest.raises(
            UnsupportedError, match=r"test_eager_only.py:\d+: linalg.qr cannot"
        ) as e:
            capture(lambda x: linalg.qr(x).R, samara.ones(2, 2))
        assert "keep it in a buffer" in (e.value.fix or "")
    with pytest.raises(UnsupportedError, match=r"test_eager_only.py:27: linalg.solve cannot"):
        samara.script(scaled, samara.ones(2, 2))
    with pytest.raises(UnsupportedError, match=r"linalg.inv cannot"):  # the parameter is a variable
        samara.trace(Whitened(), samara.ones(1, 3), variables=True)


def test_constants_are_computed_while_tracing(tmp_path: Path) -> None:
    program = samara.trace(Whitened(), samara.ones(1, 3))
    assert program.run({"x": samara.ones(1, 3).numpy()})["output"].tolist() == [[0.25] * 3]
    refuse_traced("nothing", samara.ones(2), None, [1])
