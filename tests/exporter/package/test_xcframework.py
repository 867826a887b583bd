# SPDX-License-Identifier: Apache-2.0
"""XCFrameworks without Xcode: contents of the folders, compilation targets, linking."""

from __future__ import annotations

import importlib.util
import plistlib
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from samara.exporter.build import write_swift
from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.package import xcframework
from samara.exporter.package.features import declared
from samara.exporter.package.targets import Target
from samara.exporter.package.toolchain import Toolchain
from samara.exporter.testing import small_onnx
from samara.pybridge import BackendError, FileError

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

# Slice -> platform and encoded version in LC_BUILD_VERSION.
_SYSTEMS = {
    "ios-arm64": (2, 15 << 16),
    "ios-arm64_x86_64-simulator": (7, 15 << 16),
    "macos-arm64_x86_64": (1, 12 << 16),
}
_CPUS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
_LC_BUILD_VERSION = 0x32
# Functions of libSystem, with the versioned names of two of them on x86-64.
_C_LIBRARY = """__error __memcpy_chk __bzero bzero calloc clock_gettime close free fstat fstat$INODE64
getenv getpid malloc memchr memcmp memcpy memmove memset memset_pattern16 mmap munmap open posix_memalign
pread pthread_cond_broadcast pthread_cond_destroy pthread_cond_init pthread_cond_wait pthread_create
pthread_join pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock sched_yield
snprintf strcmp strerror strlen sysconf sysctlbyname vsnprintf"""


class _FakeTools(Toolchain):
    """A fake compiler that writes its target into its objects."""

    def compile(self, source: Path, out: Path, flags: Sequence[str]) -> None:
        assert "int samara" in source.read_text()
        assert f"-I{source.parent}" in flags
        assert (source.parent / "samara" / "samara.h").is_file()
        out.write_text(f"{self.target.triple} {' '.join(flags)}")

    def archive(self, objects: Sequence[Path], out: Path) -> None:
        (made,) = objects
        shutil.copyfile(made, out)

    @property
    def version(self) -> str:
        return "fake 1.0"


