# SPDX-License-Identifier: Apache-2.0
"""The files of a benchmark: models, inputs, reference outputs, and the engines' conversions. Everything is made
once and kept until its sources change.
"""

from __future__ import annotations

import hashlib
import importlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks import reference
from benchmarks.engines import BEFORE, SAMARA, Form, engine
from benchmarks.environments import Missing, home_of, own_name, python_of, variables
from benchmarks.zoo import MODELS

SAMPLES = 8  # of the calibration set
_SECONDS = 1500


@dataclass(frozen=True, slots=True)
class Files:
    """The folder of the benchmark's files."""

    folder: Path

    @property
    def environments(self) -> Path:
        return self.folder / "engines"

    def model(self, name: str) -> Path:
        """The model's folder, with model.onnx, input.npy, calibration.npy and reference.npy."""
        home = self.folder / "models" / name
        home.mkdir(parents=True, exist_ok=True)
        made = MODELS[name].build()
        data = made.SerializeToString(deterministic=True)
        path = home / "model.onnx"
        if path.is_file() and path.read_bytes() == data and (home / "reference.npy").is_file():
            return home
        path.write_bytes(data)
        drawn = reference.draw(made, SAMPLES + 1, seed=7)
        np.save(home / "input.npy", drawn[0])
        np.save(home / "calibration.npy", drawn[1:])
        np.save(home / "reference.npy", reference.answer(made, drawn[0]))
        return home

    def converted(self, name: str, engine_name: str, form_name: str) -> Path:
        """The file that the engine runs. Missing if it cannot be made."""
        form = engine(engine_name).FORMS[form_name]
        if isinstance(form, str):
            raise Missing(form)
        home = self.model(name)
        source = home / form.source
        if form.source != "model.onnx":
            maker, made_form = form.source.split(".")[:2]
            source = self.converted(name, maker, made_form)
        target = home / f"{engine_name}.{form_name}{form.suffix}"
        key = _key(source, engine_name, form)
        stamp = home / f"{engine_name}.{form_name}.stamp"
        if not stamp.is_file() or stamp.read_text(encoding="utf-8").split("\n")[0] != key:
            problem = self._convert(engine_name, form_name, form, source, target)
            stamp.write_text(f"{key}\n{problem}", encoding="utf-8")
        problem = stamp.read_text(encoding="utf-8").split("\n", 1)[1]
        if problem:
            raise Missing(problem)
        return target

    def _convert(
        self, engine_name: str, form_name: str, form: Form, source: Path, target: Path
    ) -> str:
        target.unlink(missing_ok=True)
        program = python_of(self.environments, form.environment)
        home = home_of(engine_name)
        words = [own_name(engine_name), form_name, str(source), str(target)]
        command = [str(program), "-m", "benchmarks.engines", *words]
        command.append(str(source.parent / "calibration.npy"))
        try:
            done = subprocess.run(
                command,
                cwd=home,
                env=variables(home),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"converting took more than {_SECONDS} s"
        (target.parent / f"{engine_name}.{form_name}.log").write_text(done.stdout + done.stderr)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return lines[-1][:300]
        return "" if target.is_file() else "the converter made no file"


def _key(source: Path, engine_name: str, form: Form) -> str:
    """A digest of everything a converted file depends on. samara's depends on its checkout's whole exporter."""
    digest = hashlib.sha256(source.read_bytes())
    module = importlib.import_module(f"benchmarks.engines.{engine_name}")
    digest.update(Path(module.__file__ or "").read_bytes())
    digest.update(repr(form).encode())
    if form.environment in (SAMARA, BEFORE):
        digest.update(sources_digest(home_of(engine_name)).digest())
    return digest.hexdigest()


def sources_digest(home: Path) -> hashlib._Hash:
    """A digest of the exporter's sources in a checkout, which decide what samara's files hold."""
    digest = hashlib.sha256()
    for path in sorted((home / "exporter").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest
