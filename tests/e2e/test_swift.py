# SPDX-License-Identifier: Apache-2.0
"""The Swift package: its own tests, an app's program, its code for Apple's frameworks, its symbols."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.e2e import swift_cases
from tests.e2e.commands import output_of, python, ran
from tests.e2e.pages import write_files
from tests.e2e.swift_home import NoSwift, SwiftHome, swift_home

import samara
from samara.exporter.build import write_swift

pytestmark = pytest.mark.extended

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

# Sessions that are opened, run and closed by eight threads.
_ROUNDS = 10_000
# In the order in which one needs another.
_FRAMEWORKS = (
    *("CoreVideo", "CoreGraphics", "UIKit", "CoreML", "AVFAudio"),
    *("CoreMedia", "AVFoundation", "SwiftUI"),
)
_SAMPLES = ("Faces", "Words")


@pytest.fixture(scope="module")
def swift(repo: Path, missing: Missing) -> Iterator[SwiftHome]:
    """A machine with Swift."""
    try:
        with swift_home(repo) as home:
            yield home
    except NoSwift as why:
        missing("swift", str(why))


@dataclass(frozen=True)
class Built:
    """A package for the models of the tests, and these."""

    package: Path
    cases: Path
    said: str


@pytest.fixture(scope="module")
def built(repo: Path, swift: SwiftHome) -> Built:
    """The package with its tests, compiled, for the small models and the recorded ones where they are."""
    cases, package = swift.work / "cases", swift.work / "Samara"
    given = os.environ.get("SAMARA_MODELS")
    models = swift_cases.write(cases, Path(given) if given else None)
    write_swift(models, out=package)
    shutil.copytree(repo / "ios" / "Tests", package / "Tests")
    shutil.copyfile(repo / "ios" / "Package.swift", package / "Package.swift")
    said = swift.call(package, "swift", "build", "--build-tests", "-c", "release")
    return Built(package, cases, said)


def test_package(repo: Path, swift: SwiftHome, built: Built) -> None:
    """All tests of the package pass, none is skipped, and the compilers have nothing to remark."""
    assert "warning:" not in built.said, built.said
    counts = swift.work / "libcounts.so"
    source = shutil.copy(repo / "tests" / "e2e" / "allocations.c", swift.work)
    # By Swift's own clang, whose C library may be another than this machine's.
    flags = ("-O1", "-shared", "-fPIC", "-o", counts.name, "-ldl")
    swift.call(swift.work, "clang", Path(source).name, *flags)
    env = {
        "SAMARA_SWIFT_CASES": swift.seen(built.cases),
        "SAMARA_SWIFT_ROUNDS": str(_ROUNDS),
    }
    program = str(Path(".build") / "release" / "SamaraPackageTests.xctest")
    said = swift.call(built.package, program, env={**env, "LD_PRELOAD": swift.seen(counts)})
    print("\n".join(line for line in said.splitlines() if line.startswith("measured:")))
    counted = r"Executed (\d+) tests, with (?:\d+ tests? skipped and )?(\d+) failures?"
    tests, failures = re.findall(counted, said)[-1]
    assert failures == "0", said
    assert int(tests) >= 40
    if os.environ.get("SAMARA_MODELS"):
        assert "skipped" not in said


@pytest.mark.parametrize("kind", ["thread", "address"])
def test_sanitizers(kind: str, swift: SwiftHome, built: Built) -> None:
    """The same tests in a debug build with a sanitizer, which finds nothing."""
    swift.call(
        built.package,
        *("swift", "build", "--build-tests", "-c", "debug", f"--sanitize={kind}", "-Xcc", "-O1"),
        *("--scratch-path", f".{kind}"),
    )
    env = {
        "SAMARA_SWIFT_CASES": swift.seen(built.cases),
        "SAMARA_SWIFT_GROWTH": str(64 << 20),
        # XCTest itself leaks its test cases.
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64",
    }
    said = swift.call(built.package, f".{kind}/debug/SamaraPackageTests.xctest", env=env)
    assert "Sanitizer" not in said, said
    assert re.findall(r"Executed \d+ tests, with .* (\d+) failures?", said)[-1] == "0"


def test_form(repo: Path, swift: SwiftHome) -> None:
    """The sources are as swift-format leaves them."""
    folder = swift.work / "form"
    shutil.copytree(repo / "ios", folder, ignore=shutil.ignore_patterns(".build"))
    names = ("Package.swift", "Sources", "Samples", "Tests/SamaraTests")
    assert swift.call(folder, "swift", "format", "lint", "--strict", "-r", "-p", *names) == ""


def test_frameworks_of_apple(repo: Path, swift: SwiftHome, built: Built) -> None:
    """The code for CoreVideo and others, and the samples, fit what Apple documents of them, by declarations
    of ours; in the language of Swift 5 with all checks of threads, and of Swift 6.
    """
    samples = swift.work / "Samples"
    shutil.copytree(repo / "ios" / "Samples", samples)
    sources = sorted((built.package / "Sources" / "Samara").rglob("*.swift"))
    for mode in (("-swift-version", "5", "-strict-concurrency=complete"), ("-swift-version", "6")):
        modules = swift.work / f"modules{len(mode)}"
        modules.mkdir()
        here = swift.seen(modules)
        for name in _FRAMEWORKS:
            swift.call(
                built.package,
                *("swiftc", "-emit-module", "-parse-as-library", "-module-name", name, "-I", here),
                *("-emit-module-path", f"{here}/{name}.swiftmodule"),
                f"Tests/AppleStubs/{name}.swift",
            )
        said = swift.call(
            built.package,
            *("swiftc", "-emit-module", "-module-name", "Samara", *mode, "-I", here),
            *("-I", "Sources/CSamara/include", "-emit-module-path", f"{here}/Samara.swiftmodule"),
            *(swift.seen(path) for path in sources),
        )
        assert said == ""
        # The page's code for a camera, and the samples.
        page = swift.work / f"page{len(mode)}"
        page.mkdir()
        write_files(repo / "docs" / "guides" / "ios.md", page)
        apps = [[page / "FaceFinder.swift"], [page / "Writer.swift"]]
        apps += [sorted((samples / name).glob("*.swift")) for name in _SAMPLES]
        for files in apps:
            assert files
            said = swift.call(
                page,
                *("swiftc", "-typecheck", "-parse-as-library", *mode, "-I", here),
                *("-I", swift.seen(built.package / "Sources/CSamara/include")),
                *(swift.seen(file) for file in files),
            )
            assert said == ""


def test_over_an_xcframework(
    swift: SwiftHome, built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SwiftPM takes the package whose C code is compiled, and its Swift code finds the module there."""
    swift_cases.hollow_frameworks(monkeypatch)
    out = swift.work / "Binary"
    write_swift([built.package / "ops.txt"], out=out, binary=True)
    said = swift.call(out, "swift", "package", "dump-package")
    manifest = json.loads(said[said.index("{") :])
    types = {target["name"]: target["type"] for target in manifest["targets"]}
    assert types == {"CSamara": "binary", "Samara": "regular", "SamaraObjC": "regular"}
    sources = sorted((out / "Sources" / "Samara").rglob("*.swift"))
    for part in ("ios-arm64", "macos-arm64_x86_64"):
        said = swift.call(
            out,
            *(
                "swiftc",
                "-typecheck",
                "-module-name",
                "Samara",
                "-F",
                f"CSamara.xcframework/{part}",
            ),
            *(swift.seen(path) for path in sources),
        )
        assert said == ""


