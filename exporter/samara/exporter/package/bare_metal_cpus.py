# SPDX-License-Identifier: Apache-2.0
"""The microcontrollers that a bare-metal build supports, with their compilers and emulators."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from samara.pybridge import UnsupportedError

_ARM = "arm-none-eabi-gcc"
_RISCV = "riscv64-unknown-elf-gcc"


@dataclass(frozen=True, slots=True)
class Machine:
    """A qemu board with the core, or with one that runs its instructions: the emulator, the board's name,
    and the addresses of code and data."""

    emulator: str
    name: str
    code: int
    code_bytes: int
    ram: int
    ram_bytes: int
    options: tuple[str, ...] = ()

    def command(self, image: str) -> tuple[str, ...]:
        """The command that runs a program, printing its text and returning its exit status."""
        return (
            self.emulator, "-M", self.name, *self.options, "-nographic", "-semihosting", "-kernel", image,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cpu:
    """A core: the compiler's flags for it, and the emulator that runs its instructions on Linux.

    `emulated`: flags of a similar core, if the emulator does not know this core's instructions.
    `has_library`: whether the compiler comes with a C library for the core. `short_enums`: enums are
    as short as their values, as in the Arm bare-metal ABI.
    """

    name: str
    title: str
    compiler: str
    package: str
    flags: tuple[str, ...]
    emulator: tuple[str, ...]
    machine: Machine
    emulated: tuple[str, ...] = ()
    has_library: bool = True
    short_enums: bool = True

    @property
    def compile_line(self) -> str:
        return " ".join((self.compiler, *self.flags, *self.freestanding, "-Os", "-c"))

    @property
    def freestanding(self) -> tuple[str, ...]:
        """For a compiler without a C library: use only its own headers, but its knowledge of memcpy."""
        return () if self.has_library else ("-ffreestanding", "-fbuiltin")

    @property
    def link_flags(self) -> tuple[str, ...]:
        """Flags after the sources, for a program with its own start-up code."""
        own = () if self.has_library else ("-nostdlib",)
        return ("-nostartfiles", "-static", "-T", "link.ld", *own)

    @property
    def libraries(self) -> tuple[str, ...]:
        """The compiler's libraries that a program needs."""
        return ("-lm", "-lc", "-lgcc") if self.has_library else ("-lgcc",)


# qemu-arm emulates the A profile, which has all of Thumb up to v7E-M with its FPU.
_V7EM = ("-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16", "-mthumb")


_MIB = 1 << 20


def _mps2(number: str, code: int = 0, ram: int = 0x2000_0000) -> Machine:
    return Machine("qemu-system-arm", f"mps2-{number}", code, 4 * _MIB, ram, 4 * _MIB)


_M3, _M4, _M7 = _mps2("an385"), _mps2("an386"), _mps2("an500")
_M33 = _mps2("an505", 0x1000_0000, 0x3800_0000)
_M55 = Machine("qemu-system-arm", "mps3-an547", 0, _MIB // 2, 0x2000_0000, _MIB // 2)
_VIRT = Machine(
    "qemu-system-riscv32", "virt", 0x8000_0000, 32 * _MIB, 0x8200_0000, 32 * _MIB, ("-bios", "none")
)


def _arm(
    name: str, title: str, machine: Machine, *flags: str, emulated: tuple[str, ...] = ()
) -> Cpu:
    return Cpu(
        name,
        title,
        _ARM,
        "gcc-arm-none-eabi libnewlib-arm-none-eabi",
        (*flags, "-mthumb"),
        ("qemu-arm", "-cpu", "max"),
        machine,
        emulated,
    )


def _riscv(name: str, title: str, abi: str) -> Cpu:
    flags = (f"-march={name}", f"-mabi={abi}")
    return Cpu(
        name, title, _RISCV, "gcc-riscv64-unknown-elf", flags, ("qemu-riscv32",), _VIRT,
        has_library=False, short_enums=False,
    )  # fmt: skip


_HARD = "-mfloat-abi=hard"
_ALL = (
    _arm("cortex-m0", "Cortex-M0", _M3, "-mcpu=cortex-m0"),
    _arm("cortex-m0plus", "Cortex-M0+", _M3, "-mcpu=cortex-m0plus"),
    _arm("cortex-m3", "Cortex-M3", _M3, "-mcpu=cortex-m3"),
    _arm("cortex-m4", "Cortex-M4 without FPU", _M4, "-mcpu=cortex-m4"),
    _arm(
        "cortex-m4f", "Cortex-M4 with FPU", _M4, "-mcpu=cortex-m4", _HARD, "-mfpu=fpv4-sp-d16"),
    _arm(
        "cortex-m7", "Cortex-M7 with FPU", _M7, "-mcpu=cortex-m7", _HARD, "-mfpu=fpv5-sp-d16"),
    _arm(
        "cortex-m33", "Cortex-M33 without FPU", _M33, "-mcpu=cortex-m33+nofp", emulated=("-mcpu=cortex-m3", "-mthumb")),
    _arm(
        "cortex-m33f", "Cortex-M33 with FPU", _M33, "-mcpu=cortex-m33", _HARD, "-mfpu=fpv5-sp-d16", emulated=_V7EM),
    _arm("cortex-m55", "Cortex-M55", _M55, "-mcpu=cortex-m55", _HARD, emulated=_V7EM),
    _riscv("rv32imc", "RISC-V without FPU", "ilp32"),
    _riscv("rv32imac", "RISC-V with atomics, without FPU", "ilp32"),
    _riscv("rv32imafc", "RISC-V with FPU", "ilp32f"),
)  # fmt: skip
CPUS: dict[str, Cpu] = {cpu.name: cpu for cpu in _ALL}


def find_cpu(name: str) -> Cpu:
    """The core called `name`. UnsupportedError with similar names."""
    if name in CPUS:
        return CPUS[name]
    close = difflib.get_close_matches(name, CPUS, n=3, cutoff=0.4)
    raise UnsupportedError(
        f"there is no bare-metal CPU {name!r}",
        fix=f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(CPUS)}",
    )
