# SPDX-License-Identifier: Apache-2.0
"""Java's compiler, and jars of its output."""

from __future__ import annotations

import io
import os
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from samara.exporter.package.processes import run_text
from samara.pybridge import BackendError

_RELEASE: Final = "8"  # runs on every Android from 7.0 on, after its dexer
# The earliest time in a zip, so that the same files give the same bytes.
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_SHOWN_LINES: Final = 12  # of compiler output in an error
_SDK_FOLDERS: Final = ("ANDROID_HOME", "ANDROID_SDK_ROOT")
_PLATFORM: Final = re.compile(r"android-(\d+)(?:\.(\d+))?(?:-ext(\d+))?")
_LEAST_API: Final = (
    26  # has android.hardware.HardwareBuffer, the newest class that samara's classes call
)


@dataclass(frozen=True, slots=True)
class Jdk:
    """A Java development kit: its compiler, and the JNI headers."""

    javac: str
    include: Path

    @property
    def include_flags(self) -> tuple[str, ...]:
        """Flags for a C file that includes jni.h."""
        systems = ("linux", "darwin", "win32")
        found = (self.include / name for name in systems if (self.include / name).is_dir())
        return tuple(f"-I{folder}" for folder in (self.include, *found))

    def compile(self, root: Path, out: Path, classpath: Sequence[Path] = ()) -> None:
        """Compile all sources below `root`. BackendError with the compiler's output."""
        sources = sorted(map(str, root.rglob("*.java")))
        given = ("-cp", os.pathsep.join(map(str, classpath))) if classpath else ()
        # Newer compilers warn that releases before 9 will be removed.
        options = ("--release", _RELEASE, "-encoding", "UTF-8", "-Xlint:-options", *given)
        done = run_text([self.javac, *options, "-d", str(out), *sources])
        if done.returncode != 0:
            text = "\n".join(done.stderr.splitlines()[:_SHOWN_LINES])
            raise BackendError(
                f"{self.javac} failed with status {done.returncode}:\n{text}",
                fix="use a JDK from 9 on that still compiles for Java 8",
            )


def find_jdk() -> Jdk:
    """The JDK of JAVA_HOME, else of the first javac found. BackendError with what to install."""
    fix = "apt install openjdk-17-jdk-headless (Debian, Ubuntu), or set JAVA_HOME to a JDK"
    home = os.environ.get("JAVA_HOME", "")
    javac = shutil.which("javac", path=str(Path(home) / "bin")) if home else shutil.which("javac")
    if javac is None:
        where = f"JAVA_HOME ({home}) has none" if home else "javac is not installed"
        raise BackendError(f"no Java compiler: {where}", fix=fix)
    include = Path(javac).resolve().parents[1] / "include"
    if not (include / "jni.h").is_file():
        raise BackendError(f"the JDK of {javac} has no include/jni.h", fix=fix)
    return Jdk(javac, include)


def find_platform() -> Path | None:
    """android.jar of the newest platform in the SDK of ANDROID_HOME; None if none has all classes that samara's
    classes call.
    """
    found: list[tuple[tuple[int, ...], Path]] = []
    for home in filter(None, (os.environ.get(name) for name in _SDK_FOLDERS)):
        for path in Path(home).glob("platforms/*/android.jar"):
            name = _PLATFORM.fullmatch(path.parent.name)
            if name is not None and int(name[1]) >= _LEAST_API:
                found.append((tuple(int(number or 0) for number in name.groups()), path))
        if found:
            return max(found)[1]
    return None


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """A zip (a jar, an AAR) with these entries in this order. The same entries give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return made.getvalue()


def jar(classes: Path) -> bytes:
    """A jar of all class files below `classes`."""
    files = sorted(classes.rglob("*.class"))
    return zipped({file.relative_to(classes).as_posix(): file.read_bytes() for file in files})