_SILENT = """\
// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "silent", dependencies: [.package(path: "Samara")],
  targets: [.executableTarget(name: "silent", dependencies: ["Samara"])])
"""


def test_a_package_without_text(swift: SwiftHome, tmp_path: Path) -> None:
    """It compiles, and a text model is refused with a line that says what to build."""
    folder = swift.work / "silent"
    program = folder / "Sources" / "silent" / "main.swift"
    program.parent.mkdir(parents=True)
    model = swift_cases.digits(tmp_path).rename(folder / "digits.samara")
    write_swift([model], out=folder / "Samara")
    (folder / "Package.swift").write_text(_SILENT)
    program.write_text(
        'import Samara\n\nlet model = try Model(path: "digits.samara")\n'
        "do { print(try TextModel(model).generate([1]).text) }\n"
        "catch let error as SamaraError { print(error.kind, error) }\n"
        "do { print(try Tokenizer(model).vocabularySize) }\n"
        "catch let error as SamaraError { print(error.kind, error) }\n"
    )
    said = swift.call(folder, "swift", "run", "silent")
    assert "warning:" not in said
    refused = "this package has no text models: build it with the file of one, or with samara build"
    assert said.count(f"unsupported {refused} --target ios --features text") == 2


@pytest.mark.parametrize("name", _SAMPLES)
def test_models_of_samples(
    name: str, repo: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each sample's script writes its model, by the name that the app opens, and a package."""
    if name == "Faces":
        net = request.getfixturevalue("models") / "ultraface_rfb320" / "model.onnx"
    else:
        net = repo / "tests" / "e2e" / "tasks" / "words.onnx"
    folder = repo / "ios" / "Samples" / name
    python(folder.parent / "make_model.py", name, net, "--folder", tmp_path)
    (model,) = tmp_path.glob("*.samara")
    assert (tmp_path / "Samara" / "Package.swift").is_file()
    app = (folder / f"{name}App.swift").read_text(encoding="utf-8")
    assert f'Model(named: "{model.stem}")' in app
    spec = samara.Model(model).function(None)
    assert spec.inputs[0].record is not None
    assert spec.answer == {"Faces": "boxes", "Words": "classes"}[name]


def test_page(repo: Path, swift: SwiftHome, tmp_path: Path) -> None:
    """The page's app: its package takes ours by its path, and its program prints Python's answer."""
    folder = swift.work / "app"
    folder.mkdir()
    write_files(repo / "docs" / "guides" / "ios.md", folder)
    model = folder / "Sources" / "digits" / "digits.samara"
    swift_cases.digits(tmp_path).rename(model)
    write_swift([model], out=folder / "Samara")
    picture = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    (folder / "picture.gray").write_bytes(picture.tobytes())
    said = swift.call(folder, "swift", "run", "-c", "release", "digits", "picture.gray")
    found = samara.Session(model).predict(samara.Image(picture, "gray"))
    assert isinstance(found, samara.Classification)
    printed = [line for line in said.splitlines() if re.match(r"\w+ 0\.\d+$", line)]
    assert [line.split()[0] for line in printed] == [guess.label for guess in found]
    np.testing.assert_array_equal(
        np.array([line.split()[1] for line in printed], np.float32),
        np.array([guess.score for guess in found], np.float32),
    )


def test_symbols(built: Built, need_tool: Tool) -> None:
    """The C code defines only samara's names, and needs only the C library's."""
    nm = need_tool("cc", "nm")
    objects = list((built.package / ".build").rglob("samara.c.o"))
    assert len(objects) >= 1
    listed = output_of(nm, "-g", objects[0])
    defined = re.findall(r"^\w+ [A-TV-Z] (\w+)$", listed, re.MULTILINE)
    assert len(defined) > 50
    assert [name for name in defined if not name.startswith("samara_")] == []
    needed = re.findall(r"^ +U (\w+)$", listed, re.MULTILINE)
    assert [name for name in needed if name.startswith(("samara", "smr", "swift"))] == []


@pytest.mark.parametrize("system", ["ios15.0", "ios15.0-simulator", "macos12.0"])
def test_c_for_apple(system: str, tmp_path: Path, need_tool: Tool, missing: Missing) -> None:
    """The C target for arm64: Mach-O objects against Darwin's headers, without a remark; not linked."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        missing("zig", "ziglang is not installed")
        raise AssertionError  # missing never returns
    headers = Path(found.origin).parent / "lib" / "libc" / "include" / "any-darwin-any"
    clang = need_tool("clang", "clang-19")
    write_swift([swift_cases.digits(tmp_path)], out=tmp_path / "Samara")
    c = tmp_path / "Samara" / "Sources" / "CSamara"
    out = tmp_path / "samara.o"
    done = ran(
        *(clang, f"--target=arm64-apple-{system}", "-Wall", "-Wextra", "-Werror"),
        *("-nostdlibinc", f"-isystem{headers}", f"-I{c / 'include'}"),
        *("-c", c / "samara.c", "-o", out),
    )
    assert done.stderr == ""
    assert out.read_bytes()[:8] == bytes.fromhex("cffaedfe0c000001")  # Mach-O, 64-bit, arm64
    # As an app's Objective-C includes them.
    (tmp_path / "app.m").write_text(
        "#include <samara/samara_media.h>\n#include <samara_swift.h>\n"
        "bool taken(int32_t *flag) { return samara_flag_take(flag) ? (samara_flag_give(flag), 1) : 0; }\n"
    )
    checked = ran(
        *(clang, f"--target=arm64-apple-{system}", "-nostdlibinc", f"-isystem{headers}"),
        *("-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{c / 'include'}"),
        tmp_path / "app.m",
    )
    assert checked.stderr == ""
