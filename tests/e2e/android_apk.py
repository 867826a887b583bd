# SPDX-License-Identifier: Apache-2.0
"""A sample of android/samples made into an APK as Gradle would, by the tools that Gradle calls: R8, aapt2,
apksigner. What the sample's build.gradle says is read from there.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.commands import output_of
from tests.e2e.maven import NoMaven, artifact

# To compile against, and what makes dex files of classes. android-all has no classes of java.*.
ANDROID = "org.robolectric:android-all:15-robolectric-13954326"
R8 = "com.android.tools:r8:8.5.35"
# Debian's package android-framework-res: the themes that manifests name.
FRAMEWORK = Path("/usr/share/android-framework-res/framework-res.apk")
_PAGE_BYTES = 16384
_ALIGNMENT_FIELD = 0xD935  # of a zip's entry: what its data is aligned to, then padding
_PASSWORD = "samara"


@dataclass(frozen=True)
class Tools:
    """Where the programs and files are."""

    jdk: Path
    android: Path
    r8: Path
    aapt2: str
    apksigner: str
    framework: Path

    def java(self, *arguments: str | Path) -> str:
        return output_of(self.jdk / "bin" / "java", *arguments)


@dataclass(frozen=True)
class Sample:
    """A sample's folder, and the one where make_model.py wrote its model and AAR."""

    source: Path
    made: Path

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def model(self) -> Path:
        return self.made / "src" / "main" / "assets" / f"{self.name}.samara"

    @property
    def aar(self) -> Path:
        return self.made / "libs" / "samara.aar"

    def gradle(self, pattern: str) -> str:
        """What build.gradle says once."""
        (found,) = re.findall(pattern, (self.source / "build.gradle").read_text(encoding="utf-8"))
        return str(found)

    def unpack(self, out: Path) -> Path:
        """The AAR's files."""
        with zipfile.ZipFile(self.aar) as archive:
            archive.extractall(out)
        return out


def classes_of(sample: Sample, tools: Tools, library: Path, out: Path) -> Path:
    """The sample's classes as a jar, compiled against Android itself and the AAR's classes."""
    stubs = out / "annotations"
    annotations = sorted((sample.source.parents[1] / "stubs" / "androidx").rglob("*.java"))
    javac = (tools.jdk / "bin" / "javac", "--release", "8", "-encoding", "UTF-8")
    output_of(*javac, "-Xlint:-options", "-d", stubs, *annotations)
    path = ":".join(map(str, (library, tools.android, stubs)))
    # Android's classes name annotations that are not published.
    strict = ("-Xlint:all,-options,-processing,-classfile", "-Werror")
    sources = sorted(sample.source.rglob("*.java"))
    assert sources, sample.source
    output_of(*javac, *strict, "-cp", path, "-d", out / "classes", *sources)
    jar = out / "sample.jar"
    output_of(tools.jdk / "bin" / "jar", "--create", "--file", jar, "-C", out / "classes", ".")
    return jar


def shrink(tools: Tools, out: Path, rules: list[Path], jars: list[Path], *more: str | Path) -> None:
    """R8, which removes what the rules do not keep, and renames the rest."""
    libraries = ("--lib", tools.android, "--lib", tools.jdk)
    given = [option for path in rules for option in ("--pg-conf", path)]
    tools.java(
        *("-cp", tools.r8, "com.android.tools.r8.R8", "--release", *libraries),
        *(*given, "--output", out, *more, *jars),
    )


def merged_manifest(sample: Sample, library: Path) -> str:
    """The app's manifest with the package of build.gradle and what the library's application has."""
    ours = (sample.source / "src/main/AndroidManifest.xml").read_text(encoding="utf-8")
    theirs = (library / "AndroidManifest.xml").read_text(encoding="utf-8")
    parts = re.search(r"<application>(.*)</application>", theirs, re.DOTALL)
    package = sample.gradle(r"namespace '([\w.]+)'")
    ours = ours.replace("<manifest ", f'<manifest package="{package}" ', 1)
    return ours.replace("</application>", f"{parts[1] if parts else ''}</application>", 1)


