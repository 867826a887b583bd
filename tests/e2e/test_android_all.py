# SPDX-License-Identifier: Apache-2.0
"""The stubs of Android's classes say nothing that the real ones of Android 7 and 14 do not."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e import class_file, java, kotlin

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="NOT RUN: java (Linux alone)"),
]

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

# The framework's classes by API level; the first is the least that the library asks for.
_VERSIONS = {24: "7.0.0_r1-robolectric-r1", 34: "14-robolectric-10818077"}
# Later than API level 24: the library calls them only on systems that have them.
_LATER = {"android/hardware/HardwareBuffer": 26}


@pytest.fixture(scope="module", params=list(_VERSIONS))
def android(
    repo: Path, need_tool: Tool, missing: Missing, request: pytest.FixtureRequest
) -> tuple[int, Path]:
    """An API level and the jar of its classes."""
    mvn, version = need_tool("maven", "mvn"), _VERSIONS[request.param]
    folder = repo / "build" / "maven" / f"android-{version}"
    try:
        name = f"org.robolectric:android-all:{version}"
        [jar] = kotlin.jars(mvn, folder, name, alone=True).glob("*.jar")
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        missing("maven", f"Maven Central cannot be reached: {failure}")
    return request.param, jar


@pytest.fixture(scope="module")
def stubs(repo: Path, need_tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stubs")
    sources = sorted((repo / "android" / "stubs").rglob("*.java"))
    java.call(
        need_tool("java", "javac"),
        *("--release", "8", "-Xlint:-options", "-d"),
        *(out, *sources),
        cwd=out,
    )
    return out


def _found(
    archive: zipfile.ZipFile, name: str, member: tuple[str, str], names: set[str]
) -> int | None:
    """The flags of a member of the real class, or of what it extends; None where there is none."""
    if f"{name}.class" not in names:
        return None
    real = class_file.read(archive.read(f"{name}.class"))
    if member in real.members:
        return real.members[member]
    if member[0] == "<init>":
        return None
    for parent in real.parents:
        flags = _found(archive, parent, member, names)
        if flags is not None:
            return flags
    return None


def _differences(stubs: Path, jar: Path, level: int) -> tuple[list[str], int]:
    """What stubs say and the real classes do not, and how many members were compared."""
    wrong, compared = [], 0
    shown = class_file.PUBLIC | class_file.PROTECTED
    with zipfile.ZipFile(jar) as archive:
        names = set(archive.namelist())
        for file in sorted((stubs / "android").rglob("*.class")):
            stub = class_file.read(file.read_bytes())
            if _LATER.get(stub.name, 0) > level:
                assert f"{stub.name}.class" not in names, f"{stub.name} is there: not later"
                continue
            if f"{stub.name}.class" not in names:
                wrong.append(stub.name)
                continue
            real = class_file.read(archive.read(f"{stub.name}.class"))
            missing = set(stub.parents) - set(real.parents) - {"java/lang/Object"}
            wrong += [f"{stub.name} extends {parent}" for parent in sorted(missing)]
            for member, flags in stub.members.items():
                if not flags & shown:
                    continue
                compared += 1
                there = _found(archive, stub.name, member, names)
                same = class_file.STATIC | class_file.PUBLIC
                if there is None or (there ^ flags) & same:
                    wrong.append(f"{stub.name}.{''.join(member)}")
    return wrong, compared


def test_stubs_are_the_real_signatures(android: tuple[int, Path], stubs: Path) -> None:
    level, jar = android
    wrong, compared = _differences(stubs, jar, level)
    assert wrong == []
    assert compared > 30


def test_a_wrong_stub_is_seen(android: tuple[int, Path], need_tool: Tool, tmp_path: Path) -> None:
    level, jar = android
    source = tmp_path / "Context.java"
    source.write_text(
        "package android.content; public class Context { public Context() {}\n"
        "public int getAssets() { return 0; } public static String getString(int n) { return null; }\n"
        "public String getPackageName() { return null; } }\n"
    )
    java.call(
        need_tool("java", "javac"),
        *("--release", "8", "-Xlint:-options", "-d", tmp_path, source),
        cwd=tmp_path,
    )
    wrong, _ = _differences(tmp_path, jar, level)
    assert wrong == [
        "android/content/Context.getAssets()I",
        "android/content/Context.getString(I)Ljava/lang/String;",
    ]


def test_the_library_compiles_against_the_real_classes(
    repo: Path, android: tuple[int, Path], stubs: Path, need_tool: Tool, tmp_path: Path
) -> None:
    level, jar = android
    annotations = tmp_path / "annotations"
    for file in (stubs / "androidx").rglob("*.class"):
        to = annotations / file.relative_to(stubs)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(file.read_bytes())
    path = [annotations, jar]
    if any(later > level for later in _LATER.values()):
        path.append(stubs)  # behind the real ones: what this level has not
    sources = sorted((repo / "android" / "samara" / "src" / "main" / "java").rglob("*.java"))
    java.call(
        need_tool("java", "javac"),
        *("--release", "8", "-encoding", "UTF-8", "-Xlint:-options", "-proc:none"),
        *("-cp", os.pathsep.join(map(str, path)), "-d"),
        *(tmp_path / "classes", *sources),
        cwd=tmp_path,
    )
