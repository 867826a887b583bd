# SPDX-License-Identifier: Apache-2.0
"""ELF files from this machine's linker, and damaged ones."""

from __future__ import annotations

import pytest

from samara.exporter.package.elf import Elf
from samara.exporter.package.targets import find_target, host_target
from samara.exporter.package.toolchain import find_toolchain
from samara.pybridge import BackendError

pytestmark = pytest.mark.skipif(
    host_target().system != "linux", reason="NOT RUN: programs here are no ELF files"
)

_TEXT = """
const int table[5] = {1, 2, 3, 4, 5};
int zeroed[7];
int f(int x) { return x * table[x % 5] + zeroed[x % 7]; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("elf")
    (folder / "a.c").write_text(_TEXT)
    tools = find_toolchain(find_target("host"))
    tools.compile(folder / "a.c", folder / "a.o", ("-fPIC",))
    tools.link_shared([folder / "a.o"], folder / "a.so", ("-Wl,-z,max-page-size=16384",))
    return (folder / "a.so").read_bytes()


def test_symbols_lie_in_their_sections(library: bytes) -> None:
    elf = Elf(library)
    symbols = {s.name: s for s in elf.symbols}
    assert symbols["table"].size == 20
    assert symbols["f"].is_function
    assert elf.sections[symbols["f"].section].name == ".text"
    assert elf.sections[symbols["table"].section].name == ".rodata"
    bss = elf.sections[symbols["zeroed"].section]
    assert bss.is_loaded
    assert not bss.in_file


def test_alignment_of_what_is_loaded(library: bytes) -> None:
    assert Elf(library).page_alignment() == 16384


@pytest.mark.parametrize("length", [3, 20, 60, -40])
def test_cut_files_are_refused(library: bytes, length: int) -> None:
    with pytest.raises(BackendError, match=r"cut off|not a little-endian"):
        Elf(library[:length])


def test_other_files_are_refused() -> None:
    with pytest.raises(BackendError, match=r"a\.dll is not a little-endian ELF file"):
        Elf(b"MZ" + bytes(100), "a.dll")
