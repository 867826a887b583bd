# SPDX-License-Identifier: Apache-2.0
"""The Swift package that `samara build` writes: its files, and its Swift code's use of the C code."""

from __future__ import annotations

import plistlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.e2e import swift_cases

import samara
from samara.exporter.build import write_swift
from samara.exporter.package import swift_package
from samara.exporter.package.features import declared
from samara.exporter.package.selection import Selection
from samara.exporter.testing_text import write_tiny_text_model
from samara.pybridge import FileError, UnsupportedError, sources

Tool = Callable[[str, str], str]
_DEFINED = re.compile(r"^samara_status samara_text_model_create\([^;{]*\{", re.MULTILINE)
_STUB = re.compile(r"^static inline [^;(]*\b(samara_(?!no_text)\w+)\(", re.MULTILINE)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = relu(x), four numbers."""
    from samara.exporter.ir import ProgramBuilder

    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("relu", f.input("x", "f32", [4]), name="r")], ["y"])
    path = tmp_path_factory.mktemp("model") / "relu.samara"
    samara.export(program.finish(["main"]), path)
    return path


@pytest.fixture(scope="module")
def package(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("package") / "Samara"
    report = write_swift([model], out=out)
    assert str(out) in report.text()
    assert set(report.to_json()["files"]) == {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()
    }
    return out


def test_files(repo: Path, package: Path) -> None:
    """The package holds the repository's files without tests, and the C sources."""
    own = repo / "ios" / "Sources"
    expected = {path.relative_to(own) for path in own.rglob("*") if path.is_file()}
    found = {
        path.relative_to(package / "Sources")
        for path in (package / "Sources").rglob("*")
        if path.is_file()
    }
    c = Path("CSamara")
    header = c / "include" / "samara"
    made = {c / "samara.c", *(header / f"samara{name}.h" for name in ("", "_media", "_text"))}
    assert found - made == expected - made
    assert made <= found
    manifest = (package / "Package.swift").read_text(encoding="utf-8")
    assert manifest.startswith("// swift-tools-version:5.9\n")
    assert "testTarget" not in manifest
    assert "unsafeFlags" not in manifest
    assert '.define("NDEBUG")' in manifest
    assert "testTarget" in (repo / "ios" / "Package.swift").read_text(encoding="utf-8")
    for file in re.findall(
        r'header "([^"]+)"', (package / "Sources/CSamara/include/module.modulemap").read_text()
    ):
        assert (package / "Sources" / "CSamara" / "include" / file).is_file()


