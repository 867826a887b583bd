# SPDX-License-Identifier: Apache-2.0
"""The sample apps for Android as APKs, packed and signed without Gradle, and read back: by aapt2, dexdump,
zipalign, apksigner and `samara doctor`.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.e2e import android_apk, java
from tests.e2e.android_apk import Sample, Tools
from tests.e2e.commands import output_of, python, ran

import samara
from samara.exporter.package.elf import Elf

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="NOT RUN: apk (Linux alone)"),
]

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]
_ABIS = ("arm64-v8a", "x86_64")
_PAGE_BYTES = 16384
DATA = Path(__file__).parent / "tasks"
_MOST_BYTES = 60_000  # of a dex file: 87,000 unless R8 shrinks it


@pytest.fixture(scope="module")
def tools(repo: Path, need_tool: Tool, missing: Missing) -> Tools:
    need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    return android_apk.find_tools(repo, need_tool, missing)


@dataclass(frozen=True)
class Built:
    """The signed APK, the AAR's files, and the folder of everything."""

    sample: Sample
    library: Path
    apk: Path


@pytest.mark.parametrize("name", ["faces", "words"])
def test_apk(
    name: str,
    repo: Path,
    tools: Tools,
    need_tool: Tool,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    if name == "faces":
        net = request.getfixturevalue("models") / "ultraface_rfb320" / "model.onnx"
    else:
        net = DATA / "words.onnx"
    built = _build(_with_model(name, net, repo, tmp_path / "made"), tools, tmp_path)
    _check_manifest(built, tools)
    _check_code(built, need_tool("apk", "dexdump"))
    _check_zip(built, need_tool("apk", "zipalign"))
    _check_signature(built, tools)
    _check_doctor(built)


def _build(sample: Sample, tools: Tools, out: Path) -> Built:
    """A sample from its sources to the signed APK."""
    library = sample.unpack(out / "aar")
    classes = android_apk.classes_of(sample, tools, library / "classes.jar", out)
    base, rules = android_apk.link(sample, tools, library, out)
    (out / "dex").mkdir()
    android_apk.shrink(
        *(tools, out / "dex", [rules, library / "proguard.txt"]),
        [classes, library / "classes.jar"],
        *("--min-api", sample.gradle(r"minSdk (\d+)")),
    )
    android_apk.pack(base, out / "dex", library / "jni", out / "unsigned.apk")
    android_apk.sign(tools, out / "unsigned.apk", out / f"{sample.name}.apk")
    return Built(sample, library, out / f"{sample.name}.apk")


def _with_model(name: str, net: Path, repo: Path, made: Path) -> Sample:
    """What the samples' script writes."""
    samples = repo / "android" / "samples"
    abis = [option for abi in _ABIS for option in ("--abi", abi)]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("ANDROID_")
    }
    subprocess.run(
        [sys.executable, samples / "make_model.py", name, net, "--folder", made, *abis],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    return Sample(samples / name, made)


def _check_manifest(built: Built, tools: Tools) -> None:
    """As the system reads it."""
    sample = built.sample
    said = output_of(tools.aapt2, "dump", "badging", built.apk)
    package = f"dev.samara.samples.{sample.name}"
    assert f"package: name='{package}' versionCode='1' versionName='1'" in said
    activity = f"{package}.{sample.name.capitalize()}Activity"
    assert f"launchable-activity: name='{activity}'" in said
    permission = {"faces": "CAMERA", "words": "RECORD_AUDIO"}[sample.name]
    assert re.findall(r"^uses-permission: name='(.+)'", said, re.MULTILINE) == [
        f"android.permission.{permission}"
    ]
    assert "sdkVersion:'24'" in said
    assert "targetSdkVersion:'35'" in said
    (code,) = re.findall(r"^native-code: (.+)", said, re.MULTILINE)
    assert code.split() == [f"'{abi}'" for abi in _ABIS]


def _check_code(built: Built, dexdump: str) -> None:
    """R8 leaves what the system and the native library find by name, and of the rest what is called."""
    with zipfile.ZipFile(built.apk) as apk:
        dex = apk.read("classes.dex")
    assert len(dex) < _MOST_BYTES
    file = built.apk.with_suffix(".dex")
    file.write_bytes(dex)
    listed = output_of(dexdump, file)
    classes = set(re.findall(r"Class descriptor  : '(.+)'", listed))
    sample = built.sample.name
    assert f"Ldev/samara/samples/{sample}/{sample.capitalize()}Activity;" in classes
    assert {"Ldev/samara/Native;", "Ldev/samara/SamaraException;"} <= classes
    assert not any(name.startswith(("Landroid/", "Landroidx/", "Ljava/")) for name in classes)
    assert "Ldev/samara/SessionHandle;" not in classes  # under another name


def _check_zip(built: Built, zipalign: str) -> None:
    """The model can be mapped where it lies, and libraries on pages of 16 KiB."""
    output_of(zipalign, "-c", "-p", "4", built.apk)
    offsets = android_apk.entry_offsets(built.apk)
    model = f"assets/{built.sample.name}.samara"
    assert offsets[model] % 4 == 0
    at = offsets[model]
    whole = built.sample.model.read_bytes()
    assert built.apk.read_bytes()[at : at + len(whole)] == whole
    for abi in _ABIS:
        name = f"lib/{abi}/libsamara_jni.so"
        assert offsets[name] % _PAGE_BYTES == 0
        with zipfile.ZipFile(built.apk) as apk:
            elf = Elf(apk.read(name), name)
        assert elf.page_alignment() >= _PAGE_BYTES


def _check_signature(built: Built, tools: Tools) -> None:
    said = output_of(tools.apksigner, "verify", "--verbose", built.apk)
    assert "Verified using v2 scheme (APK Signature Scheme v2): true" in said
    changed = bytearray(built.apk.read_bytes())
    changed[android_apk.entry_offsets(built.apk)[f"assets/{built.sample.name}.samara"] + 99] ^= 1
    other = built.apk.with_name("changed.apk")
    other.write_bytes(changed)
    done = subprocess.run([tools.apksigner, "verify", other], capture_output=True, check=False)
    assert done.returncode == 1


def _check_doctor(built: Built) -> None:
    said = json.loads(python("-m", "samara.cli.main", "doctor", built.apk, "--json"))
    assert said["healthy"]
    assert [row for row in said["rows"] if row["level"] != "ok"] == []
    assert {row["abi"] for row in said["libraries"] if row["samara"]} == set(_ABIS)
    (model,) = said["models"]
    assert set(model["runs_on"]) == set(_ABIS)


# A release build of an app keeps its own classes and, by the AAR's rules, what the native library finds.
_KEEP = """\
-keep class dev.samara.samples.words.WordsMain { public static void main(java.lang.String[]); }
-dontwarn android.**
"""


def test_shrunk_classes_run(repo: Path, tools: Tools, need_tool: Tool, tmp_path: Path) -> None:
    """R8's classes find the native library's methods and throw its errors, on this machine's JVM."""
    built = java.build(repo, tools.jdk, need_tool("cc", "cc"), tmp_path)
    words = repo / "android/samples/words/src/main/java/dev/samara/samples/words/WordListener.java"
    program = repo / "tests/e2e/java_samples/dev/samara/samples/words/WordsMain.java"
    javac = (tools.jdk / "bin" / "javac", "--release", "8", "-Xlint:-options")
    output_of(*javac, "-cp", built.classes, "-d", built.classes, words, program)
    (tmp_path / "keep.txt").write_text(_KEEP, encoding="utf-8")
    jar = (tools.jdk / "bin" / "jar", "--create", "--file", tmp_path / "whole.jar")
    output_of(*jar, "-C", built.classes, ".")
    rules = [tmp_path / "keep.txt", repo / "android" / "samara" / "proguard.txt"]
    small = tmp_path / "small.jar"
    android_apk.shrink(tools, small, rules, [tmp_path / "whole.jar"], "--classfile")
    with zipfile.ZipFile(small) as classes:
        names = set(classes.namelist())
    assert "dev/samara/Native.class" in names
    assert "dev/samara/Session.class" not in names  # under another name

    sound = samara.Audio.open(DATA / "words.wav")
    (tmp_path / "words.pcm").write_bytes(np.asarray(sound.samples).astype("<i2").tobytes())
    model = tmp_path / "words.samara"
    runpy.run_path(str(repo / "examples" / "keyword_spotting.py"))["prepare"](
        DATA / "words.onnx", model
    )

    def run(model: Path) -> subprocess.CompletedProcess[str]:
        return ran(
            *(tools.jdk / "bin" / "java", "-Xcheck:jni", f"-Djava.library.path={tmp_path}"),
            *("-cp", small, "dev.samara.samples.words.WordsMain"),
            *(model, tmp_path / "words.pcm", str(sound.rate)),
            OCL_ICD_VENDORS="/nowhere",
        )

    done = run(model)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["stop", "yes", "no"]
    (tmp_path / "cut.samara").write_bytes(model.read_bytes()[:1000])
    done = run(tmp_path / "cut.samara")
    assert done.returncode == 1
    with pytest.raises(samara.ModelFormatError) as wanted:
        samara.Model(tmp_path / "cut.samara")
    assert wanted.value.args[0].partition(";")[0] in done.stderr
