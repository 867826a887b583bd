# SPDX-License-Identifier: Apache-2.0
"""The texts of an AAR: manifest, files that Gradle reads, and the description for a Maven repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from samara.exporter.types import BackendError

MIN_SDK: Final = 24
GROUP: Final = "dev.samara"
ARTIFACT: Final = "samara"
METADATA: Final = "META-INF/com/android/build/gradle/aar-metadata.properties"

# The API level that apps must be compiled against: the classes name HardwareBuffer, of API level 26. The
# manifest's element for libraries of the vendor is of level 31.
_COMPILE_SDK: Final = 26
_COMPILE_SDK_OF_VENDORS: Final = 31
_USES_SDK: Final = f'<uses-sdk android:minSdkVersion="{MIN_SDK}" />'
_OPENING: Final = re.compile(r"(<manifest\b[^>]*)>")
_APPLICATION: Final = re.compile(r"\s*<application>.*?</application>", re.DOTALL)
_VENDORS: Final = "uses-native-library"


def texts(module: Path, *, has_opencl: bool) -> dict[str, bytes]:
    """The entries of an AAR that are texts. module: android/samara.

    has_opencl: whether the libraries contain the OpenCL backend; apps must then declare the vendor
    libraries that it opens.
    """
    rules = (module / "proguard.txt").read_bytes()
    whole = (module / "src" / "main" / "AndroidManifest.xml").read_text(encoding="utf-8")
    compile_sdk = _COMPILE_SDK_OF_VENDORS if has_opencl else _COMPILE_SDK
    metadata = f"aarFormatVersion=1.0\naarMetadataVersion=1.0\nminCompileSdk={compile_sdk}\n"
    return {
        "AndroidManifest.xml": _manifest(whole, has_opencl=has_opencl).encode(),
        METADATA: metadata.encode(),
        "R.txt": b"",  # the classes have no resources
        "proguard.txt": rules,
    }


def _manifest(module: str, *, has_opencl: bool) -> str:
    """The module's manifest with the additions of Gradle's build: package and SDK."""
    text = module if has_opencl else _APPLICATION.sub("", module)
    text, count = _OPENING.subn(rf'\1 package="{GROUP}">\n  {_USES_SDK}', text)
    if count != 1 or (_VENDORS in text) != has_opencl:
        raise BackendError(
            "the manifest of android/samara differs from what this version expects",
            fix="reinstall samara",
        )
    return text


def maven_files(version: str, aar: bytes) -> dict[str, bytes]:
    """The files of a Maven repository, by path, so that Gradle can use the AAR."""
    folder = f"{GROUP.replace('.', '/')}/{ARTIFACT}/{version}"
    stem = f"{folder}/{ARTIFACT}-{version}"
    return {f"{stem}.aar": aar, f"{stem}.pom": _POM.format(version=version).encode()}


_POM: Final = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{GROUP}</groupId>
  <artifactId>{ARTIFACT}</artifactId>
  <version>{{version}}</version>
  <packaging>aar</packaging>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0</url>
    </license>
  </licenses>
</project>
"""
