# SPDX-License-Identifier: Apache-2.0
"""The files of docs/guides/android.md: on a desktop JVM, and as far as clang goes for Android and iOS."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import quietly
from tests.e2e.pages import write_files

import samara
from samara.exporter.build import write_source
from samara.exporter.demo import digits_net
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.package.elf import Elf

pytestmark = pytest.mark.slow

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

_STRICT = ("-Wall", "-Wextra", "-Werror")
_PT_TLS = 7
_PAGE_BYTES = 16384

# What a library may take from Android 7.0 (API level 24), after Bionic's libc.map.txt and
# libm.map.txt: all of it is there on aarch64 since the first release for it, 5.0.
_LIBC = """
__errno __memcpy_chk abort calloc clock_gettime close free fstat getauxval getenv getpid lseek madvise
malloc memchr memcmp memcpy memmove memset mmap munmap nanosleep open posix_memalign pread
pthread_cond_broadcast pthread_cond_destroy pthread_cond_init pthread_cond_signal
pthread_cond_wait pthread_create pthread_join pthread_mutex_destroy pthread_mutex_init
pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_self qsort read realloc
sched_getaffinity sched_yield snprintf strchr strcmp strerror strlen strncmp strtol strtoul syscall
sysconf vsnprintf
"""
_LIBM = """
acosf asinf atan2 atan2f atanf ceilf cos cosf erff exp exp2f expf expm1f floor floorf fma fmaf fmod
fmodf ldexpf log log1pf log2f logf lroundf nearbyintf pow powf rint rintf roundf sin sinf sqrt
sqrtf tan tanf tanh tanhf trunc truncf
"""

# Prints the bytes of the answer in hexadecimal, after what must be refused was.
_MAIN = """\
import com.example.Digits;

public final class Main {
  private static void expect(Class<?> type, Runnable call) {
    try {
      call.run();
    } catch (RuntimeException found) {
      if (found.getClass() == type) return;
      throw found;
    }
    throw new AssertionError("no " + type);
  }

  public static void main(String[] arguments) throws Exception {
    final float[] image = new float[64];
    for (int i = 0; i < 64; i++) image[i] = (i * 7 % 17) / 16f;
    StringBuilder text = new StringBuilder();
    final Digits digits = new Digits();
    expect(IllegalArgumentException.class, () -> digits.run(new float[63]));
    expect(IllegalArgumentException.class, () -> digits.run(new float[65]));
    expect(NullPointerException.class, () -> digits.run(null));
    float[] first = digits.run(image);
    Thread other = new Thread(() -> digits.run(new float[64]));
    other.start();
    for (int i = 0; i < 100; i++) digits.run(image);
    other.join();
    if (!java.util.Arrays.equals(first, digits.run(image))) throw new AssertionError("differs");
    digits.close();
    digits.close();
    expect(IllegalStateException.class, () -> digits.run(image));
    try (Digits again = new Digits()) {
      if (!java.util.Arrays.equals(first, again.run(image))) throw new AssertionError("differs");
    }
    for (float value : first) text.append(String.format("%08x", Float.floatToRawIntBits(value)));
    System.out.println(text);
  }
}
"""

_ASSET_MAIN = """\
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "asset.c"

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int fd = open(argv[1], O_RDONLY);
  samara_model *model;
  samara_session *session;
  samara_error error;
  const samara_status status =
      open_asset(fd, atoll(argv[2]), atoll(argv[3]), &model, &session, &error);
  close(fd);
  if (status != SAMARA_OK) return printf("%d %d", (int)status, model == NULL && session == NULL), 0;
  samara_session_destroy(session);
  samara_model_close(model);
  return 0;
}
"""


@pytest.fixture(scope="module")
def place(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's files and the two that `samara build` writes for a net of digits."""
    folder = tmp_path_factory.mktemp("android")
    names = [path.name for path in write_files(repo / "docs" / "guides" / "android.md", folder)]
    assert names[-4:] == ["CMakeLists.txt", "digits_jni.c", "Digits.java", "asset.c"]
    net = digits_net.net().eval()
    program = import_onnx(digits_net.onnx_model(net), shapes={"image": [1, 1, 8, 8]})
    samara.export(program, folder / "digits.samara", check=False)
    write_source([folder / "digits.samara"], name="digits", embed=True, out=folder)
    return folder