@pytest.fixture(scope="module")
def with_text(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("text") / "Samara"
    write_swift([model], out=out, features=["text"])
    return out


def test_text_is_there_where_it_is_needed(repo: Path, with_text: Path, tmp_path: Path) -> None:
    """By --features, by a model's tokenizer, and by the list of such a package."""
    write_tiny_text_model(tmp_path / "tiny.samara")
    for given in (None, tmp_path / "tiny.samara", with_text / "ops.txt"):
        out = with_text if given is None else tmp_path / given.stem
        if given is not None:
            write_swift([given], out=out)
        c = out / "Sources" / "CSamara"
        header = c / "include" / "samara" / "samara_text.h"
        whole = repo / "runtime_c" / "include" / "samara" / "samara_text.h"
        assert header.read_bytes() == whole.read_bytes()
        assert _DEFINED.search((c / "samara.c").read_text(encoding="utf-8"))


def test_a_runtime_without_text_says_what_to_build(
    package: Path, need_tool: Tool, tmp_path: Path
) -> None:
    """All functions are there for Swift code, and those that create something refuse."""
    c = package / "Sources" / "CSamara"
    assert not _DEFINED.search((c / "samara.c").read_text(encoding="utf-8"))
    whole = (sources() / "include" / "samara" / "samara_text.h").read_text(encoding="utf-8")
    header = (c / "include" / "samara" / "samara_text.h").read_text(encoding="utf-8")
    assert set(_STUB.findall(header)) == declared(whole)
    assert declared(header) == set()
    (tmp_path / "main.c").write_text(
        "#include <samara/samara_text.h>\n#include <stdio.h>\n"
        "int main(void) {\n"
        "  samara_error error;\n  samara_tokenizer *tokenizer;\n  samara_text_model *model;\n"
        "  if (samara_tokenizer_of_model(0, &tokenizer, 0) != SAMARA_UNSUPPORTED) return 1;\n"
        "  if (samara_tokenizer_open(0, 0, 0, &tokenizer, &error) != SAMARA_UNSUPPORTED) return 2;\n"
        "  if (samara_text_model_create(0, 0, &model, &error) != error.status) return 3;\n"
        "  samara_text_model_destroy(0);\n"
        '  printf("%d %s", error.status, error.text);\n}\n',
        encoding="utf-8",
    )
    flags = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{c / 'include'}")
    program = tmp_path / "main"
    subprocess.run([need_tool("cc", "cc"), *flags, tmp_path / "main.c", "-o", program], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("30 this package has no text models: build it with the file of one")
    assert "samara build --target ios --features text" in said


def test_text_in_frameworks(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Swift code over a framework finds the functions, too; a framework for C has none that refuse."""
    swift_cases.hollow_frameworks(monkeypatch)
    headers = Path("ios-arm64", "CSamara.framework", "Headers")
    write_swift([model], out=tmp_path / "Samara", binary=True)
    text = tmp_path / "Samara" / "CSamara.xcframework" / headers / "samara_text.h"
    assert "#include <CSamara/samara.h>\n" in text.read_text(encoding="utf-8")
    assert "samara_no_text" in text.read_text(encoding="utf-8")
    write_swift([model], out=tmp_path / "C.xcframework")
    assert not (tmp_path / "C.xcframework" / headers / "samara_text.h").exists()
    write_swift([model], out=tmp_path / "Text.xcframework", features=["text"])
    text = tmp_path / "Text.xcframework" / headers / "samara_text.h"
    assert "samara_no_text" not in text.read_text(encoding="utf-8")


def test_privacy_manifest(package: Path) -> None:
    """It is a property list with Apple's four keys, and lists the C code's calls."""
    data = (package / "Sources" / "CSamara" / "PrivacyInfo.xcprivacy").read_bytes()
    manifest = plistlib.loads(data)
    assert manifest["NSPrivacyTracking"] is False
    assert manifest["NSPrivacyTrackingDomains"] == []
    assert manifest["NSPrivacyCollectedDataTypes"] == []
    (used,) = manifest["NSPrivacyAccessedAPITypes"]
    assert used["NSPrivacyAccessedAPIType"] == "NSPrivacyAccessedAPICategoryFileTimestamp"
    # The calls among the functions that need a reason by Apple's list.
    text = (package / "Sources" / "CSamara" / "samara.c").read_text(encoding="utf-8")
    listed = (
        "stat fstat lstat fstatat getattrlist getattrlistbulk fgetattrlist statfs fstatfs statvfs"
        " fstatvfs mach_absolute_time systemUptime activeInputModes"
    )
    called = {name for name in listed.split() if re.search(rf"\b{name}\(", text)}
    assert called <= {"stat", "fstat", "lstat"}
    assert "fstat" in called


@pytest.mark.parametrize("kind", ["package", "with_text"])
def test_every_call_is_there(kind: str, request: pytest.FixtureRequest) -> None:
    """The functions that Swift and Objective-C call belong to the features and are declared."""
    package = request.getfixturevalue(kind)
    swift = "".join(
        path.read_text(encoding="utf-8")
        for path in (package / "Sources").rglob("*")
        if path.suffix in (".swift", ".m")
    )
    include = package / "Sources" / "CSamara" / "include" / "samara"
    texts = [file.read_text("utf-8") for file in include.iterdir()]
    there = {name for text in texts for name in (*declared(text), *_STUB.findall(text))}
    public = {
        name
        for file in (sources() / "include" / "samara").glob("*.h")
        for name in declared(file.read_text("utf-8"))
    }
    called = set(re.findall(r"\bsamara_\w+", swift)) & public
    assert called <= there
    assert len(called) > 40
    header = (include / "samara.h").read_text(encoding="utf-8")
    features = [*swift_package.FEATURES, *["text"] * (kind == "with_text")]
    assert [f for f in features if f"SAMARA_WITH_{f.upper()} " not in header] == []


def test_runs_in_c(model: Path, package: Path, need_tool: Tool, tmp_path: Path) -> None:
    """The C target alone, compiled with a plain command, gives Python's bytes."""
    c = package / "Sources" / "CSamara"
    (tmp_path / "main.c").write_text(
        "#include <samara/samara.h>\n#include <samara_swift.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv) {\n"
        "  int32_t flag = 0;\n"
        "  if (argc != 2 || !samara_flag_take(&flag) || samara_flag_take(&flag)) return 1;\n"
        "  samara_flag_give(&flag);\n"
        "  if (!samara_flag_take(&flag)) return 1;\n"
        "  samara_model *model;\n  samara_session *session;\n  samara_tensor x, y;\n"
        "  if (samara_model_open_path(argv[1], NULL, &model, NULL)) return 2;\n"
        "  if (samara_session_create(model, NULL, &session, NULL)) return 3;\n"
        "  if (samara_session_input(session, 0, &x)) return 4;\n"
        "  for (int i = 0; i < 4; i++) ((float *)x.data)[i] = (float)(i - 2);\n"
        "  if (samara_session_run(session) || samara_session_output(session, 0, &y)) return 5;\n"
        "  fwrite(y.data, y.size_bytes, 1, stdout);\n"
        "  samara_session_destroy(session), samara_model_close(model);\n}\n",
        encoding="utf-8",
    )
    program = tmp_path / "main"
    subprocess.run(
        [
            *(need_tool("cc", "cc"), "-Og", f"-I{c / 'include'}"),
            *(tmp_path / "main.c", c / "samara.c"),
            *("-lm", "-lpthread", "-o", program),
        ],
        check=True,
    )
    done = subprocess.run([program, model], capture_output=True, check=True)
    x = np.arange(4, dtype=np.float32) - 2
    assert done.stdout == samara.Session(model).run({"x": x})["y"].tobytes()


def test_objective_c_imports_it(package: Path, need_tool: Tool, tmp_path: Path) -> None:
    """The module CSamara, by its map."""
    include = package / "Sources" / "CSamara" / "include"
    (tmp_path / "app.m").write_text(
        "@import CSamara;\n"
        "bool taken(int32_t *flag) { return samara_flag_take(flag); }\n"
        "samara_status seen(samara_session *session, const samara_image *image) {\n"
        "  return samara_session_set_image(session, 0, image);\n}\n",
        encoding="utf-8",
    )
    clang = need_tool("clang", "clang-19")
    module = (f"-fmodules-cache-path={tmp_path}", f"-fmodule-map-file={include}/module.modulemap")
    subprocess.run(
        [
            *(clang, "-fmodules", *module, f"-I{include}", "-Wall", "-Wextra", "-Werror"),
            *("-fsyntax-only", tmp_path / "app.m"),
        ],
        check=True,
    )


def test_an_earlier_package_is_replaced(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "Samara"
    write_swift([model], out=out, isa=["neon"])
    assert "isa neon\n" in (out / "ops.txt").read_text()
    (out / "Sources" / "left.txt").write_text("")
    write_swift([model], out=out)
    assert not (out / "Sources" / "left.txt").exists()
    # Another build accepts a package's list.
    write_swift([out / "ops.txt"], out=tmp_path / "other")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("")
    with pytest.raises(FileError, match="not a folder that samara build made"):
        write_swift([model], out=tmp_path / "mine")


def test_what_it_refuses(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no instruction set 'none'"):
        write_swift([model], out=tmp_path / "Samara", isa=["none"])
    source = tmp_path / "own.c"
    source.write_text("const samara_custom_op own = {0};\n")
    with pytest.raises(UnsupportedError, match="cannot have custom operators"):
        swift_package.write(Selection(), tmp_path / "Samara", custom=[source])
    with pytest.raises(UnsupportedError, match="cannot have the features opencl, none"):
        write_swift([model], out=tmp_path / "Samara", features=["text", "opencl", "none"])
    assert not (tmp_path / "Samara").exists()
