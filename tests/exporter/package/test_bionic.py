# SPDX-License-Identifier: Apache-2.0
"""clang for Android without the NDK: consistent declarations and stubs, refusals."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.unity import unity_text

from samara.exporter.package import bionic
from samara.exporter.package.aar_tools import ABIS
from samara.exporter.package.elf import Elf
from samara.exporter.package.targets import find_target
from samara.exporter.types import is_installed
from samara.pybridge import BackendError

Tool = Callable[[str, str], str]

_DECLARED = re.compile(
    r"^[\w ]+?[ *](\w+)\([^;{]*?\)(?:\s*__asm__\(\"(\w+)\"\))?(?:\s*__attribute__[^;]*)?;", re.M
)


def declared(folder: Path) -> set[str]:
    """The linker names of the functions that the headers declare."""
    found = set()
    for header in sorted(folder.rglob("*.h")):
        text = header.read_text(encoding="utf-8")
        assert "#ifndef SAMARA_BIONIC_" in text
        found |= {match[2] or match[1] for match in _DECLARED.finditer(text)}
    return found


def test_what_is_declared_may_be_called_and_nothing_else(repo: Path) -> None:
    allowed = set(" ".join(bionic.ALLOWED.values()).split())
    # The runtime's caller of __android_log_write declares it.
    assert declared(repo / "android" / "bionic" / "include") == allowed - {"__android_log_write"}


def test_every_source_finds_its_declarations(repo: Path, need_tool: Tool, tmp_path: Path) -> None:
    """The whole runtime compiles against these headers, as one unit, with backends and single operators."""
    clang = need_tool("clang", "clang-19")
    src, headers = repo / "runtime_c" / "src", repo / "android" / "bionic" / "include"
    folders = ["-isystem", str(headers), f"-I{src}", f"-I{src.parent / 'include'}"]
    flags = [
        "--target=i686-linux-android24",
        "-nostdlibinc",
        "-std=c11",
        "-DNDEBUG",
        "-fsyntax-only",
        *folders,
    ]
    unit = tmp_path / "unit.c"
    unit.write_text(unity_text(), encoding="utf-8")
    done = subprocess.run([clang, *flags, unit], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_a_missing_clang_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(bionic, "is_installed", lambda _package: False)
    with pytest.raises(BackendError, match="clang with lld of version 16") as caught:
        bionic.find_clang()
    assert "apt install clang-19 lld-19" in str(caught.value.fix)
    assert "pip install ziglang" in str(caught.value.fix)


def test_clang_of_the_system_goes_before_ziglang(
    need_tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clang = need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    monkeypatch.setattr(bionic, "is_installed", lambda _package: True)
    assert Path(bionic.find_clang().cc[0]).name.startswith("clang")
    # Old versions are ignored.
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: which(name) if name[-3:] == "-19" else None)
    assert bionic.find_clang().cc[0] == clang
    said = "Debian clang version 14.0.6"
    monkeypatch.setattr(
        bionic, "run_text", lambda command: subprocess.CompletedProcess(command, 0, said, "")
    )
    monkeypatch.setattr(bionic, "is_installed", lambda _package: False)
    with pytest.raises(BackendError, match="of version 16 or later"):
        bionic.find_clang()


@pytest.fixture(params=["clang", "zig"])
def compiler(
    request: pytest.FixtureRequest,
    need_tool: Tool,
    missing: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> bionic.Clang:
    """Each compiler that works without the NDK."""
    if request.param == "clang":
        need_tool("clang", "clang-19")
        need_tool("clang", "ld.lld-19")
    else:
        if not is_installed("ziglang"):
            missing("zig", "ziglang is not installed")
        monkeypatch.setattr(shutil, "which", lambda _name: None)
    return bionic.find_clang()


@pytest.mark.parametrize("abi", ABIS)
def test_what_is_not_allowed_does_not_link(
    abi: str, compiler: bionic.Clang, repo: Path, tmp_path: Path
) -> None:
    target = find_target(ABIS[abi])
    tools = bionic.tools_for(compiler, target, repo / "android" / "bionic", tmp_path)
    source, made = tmp_path / "x.c", tmp_path / "x.o"
    flags = tools.compile_flags("s")
    for call, right in (("getpid()", True), ("getppid()", False)):
        source.write_text(
            f"#include <stddef.h>\nint getpid(void), getppid(void);\n"
            f'__attribute__((visibility("default"))) size_t f(void) {{ return (size_t){call}; }}\n'
        )
        tools.compile(source, made, flags)
        if right:
            tools.link_shared([made], tmp_path / "libx.so", bionic.LIBRARIES, strip=True)
            elf = Elf((tmp_path / "libx.so").read_bytes(), "libx.so")
            assert elf.page_alignment() == 16384
            continue
        with pytest.raises(BackendError, match="undefined symbol: getppid"):
            tools.link_shared([made], tmp_path / "libx.so", bionic.LIBRARIES)


# Exits with the number of the check that failed. `%` and `/` are calls of the functions under test.
_ARITHMETIC = """\
#include <stdint.h>

static int failed;
static volatile int line;

static void check(int right) {
  line++;
  if (!right && failed == 0) failed = line;
}

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  // Of all sizes.
  return state >> (state & 63);
}

