# SPDX-License-Identifier: Apache-2.0
"""Devices that run models besides the CPU, and where the nodes of a session run."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samara.pybridge._native import NULL, check, failure, ffi, function_in, library, new_error, text
from samara.pybridge._pool import usable_cores
from samara.pybridge.errors import ArgumentError, BackendError, SamaraError
from samara.pybridge.files import kind_of, path_of, read_text
from samara.pybridge.names import meant

_log = logging.getLogger("samara.devices")

CPU, AUTO = "cpu", "auto"
_RATES_HEAD = "samara-rates 2\n"
# Backends inside the library; each may have several devices.
_BUILT_IN = ("opencl",)
_NOT_FOUND = 12
_MOST_DEVICES = 16  # of one backend that devices() looks for
# Endings of shared libraries.
_LIBRARY_SUFFIXES = (".so", ".dylib", ".dll")

# Open devices by name, for the life of the process. Sessions share them and the weights on them.
_open: dict[tuple[int, str], Backend] = {}


@dataclass(frozen=True, slots=True)
class Device:
    """One device that can run models. `name` is what Session(backend=…) takes.

    driver: the driver's version. memory_bytes: the device's memory; 0 if it is the host's or unknown.
    shares_memory: whether it uses the host's memory.
    """

    name: str
    description: str
    driver: str = ""
    memory_bytes: int = 0
    compute_units: int = 0
    shares_memory: bool = True


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """Where a node runs ("cpu", or a device such as "opencl:0"), and why.

    cost_us: its estimated time there in microseconds, 0 without an estimate. runner_up: the
    second-best device with its estimated time, or None. region: nodes with the same number run as a
    whole; 0 on the CPU.
    """

    function: str
    node: str
    op: str
    device: str
    reason: str
    cost_us: float
    runner_up: tuple[str, float] | None
    region: int


@dataclass(frozen=True, slots=True)
class BackendReport:
    """What the devices of a session did.

    active: whether the next run uses a device. settled: whether the placement is final; with "auto"
    that takes some time and runs on both sides. regions, nodes: how many run on devices. device_runs:
    runs in which devices took part; repeated: how many of these failed there and were repeated on the
    CPU. device_bytes: memory held on devices, without weights. checks: nodes that were also computed on
    the CPU, with equal results. launches: kernels that devices launched in the last run in which they
    took part; 0 if the backends do not count. failure: why the CPU took over, or "". copies,
    copied_bytes: between host and devices, including those of checks.
    """

    active: bool
    settled: bool
    regions: int
    nodes: int
    device_runs: int
    repeated: int
    device_bytes: int
    checks: int
    launches: int
    failure: str
    copies: int
    copied_bytes: int


class Backend:
    """An open device. Give it to Session(backend=…); sessions share it and the weights on it.

    source: a name, "opencl" or "opencl:1", or the path of a shared library with a backend
    (docs/guides/gpu.md). cache: a folder for compiled programs and measured rates; None: the user's cache
    folder; False: none. rates: a file of rates to use instead of measuring. BackendError if there is no
    such device.

        npu = samara.Backend("libnpu.so")
        session = samara.Session("model.samara", backend=npu)

    >>> samara.Session("model.samara", backend=samara.Backend("opencl"))  # doctest: +SKIP
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        cache: str | os.PathLike[str] | bool | None = None,
        rates: str | os.PathLike[str] | None = None,
    ) -> None:
        name = os.fspath(source)
        if isinstance(source, str) and not _is_built_in(name) and not is_library(name):
            raise _no_backend(name)
        if not _is_built_in(name) and os.path.exists(name):
            name = os.path.abspath(name)  # the loader searches other folders for a bare name
        folder = _cache_folder(cache)
        options = ffi.new("samara_backend_options *")
        options.struct_size = ffi.sizeof("samara_backend_options")
        held = [ffi.new("char[]", os.fsencode(name))]
        self._choose(options, held[0])
        if folder is not None:
            held.append(ffi.new("char[]", os.fsencode(folder)))
            options.cache_folder = held[-1]
        if rates is not None:
            held.append(ffi.new("char[]", os.fsencode(_rates_file(rates))))
            options.rates = held[-1]
        out, error = ffi.new("samara_backend **"), new_error()
        lib = library()
        opens = function_in(lib, "samara_backend_open")
        if opens is None:
            raise BackendError(
                f"there is no device {name!r} here: this runtime was built without backends",
                fix="take the full library, or build one with --backend opencl",
            )
        status = opens(options, out, error)
        if status:
            raise _unavailable(name, status, text(ffi.addressof(error, "text")[0]))
        self.handle = ffi.gc(out[0], lib.samara_backend_close)
        info = ffi.new("samara_device_info *")
        info.struct_size = ffi.sizeof("samara_device_info")
        check(lib.samara_backend_device(self.handle, info), error)
        self.source = name
        self.table = info.table  # valid while the device is open
        self._options = {"cache": cache, "rates": rates}
        self.device = Device(
            name=_device_name(name, text(info.backend)),
            description=text(info.name),
            driver=text(info.driver),
            memory_bytes=int(info.memory_bytes),
            compute_units=int(info.compute_units),
            shares_memory=bool(info.shares_memory),
        )

    def _choose(self, options: Any, name: Any) -> None:
        """Raise an error that names the device."""
        if _is_built_in(ffi.string(name).decode()):
            options.name = name
        else:
            options.library = name

    @property
    def name(self) -> str:
        """The device's name, as in the rows of Session.placement()."""
        return self.device.name

    def __repr__(self) -> str:
        return f"Backend({self.source!r}: {self.device.description})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self.source, self._options)


