# SPDX-License-Identifier: Apache-2.0
"""An AAR's libraries for Arm, as they are in it, under emulation: loaded by a program that plays the Java
machine (jni_arm/program.c), over a C library with Android's names and layouts (jni_arm/libc.c).

Those of 32 bits meet the C library of `gnueabi`, which passes floats as Android's does.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.commands import quietly

import samara
from samara.exporter.build import build_android
from samara.exporter.package.java import find_jdk
from samara.exporter.testing import small_onnx
from samara.exporter.types import is_installed

pytestmark = pytest.mark.emulated

Tool = Callable[[str, str], str]

_SHAPE = (2, 3, 8, 8)
# By ABI: the compiler and the emulator of a desktop's system of that CPU, and whom SAMARA_REQUIRE names.
_SYSTEMS = {
    "arm64-v8a": ("aarch64", "aarch64-linux-gnu", "qemu-aarch64"),
    "armeabi-v7a": ("gcc", "arm-linux-gnueabi", "qemu-arm"),
}


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A small net in int8, whose bits are the same on every CPU, and what Python says of program.c's
    input.
    """
    rng = np.random.default_rng(3)
    program = samara.import_onnx(small_onnx(), shapes={"image": _SHAPE})
    samples = [{"image": rng.standard_normal(_SHAPE, dtype=np.float32)} for _ in range(4)]
    path = tmp_path_factory.mktemp("net") / "int8.samara"
    samara.export(samara.quantize(program, samples, "int8"), path, check=False)
    image = (np.arange(np.prod(_SHAPE)) % 17 / 8).astype(np.float32).reshape(_SHAPE)
    return path, samara.Session(path).run({"image": image})["score"]


@pytest.fixture(scope="module", params=["clang", "zig"])
def aar(
    request: pytest.FixtureRequest,
    net: tuple[Path, np.ndarray],
    need_tool: Tool,
    missing: Callable[[str, str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """An AAR for both ABIs, by each compiler that serves without the NDK."""
    need_tool("java", "javac")
    out = tmp_path_factory.mktemp("aar") / "net.aar"
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK"):
            patch.delenv(variable, raising=False)
        if request.param == "clang":
            need_tool("clang", "clang-19")
            need_tool("clang", "ld.lld-19")
        else:
            if not is_installed("ziglang"):
                missing("zig", "ziglang is not installed")
            which = shutil.which
            patch.setattr(
                shutil,
                "which",
                lambda name, path=None: None if "clang" in name else which(name, path=path),
            )
        build_android([net[0]], out=out, abis=list(_SYSTEMS))
    return out


def _desktop(cc: str, here: Path, folder: Path) -> None:
    """The program, and the four libraries that Android has and a desktop has not under these names."""
    strict = ("-Wall", "-Wextra", "-Werror")
    shared = ("-shared", "-fPIC", "-Wl,--no-as-needed")
    (folder / "empty.c").touch()
    for name, parts in (
        ("c", (here / "libc.c",)),
        *(("m", ("empty.c", "-lm")), ("dl", ("empty.c",)), ("log", ("empty.c",))),
    ):
        soname = f"-Wl,-soname,lib{name}.so"
        quietly(cc, *strict, *shared, *parts, soname, "-o", f"lib{name}.so", cwd=folder)
    include = [f"-I{path}" for path in (here, *map(Path, _jni_folders()))]
    source = (here / "program.c", "-ldl", "-o", "program")
    quietly(cc, "-std=gnu11", "-O1", *strict, *include, *source, cwd=folder)


def _jni_folders() -> list[str]:
    return [flag.removeprefix("-I") for flag in find_jdk().include_flags]


@pytest.mark.parametrize("abi", _SYSTEMS)
def test_natives_give_the_bytes_of_python(
    abi: str, aar: Path, net: tuple[Path, np.ndarray], repo: Path, need_tool: Tool, tmp_path: Path
) -> None:
    subject, triple, emulator = _SYSTEMS[abi]
    qemu = need_tool("qemu", emulator)
    _desktop(need_tool(subject, f"{triple}-gcc"), repo / "tests" / "e2e" / "jni_arm", tmp_path)
    with zipfile.ZipFile(aar) as archive:
        library = tmp_path / "libsamara_jni.so"
        library.write_bytes(archive.read(f"jni/{abi}/{library.name}"))
    path, score = net
    bits = score.astype(">f4").tobytes().hex()
    # The oldest CPU of the architecture as well as all that there is.
    cpus = {"max": "neon,neon-fp16,neon-dot,neon-i8mm", "cortex-a53": "neon"}
    for cpu, isa in cpus.items() if abi == "arm64-v8a" else [("max", "scalar")]:
        printed = quietly(
            *(qemu, "-cpu", cpu, "-L", f"/usr/{triple}", "-E", f"LD_LIBRARY_PATH={tmp_path}"),
            *("./program", library, path, str(np.prod(_SHAPE)), str(score.size)),
            cwd=tmp_path,
        ).splitlines()
        assert printed[0] == f"version={samara.__version__}"
        assert printed[1].startswith(f"isa={isa}"), printed[1]
        assert ("dot" in printed[1]) == ("dot" in isa)
        assert printed[2].startswith("openPath: thrown 50 no such file: cannot open")
        assert printed[3] == "setArray: thrown 11 input 0 has 384 elements, the array 1"
        assert printed[4] == bits
        assert printed[5].endswith(" locked=0")
        assert len(printed) == 6