static void divide(volatile uint64_t a, volatile uint64_t b) {
  if (b == 0) return;
  const uint64_t q = a / b, r = a % b;
  check(r < b && q * b + r == a);
  const volatile int64_t sa = (int64_t)a, sb = (int64_t)b;
  if (sb != -1) {
    const int64_t sq = sa / sb, sr = sa % sb;
    check(sq * sb + sr == sa && (sr == 0 || (sr < 0) == (sa < 0)));
    check((sr < 0 ? -sr : sr) < (sb < 0 && sb != INT64_MIN ? -sb : sb) || sb == INT64_MIN);
  }
  const volatile uint32_t ua = (uint32_t)a, ub = (uint32_t)b;
  if (ub == 0) return;
  check(ua % ub < ub && ua / ub * ub + ua % ub == ua);
  const volatile int32_t ia = (int32_t)ua, ib = (int32_t)ub;
  if (ib != -1) check(ia / ib * ib + ia % ib == ia && (ia % ib == 0 || (ia % ib < 0) == (ia < 0)));
}

#define CONVERT(from, value, to, wanted) \\
  do {                                   \\
    volatile from f = value;             \\
    volatile to t = (to)f;               \\
    check(t == (wanted));                \\
  } while (0)

static void convert(void) {
  CONVERT(int64_t, INT64_MIN, double, -0x1p63);
  CONVERT(int64_t, INT64_MAX, double, 0x1p63);
  CONVERT(uint64_t, UINT64_MAX, double, 0x1p64);
  CONVERT(int64_t, -12345678901234567, double, -12345678901234568.0);
  CONVERT(int64_t, 9007199254740993, double, 9007199254740992.0);
  CONVERT(int64_t, 9007199254740995, double, 9007199254740996.0);
  CONVERT(uint64_t, 0x8000008000000000u, float, 0x1p63f);        // half, to even
  CONVERT(uint64_t, 0x8000008000000001u, float, 0x1.000002p63f);  // a little more than half
  CONVERT(uint64_t, 0x8000018000000000u, float, 0x1.000004p63f);
  CONVERT(int64_t, -0x4000004000000001, float, -0x1.000002p62f);
  CONVERT(int64_t, 16777217, float, 16777216.0f);
  CONVERT(double, -1.99, int64_t, -1);
  CONVERT(double, 0.99, uint64_t, 0);
  CONVERT(double, 12345678901234567.0, int64_t, 12345678901234568);
  CONVERT(double, -0x1p63, int64_t, INT64_MIN);
  CONVERT(double, 0x1.fffffffffffffp63, uint64_t, 0xfffffffffffff800u);
  CONVERT(float, 0x1.fffffep62f, int64_t, 0x7fffff8000000000);
  CONVERT(float, -3.5f, int64_t, -3);
  CONVERT(float, 0x1p40f, uint64_t, (uint64_t)1 << 40);
}

static int run(void) {
  convert();
  static const uint64_t edges[] = {0, 1, 2, 3, 0x7fffffff, 0x80000000u, 0xffffffffu, 0x100000000u,
                                   0x7fffffffffffffff, 0x8000000000000000u, 0xffffffffffffffffu};
  for (int i = 0; i < 11; i++)
    for (int j = 0; j < 11; j++) divide(edges[i], edges[j]);
  for (int i = 0; i < 20000; i++) {
    const uint64_t a = next();
    divide(a, next());
  }
  return failed == 0 ? 0 : failed > 255 ? 255 : failed;
}

#if defined(__arm__)
__attribute__((naked, used)) void _start(void) { __asm__("bl begin"); }
#else
__attribute__((naked, used)) void _start(void) { __asm__("andl $-16, %esp; call begin"); }
#endif

__attribute__((used)) void begin(void) {
  const int status = run();
#if defined(__arm__)
  __asm__ volatile("mov r0, %0; movs r7, #1; svc 0" : : "r"(status));
#else
  __asm__ volatile("int $0x80" : : "a"(1), "b"(status));
#endif
  for (;;) {
  }
}
"""


@pytest.mark.parametrize("triple", ["armv7a-linux-androideabi24", "i686-linux-android24"])
def test_arithmetic_of_64_bits(
    triple: str, repo: Path, need_tool: Tool, missing: Callable[[str, str], None], tmp_path: Path
) -> None:
    """Quotients and remainders of 20,000 numbers of all sizes, and conversions with rounding."""
    need_tool("clang", "ld.lld-19")
    (tmp_path / "main.c").write_text(_ARITHMETIC, encoding="utf-8")
    arm = triple.startswith("arm")
    program = tmp_path / "main"
    command = [
        *(
            need_tool("clang", "clang-19"),
            f"--target={triple}",
            "-O1",
            "-ffreestanding",
            "-static",
        ),
        *(
            "-fno-pic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-nostdlib",
            "-fuse-ld=lld",
            "-mthumb" if arm else "-msse2",
        ),
        *(str(tmp_path / "main.c"), str(repo / "android" / "bionic" / bionic.ARITHMETIC)),
        *("-o", str(program)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = [need_tool("qemu", "qemu-arm"), str(program)] if arm else [str(program)]
    try:
        status = subprocess.run(run, check=False).returncode
    except OSError as error:
        missing("x86", f"this machine runs no programs of 32 bits: {error}")
        return
    assert status == 0, f"check {status} failed"
