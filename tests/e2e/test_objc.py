# SPDX-License-Identifier: Apache-2.0
"""The Objective-C classes of the Swift package: compiled for Apple's systems, run on GNUstep."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e import swift_cases
from tests.e2e.commands import ran
from tests.e2e.pages import write_files
from tests.e2e.swift_home import NoSwift, SwiftHome, swift_home

from samara.exporter.build import write_swift

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

_ROUNDS = 10_000
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
# GNUstep on GCC's runtime of Objective-C: no counting of references by the compiler (ARC). Its
# NS_UNAVAILABLE says nothing.
_GNUSTEP = (
    *("-fobjc-runtime=gcc", "-fobjc-exceptions", "-fexceptions", "-pthread"),
    *("-fconstant-string-class=NSConstantString", "-D_NATIVE_OBJC_EXCEPTIONS"),
    *("-DGNUSTEP", "-DGNUSTEP_BASE_LIBRARY=1", "-DGNU_RUNTIME=1", "-Wno-incomplete-implementation"),
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objc")
    write_swift([swift_cases.digits(folder)], out=folder / "Samara")
    return folder / "Samara"


def _darwin(missing: Missing) -> Path:
    """Darwin's headers."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        missing("zig", "ziglang is not installed")
        raise AssertionError  # missing never returns
    return Path(found.origin).parent / "lib" / "libc" / "include" / "any-darwin-any"