@pytest.fixture(scope="module")
def jdk(need_tool: Tool, missing: Missing) -> Path:
    """The folder of a JDK: programs in bin, headers in include."""
    home = Path(need_tool("java", "javac")).resolve().parent.parent
    if not (home / "include" / "jni.h").is_file():
        missing("java", f"{home} holds no include/jni.h")
    return home


@pytest.fixture(scope="module")
def headers(missing: Missing) -> Path:
    """The C libraries' headers in the package ziglang."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        missing("zig", "ziglang is not installed")
        raise AssertionError  # missing never returns
    return Path(found.origin).parent / "lib" / "libc" / "include"


def test_jni(place: Path, jdk: Path, need_tool: Tool, tmp_path: Path) -> None:
    """On this machine's JVM: bytes, exceptions, use after close, another thread."""
    system = "darwin" if os.uname().sysname == "Darwin" else "linux"
    shared = tmp_path / ("libdigits.dylib" if system == "darwin" else "libdigits.so")
    quietly(
        *(need_tool("cc", "cc"), *_STRICT, "-fPIC", "-shared", "digits_jni.c", "digits_model.c"),
        *(f"-I{jdk / 'include'}", f"-I{jdk / 'include' / system}", "-o", shared, "-lm"),
        cwd=place,
    )
    main = tmp_path / "Main.java"
    main.write_text(_MAIN, encoding="utf-8")
    classes = place / "com" / "example" / "Digits.java"
    javac = (jdk / "bin" / "javac", "--release", "8", "-Xlint:all,-options")
    quietly(*javac, "-d", tmp_path, classes, main, cwd=tmp_path)
    java = (jdk / "bin" / "java", "-Xcheck:jni", "-Xshare:auto", f"-Djava.library.path={tmp_path}")
    printed = quietly(*java, "-cp", tmp_path, "Main", cwd=tmp_path)
    image = (np.arange(64) * 7 % 17 / 16).astype(np.float32).reshape(1, 1, 8, 8)
    expected = samara.Session(place / "digits.samara").run({"image": image})["probability"]
    # -Xcheck:jni writes its warnings here, too.
    assert printed == expected.astype(">f4").tobytes().hex() + "\n"