BackendChoice = str | os.PathLike[str] | Backend | Sequence[str | os.PathLike[str] | Backend]
"""What Session(backend=…) takes: a name, the path of a library, a Backend, or several of these."""


def _opened(source: str, options: Mapping[str, Any]) -> Backend:
    return Backend(Path(source) if is_library(source) else source, **options)


def _is_built_in(name: str) -> bool:
    return name.split(":")[0] in _BUILT_IN


def is_library(name: str) -> bool:
    """Whether the name of a backend is the path of a shared library."""
    if _is_built_in(name):
        return False
    is_path = os.sep in name or name.endswith(_LIBRARY_SUFFIXES)
    return is_path or ".so." in name or os.path.isfile(name)


def _device_name(source: str, backend: str) -> str:
    if not _is_built_in(source):
        return f"{backend}:0"
    return source if ":" in source else f"{source}:0"


def _no_backend(name: str) -> BackendError:
    names = meant(name, [CPU, *_BUILT_IN, AUTO], "available:")
    return BackendError(
        f"there is no backend {name!r} here",
        fix=f"{names}, or the path of a shared library that brings one",
    )


def _unavailable(name: str, status: int, message: str) -> SamaraError:
    if is_library(name):
        found = os.path.exists(name)
        exports = "a library of a backend exports samara_backend_entry (docs/guides/backends.md)"
        return BackendError(
            message if name in message else f"{name}: {message}",
            fix=exports if found else "there is no such file: give the path of the library",
        )
    if status == _NOT_FOUND:
        return BackendError(
            f"there is no device {name!r} here: {message}",
            fix="samara devices lists what there is",
        )
    error = failure(status, message)
    return BackendError(error.message, fix=error.fix or "samara devices lists what there is")


def _rates_file(rates: str | os.PathLike[str]) -> Path:
    """The path of a file of rates. Checked here, because the library reads it only when a session asks."""
    if not read_text(rates, "rates").startswith(_RATES_HEAD):
        raise BackendError(
            f"{os.fspath(rates)} is not a file of rates: its first line is not {_RATES_HEAD.strip()!r}",
            fix="samara writes one into the device's cache folder (docs/guides/gpu.md)",
        )
    return path_of(rates, "rates")


def _cache_folder(cache: str | os.PathLike[str] | bool | None) -> str | None:
    if cache is False:
        return None
    if cache is None or cache is True:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return str(Path(base) / "samara" / "devices")
    return str(path_of(cache, "cache"))


def devices() -> list[Device]:
    """What can run models here: the CPU with the instruction sets in use, then the devices.

    It opens the installed drivers, which may take a second the first time.

        for device in samara.devices():
            print(device.name, device.description)

    >>> samara.devices()[0].name
    'cpu'
    """
    return survey()[0]


