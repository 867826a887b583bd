# SPDX-License-Identifier: Apache-2.0
"""What the library of SAMARA_LIBRARY answers, a program of the tests.

Read are lines, each a folder with a model.samara and its inputs.npz. Printed is a JSON list by folder,
of objects from instruction sets to the digest of all outputs or what was said against the run.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from samara.pybridge import Model, SamaraError, Session, devices


def answers(folder: Path) -> dict[str, str]:
    """A digest of the outputs for every instruction set that the library and the CPU have."""
    known = devices()[0].description.replace(",", " ").split()
    sets = ["scalar", *(n for n in known if n.startswith(("avx", "neon")))]
    return {isa: _answer(folder, isa) for isa in sets}


def _answer(folder: Path, isa: str) -> str:
    digest = hashlib.sha256()
    try:
        with np.load(folder / "inputs.npz") as feeds:
            got = Session(Model(folder / "model.samara"), isa=isa, threads=1).run(dict(feeds))
    except SamaraError as error:
        return f"{type(error).__name__}: {error}"
    for name in sorted(got):
        digest.update(f"{name} {got[name].dtype} {got[name].shape}".encode())
        digest.update(got[name].tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    json.dump([answers(Path(name)) for name in sys.stdin.read().splitlines()], sys.stdout)
