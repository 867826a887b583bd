# SPDX-License-Identifier: Apache-2.0
"""The runtime as one file: contents, hidden names, and compilation by plain compilers."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.package.amalgamate import Amalgam, amalgamate, image
from samara.exporter.package.features import FEATURES, functions
from samara.exporter.package.lists import lists
from samara.exporter.package.selection import Selection
from samara.pybridge import SamaraError, sources

CORE = functions(())
FILE = re.compile(r"^// ---- (\S+) ----$", re.MULTILINE)
# Compilers that must accept a file, and their flags.
COMPILERS = {
    "gcc": ["gcc"],
    "clang": ["clang-19"],
    "aarch64-gcc": ["aarch64-linux-gnu-gcc"],
    "aarch64-clang": ["clang-19", "--target=aarch64-linux-gnu"],
}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="module")
def small() -> dict[str, str]:
    """The lists of a build with relu and add for float32."""
    types = frozenset({"float32"})
    chosen = Selection(ops={"relu": types, "add": types}, parts=frozenset(), isa=("avx2", "neon"))
    return lists(chosen, sources())


@pytest.fixture(scope="module")
def tiny(small: dict[str, str]) -> Amalgam:
    return amalgamate(small, prefix="tiny", exports=CORE, sources=sources())


@pytest.fixture(scope="module")
def everything() -> Amalgam:
    return amalgamate({}, exports=functions(FEATURES), sources=sources())


def test_full_lists_need_every_file(everything: Amalgam) -> None:
    src = sources() / "src"
    files = {path.relative_to(src).as_posix() for path in src.rglob("*.c")}
    # Left out are files that serve samara_experimental.h alone: single operators and surveys,
    left = files - set(FILE.findall(everything.source))
    # and those that compute answers and sound, because no public function of samara.h uses them.
    tools = ("base/meter.c", "backends/needs.c", "kernels/i64_signal/i64_signal.c")
    inner = ("session/", "media/answer_", "media/audio_")
    assert left == {name for name in left if name.startswith(inner) or name in tools}
    assert not left & {"session/run.c", "session/create.c", "session/control/control.c"}
    assert everything.header == (sources() / "include/samara/samara.h").read_text(encoding="utf-8")


def test_short_lists_need_few(tiny: Amalgam) -> None:
    files = set(FILE.findall(tiny.source))
    assert {
        "ops/pointwise/op_unary.c",
        "ops/pointwise/op_binary.c",
        "model/decode.c",
        "session/run.c",
    } <= files
    assert not any(
        word in name for name in files for word in ("op_conv", "lstm", "softmax", "grad")
    )
    assert "session/observe/profile_trace.c" not in files  # a feature that was not asked for
    assert not any(name.startswith(("backends/", "session/device")) for name in files)
    assert "session/async.c" not in files
    assert not tiny.others


def test_only_sources_in_hot_folders_are_compiled_as_the_flags_say() -> None:
    chosen = Selection(ops={"add": frozenset({"float32"})}, parts=frozenset(), isa=())
    text = amalgamate(
        lists(chosen, sources()), exports=CORE, sources=sources(), hot=("kernels",)
    ).source
    parts = re.split(r"^#pragma clang attribute (push|pop)\b.*$", text, flags=re.MULTILINE)
    assert parts[1::2] == ["push", "pop"] * (len(parts) // 4)
    as_flags, smaller = (
        {name for part in parts[start::4] for name in FILE.findall(part) if name.endswith(".c")}
        for start in (0, 2)
    )
    assert {name.split("/")[0] for name in as_flags} == {"kernels"}
    assert "session/run.c" in smaller
    assert not any(name.startswith("kernels/") for name in smaller)


def test_nothing_is_included_but_system_headers(tiny: Amalgam) -> None:
    assert '#include "' not in tiny.source
    assert tiny.source.startswith("// SPDX-License-Identifier: Apache-2.0\n")
    assert len(re.findall(r"//|/\*", tiny.source.replace("// ----", ""))) < 5  # only in strings


@pytest.mark.parametrize(
    "name",
    [
        name if name == "gcc" else pytest.param(name, marks=pytest.mark.emulated)
        for name in COMPILERS
    ],
)
def test_plain_compilers_take_it_without_a_warning(
    name: str, tiny: Amalgam, need_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    cc = [need_tool(name, COMPILERS[name][0]), *COMPILERS[name][1:]]
    (tmp_path / "tiny.c").write_text(tiny.source, encoding="utf-8")
    for flags in ([], [*STRICT, "-std=c11", "-Os"]):
        done = subprocess.run(
            [*cc, *flags, "-c", "tiny.c"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    nm = shutil.which("nm")
    if nm is not None:
        listed = subprocess.run(
            [nm, "-g", "--defined-only", tmp_path / "tiny.o"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = {line.split()[2] for line in listed.splitlines()}
        assert found == {f.replace("samara_", "tiny_", 1) for f in CORE}


@pytest.mark.parametrize("flag", ["-DSMR_NO_ATOMICS", "-D__STDC_NO_ATOMICS__"])
def test_a_compiler_without_atomics_takes_it(
    flag: str, tiny: Amalgam, need_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    (tmp_path / "stdatomic.h").write_text("#error there is no such header\n", encoding="utf-8")
    (tmp_path / "tiny.c").write_text(tiny.source, encoding="utf-8")
    command = [need_tool("gcc", "gcc"), "-std=c11", *STRICT, flag, "-I.", "-fsyntax-only", "tiny.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[:4000]) == (0, "")
    command.remove(flag)  # now the folder's header is found
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "there is no such header" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "standard"),
    [
        # The language does not depend on the architecture, whose kernels one standard shows.
        *((name, "c11") for name in COMPILERS),
        *(
            pytest.param(name, standard, marks=pytest.mark.extended)
            for name in ("gcc", "clang")
            for standard in ("c2x", "gnu11")
        ),
    ],
)
def test_everything_is_pedantic_iso_c(
    name: str,
    standard: str,
    everything: Amalgam,
    need_tool: Callable[[str, str], str],
    tmp_path: Path,
) -> None:
    """All operators, kernels and features in one file, as in a release of the library."""
    cc = [need_tool(name, COMPILERS[name][0]), *COMPILERS[name][1:]]
    (tmp_path / "all.c").write_text(everything.source, encoding="utf-8")
    done = subprocess.run(
        [*cc, *STRICT, f"-std={standard}", "-fsyntax-only", "all.c"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr[:4000]) == (0, "")


def test_extra_sources_join_with_the_headers_beside_them(
    small: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "extra.h").write_text("#ifndef E_H\n#define E_H\nint hidden(int x);\n#endif\n")
    (tmp_path / "extra.c").write_text(
        '#include "extra.h"\n#include <samara/samara.h>\nint hidden(int x) { return x; }\n'
        "samara_status samara_more(void) { return hidden(SAMARA_OK) + smr_model_image_bytes; }\n"
    )
    made = amalgamate(
        small,
        prefix="x",
        exports=CORE | {"samara_more"},
        sources=sources(),
        extra_sources=[tmp_path / "extra.c"],
        embed=b"12345678abc",
        defines={"SOMETHING": "3"},
    )
    assert "static int hidden(int x) {" in made.source
    assert "\nx_status x_more(void) {" in made.source
    assert made.source.index("smr_model_image[2]") < made.source.index("x_more")
    assert "#define SOMETHING 3\n" in made.source


def test_an_image_is_the_bytes_in_little_endian() -> None:
    text = image(bytes(range(1, 12)))
    assert "smr_model_image_bytes = 11" in text
    assert "0x807060504030201,0xb0a09" in text


def test_what_cannot_be_written(small: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(SamaraError, match="cannot begin the names"):
        amalgamate(small, prefix="a-b", exports=CORE, sources=sources())
    with pytest.raises(SamaraError, match="not among the runtime's sources"):
        amalgamate(small, exports=CORE, sources=tmp_path)
    wrong = {
        **small,
        "ops/table/opdefs.inc": small["ops/table/opdefs.inc"].replace(", relu,", ", nothing,"),
    }
    with pytest.raises(SamaraError, match="defines smr_op_nothing_funcs"):
        amalgamate(wrong, exports=CORE, sources=sources())