def test_cmake(place: Path, jdk: Path, need_tool: Tool, tmp_path: Path) -> None:
    """The page's CMakeLists.txt takes the two files and the shim as they are."""
    cmake, ninja = need_tool("cmake", "cmake"), need_tool("ninja", "ninja")
    flags = f"-I{jdk / 'include'} -I{jdk / 'include' / 'linux'}"
    quietly(
        *(cmake, "-S", place, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"),
        *(f"-DCMAKE_C_FLAGS={flags}", "-DCMAKE_BUILD_TYPE=Debug"),
        cwd=tmp_path,
    )
    planned = quietly(ninja, "-C", tmp_path, "-t", "commands", "digits", cwd=tmp_path)
    model, linked = (
        next(line for line in planned.splitlines() if word in line)
        for word in ("-c " + str(place / "digits_model.c"), "-shared")
    )
    assert " -O2 " in model
    assert "max-page-size=16384" in linked


def _stub(folder: Path, clang: str, name: str, symbols: str) -> None:
    """A shared library that defines `symbols` and nothing else."""
    source = folder / f"{name}.c"
    source.write_text("".join(f"void {symbol}(void) {{}}\n" for symbol in symbols.split()))
    quietly(
        *(clang, "--target=aarch64-linux-android24", "-ffreestanding", "-fno-builtin", "-nostdlib"),
        *("-w", "-shared", "-fuse-ld=lld", f"-Wl,-soname,{name}.so"),
        *(source, "-o", folder / f"{name}.so"),
        cwd=folder,
    )


@pytest.mark.parametrize(
    "features", [(), pytest.param(("files", "threads"), marks=pytest.mark.extended)]
)
def test_aarch64_linux_android24(
    features: Sequence[str], place: Path, jdk: Path, headers: Path, need_tool: Tool, tmp_path: Path
) -> None:
    """Compiled against musl's headers, linked against stubs of what Android 7 has."""
    sources = [place / "digits_jni.c", place / "digits_model.c"]
    if features:
        write_source(
            [place / "digits.samara"], name="digits", embed=True, out=tmp_path, features=features
        )
        sources[1] = tmp_path / "digits_model.c"
    clang = need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    target = ("--target=aarch64-linux-android24", "-fPIC")
    include = [
        *(headers / "aarch64-linux-musl", headers / "generic-musl"),
        *(jdk / "include", jdk / "include" / "linux"),
    ]
    # As the NDK compiles what is released. assert would call a function of musl's.
    # Where errno is has another name in Bionic.
    flags = ("-Os", "-DNDEBUG", "-D__errno_location=__errno", "-nostdlibinc")
    for source in sources:
        quietly(
            *(clang, *target, *_STRICT, *flags, *(f"-isystem{path}" for path in include)),
            *("-c", source, "-o", tmp_path / f"{source.stem}.o"),
            cwd=place,
        )
    _stub(tmp_path, clang, "libc", _LIBC)
    _stub(tmp_path, clang, "libm", _LIBM)
    library = tmp_path / "libdigits.so"
    page = re.findall(r"-Wl,-z,max-page-size=\d+", (place / "CMakeLists.txt").read_text())
    quietly(
        *(clang, *target, "-fuse-ld=lld", "-nostdlib", "-shared", *page, "-Wl,-z,defs"),
        *(tmp_path / "digits_jni.o", tmp_path / "digits_model.o", f"-L{tmp_path}", "-lc", "-lm"),
        *("-o", library),
        cwd=tmp_path,
    )
    elf = Elf(library.read_bytes(), library.name)
    assert elf.page_alignment() == _PAGE_BYTES
    assert not any(segment.kind == _PT_TLS for segment in elf.segments)
    names = {symbol.name for symbol in elf.symbols if symbol.section and symbol.is_function}
    assert {f"Java_com_example_Digits_native{n}" for n in ("Open", "Run", "Close")} <= names
    text = sources[1].read_text(encoding="utf-8")
    assert not re.search(r"\b(_Thread_local|thread_local|__thread)\b", text)


@pytest.mark.parametrize("system", ["ios15.0", "ios15.0-simulator"])
def test_arm64_apple(
    system: str, place: Path, headers: Path, need_tool: Tool, tmp_path: Path
) -> None:
    """Objects for iOS and its simulator against Darwin's headers; not linked."""
    clang = need_tool("clang", "clang-19")
    out = tmp_path / "digits_model.o"
    include = f"-isystem{headers / 'any-darwin-any'}"
    quietly(
        *(clang, f"--target=arm64-apple-{system}", *_STRICT, "-nostdlibinc", include),
        *("-c", "digits_model.c", "-o", out),
        cwd=place,
    )
    assert out.read_bytes()[:8] == bytes.fromhex("cffaedfe0c000001")  # Mach-O, 64-bit, arm64


def test_asset(place: Path, small_dist: Path, need_tool: Tool, tmp_path: Path) -> None:
    """A model in the middle of a larger file opens at a multiple of 4, and not elsewhere."""
    shutil.copy(place / "asset.c", tmp_path)
    (tmp_path / "main.c").write_text(_ASSET_MAIN, encoding="utf-8")
    pc = (small_dist / "lib/pkgconfig/samara.pc").read_text()
    private = re.findall(r"^Libs.private: (.*)$", pc, re.M)
    quietly(
        *(need_tool("cc", "cc"), *_STRICT, "main.c", f"-I{small_dist / 'include'}"),
        small_dist / "lib" / "libsamara.a",
        *" ".join(private).split(),
        *("-o", "asset"),
        cwd=tmp_path,
    )
    data = (small_dist.parent / "small.samara").read_bytes()
    package = tmp_path / "app.apk"
    package.write_bytes(b"PK.." * 15 + data + b"more")
    opened = {
        at: quietly("./asset", package, str(at), str(len(data)), cwd=tmp_path)
        for at in (60, 62, 64)
    }
    assert opened == {60: "", 62: "10 1", 64: "20 1"}