@pytest.fixture
def filled(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An XCFramework by a compiler that only records its arguments."""
    from samara.exporter.package.amalgamate import Amalgam

    def find(target: Target) -> Toolchain:
        assert target.tools == "xcode"
        return _FakeTools(target, ("cc",), ("ar",))

    monkeypatch.setattr(xcframework, "find_toolchain", find)
    text = Amalgam("int samara;\n", "/* a header */\n", {"more.h": "#include <samara/samara.h>\n"})
    out, own = tmp_path / "X.xcframework", repo / "ios" / "Sources" / "CSamara"
    assert xcframework.fill(out, text, own, "1.2.3", tools="xcode", opt="2") == "fake 1.0"
    return out


def test_bundles(repo: Path, filled: Path) -> None:
    """Each framework has headers, module, property list and privacy manifest in its system's layout."""
    for name in _SYSTEMS:
        bundle = filled / name / "CSamara.framework"
        inside = bundle / "Versions" / "A" if name.startswith("macos") else bundle
        resources = inside / "Resources" if name.startswith("macos") else inside
        assert (inside / "Headers" / "more.h").read_text() == "#include <CSamara/samara.h>\n"
        whole = (inside / "Headers" / "CSamara.h").read_text()
        assert re.findall("#include <CSamara/(.*)>", whole) == [
            "samara.h",
            "more.h",
            "samara_swift.h",
        ]
        assert "framework module CSamara {" in (inside / "Modules" / "module.modulemap").read_text()
        info = plistlib.loads((resources / "Info.plist").read_bytes())
        assert info["CFBundleExecutable"] == "CSamara"
        assert info["CFBundleShortVersionString"] == "1.2.3"
        mac = name.startswith("macos")
        assert info["LSMinimumSystemVersion" if mac else "MinimumOSVersion"] == (
            "12.0" if mac else "15.0"
        )
        own = repo / "ios" / "Sources" / "CSamara" / "PrivacyInfo.xcprivacy"
        assert (resources / "PrivacyInfo.xcprivacy").read_bytes() == own.read_bytes()
    mac_bundle = filled / "macos-arm64_x86_64" / "CSamara.framework"
    assert (mac_bundle / "Versions" / "Current").readlink() == Path("A")
    for name in ("CSamara", "Headers", "Modules", "Resources"):
        assert (mac_bundle / name).readlink() == Path("Versions", "Current", name)
        assert (mac_bundle / name).exists()


def test_index(filled: Path) -> None:
    """Info.plist names every slice, and the named files exist."""
    index = plistlib.loads((filled / "Info.plist").read_bytes())
    assert index["CFBundlePackageType"] == "XFWK"
    assert {each["LibraryIdentifier"] for each in index["AvailableLibraries"]} == set(_SYSTEMS)
    assert {path.name for path in filled.iterdir()} == {"Info.plist", *_SYSTEMS}
    for each in index["AvailableLibraries"]:
        folder = filled / each["LibraryIdentifier"]
        assert (folder / each["LibraryPath"]).is_dir()
        assert (folder / each["BinaryPath"]).is_file()
        said = [each["SupportedPlatform"], "_".join(each["SupportedArchitectures"])]
        if "SupportedPlatformVariant" in each:
            said.append(each["SupportedPlatformVariant"])
        assert "-".join(said) == folder.name


def test_each_architecture_is_compiled(filled: Path) -> None:
    """Compiled for Apple's target triples, optimised, into one file per slice."""
    for name, triples in {
        "ios-arm64": ["arm64-apple-ios15.0"],
        "ios-arm64_x86_64-simulator": [
            "arm64-apple-ios15.0-simulator",
            "x86_64-apple-ios15.0-simulator",
        ],
        "macos-arm64_x86_64": ["arm64-apple-macos12.0", "x86_64-apple-macos12.0"],
    }.items():
        data = (filled / name / "CSamara.framework" / "CSamara").read_bytes()
        parts = [part.decode().split() for part in _thin(data).values()]
        assert [words[0] for words in parts] == triples
        assert all({"-O2", "-DNDEBUG"} <= set(words) for words in parts)


def test_fat_files() -> None:
    libraries = {"arm64": b"a" * 13, "x86_64": b"b" * 5}
    assert _thin(xcframework.fat(libraries)) == libraries
    assert xcframework.fat({"arm64": b"abc"}) == b"abc"


def test_a_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(xcframework, "is_installed", lambda _name: False)
    with pytest.raises(BackendError, match="neither Xcode nor") as caught:
        write_swift(["none.samara"], out=tmp_path / "X.xcframework")
    assert "pip install ziglang" in str(caught.value.fix)
    with pytest.raises(BackendError, match="neither Xcode nor"):
        write_swift(["none.samara"], out=tmp_path / "Samara", binary=True)
    assert list(tmp_path.iterdir()) == []


def test_it_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output named .xcframework is the framework; it replaces an earlier one but no other folder."""
    monkeypatch.setattr(xcframework, "compiler", lambda: "xcode")
    monkeypatch.setattr(
        xcframework, "find_toolchain", lambda target: _FakeTools(target, ("cc",), ("ar",))
    )
    monkeypatch.setattr(
        _FakeTools, "compile", lambda _self, _source, out, _flags: out.write_text("o")
    )
    (tmp_path / "model.onnx").write_bytes(small_onnx())
    out = tmp_path / "Mine.xcframework"
    (out / "ios-arm64").mkdir(parents=True)
    with pytest.raises(FileError, match="not a folder that samara build made"):
        write_swift([tmp_path / "model.onnx"], out=out)
    shutil.rmtree(out)
    for _ in range(2):
        report = write_swift([tmp_path / "model.onnx"], out=out)
        assert report.text().startswith(f"{out}: samara ")
        assert "XCFramework for iOS and macOS, fake 1.0\n" in report.text()
        assert {path.name for path in out.iterdir()} == {"Info.plist", "ops.txt", *_SYSTEMS}


def _thin(data: bytes) -> dict[str, bytes]:
    """{architecture: file} of a fat file, as <mach-o/fat.h> defines it."""
    if data[:4] != bytes.fromhex("cafebabe"):
        return {"arm64": data}
    found = {}
    for number in range(struct.unpack_from(">I", data, 4)[0]):
        cpu, _, offset, size, align = struct.unpack_from(">5I", data, 8 + 20 * number)
        assert offset % (1 << align) == 0
        found[_CPUS[cpu]] = data[offset : offset + size]
    return found


# ---- real compilers ----


@pytest.fixture(scope="module")
def darwin(missing: Missing) -> Path:
    """Darwin's headers, which ziglang contains."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        missing("zig", "ziglang is not installed")
        raise AssertionError  # missing never returns
    folder = Path(found.origin).parent
    if not any((folder / name).exists() for name in ("zig", "zig.exe")):
        missing("zig", "ziglang has no compiler for this machine")
    return folder / "lib" / "libc" / "include" / "any-darwin-any"


@pytest.fixture(scope="module")
def package(darwin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Swift package with an XCFramework."""
    folder = tmp_path_factory.mktemp("xcframework")
    export(import_onnx(small_onnx()), folder / "small.samara", check=False)
    report = write_swift([folder / "small.samara"], out=folder / "Samara", binary=True)
    assert "clang" in report.text()
    files = report.to_json()["files"]
    assert "CSamara.xcframework/macos-arm64_x86_64/CSamara.framework/Versions/A/CSamara" in files
    assert not any("Versions/Current" in name for name in files)
    return folder / "Samara"


@pytest.mark.slow
def test_package_over_it(package: Path) -> None:
    """The package has no C target; the framework is the binary target."""
    manifest = (package / "Package.swift").read_text(encoding="utf-8")
    assert '.binaryTarget(name: "CSamara", path: "CSamara.xcframework")' in manifest
    assert "platforms: [.iOS(.v15), .macOS(.v12)]," in manifest
    assert "NDEBUG" not in manifest
    assert manifest.count("PrivacyInfo.xcprivacy") == 1
    assert (package / "Sources" / "Samara" / "PrivacyInfo.xcprivacy").is_file()
    assert [path for path in package.rglob("*") if path.suffix in (".c", ".o", ".a")] == []
    assert not (package / "Sources" / "CSamara").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", _SYSTEMS)
def test_minimum_versions(name: str, package: Path) -> None:
    """Each object states its system and the oldest supported version."""
    bundle = package / "CSamara.xcframework" / name / "CSamara.framework"
    parts = _thin((bundle / "CSamara").read_bytes())
    assert "_".join(parts) == name.split("-")[1]
    for arch, archive in parts.items():
        assert archive.startswith(b"!<arch>\n")
        # The archive's only object.
        data = archive[archive.index(bytes.fromhex("cffaedfe")) :]
        assert _CPUS[struct.unpack_from("<I", data, 4)[0]] == arch
        (version,) = [body for kind, body in _commands(data) if kind == _LC_BUILD_VERSION]
        assert struct.unpack_from("<2I", version) == _SYSTEMS[name]


def _commands(data: bytes) -> list[tuple[int, bytes]]:
    """The load commands of a 64-bit Mach-O file: (kind, data after the head)."""
    count = struct.unpack_from("<I", data, 16)[0]
    at, found = 32, []
    for _ in range(count):
        kind, size = struct.unpack_from("<2I", data, at)
        found.append((kind, data[at + 8 : at + size]))
        at += size
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "triple", "arch", "platform"),
    [
        ("ios-arm64", "arm64-apple-ios15.0", "arm64", "ios"),
        ("ios-arm64_x86_64-simulator", "arm64-apple-ios15.0-simulator", "arm64", "ios-simulator"),
        ("ios-arm64_x86_64-simulator", "x86_64-apple-ios15.0-simulator", "x86_64", "ios-simulator"),
        ("macos-arm64_x86_64", "arm64-apple-macos12.0", "arm64", "macos"),
        ("macos-arm64_x86_64", "x86_64-apple-macos12.0", "x86_64", "macos"),
    ],
)
def test_it_links(
    name: str, triple: str, arch: str, platform: str, package: Path, darwin: Path,
    tmp_path: Path, need_tool: Tool,
) -> None:  # fmt: skip
    """A program that uses every function of the headers links against stubs of the C library, and the framework
    defines only samara's names.
    """
    clang, lld = need_tool("clang", "clang-19"), need_tool("clang", "ld64.lld-19")
    slice_ = package / "CSamara.xcframework" / name
    headers = (slice_ / "CSamara.framework" / "Headers").glob("samara*.h")
    names = sorted({each for path in headers for each in declared(path.read_text("utf-8"))})
    assert len(names) > 40
    (tmp_path / "app.c").write_text(
        "#include <CSamara/CSamara.h>\nconst void *all[] = {"
        + ", ".join(f"(const void *){each}" for each in names)
        + "};\nint main(void) { return all[0] == samara_version; }\n"
    )
    subprocess.run(
        [
            *(clang, f"--target={triple}", "-nostdlibinc", f"-isystem{darwin}", f"-F{slice_}"),
            *("-Wall", "-Wextra", "-Werror", "-c", tmp_path / "app.c", "-o", tmp_path / "app.o"),
        ],
        check=True,
    )
    machine = f"[ {arch}-{platform} ]"
    exported = ", ".join(f"'_{each}'" for each in _C_LIBRARY.split())
    (tmp_path / "libSystem.tbd").write_text(
        f"--- !tapi-tbd\ntbd-version: 4\ntargets: {machine}\n"
        "install-name: /usr/lib/libSystem.B.dylib\nexports:\n"
        f"  - targets: {machine}\n    symbols: [ {exported}, dyld_stub_binder ]\n...\n"
    )
    oldest = "12.0" if platform == "macos" else "15.0"
    done = subprocess.run(
        [
            *(lld, "-arch", arch, "-platform_version", platform, oldest, oldest, "-dead_strip"),
            *("-fatal_warnings", "-F", slice_, "-framework", "CSamara", tmp_path / "app.o"),
            *(tmp_path / "libSystem.tbd", "-o", tmp_path / "app"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    archive = tmp_path / "CSamara.a"
    archive.write_bytes(_thin((slice_ / "CSamara.framework" / "CSamara").read_bytes())[arch])
    nm = need_tool("clang", "llvm-nm-19")
    listed = subprocess.run([nm, "-g", archive], capture_output=True, text=True, check=True)
    defined = re.findall(r"^\w+ [A-TV-Z] (\w+)$", listed.stdout, re.MULTILINE)
    assert {f"_{each}" for each in names} <= set(defined)
    assert [each for each in defined if not each.startswith("_samara_")] == []
