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

import samara
from samara.exporter.build import write_swift
from samara.exporter.package import swift_package
from samara.exporter.package.features import declared
from samara.exporter.package.selection import Selection
from samara.pybridge import FileError, UnsupportedError, sources

Tool = Callable[[str, str], str]


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
    made = {c / "samara.c", header / "samara.h", header / "samara_media.h"}
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


def test_every_call_is_there(repo: Path, package: Path) -> None:
    """The functions that Swift and Objective-C call belong to the features and are declared."""
    swift = "".join(
        path.read_text(encoding="utf-8")
        for path in (package / "Sources").rglob("*")
        if path.suffix in (".swift", ".m")
    )
    include = package / "Sources" / "CSamara" / "include" / "samara"
    there = {name for file in include.iterdir() for name in declared(file.read_text("utf-8"))}
    public = {
        name
        for file in (sources() / "include" / "samara").glob("*.h")
        for name in declared(file.read_text("utf-8"))
    }
    called = set(re.findall(r"\bsamara_\w+", swift)) & public
    assert called <= there
    assert len(called) > 40
    header = (include / "samara.h").read_text(encoding="utf-8")
    assert [f for f in swift_package.FEATURES if f"SAMARA_WITH_{f.upper()} " not in header] == []


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
    assert not (tmp_path / "Samara").exists()
