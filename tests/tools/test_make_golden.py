# SPDX-License-Identifier: Apache-2.0
"""The golden file is written from a program that means the same today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import samara
from samara.exporter.ir import open_program, read_file


def test_the_committed_file_holds_this_program(
    repo: Path, newest_golden: Path, tmp_path: Path
) -> None:
    made = tmp_path / "golden.samara"
    subprocess.run(
        [sys.executable, repo / "tools" / "make_golden.py", made], check=True, capture_output=True
    )
    assert str(open_program(made)) == str(open_program(newest_golden))
    assert read_file(made).golden[0].inputs.keys() == {"image", "sound"}
    for file in (made, newest_golden):
        session = samara.Session(file)
        image, sound = (spec.record for spec in session.inputs)
        assert isinstance(image, samara.ImageRecord)
        assert isinstance(sound, samara.AudioRecord)
        picture, tone = np.zeros((9, 12, 3), np.uint8), np.zeros(440, np.int16)
        assert isinstance(session.predict({"image": picture, "sound": tone}), samara.Classification)
