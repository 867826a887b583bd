# SPDX-License-Identifier: Apache-2.0
"""examples/web: each page, made as its README says, gives native's answer for a picture."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e import web_package
from tests.e2e.commands import output_of, python, ran

import samara
from samara.data import digits

pytestmark = pytest.mark.extended

Missing = Callable[[str, str], None]


@pytest.fixture(scope="module")
def built(
    repo: Path,
    missing: Missing,
    need_tool: Callable[[str, str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A copy of examples/web with its net, and with the pages that Vite builds."""
    web_package.require(missing)
    npm = need_tool("node", "npm")
    folder = tmp_path_factory.mktemp("examples") / "web"
    made = shutil.ignore_patterns("node_modules", "dist", "digits", "package-lock.json")
    shutil.copytree(repo / "examples" / "web", folder, ignore=made)
    python(folder / "make_model.py", "--epochs", "3")
    for name in ("vite", "react"):
        home = folder / name
        done = ran(npm, "install", "--no-fund", "--no-audit", cwd=home)
        if done.returncode:
            missing("node", f"examples/web/{name}: npm cannot install what it needs")
        # A warning is a failure: the guide says that bundlers know all that the package does.
        path = f"{home / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
        said = output_of("vite", "build", cwd=home, PATH=path)
        assert "warn" not in said.lower(), said
    return folder


def test_pages(built: Path, in_browser: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    images, labels = (each.numpy() for each in digits(train=False).tensors)
    pictures: list[str] = []
    native: list[str] = []
    right = 0
    with samara.Session(built / "digits" / "digits.samara") as session:
        for image, label in zip(images[:3], labels[:3], strict=True):
            ink = 255 - np.round(255 * image[0]).astype(np.uint8)
            pixels = np.repeat(np.repeat(ink, 12, axis=0), 12, axis=1)[..., None].repeat(3, axis=-1)
            pictures.append(str(tmp_path / f"{len(pictures)}.png"))
            Path(pictures[-1]).write_bytes(web_package.png(pixels))
            predicted: Any = session.predict({"image": samara.Image(pixels, "rgb")})
            guesses = [*predicted]
            right += guesses[0].label == str(label)
            native.append("\n".join(f"{g.label}: {100 * g.score:.1f} %" for g in guesses))
    assert right >= 2
    pages = ["/plain/plain/index.html", "/vite/dist/index.html", "/react/dist/index.html"]
    said = in_browser(built, "pictures", json.dumps({"pages": pages, "pictures": pictures}))
    assert said == dict.fromkeys(pages, native)