@pytest.mark.parametrize("system", ["ios15.0", "ios15.0-simulator", "macos12.0"])
@pytest.mark.parametrize("headers", ["sources", "framework"])
def test_it_compiles_for_apple(
    system: str, headers: str, repo: Path, package: Path, tmp_path: Path, need_tool: Tool,
    missing: Missing, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With reference counting by the compiler, against declarations of ours of Foundation and CoreVideo;
    with the C interface as sources, and as a framework.
    """
    clang = need_tool("clang", "clang-19")
    objc = package / "Sources" / "SamaraObjC"
    c = package / "Sources" / "CSamara" / "include"
    where = f"-I{c}"
    if headers == "framework":
        swift_cases.hollow_frameworks(monkeypatch)
        write_swift([package / "ops.txt"], out=tmp_path / "X.xcframework")
        where = f"-F{tmp_path / 'X.xcframework' / 'ios-arm64'}"
    files = sorted(objc.glob("*.m"))
    assert len(files) == 6
    page = tmp_path / "page"
    page.mkdir()
    write_files(repo / "docs" / "guides" / "ios.md", page)
    for source in [*files, *page.glob("*.m")]:
        out = tmp_path / f"{source.stem}.o"
        done = ran(
            *(clang, f"--target=arm64-apple-{system}", "-fobjc-arc", *_WARNINGS, "-Wpedantic"),
            *("-Wno-four-char-constants", "-nostdlibinc", f"-isystem{_darwin(missing)}"),
            *(f"-isystem{repo / 'ios' / 'Tests' / 'AppleStubs' / 'include'}", where),
            *(f"-I{objc / 'include'}", "-c", source, "-o", out),
        )
        assert done.stderr == ""
        assert out.read_bytes()[:8] == bytes.fromhex("cffaedfe0c000001")  # Mach-O, 64-bit, arm64


def test_what_is_misused_does_not_compile(
    repo: Path, package: Path, tmp_path: Path, need_tool: Tool, missing: Missing
) -> None:
    """The headers say what may be nil, and what is in a dictionary."""
    clang = need_tool("clang", "clang-19")
    for body, remark in {
        "[s predictImage:nil error:NULL];": "null passed to a callee that requires a non-null",
        '[s runWithInputs:@{@"x" : s} error:NULL];': "incompatible|not compatible",
        "[[SMRSession alloc] init];": "'init' is unavailable",
    }.items():
        (tmp_path / "user.m").write_text(
            "#import <SamaraObjC/SamaraObjC.h>\n"
            "@interface NSDictionary (Literal)\n"
            "+ (instancetype)dictionaryWithObjects:(const id _Nonnull[_Nullable])objects\n"
            "                              forKeys:(const id _Nonnull[_Nullable])keys\n"
            "                                count:(NSUInteger)count;\n@end\n"
            f"void use(SMRSession *s) {{ {body} }}\n"
        )
        done = ran(
            *(clang, "--target=arm64-apple-ios15.0", "-fobjc-arc", "-fsyntax-only", "-Werror"),
            *("-Wno-unused-value", "-nostdlibinc", f"-isystem{_darwin(missing)}"),
            f"-isystem{repo / 'ios' / 'Tests' / 'AppleStubs' / 'include'}",
            *(f"-I{package / 'Sources' / 'SamaraObjC' / 'include'}", tmp_path / "user.m"),
        )
        assert done.returncode != 0
        assert re.search(remark, done.stderr), done.stderr
        assert "1 error generated" in done.stderr, done.stderr


# ---- GNUstep ----


@pytest.fixture(scope="module")
def gnustep(repo: Path, missing: Missing) -> Iterator[SwiftHome]:
    """A machine with GNUstep, beside Swift and its clang."""
    try:
        with swift_home(repo) as home:
            root = home.root or Path("/")
            if not any(root.glob("usr/include/*/GNUstep/Foundation/Foundation.h")):
                missing("swift", "libgnustep-base-dev is not installed beside Swift")
            yield home
    except NoSwift as why:
        missing("swift", str(why))


@pytest.fixture(scope="module")
def work(gnustep: SwiftHome) -> Path:
    """A folder with models, a package for them, and its C code, compiled."""
    work = gnustep.work / "objc"
    given = os.environ.get("SAMARA_MODELS")
    models = swift_cases.write(work / "cases", Path(given) if given else None)
    write_swift(models, out=work / "Samara")
    c = work / "Samara" / "Sources" / "CSamara"
    gnustep.call(
        work,
        *("clang", "-O2", "-DNDEBUG", f"-I{gnustep.seen(c / 'include')}", "-c"),
        *(gnustep.seen(c / "samara.c"), "-o", "samara.o"),
    )
    return work


@pytest.mark.extended
@pytest.mark.parametrize("sanitizer", [None, "address"])
def test_it_runs(sanitizer: str | None, repo: Path, gnustep: SwiftHome, work: Path) -> None:
    """Python's bytes for every model, errors for every misuse, memory that stays flat in eight threads."""
    root = gnustep.root or Path("/")
    (foundation,) = root.glob("usr/include/*/GNUstep")
    runtime = sorted(root.glob("usr/lib/gcc/*/*/libobjc.so"))[-1].parent
    inside = [Path("/") / path.relative_to(root) for path in (foundation, runtime)]
    shutil.copytree(repo / "ios" / "Tests" / "ObjC", work / "tests", dirs_exist_ok=True)
    sources = work / "Samara" / "Sources"
    flags = ["-O1"] if sanitizer is None else ["-g", f"-fsanitize={sanitizer}"]
    gnustep.call(
        work,
        *("clang", *flags, *_GNUSTEP, *_WARNINGS, f"-isystem{inside[0]}"),
        *(f"-isystem{inside[1] / 'include'}", f"-I{gnustep.seen(sources / 'CSamara' / 'include')}"),
        f"-I{gnustep.seen(sources / 'SamaraObjC' / 'include')}",
        *(gnustep.seen(path) for path in sorted((sources / "SamaraObjC").glob("*.m"))),
        *("tests/main.m", "samara.o", "-o", "main"),
        *("-lgnustep-base", f"-L{inside[1]}", "-lobjc", "-lm"),
    )
    # The runtime of Objective-C keeps its tables.
    env = {"ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}
    rounds = str(_ROUNDS) if sanitizer is None else "400"
    said = gnustep.call(work, "./main", gnustep.seen(work / "cases"), rounds, env=env)
    print(said)
    assert said.endswith("0 failures\n")
    least = 20 if os.environ.get("SAMARA_MODELS") else 10
    assert int(re.findall(r"measured: (\d+) runs as in Python", said)[0]) >= least
