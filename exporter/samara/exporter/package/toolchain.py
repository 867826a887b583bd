# SPDX-License-Identifier: Apache-2.0
"""Find a target's compiler and call it. If it is missing, one sentence names its package."""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from samara.exporter.package.processes import run_text
from samara.exporter.package.targets import Target, host_target
from samara.exporter.types import is_installed
from samara.pybridge import BackendError
from samara.pybridge.scratch import raise_if_full, scratch_folder

_NDK_FOLDERS = ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK")
_FAULT = re.compile(r"\berror:|undefined (reference|symbol)|cannot find")
_SHOWN_LINES = 12  # of compiler output in an error


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Programs that compile, archive and link for `target`; `cc` and `ar` are commands.

    say: called with every step before it starts, and repeatedly while it takes long. ld: the command that
    links shared libraries; () if the compiler does it.
    """

    target: Target
    cc: tuple[str, ...]
    ar: tuple[str, ...]
    ld: tuple[str, ...] = ()
    say: Callable[[str], None] = field(default=lambda _text: None, compare=False)

    @property
    def version(self) -> str:
        """The compiler's name and version."""
        return _version_of(self.cc)

    def compile_flags(self, opt: str) -> tuple[str, ...]:
        """Flags of every source: `opt` is s or 2. The sources do not depend on them."""
        flags = [f"-O{opt}", "-DNDEBUG", "-fvisibility=hidden"]
        if self.target.system not in ("windows", "wasi"):
            flags.append("-fPIC")
        if self.target.tools == "zig":
            flags.append("-fno-sanitize=undefined")  # on by default in zig
        return (*self.target.flags, *flags)

    def compile(self, source: Path, out: Path, flags: Sequence[str]) -> None:
        """Compile one source to one object. BackendError with the compiler's output."""
        self.call(
            [*self.cc, *flags, "-c", str(source), "-o", str(out)], f"compiling {source.name}", out
        )

    def preprocess(self, source: Path, flags: Sequence[str]) -> str:
        """The source with its macros expanded, with line markers."""
        command = [*self.cc, *flags, "-E", str(source)]
        return self.call(command, f"preprocessing {source.name}").stdout

    def archive(self, objects: Sequence[Path], out: Path) -> None:
        """A static library; the same objects give the same bytes."""
        mode = "rcs" if self.target.tools == "host" and sys.platform == "darwin" else "rcsD"
        out.unlink(missing_ok=True)
        self.call([*self.ar, mode, str(out), *map(str, objects)], f"archiving {out.name}", out)

    def link_shared(
        self,
        objects: Sequence[Path],
        out: Path,
        libraries: Sequence[str],
        *,
        strip: bool = False,
        what: str | None = None,
    ) -> None:
        """A shared library; undefined symbols are an error. strip: leave out symbols that only debuggers
        read."""
        system = self.target.system
        if system in ("macos", "ios"):
            flags = ["-shared", f"-Wl,-install_name,@rpath/{out.name}"]
        elif system == "windows":
            flags = ["-shared", f"-Wl,--out-implib,{out.with_name('libsamara.dll.a')}"]
        else:
            flags = ["-shared", "-Wl,-z,defs", f"-Wl,-soname,{out.name}"]
        flags += [*self.target.shared_flags, *(["-s"] if strip else [])]
        arguments = [*flags, *map(str, objects), *libraries]
        # A compiler passes on the words behind -Wl, with commas in place of spaces.
        plain = [part for word in arguments for part in _passed_on(word)] if self.ld else arguments
        self.call(
            [*(self.ld or self.cc), *plain, "-o", str(out)], what or f"linking {out.name}", out
        )

    def link_program(
        self, inputs: Sequence[Path], out: Path, flags: Sequence[str], libraries: Sequence[str]
    ) -> str:
        """A program from sources and libraries, without symbols. Returns what the compiler reported."""
        command = [*self.cc, *flags, *map(str, inputs), *libraries, "-s", "-o", str(out)]
        return self.call(command, f"linking {out.name}", out).stderr

    def libraries_needed(self, objects: Sequence[Path], folder: Path) -> tuple[str, ...]:
        """The shortest list of the target's libraries that defines all symbols.

        A model without mathematical functions links without -lm, and recent C libraries contain threads.
        BackendError if all of them are not enough.
        """
        everything = self.target.libraries
        for count in range(len(everything)):
            try:
                self._probe(objects, folder, everything[:count])
            except BackendError:
                continue
            return everything[:count]
        self._probe(objects, folder, everything)
        return everything

    def _probe(self, objects: Sequence[Path], folder: Path, libraries: Sequence[str]) -> None:
        out = folder / (self.target.shared_name or "probe")
        if self.target.shared_name is not None:
            asked = f"trying to link with {' '.join(libraries) or 'no library'}"
            self.link_shared(objects, out, libraries, what=asked)

    def call(
        self, command: Sequence[str], what: str, out: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, which `what` describes to the user and which makes `out`.

        BackendError with its output if it fails, OSError if the disk of `out` or of temporary files is full.
        """

        def waiting(seconds: float) -> None:
            # zig compiles its C library on first use, which is the slowest step of a build.
            why = f"; zig compiles its C library for {self.target.triple} on first use"
            self.say(f"{what}, {seconds:.0f} s" + why * (self.target.tools == "zig"))

        self.say(what)
        try:
            done = run_text(command, waiting=waiting)
        except OSError as error:
            raise BackendError(
                f"{what}: {command[0]}: {error.strerror}",
                fix=f"check that {command[0]} can be started",
            ) from None
        if done.returncode == 0:
            return done
        raise_if_full(done.stderr, *([] if out is None else [out.parent]))
        lines = done.stderr.splitlines()
        text = "\n".join(([line for line in lines if _FAULT.search(line)] or lines)[:_SHOWN_LINES])
        raise BackendError(
            f"{what} for {self.target.name} failed with status {done.returncode}:\n{text}",
            fix=f"the command was: {shlex.join(command)}",
        )


def _passed_on(word: str) -> list[str]:
    return word.split(",")[1:] if word.startswith("-Wl,") else [word]


def find_toolchain(
    target: Target, *, cc: str | None = None, ndk: str | os.PathLike[str] | None = None
) -> Toolchain:
    """The tools of a target; `cc` names another compiler (with flags), `ndk` Android's folder.

    BackendError with one sentence that names the missing package.
    """
    if cc is not None:
        return _given(target, tuple(shlex.split(cc)))
    if target.tools == "zig":
        return _zig(target)
    if target.tools == "ndk":
        return _ndk(target, ndk)
    if target.tools == "xcode":
        return _xcode(target)
    if target.tools == "host":
        return _host(target)
    compiler, archiver = f"{target.triple}-gcc", f"{target.triple}-ar"
    if shutil.which(compiler) is not None and shutil.which(archiver) is not None:
        return Toolchain(target, (compiler,), (archiver,))
    if host_target().name == target.name:
        return _host(target)
    raise BackendError(
        f"no compiler for {target.name}: {compiler} is not installed",
        fix=f"apt install {target.package} (Debian, Ubuntu)",
    )


def _given(target: Target, cc: tuple[str, ...]) -> Toolchain:
    if not cc or shutil.which(cc[0]) is None:
        raise BackendError(
            f"the compiler {' '.join(cc) or '(empty)'} was not found", fix="check --cc or $CC"
        )
    return Toolchain(target, cc, _archiver(cc[0]))


def _archiver(compiler: str) -> tuple[str, ...]:
    """The archiver that belongs to a compiler, else any other: archives do not depend on it."""
    if compiler.endswith("gcc") and shutil.which(f"{compiler[:-3]}ar"):
        return (f"{compiler[:-3]}ar",)
    beside = Path(shutil.which(compiler) or compiler).resolve().parent
    own = [str(beside / "llvm-ar"), "ar"] if "clang" in Path(compiler).name else ["ar"]
    for name in (*own, "llvm-ar"):
        if shutil.which(name):
            return (name,)
    raise BackendError(
        "no archiver: neither llvm-ar nor ar is installed", fix="apt install binutils"
    )


def _host(target: Target) -> Toolchain:
    asked = os.environ.get("CC", "")
    if asked:
        return _given(target, tuple(shlex.split(asked)))
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return Toolchain(target, (name,), _archiver(name))
    raise BackendError(
        "no C compiler: neither cc, gcc nor clang is installed",
        fix="apt install gcc (Debian, Ubuntu), xcode-select --install (macOS), or set CC",
    )


def _zig(target: Target) -> Toolchain:
    if not is_installed("ziglang"):
        raise BackendError(
            f"no compiler for {target.name}: the Python package ziglang is not installed",
            fix="pip install ziglang",
        )
    zig = (sys.executable, "-m", "ziglang")
    return Toolchain(target, (*zig, "cc", "-target", target.triple), (*zig, "ar"))


def _ndk(target: Target, ndk: str | os.PathLike[str] | None) -> Toolchain:
    for folder in _ndk_folders(ndk):
        for clang in sorted(folder.glob("toolchains/llvm/prebuilt/*/bin/clang*")):
            if clang.name in ("clang", "clang.exe"):
                archiver = clang.with_name(clang.name.replace("clang", "llvm-ar"))
                return Toolchain(
                    target, (str(clang), f"--target={target.triple}"), (str(archiver),)
                )
        raise BackendError(
            f"{folder} is not an Android NDK: it has no toolchains/llvm/prebuilt/*/bin/clang",
            fix="name the folder of an unpacked NDK, r26 or newer",
        )
    raise BackendError(
        f"no compiler for {target.name}: no Android NDK is named",
        fix="--ndk FOLDER or ANDROID_NDK_HOME; developer.android.com/ndk/downloads has it",
    )


def names_ndk(ndk: str | os.PathLike[str] | None) -> bool:
    """Whether an NDK is named, by an argument or the environment."""
    return any(True for _ in _ndk_folders(ndk))


def _ndk_folders(ndk: str | os.PathLike[str] | None) -> Iterator[Path]:
    named = [os.fspath(ndk)] if ndk is not None else [os.environ.get(n, "") for n in _NDK_FOLDERS]
    yield from (Path(name) for name in named if name)


def _xcode(target: Target) -> Toolchain:
    if shutil.which("xcrun") is None:
        raise BackendError(
            f"no compiler for {target.name}: xcrun was not found",
            fix="build on a Mac with Xcode, or compile the output of --single-file there",
        )
    run = ("xcrun", "--sdk", target.sdk)
    return Toolchain(target, (*run, "clang", "-target", target.triple), (*run, "ar"))


@functools.cache
def _version_of(cc: tuple[str, ...]) -> str:
    program = os.path.abspath(cc[0]) if os.path.dirname(cc[0]) else cc[0]
    with scratch_folder() as folder:  # for macOS zig leaves an a.o in the working directory
        done = run_text([program, *cc[1:], "--version"], folder=folder)
    return done.stdout.splitlines()[0].strip() if done.stdout else cc[0]
