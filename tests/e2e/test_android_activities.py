# SPDX-License-Identifier: Apache-2.0
"""The sample apps for Android, whole, under Robolectric: Android's own classes on this machine's JVM, whose
microphone plays a recording and whose cameras open but give no frames.
"""

from __future__ import annotations

import os
import runpy
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.e2e import android_apk, java
from tests.e2e.android_apk import Sample, Tools
from tests.e2e.android_frames import DATA, astronaut, face_of, mirrored, nv21, turned_boxes, view_of
from tests.e2e.commands import output_of
from tests.e2e.maven import NoMaven, artifact, with_dependencies

import samara

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="NOT RUN: apk (Linux alone)"),
]

_ROBOLECTRIC = "org.robolectric:robolectric:4.14.1"
_JUNIT = "junit:junit:4.13.2"
_SYSTEM = "org.robolectric:android-all-instrumented:15-robolectric-12650502-i7"  # its API level 35
_OPENED = (
    "lang",
    "lang.reflect",
    "util",
    "util.concurrent",
    "io",
    "net",
    "nio",
    "security",
    "text",
)
# Where Robolectric looks for an app's manifest and assets.
_CONFIG = """\
android_merged_manifest={0}/AndroidManifest.xml
android_resource_apk={0}/base.apk
android_merged_assets={1}
android_custom_package={2}
"""


@dataclass(frozen=True)
class Robolectric:
    jars: list[Path]
    system: Path


@pytest.fixture(scope="module")
def tools(
    repo: Path, need_tool: Callable[[str, str], str], missing: Callable[[str, str], None]
) -> Tools:
    return android_apk.find_tools(repo, need_tool, missing)


@pytest.fixture(scope="module")
def robolectric(
    repo: Path, missing: Callable[[str, str], None], tmp_path_factory: pytest.TempPathFactory
) -> Robolectric:
    try:
        files = [*with_dependencies(repo, _ROBOLECTRIC), *with_dependencies(repo, _JUNIT)]
        system = artifact(repo, _SYSTEM)
    except NoMaven as why:
        missing("maven", str(why))
        raise AssertionError from why  # missing never returns
    out = tmp_path_factory.mktemp("robolectric")
    jars = [file for file in files if file.suffix == ".jar"]
    for file in files:
        if file.suffix == ".aar":
            with zipfile.ZipFile(file) as aar:
                (out / f"{file.stem}.jar").write_bytes(aar.read("classes.jar"))
            jars.append(out / f"{file.stem}.jar")
    return Robolectric(jars, system)


def _prepare(name: str, net: Path, repo: Path, out: Path) -> Sample:
    """The sample with its model."""
    sample = Sample(repo / "android" / "samples" / name, out / "made")
    sample.model.parent.mkdir(parents=True)
    example = {"faces": "face_detection.py", "words": "keyword_spotting.py"}[name]
    runpy.run_path(str(repo / "examples" / example))["prepare"](net, sample.model)
    return sample


def _run(
    sample: Sample,
    tools: Tools,
    robolectric: Robolectric,
    need_tool: Callable[[str, str], str],
    repo: Path,
    out: Path,
    **properties: str | Path,
) -> None:
    """The sample's test of JUnit."""
    (out / "build").mkdir()
    built = java.build(repo, tools.jdk, need_tool("cc", "cc"), out / "build")
    app = android_apk.classes_of(sample, tools, built.classes, out)
    library = out / "library"
    library.mkdir()
    manifest = repo / "android" / "samara" / "src" / "main" / "AndroidManifest.xml"
    (library / manifest.name).write_bytes(manifest.read_bytes())
    android_apk.link(sample, tools, library, out)
    package = sample.gradle(r"namespace '([\w.]+)'")
    config = out / "config" / "com" / "android" / "tools" / "test_config.properties"
    config.parent.mkdir(parents=True)
    config.write_text(_CONFIG.format(out, sample.model.parent, package), encoding="utf-8")
    path = [out / "config", app, built.classes, *robolectric.jars, tools.android]
    tests = repo / "tests" / "e2e" / "java_robolectric" / "dev" / "samara" / "samples" / sample.name
    classes = os.pathsep.join(map(str, path))
    javac: list[str | Path] = [tools.jdk / "bin" / "javac", "-nowarn", "-cp", classes]
    output_of(*javac, "-d", out / "tests", *sorted(tests.glob("*.java")))
    activity = f"{package}.{sample.name.capitalize()}ActivityTest"
    given = {
        "java.library.path": built.folder,
        "robolectric.offline": "true",
        "robolectric.dependency.dir": robolectric.system.parent,
        **properties,
    }
    command: list[str | Path] = [tools.jdk / "bin" / "java"]
    command += [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED]
    command += [f"-D{name}={value}" for name, value in given.items()]
    command += ["-cp", f"{out / 'tests'}{os.pathsep}{classes}", "org.junit.runner.JUnitCore"]
    assert "OK (" in output_of(*command, activity, OCL_ICD_VENDORS="/nowhere")


def test_words(
    repo: Path,
    tools: Tools,
    robolectric: Robolectric,
    need_tool: Callable[[str, str], str],
    tmp_path: Path,
) -> None:
    sample = _prepare("words", DATA / "words.onnx", repo, tmp_path)
    sound = samara.Audio.open(DATA / "words.wav")
    assert sound.rate == 16000  # what the sample asks of the microphone
    (tmp_path / "words.pcm").write_bytes(np.asarray(sound.samples).astype("<i2").tobytes())
    _run(
        *(sample, tools, robolectric, need_tool, repo, tmp_path),
        sound=tmp_path / "words.pcm",
    )


def test_faces(
    repo: Path,
    tools: Tools,
    robolectric: Robolectric,
    need_tool: Callable[[str, str], str],
    models: Path,
    tmp_path: Path,
) -> None:
    sample = _prepare("faces", models / "ultraface_rfb320" / "model.onnx", repo, tmp_path)
    # As the sensor of a phone's front camera sees somebody who holds it upright.
    photo = astronaut()
    frame = np.rot90(photo, 270 // 90)
    (height, width), pixels = frame.shape[:2], nv21(frame)
    (tmp_path / "frame.yuv").write_bytes(pixels)
    picture = samara.Image(pixels, "nv21", width, height, rotation=270)
    boxes = turned_boxes(face_of(samara.Session(sample.model), picture), 270, width, height)
    (box,) = view_of(mirrored(boxes, photo.shape[1]), photo.shape[1], photo.shape[0])
    _run(
        *(sample, tools, robolectric, need_tool, repo, tmp_path),
        frame=tmp_path / "frame.yuv",
        width=str(width),
        height=str(height),
        box="_".join(f"{side:.9g}" for side in box),
    )