def link(sample: Sample, tools: Tools, library: Path, out: Path) -> tuple[Path, Path]:
    """What aapt2 makes of manifest and assets: an APK without code, and rules for R8."""
    manifest, base, rules = (out / name for name in ("AndroidManifest.xml", "base.apk", "keep.txt"))
    manifest.write_text(merged_manifest(sample, library), encoding="utf-8")
    output_of(
        # The aapt2 of Android 10 does not know <uses-native-library>.
        *(tools.aapt2, "link", "--warn-manifest-validation", "-I", tools.framework),
        *("--manifest", manifest, "-A", sample.model.parent),
        *("-0", "." + sample.gradle(r"noCompress \+= '(\w+)'"), "--proguard", rules),
        *("--min-sdk-version", sample.gradle(r"minSdk (\d+)")),
        *("--target-sdk-version", sample.gradle(r"targetSdk (\d+)")),
        *("--version-code", sample.gradle(r"versionCode (\d+)")),
        *("--version-name", sample.gradle(r"versionName '(.+)'"), "-o", base),
    )
    return base, rules


def pack(base: Path, dex: Path, native: Path, out: Path) -> None:
    """Put code into an APK; entries that are stored are aligned to 4 bytes, libraries to pages of 16 KiB."""
    with zipfile.ZipFile(base) as given, zipfile.ZipFile(out, "w") as apk:
        for entry in given.infolist():
            stored = entry.compress_type == zipfile.ZIP_STORED
            _put(apk, entry.filename, given.read(entry), 4 if stored else 0)
        for file in sorted(dex.glob("*.dex")):
            _put(apk, file.name, file.read_bytes(), 0)
        for file in sorted(native.rglob("*.so")):
            name = f"lib/{file.relative_to(native).as_posix()}"
            _put(apk, name, file.read_bytes(), _PAGE_BYTES)


def _put(apk: zipfile.ZipFile, name: str, data: bytes, alignment: int) -> None:
    """An entry that is deflated, or stored at a multiple of `alignment`."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_STORED if alignment else zipfile.ZIP_DEFLATED
    if alignment:
        assert apk.fp is not None
        begin = apk.fp.tell() + 30 + len(name.encode()) + 6
        padding = bytes(-begin % alignment)
        # apksigner moves entries, and keeps to this.
        info.extra = struct.pack("<HHH", _ALIGNMENT_FIELD, 2 + len(padding), alignment) + padding
    apk.writestr(info, data)


def sign(tools: Tools, apk: Path, out: Path) -> None:
    """Sign it with a key that is made for it."""
    keys = out.with_suffix(".keys")
    output_of(
        *(tools.jdk / "bin" / "keytool", "-genkeypair", "-keystore", keys, "-alias", "key"),
        *("-keyalg", "RSA", "-keysize", "2048", "-validity", "10", "-dname", "CN=test"),
        *("-storepass", _PASSWORD, "-keypass", _PASSWORD),
    )
    given = ("--ks", keys, "--ks-pass", f"pass:{_PASSWORD}")
    output_of(tools.apksigner, "sign", *given, "--out", out, apk)


def entry_offsets(apk: Path) -> dict[str, int]:
    """Where the data of each stored entry begins."""
    found = {}
    with zipfile.ZipFile(apk) as archive, open(apk, "rb") as file:
        for entry in archive.infolist():
            if entry.compress_type == zipfile.ZIP_STORED:
                file.seek(entry.header_offset + 26)
                name, extra = struct.unpack("<HH", file.read(4))
                found[entry.filename] = entry.header_offset + 30 + name + extra
    return found


def find_tools(
    repo: Path, need_tool: Callable[[str, str], str], missing: Callable[[str, str], None]
) -> Tools:
    """The tools of this machine, or a skip."""
    if not FRAMEWORK.is_file():
        missing("apk", f"no {FRAMEWORK}")
    jdk = Path(need_tool("java", "javac")).resolve().parent.parent
    aapt2, apksigner = (need_tool("apk", name) for name in ("aapt2", "apksigner"))
    try:
        android, r8 = artifact(repo, ANDROID), artifact(repo, R8)
    except NoMaven as why:
        missing("maven", str(why))
        raise AssertionError from why  # missing never returns
    return Tools(jdk, android, r8, aapt2, apksigner, FRAMEWORK)
