# SPDX-License-Identifier: Apache-2.0
"""Targets by name, and the instruction sets of a build."""

from __future__ import annotations

import pytest

from samara.exporter.package.selection import ISA_NAMES
from samara.exporter.package.targets import TARGETS, choose_isa, find_target, host_target
from samara.pybridge import UnsupportedError


def test_host_is_this_machine() -> None:
    host = find_target("host")
    assert host == host_target()
    assert host.tools == "host"
    assert host.arch in host.name


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_target_says_what_it_needs(target: object) -> None:
    found = find_target(getattr(target, "name", ""))
    assert found.package
    assert set(found.isa_names) <= set(ISA_NAMES)
    assert found.is_elf == (found.system in ("linux", "android"))


def test_unknown_target_names_its_neighbours() -> None:
    with pytest.raises(UnsupportedError, match="no target 'aarch64-linux'") as caught:
        find_target("aarch64-linux")
    assert "aarch64-linux-gnu" in str(caught.value.fix)
    assert "--list-targets" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("name", "asked", "floor", "above"),
    [
        ("x86_64-linux-gnu", None, "scalar", ("avx2", "avx512", "avx512-vnni")),
        ("x86_64-linux-gnu", ["avx2"], "avx2", ()),
        ("x86_64-linux-gnu", ["avx512", "avx2"], "avx2", ("avx512",)),
        ("x86_64-linux-gnu", ["scalar", "avx512"], "scalar", ("avx2", "avx512")),
        ("x86_64-linux-gnu", ["scalar"], "scalar", ()),
        ("aarch64-linux-gnu", None, "neon", ("neon-dot", "neon-i8mm")),
        ("aarch64-linux-gnu", ["neon", "neon-dot"], "neon", ("neon-dot",)),
        ("aarch64-linux-gnu", ["neon-i8mm"], "neon-i8mm", ()),
        ("wasm32-wasi", None, "scalar", ()),
        ("wasm32-wasi-simd128", None, "wasm-simd", ()),
        ("riscv64-linux-gnu", None, "scalar", ()),
    ],
)
def test_least_set_is_the_floor(
    name: str, asked: list[str] | None, floor: str, above: tuple[str, ...]
) -> None:
    assert choose_isa(find_target(name), asked, float16=False) == (floor, above)


def test_no_device_with_android_has_avx512() -> None:
    target = find_target("x86_64-linux-android24")
    assert choose_isa(target, None, float16=False) == ("scalar", ("avx2",))
    assert choose_isa(target, ["avx512"], float16=False) == ("avx512", ())


def test_float16_kernels_come_with_float16_data() -> None:
    target = find_target("aarch64-linux-gnu")
    assert "neon-fp16" in choose_isa(target, None, float16=True)[1]
    assert "neon-fp16" not in choose_isa(target, ["neon"], float16=True)[1]


@pytest.mark.parametrize(("name", "isa"), [("wasm32-wasi", "avx2"), ("x86_64-linux-gnu", "neon")])
def test_instruction_sets_of_others_are_refused(name: str, isa: str) -> None:
    with pytest.raises(UnsupportedError, match=isa) as caught:
        choose_isa(find_target(name), [isa], float16=False)
    assert "scalar" in str(caught.value.fix)
