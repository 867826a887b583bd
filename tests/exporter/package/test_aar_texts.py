# SPDX-License-Identifier: Apache-2.0
"""The texts of an AAR: manifests with and without vendors' libraries, facts for Gradle, a Maven repository."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from samara.exporter.package.aar_texts import METADATA, MIN_SDK, maven_files, texts
from samara.pybridge import BackendError

_ANDROID = "{http://schemas.android.com/apk/res/android}"
_POM = "{http://maven.apache.org/POM/4.0.0}"


def _manifest(entries: dict[str, bytes]) -> ElementTree.Element:
    return ElementTree.fromstring(entries["AndroidManifest.xml"])


def _facts(entries: dict[str, bytes]) -> dict[str, str]:
    lines = entries[METADATA].decode().splitlines()
    return dict(line.split("=") for line in lines)


@pytest.mark.parametrize("has_opencl", [False, True])
def test_libraries_of_vendors_come_with_opencl(repo: Path, has_opencl: bool) -> None:
    entries = texts(repo / "android" / "samara", has_opencl=has_opencl)
    manifest = _manifest(entries)
    assert manifest.attrib["package"] == "dev.samara"
    sdk = manifest.find("uses-sdk")
    assert sdk is not None
    assert sdk.attrib[f"{_ANDROID}minSdkVersion"] == str(MIN_SDK) == "24"
    vendors = manifest.findall("application/uses-native-library")
    names = {vendor.attrib[f"{_ANDROID}name"] for vendor in vendors}
    # The libraries that the backend opens.
    loader = repo / "runtime_c" / "src" / "backends" / "opencl" / "cl_load.c"
    opened = set(re.findall(r'[/"](lib\w+\.so)"', loader.read_text(encoding="utf-8")))
    assert "libOpenCL.so" in opened
    assert names == (opened if has_opencl else set())
    assert all(vendor.attrib[f"{_ANDROID}required"] == "false" for vendor in vendors)
    # Android knows the element since API level 31, HardwareBuffer since 26.
    assert _facts(entries) == {
        "aarFormatVersion": "1.0",
        "aarMetadataVersion": "1.0",
        "minCompileSdk": "31" if has_opencl else "26",
    }
    assert entries["R.txt"] == b""


def test_minimum_is_that_of_the_gradle_module(repo: Path) -> None:
    gradle = (repo / "android" / "samara" / "build.gradle").read_text(encoding="utf-8")
    assert f"minSdk {MIN_SDK}\n" in gradle


def test_an_unknown_manifest_is_refused(tmp_path: Path) -> None:
    main = tmp_path / "src" / "main"
    main.mkdir(parents=True)
    (tmp_path / "proguard.txt").touch()
    for text, has_opencl in (
        ("<application/>", False),
        ("<manifest></manifest>", True),
        ("<manifest><application x='1'><uses-native-library/></application></manifest>", False),
    ):
        (main / "AndroidManifest.xml").write_text(text, encoding="utf-8")
        with pytest.raises(BackendError, match="manifest of android/samara"):
            texts(tmp_path, has_opencl=has_opencl)


def test_a_maven_repository() -> None:
    files = maven_files("1.2.3", b"an aar")
    folder = "dev/samara/samara/1.2.3"
    assert list(files) == [f"{folder}/samara-1.2.3.aar", f"{folder}/samara-1.2.3.pom"]
    assert files[f"{folder}/samara-1.2.3.aar"] == b"an aar"
    pom = ElementTree.fromstring(files[f"{folder}/samara-1.2.3.pom"])
    found = {name: pom.findtext(f"{_POM}{name}") for name in ("groupId", "artifactId", "version")}
    assert found == {"groupId": "dev.samara", "artifactId": "samara", "version": "1.2.3"}
    assert pom.findtext(f"{_POM}packaging") == "aar"
    assert pom.find(f"{_POM}dependencies") is None