def survey() -> tuple[list[Device], list[str]]:
    """The devices that devices() lists, and for each backend without a device here a sentence why."""
    found, absent = [host()], []
    for backend in _BUILT_IN:
        for index in range(_MOST_DEVICES):
            try:
                found.append(_named(f"{backend}:{index}").device)
            except BackendError as error:
                _log.debug("%s:%d: %s", backend, index, error)
                if index == 0:
                    why = error.message.removeprefix(f"there is no device '{backend}:0' here: ")
                    absent.append(f"no {backend}: {why}")
                break
    return found, absent


def host() -> Device:
    """The CPU with the instruction sets in use. Opens no driver."""
    return Device(CPU, f"{usable_cores()} cores, {_instruction_sets()}")


def _instruction_sets() -> str:
    size = library().samara_isa(NULL, 0) + 1
    buffer = ffi.new("char[]", size)
    library().samara_isa(buffer, size)
    return text(buffer)


def _named(name: str) -> Backend:
    source = name
    if _is_built_in(name):
        source = name if ":" in name else f"{name}:0"
    elif os.path.exists(name):
        source = os.path.realpath(name)
    key = os.getpid(), source
    if key not in _open:
        _open[key] = Backend(source)
    return _open[key]


def backends_of(
    backend: BackendChoice,
) -> tuple[list[Backend], bool]:
    """The devices that a session's `backend` names, in order, and whether to use them only if faster.

    "cpu" names none; "auto" alone names the first one there is. BackendError for an unknown name, or a
    device that is not here. Sessions of the process share one open device per name or path.
    """
    if isinstance(backend, (str, os.PathLike, Backend)):
        backend = [backend]
    if not isinstance(backend, (list, tuple)):
        raise ArgumentError(
            f"backend is {kind_of(backend)}", fix='give a name, as backend="opencl", or a list'
        )
    found: list[Backend] = []
    for each in backend:
        if isinstance(each, Backend):
            found.append(each)
        elif not isinstance(each, (str, os.PathLike)):
            raise ArgumentError(f"a backend is {kind_of(each)}", fix='give a name, as "opencl"')
        elif each not in (CPU, AUTO):
            found.append(_named(os.fspath(each)))
    automatic = AUTO in backend
    if automatic and not found:
        found = _any_device()
    return found, automatic and bool(found)


def _any_device() -> list[Backend]:
    for backend in _BUILT_IN:
        try:
            return [_named(backend)]
        except BackendError as error:
            _log.info("auto: %s, so the CPU it is", error.message)
    return []


def placement_rows(handle: Any) -> list[PlacementRow]:
    """Where the nodes of a session run."""
    lib = library()
    count = ffi.new("size_t *")
    status = lib.samara_session_placement(handle, NULL, 0, count)
    if status:
        raise failure(status, "the session: refused")
    rows = ffi.new("samara_placement_row[]", max(1, count[0]))
    lib.samara_session_placement(handle, rows, count[0], count)
    return [
        PlacementRow(
            function=text(row.function),
            node=text(row.node),
            op=text(row.op),
            device=text(row.device),
            reason=text(row.reason),
            cost_us=row.cost_us,
            runner_up=None if row.runner_up == NULL else (text(row.runner_up), row.runner_up_us),
            region=int(row.region),
        )
        for row in rows[0 : count[0]]
    ]


def backend_report(handle: Any) -> BackendReport:
    """What the devices of a session did."""
    report = ffi.new("samara_backend_report *")
    report.struct_size = ffi.sizeof("samara_backend_report")
    status = library().samara_session_backend_report(handle, report)
    if status:
        raise failure(status, "the session: refused")
    return BackendReport(
        active=bool(report.active),
        settled=bool(report.settled),
        regions=int(report.regions),
        nodes=int(report.nodes),
        device_runs=int(report.device_runs),
        repeated=int(report.repeated),
        device_bytes=int(report.device_bytes),
        checks=int(report.checks),
        launches=int(report.launches),
        failure=text(report.failure),
        copies=int(report.copies),
        copied_bytes=int(report.copied_bytes),
    )
