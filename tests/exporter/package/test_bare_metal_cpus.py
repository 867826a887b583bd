# SPDX-License-Identifier: Apache-2.0
"""The cores of bare-metal builds by name."""

from __future__ import annotations

import pytest

from samara.exporter.package.bare_metal_cpus import CPUS, find_cpu
from samara.pybridge import UnsupportedError


def test_names_find_their_core() -> None:
    for name, cpu in CPUS.items():
        assert find_cpu(name) is cpu
        assert cpu.name == name
    assert find_cpu("cortex-m4f").compile_line.startswith(
        "arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard"
    )


def test_unknown_name_says_what_is_close() -> None:
    with pytest.raises(UnsupportedError) as failure:
        find_cpu("cortex-m4e")
    assert "cortex-m4f" in str(failure.value.fix)
    with pytest.raises(UnsupportedError) as failure:
        find_cpu("z80")
    assert "rv32imc" in str(failure.value.fix)


def test_cores_without_fpu_pass_floats_in_integer_registers() -> None:
    for name in ("cortex-m0plus", "cortex-m3", "cortex-m33"):
        assert "-mfloat-abi=hard" not in CPUS[name].flags
    assert "-mabi=ilp32" in CPUS["rv32imc"].flags
