# SPDX-License-Identifier: Apache-2.0
"""The library exports what the public headers declare, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tools import abi


def _symbols(listing: str) -> set[str]:
    return {line for line in listing.splitlines() if line and not line.startswith("#")}


def _exported(library: Path, nm: str) -> set[str]:
    command = [nm, "-D", "--defined-only", "--format=posix", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # The sections' own markers are the linker's business.
    linker = re.compile(r"^(_init|_fini|_edata|_end|__bss_start)$")
    return {
        name for name in (row.split()[0] for row in listing.splitlines()) if not linker.match(name)
    }


def test_exported_symbols(repo: Path, need_tool: Callable[[str, str], str]) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("NOT RUN: exported symbols (nm -D reads ELF)")
    library = repo / "build" / "dev" / "libsamara.so"
    exported = _exported(library, need_tool("nm", "nm"))
    assert exported == _symbols(abi.abi_text())
    assert exported == _symbols((repo / "runtime_c" / "abi.txt").read_text(encoding="utf-8"))


def test_declarations_are_read_whatever_their_layout() -> None:
    header = """
    #define SAMARA_API __attribute__((visibility("default")))
    #define SAMARA_MACRO(x) \\
      SAMARA_API int not_this(x);
    // SAMARA_API int nor_this(void);
    SAMARA_API const char *samara_version(void);
    SAMARA_API samara_status samara_model_open(const char *path,
                                               void (*samara_callback)(int),
                                               samara_error *error);
    int samara_internal(void);
    """
    assert abi.declared(header) == ["samara_version", "samara_model_open"]


def test_an_unlisted_export_is_seen(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("NOT RUN: exported symbols (nm -D reads ELF)")
    source = tmp_path / "planted.c"
    source.write_text("int samara_version(void) { return 0; }\nint smr_leaks(void) { return 1; }\n")
    library = tmp_path / "libplanted.so"
    compiler = need_tool("cc", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    exported = _exported(library, need_tool("nm", "nm"))
    assert exported - set(abi.declared("SAMARA_API int samara_version(void);")) == {"smr_leaks"}


# ---- what the last release promised ----

_RELEASED = """
typedef enum samara_color { SAMARA_RED = 1, SAMARA_BLUE = 2 } samara_color;
typedef struct samara_row { int a; } samara_row;
typedef struct samara_options { size_t struct_size; int a; } samara_options;
SAMARA_API int samara_run(int /* often */ count);
"""


def test_the_last_release_is_kept() -> None:
    released = abi.released_promises()
    assert len(released) > 90
    assert abi.broken(released, abi.promises_now()) == []


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("SAMARA_API int samara_run(int /* often */ count);", "", "function samara_run is gone"),
        ("samara_run(int", "samara_run(long", "function samara_run was"),
        ("SAMARA_BLUE = 2", "SAMARA_BLUE = 3", "constant SAMARA_BLUE was"),
        ("{ int a; }", "{ int a; int b; }", "struct samara_row was"),
        (
            "size_t struct_size; int a;",
            "size_t struct_size; int b; int a;",
            "struct samara_options was",
        ),
    ],
)
def test_a_broken_promise_is_seen(was: str, becomes: str, says: str) -> None:
    released = abi.promises(_RELEASED)
    (fault,) = abi.broken(released, abi.promises(_RELEASED.replace(was, becomes)))
    assert fault.startswith(says)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("size_t struct_size; int a;", "size_t struct_size; int a; int b;"),
        ("SAMARA_BLUE = 2", "SAMARA_BLUE = 2, SAMARA_PINK = 3"),
        ("int /* often */ count", "int\n    count"),
        ("typedef enum", "SAMARA_API int samara_more(void);\ntypedef enum"),
    ],
)
def test_what_may_be_added(was: str, becomes: str) -> None:
    now = abi.promises(_RELEASED.replace(was, becomes))
    assert abi.broken(abi.promises(_RELEASED), now) == []
