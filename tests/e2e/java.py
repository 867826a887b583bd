# SPDX-License-Identifier: Apache-2.0
"""The Android library on this machine's JVM: its own classes, and its JNI files linked with the runtime."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.e2e.commands import quietly

from samara.pybridge import library_path

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")


def call(*command: str | Path, cwd: Path, **variables: str) -> str:
    """What a command prints; it must end well and have nothing to remark."""
    # A driver of OpenCL changes handlers of signals, which -Xcheck:jni remarks.
    variables = {"OCL_ICD_VENDORS": "/nowhere", **variables}
    return quietly(*command, cwd=cwd, timeout=None, **variables)


@dataclass(frozen=True)
class Built:
    """Folders of classes and the library of a build."""

    jdk: Path
    folder: Path
    # Variables that its programs run with.
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def classes(self) -> Path:
        return self.folder / "classes"

    @property
    def library(self) -> Path:
        return self.folder / "libsamara_jni.so"

    def java(
        self,
        program: str,
        *arguments: str | Path,
        check: bool = True,
        android: bool = False,
        package: str = "dev.samara.",
        heap: str = "64m",
    ) -> str:
        """What a program of tests/e2e/java prints. check: under -Xcheck:jni, which prints there, too.
        android: with classes and libraries of Android's names (tests/e2e/java_android)."""
        folders = [self.classes, self.folder / "tests", *([self.android] if android else [])]
        flags = [f"-Djava.library.path={self.folder}", "-Xshare:auto"]
        # A heap that is there from the start: memory that grows is not Java's.
        flags += [f"-Xms{heap}", f"-Xmx{heap}", "-XX:+AlwaysPreTouch"]
        # The number of a file's descriptor, which Android tells.
        flags += ["--add-opens", "java.base/java.io=ALL-UNNAMED"] if android else []
        flags += ["-Xcheck:jni"] if check else []
        return call(
            self.jdk / "bin" / "java",
            *(*flags, "-cp", os.pathsep.join(map(str, folders)), package + program),
            *arguments,
            cwd=self.folder,
            **({"LD_LIBRARY_PATH": str(self.android)} if android else {}),
            **self.environment,
        )

    @property
    def android(self) -> Path:
        return self.folder / "android"


def build(repo: Path, jdk: Path, cc: str, folder: Path) -> Built:
    """Compile the library's classes against stubs of Android's, its C files, and the tests' programs."""
    here = repo / "tests" / "e2e"
    main = repo / "android" / "samara" / "src" / "main"
    built = Built(jdk, folder)
    stubs = folder / "stubs"

    def javac(out: Path, root: Path, release: str, *path: Path) -> None:
        sources = sorted(root.rglob("*.java"))
        assert sources, root
        given = ("-cp", os.pathsep.join(map(str, path))) if path else ()
        # A newer compiler remarks that releases before 9 will go.
        options = ("-encoding", "UTF-8", "-Xlint:all,-options,-processing", "-Werror")
        call(
            *(jdk / "bin" / "javac", "--release", release, *options, *given, "-d", out, *sources),
            cwd=folder,
        )

    javac(stubs, repo / "android" / "stubs", "8")
    javac(built.classes, main / "java", "8", stubs)
    javac(folder / "tests", here / "java", "11", built.classes, stubs)
    link(built, repo, cc, main / "jni")
    javac(built.android, here / "java_android", "11", built.classes, folder / "tests")
    graphics = built.android / "libjnigraphics.so"
    call(
        *(cc, "-shared", "-fPIC", *STRICT, *_includes(repo, jdk)),
        *(here / "java_android" / "system.c", "-o", graphics),
        cwd=folder,
    )
    for name in ("android", "nativewindow"):  # one library, as the loader sees it
        (built.android / f"lib{name}.so").symlink_to(graphics)
    return built


def _includes(repo: Path, jdk: Path) -> list[str]:
    folders = (jdk / "include", jdk / "include" / "linux", repo / "runtime_c" / "include")
    return [f"-I{path}" for path in folders]


def link(built: Built, repo: Path, cc: str, jni: Path, flags: Sequence[str] = ()) -> None:
    """Compile the C files of the folder `jni` as the build's library."""
    runtime = Path(library_path()).resolve()
    call(
        *(cc, "-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden"),
        *(*STRICT, *flags, *_includes(repo, built.jdk)),
        *sorted(jni.glob("*.c")),
        *(runtime, f"-Wl,-rpath,{runtime.parent}", "-Wl,-z,defs", "-ldl", "-o", built.library),
        cwd=built.folder,
    )


def with_runtime(whole: Built, dist: Path, cc: str, jni: Path, folder: Path) -> Built:
    """Another build's classes over the C files of `jni`, linked with the runtime of a `samara build`."""
    built = replace(whole, folder=folder)
    for name in ("classes", "tests", "android"):
        (folder / name).symlink_to(whole.folder / name)
    system = whole.jdk / "include"
    call(
        *(cc, "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", *STRICT),
        *(f"-I{path}" for path in (dist / "include", system, system / "linux")),
        *sorted(jni.glob("*.c")),
        *(dist / "lib" / "libsamara.a", "-Wl,-z,defs", "-lm", "-ldl", "-lpthread"),
        *("-o", built.library),
        cwd=folder,
    )
    return built


def with_asan(whole: Built, repo: Path, cc: str, jni: Path, folder: Path) -> Built:
    """Another build's classes over the C files of `jni` under AddressSanitizer, preloaded."""
    asan = call(cc, "-print-file-name=libasan.so", cwd=folder).strip()
    # The machine has its own use of SIGSEGV, and memory that nothing gives back; misuse asks for more
    # than there is. What is found goes to asan.PID, and ends the program.
    options = f"handle_segv=0:detect_leaks=0:allocator_may_return_null=1:log_path={folder}/asan"
    built = replace(whole, folder=folder, environment={"LD_PRELOAD": asan, "ASAN_OPTIONS": options})
    for name in ("classes", "tests", "android"):
        (folder / name).symlink_to(whole.folder / name)
    link(built, repo, cc, jni, ("-fsanitize=address", "-fno-omit-frame-pointer"))
    return built


def unpacked(aar: Path, whole: Built, cc: str, folder: Path) -> Built:
    """The classes and the x86-64 library of an AAR, with the tests' programs of another build, and what a
    desktop's C library lacks of Android's.
    """
    built = Built(whole.jdk, folder)
    with zipfile.ZipFile(aar) as archive:
        (folder / "classes.jar").write_bytes(archive.read("classes.jar"))
        built.library.write_bytes(archive.read(f"jni/x86_64/{built.library.name}"))
    with zipfile.ZipFile(folder / "classes.jar") as jar:
        jar.extractall(built.classes)
    (folder / "tests").symlink_to(whole.folder / "tests")
    shutil.copytree(whole.android, built.android, symlinks=True)
    source = Path(__file__).parent / "java_android" / "libc.c"
    for name, needs in (("c", "-lc"), ("m", "-lm"), ("dl", "-ldl"), ("log", "-lc")):
        call(
            *(cc, "-shared", "-fPIC", "-Wl,--no-as-needed", source, needs),
            *(f"-Wl,-soname,lib{name}.so", "-o", built.android / f"lib{name}.so"),
            cwd=folder,
        )
    return built
