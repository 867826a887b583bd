# SPDX-License-Identifier: Apache-2.0
"""Measuring a model's memory, on a model with known needs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.package._bare_metal_probe import compile_object, measure
from samara.exporter.package.bare_metal_cpus import CPUS
from samara.pybridge import BackendError, sources

_HEADER = """\
#include <stddef.h>
typedef int net_status;
typedef struct net_error { int status; char text[100]; } net_error;
typedef struct net_net net_net;
net_status net_open(void *arena, size_t arena_bytes, net_net **out, net_error *error);
net_status net_run_with(net_net *net, const void *const *inputs, void *const *outputs);
void *net_input(net_net *net, size_t index);
const char *net_message(const net_net *net);
size_t net_arena_used(const net_net *net);
"""
_MODEL = """\
#include "net.h"
net_status net_open(void *arena, size_t arena_bytes, net_net **out, net_error *error) {
  (void)arena_bytes, (void)error;
  *out = arena;
  return 0;
}
net_status net_run_with(net_net *net, const void *const *inputs, void *const *outputs) {
  volatile char deep[3000];
  (void)net, (void)inputs, (void)outputs;
  for (unsigned i = 0; i < sizeof deep; i++) deep[i] = 1;
  return STATUS;
}
void *net_input(net_net *net, size_t index) { return (void)index, net; }
const char *net_message(const net_net *net) { return (const char *)net; }
size_t net_arena_used(const net_net *net) { return (void)net, 1234; }
"""


def model(folder: Path, status: str = "0") -> Path:
    (folder / "net.h").write_text(_HEADER)
    (folder / "net_model.c").write_text(_MODEL.replace("STATUS", status))
    return folder


@pytest.mark.parametrize("compiler_is_there", [True, False])
def test_arena_and_stack(
    tmp_path: Path, compiler_is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = shutil.which
    if not compiler_is_there:
        monkeypatch.setattr(
            shutil, "which", lambda name: None if "none-eabi" in name else which(name)
        )
    figures = measure("net", CPUS["cortex-m3"], model(tmp_path), sources())
    if figures is None:
        pytest.skip("nothing here compiles and runs 32-bit programs")
    assert figures.arena_bytes == 1234
    assert figures.stack_bytes is not None
    assert 3000 <= figures.stack_bytes <= 3400
    assert figures.flash_bytes is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.h", "net_model.c"]


def test_model_that_fails_gives_no_figures(tmp_path: Path) -> None:
    assert measure("net", CPUS["cortex-m3"], model(tmp_path, "7"), sources()) is None


def test_flash_counts_code_and_constants(
    tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    need_tool("cortex-m", CPUS["cortex-m3"].compiler)
    small = compile_object("net", CPUS["cortex-m3"], model(tmp_path))
    text = (tmp_path / "net_model.c").read_text()
    (tmp_path / "net_model.c").write_text(
        text.replace(
            "return (const char *)net;",
            "static const char t[5000] = {1, 2}; return t + (net != 0);",
        )
    )
    large = compile_object("net", CPUS["cortex-m3"], tmp_path)
    assert small is not None
    assert large is not None
    assert small[0] == tmp_path / "net_model.o"
    assert 5000 <= large[1] - small[1] < 5040
    assert not (tmp_path / "net.elf").exists()


def test_compiler_that_fails_is_quoted(
    tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    need_tool("cortex-m", CPUS["cortex-m3"].compiler)
    with pytest.raises(BackendError, match="no_such_status"):
        compile_object("net", CPUS["cortex-m3"], model(tmp_path, "no_such_status"))


def test_without_compiler_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert compile_object("net", CPUS["cortex-m3"], model(tmp_path)) is None
    assert measure("net", CPUS["cortex-m3"], tmp_path, sources()) is None
