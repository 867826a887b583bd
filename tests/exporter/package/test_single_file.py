# SPDX-License-Identifier: Apache-2.0
"""Models as C files: two in one program give Python's bytes, on this machine and on others."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter.build import write_source
from samara.exporter.ir import Variable
from samara.exporter.package.single_file import SingleFile
from samara.pybridge import UnsupportedError

Tool = Callable[[str, str], str]
SYSROOT = "/usr/aarch64-linux-gnu"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")

# Small integers as floats: every instruction set gives the same bits.
WEIGHT = (np.arange(32, dtype=np.float32).reshape(8, 4) % 7) - 3
X = (np.arange(8, dtype=np.float32).reshape(1, 8) % 5) - 2
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) - 6

# Both headers in one file; `rows` and `wide` meet two sizes of a symbolic dim.
MAIN = r"""
#include <stdio.h>

#include "alpha.h"
#include "beta.h"

static int fail(const char *text) {
  fprintf(stderr, "%s\n", text);
  return 1;
}

int main(void) {
  const float x[ALPHA_INPUT_X_SIZE] = {@X@}, rows[12] = {@ROWS@};
  float positive[ALPHA_OUTPUT_POSITIVE_SIZE], sum[ALPHA_OUTPUT_SUM_SIZE], out[12];
  alpha_net *alpha;
  alpha_error alpha_failure;
  beta_net *beta, *twice;
  beta_error beta_failure;
  if (alpha_open(&alpha, &alpha_failure) != ALPHA_OK) return fail(alpha_failure.text);
  if (beta_open(&beta, &beta_failure) != BETA_OK) return fail(beta_failure.text);
  if (beta_twice_open(&twice, &beta_failure) != BETA_OK) return fail(beta_failure.text);
  if (alpha_run(alpha, x, positive, sum) != ALPHA_OK) return fail(alpha_message(alpha));
  fwrite(positive, sizeof positive, 1, stdout);
  fwrite(sum, sizeof sum, 1, stdout);
  for (int batch = 3; batch > 0; batch -= 2) {
    if (beta_run(beta, batch, rows, out, 12) != BETA_OK) return fail(beta_message(beta));
    fwrite(out, sizeof *out, 4 * (size_t)batch, stdout);
  }
  if (beta_twice_run(twice, x, out) != BETA_OK) return fail(beta_message(twice));
  fwrite(out, sizeof *out, 8, stdout);
  if (beta_run(beta, 3, rows, out, 11) != BETA_BAD_SHAPE) return fail("11 elements held 12");
  fprintf(stderr, "%s\n", beta_message(beta));
  if (beta_run(twice, 3, rows, out, 12) != BETA_BAD_STATE) return fail("ran another function");
  alpha_close(alpha);
  beta_close(beta);
  beta_close(twice);
  return 0;
}
"""


def alpha(x: samara.Tensor) -> tuple[samara.Tensor, samara.Tensor]:
    y = x @ samara.from_numpy(WEIGHT)
    return y.relu(), y.sum()


def beta(x: samara.Tensor) -> samara.Tensor:
    return (x * 2.0 + 1.0).abs()


def twice(x: samara.Tensor) -> samara.Tensor:
    return x + x


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    first = samara.trace(
        alpha, (samara.from_numpy(X),), input_names=["x"], output_names=["positive", "sum"]
    )
    rows = samara.trace(
        beta, (samara.from_numpy(ROWS),), dynamic={"x": {0: "batch"}}, input_names=["x"],
        output_names=["y"],
    )  # fmt: skip
    double = samara.trace(twice, (samara.from_numpy(X),), input_names=["x"], output_names=["y"])
    samara.export(first, folder / "alpha.samara")
    samara.export({"rows": rows, "twice": double}, folder / "beta.samara")
    return {name: folder / f"{name}.samara" for name in ("alpha", "beta")}


@pytest.fixture(scope="module")
def written(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both models as C, and a program of them."""
    out = tmp_path_factory.mktemp("sources")
    # One with the kernels of all instruction sets; without them compilers take a third of the time.
    for name, isa in (("alpha", None), ("beta", ["scalar"])):
        write_source([models[name]], out=out, name=name, embed=True, isa=isa)
    values = {"@X@": X, "@ROWS@": ROWS}
    text = MAIN
    for key, array in values.items():
        text = text.replace(key, ", ".join(f"{v}f" for v in array.ravel().tolist()))
    (out / "main.c").write_text(text, encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def expected(models: dict[str, Path]) -> bytes:
    positive, total = samara.Session(models["alpha"]).run({"x": X}).values()
    rows = samara.Session(models["beta"], function="rows")
    double = samara.Session(models["beta"], function="twice")
    arrays = [positive, total, *rows.run({"x": ROWS}).values()]
    arrays += [*rows.run({"x": ROWS[:1]}).values(), *double.run({"x": X}).values()]
    return b"".join(a.tobytes() for a in arrays)


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stdout


def compiled(cc: Sequence[str], folder: Path, out: Path) -> list[Path]:
    """The objects of both models, compiled with warnings as errors."""
    objects = []
    for name in ("alpha", "beta"):
        objects.append(out / f"{name}.o")
        done = subprocess.run(
            [*cc, "-std=c11", *STRICT, "-c", folder / f"{name}_model.c", "-o", objects[-1]],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[:4000]
    return objects


def build(cc: Sequence[str], folder: Path, program: Path, *libraries: str) -> None:
    """The program of both models."""
    objects = compiled(cc, folder, program.parent)
    run([*cc, folder / "main.c", *objects, "-o", program, *libraries])


@pytest.fixture(scope="module")
def objects(written: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Both models compiled for this machine; -Og takes compilers less than no optimisation."""
    return compiled(["cc", "-Og"], written, tmp_path_factory.mktemp("objects"))


def answers(command: Sequence[str | Path]) -> bytes:
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == b"output 0 takes 48 bytes, there is room for 44"
    return done.stdout


def test_two_models_in_one_program(
    written: Path, objects: list[Path], expected: bytes, tmp_path: Path
) -> None:
    command: list[str | Path] = [
        "cc",
        written / "main.c",
        *objects,
        "-o",
        tmp_path / "both",
        "-lm",
        "-lpthread",
    ]
    run(command)
    assert answers([tmp_path / "both"]) == expected


@pytest.mark.parametrize(
    "compiler", ["g++", pytest.param("clang++-19", marks=pytest.mark.emulated)]
)
def test_both_in_a_cpp_program(
    compiler: str,
    written: Path,
    objects: list[Path],
    expected: bytes,
    need_tool: Tool,
    tmp_path: Path,
) -> None:
    """The headers are valid C++11, and their declarations have C linkage."""
    cpp = need_tool("cxx" if compiler == "g++" else "clang", compiler)
    made = tmp_path / "main.o"
    run([cpp, "-x", "c++", "-std=c++11", *STRICT, "-c", written / "main.c", "-o", made])
    run([cpp, made, *objects, "-o", tmp_path / "both", "-lm", "-lpthread"])
    assert answers([tmp_path / "both"]) == expected


# A library for one thread: pools, and cancelling from a callback of the run.
ALONE = r"""
#include <stdio.h>

#include "alpha.h"

static int cancel(void *user, const char *node, const char *const *names,
                  const alpha_tensor *tensors, size_t count) {
  (void)node, (void)names, (void)tensors, (void)count;
  alpha_session_cancel((alpha_session *)user);
  return 0;
}

int main(void) {
  static float x[ALPHA_INPUT_X_SIZE], positive[ALPHA_OUTPUT_POSITIVE_SIZE], sum[1];
  alpha_pool *pool;
  alpha_error error;
  alpha_pool_options two = {.struct_size = sizeof two, .threads = 2};
  if (alpha_pool_create(&two, &pool, &error) != ALPHA_UNSUPPORTED || pool != NULL) return 1;
  puts(error.text);
  if (alpha_pool_create(NULL, &pool, &error) != ALPHA_OK || alpha_pool_threads(pool) != 1) return 2;
  alpha_session_options options = {.struct_size = sizeof options, .pool = pool};
  alpha_net *net;
  if (alpha_open_with(&options, &net, &error) != ALPHA_OK) return 3;
  if (alpha_run(net, x, positive, sum) != ALPHA_OK) return 4;
  alpha_session_cancel(alpha_net_session(net)); /* no run is going on: cancels nothing */
  if (alpha_run(net, x, positive, sum) != ALPHA_OK) return 5;
  if (alpha_session_watch(alpha_net_session(net), cancel, alpha_net_session(net)) != ALPHA_OK)
    return 6;
  if (alpha_run(net, x, positive, sum) != ALPHA_CANCELLED) return 7;
  puts(alpha_message(net));
  alpha_close(net);
  alpha_pool_destroy(pool);
  return 0;
}
"""


@pytest.mark.slow
def test_one_thread_without_atomics(models: dict[str, Path], tmp_path: Path) -> None:
    write_source(
        [models["alpha"]], out=tmp_path, name="alpha", embed=True, features=["threads", "keep"]
    )
    (tmp_path / "main.c").write_text(ALONE, encoding="utf-8")
    program = tmp_path / "alone"
    run(["cc", "-std=c11", *STRICT, "-DSMR_NO_ATOMICS", tmp_path / "main.c", tmp_path / "alpha_model.c",
         "-o", program, "-lm"])  # fmt: skip
    refused, cancelled = run([program]).splitlines()
    assert refused == "pool: 2 threads: this library was built without atomics and has one"
    assert cancelled.endswith(": cancelled")


@pytest.mark.emulated
def test_aarch64(written: Path, expected: bytes, need_tool: Tool, tmp_path: Path) -> None:
    cc = need_tool("aarch64", "aarch64-linux-gnu-gcc")
    qemu = need_tool("qemu", "qemu-aarch64")
    build([cc], written, tmp_path / "both", "-lm", "-lpthread")
    for cpu in ("max", "cortex-a53"):  # with and without dot products
        assert answers([qemu, "-cpu", cpu, "-L", SYSROOT, tmp_path / "both"]) == expected


@pytest.mark.emulated
def test_wasm(written: Path, expected: bytes, need_tool: Tool, tmp_path: Path) -> None:
    node = need_tool("wasm", "node")
    pytest.importorskip("ziglang", reason="NOT RUN: wasm (ziglang is not installed)")
    cc = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi", "-O1"]
    build(cc, written, tmp_path / "both.wasm")
    script = tmp_path / "run.mjs"
    script.write_text(
        "import {WASI} from 'node:wasi';\n"
        "import {readFileSync} from 'node:fs';\n"
        "const wasi = new WASI({version: 'preview1', args: ['both'], returnOnExit: true});\n"
        "const code = await WebAssembly.compile(readFileSync(process.argv[2]));\n"
        "const imports = {wasi_snapshot_preview1: wasi.wasiImport};\n"
        "process.exitCode = wasi.start(await WebAssembly.instantiate(code, imports));\n"
    )
    command: list[str | Path] = [
        node,
        "--no-warnings",
        "--experimental-wasi-unstable-preview1",
        script,
    ]
    assert answers([*command, tmp_path / "both.wasm"]) == expected


def test_only_prefixed_symbols_are_external(objects: list[Path], need_tool: Tool) -> None:
    nm = need_tool("binutils", "nm")
    for name, path in zip(("alpha", "beta"), objects, strict=True):
        command: list[str | Path] = [nm, "-g", "--defined-only", path]
        listed = run(command)
        symbols = {line.split()[2] for line in listed.splitlines()}
        assert f"{name}_run" in symbols
        assert {s for s in symbols if not s.startswith(f"{name}_")} == set()


def test_nothing_in_a_header_keeps_the_old_prefix(written: Path) -> None:
    for name in ("alpha", "beta"):
        header = (written / f"{name}.h").read_text(encoding="utf-8")
        assert re.findall(r"\b(?:samara_|SAMARA_)\w*", header) == []


def test_the_example_runs(written: Path, objects: list[Path], tmp_path: Path) -> None:
    program = tmp_path / "example"
    command: list[str | Path] = [
        "cc",
        written / "example.c",
        objects[1],
        "-o",
        program,
        "-lm",
        "-lpthread",
    ]
    run(command)
    assert run([program]) == "y: 1 1 1 1\n"  # for one matrix row of zeros


def test_a_model_beside_the_program(models: dict[str, Path], tmp_path: Path) -> None:
    """Without embed the program takes a path; a file with another shape is refused."""
    report = write_source([models["alpha"]], out=tmp_path, name="alpha", isa=["scalar"])
    assert isinstance(report, SingleFile)
    assert set(report.files) == {"alpha_model.c", "alpha.h", "example.c"}
    command: list[str | Path] = [
        "cc",
        "alpha_model.c",
        "example.c",
        "-o",
        "example",
        "-lm",
        "-lpthread",
    ]
    run(command, tmp_path)
    assert run([tmp_path / "example", models["alpha"]]) == "positive: 0 0 0 0\nsum: 0\n"
    other = samara.trace(alpha, (samara.from_numpy(np.vstack([X, X])),), input_names=["x"])
    samara.export(other, tmp_path / "other.samara")
    refused = subprocess.run(
        [tmp_path / "example", tmp_path / "other.samara"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1
    assert "input 0, 'x', has another type or shape" in refused.stderr


_DEVICE = """\
#include "alpha.h"
#include <stdio.h>
int main(void) {
  alpha_error error;
  alpha_backend *device;
  alpha_net *net;
  const alpha_backend_options backend = {.struct_size = sizeof backend, .name = "opencl"};
  if (alpha_backend_open(&backend, &device, &error) != ALPHA_OK) {
    printf("none: %s", error.text);
    return error.status != ALPHA_NOT_FOUND;
  }
  const alpha_session_options options = {
      .struct_size = sizeof options, .backends = &device, .backend_count = 1};
  if (alpha_open_with(&options, &net, &error) != ALPHA_OK) return 1;
  alpha_backend_report report = {.struct_size = sizeof report};
  alpha_session_backend_report(alpha_net_session(net), &report);
  printf("nodes: %u", report.nodes);
  alpha_close(net);
  alpha_backend_close(device);
  return report.nodes == 0;
}
"""


@pytest.mark.slow
def test_with_a_device(models: dict[str, Path], tmp_path: Path) -> None:
    """One plain command compiles it; without a driver, opening a device fails with a message."""
    write_source([models["alpha"]], out=tmp_path, name="alpha", embed=True, backend="opencl")
    (tmp_path / "app.c").write_text(_DEVICE)
    line = ["cc", *STRICT, "alpha_model.c", "app.c", "-o", "app", "-lm", "-lpthread"]
    run(line, tmp_path)
    assert run([tmp_path / "app"]).startswith(("nodes: ", "none: "))


def test_state_stays_between_runs(tmp_path: Path) -> None:
    def step(x: samara.Tensor, total: samara.Tensor) -> tuple[samara.Tensor, samara.Tensor]:
        y = x + total
        return y * 2.0, y

    zeros = samara.zeros(2)
    program = samara.trace(
        step, (zeros, zeros), input_names=["x", "total"], output_names=["y", "next"]
    )
    main = replace(program.main, reads={"total": "total"}, writes={1: "total"})
    kept = Variable("total", main.inputs[1].type, np.zeros(2, np.float32))
    program = replace(program.with_function(main), variables=(kept,))
    samara.export(program, tmp_path / "sum.samara")
    write_source([tmp_path / "sum.samara"], out=tmp_path, name="sum", embed=True, isa=["scalar"])
    (tmp_path / "main.c").write_text(
        '#include "sum.h"\n#include <stdio.h>\n'
        "int main(void) {\n"
        "  const float x[SUM_INPUT_X_SIZE] = {1, 2};\n"
        "  float y[SUM_OUTPUT_Y_SIZE];\n"
        "  sum_net *net;\n"
        "  if (sum_open(&net, NULL) != SUM_OK) return 1;\n"
        "  for (int i = 0; i < 3; i++) {\n"
        "    if (i == 2 && sum_forget(net) != SUM_OK) return 1;\n"
        "    if (sum_run(net, x, y) != SUM_OK) return 1;\n"
        '    printf("%g %g\\n", (double)y[0], (double)y[1]);\n'
        "  }\n"
        "  sum_close(net);\n"
        "}\n"
    )
    command: list[str | Path] = ["cc", "sum_model.c", "main.c", "-o", "sum", "-lm", "-lpthread"]
    run(command, tmp_path)
    assert run([tmp_path / "sum"]) == "2 4\n4 8\n2 4\n"


def test_what_a_single_file_cannot_hold(models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="holds one model, 2 are given"):
        write_source([*models.values()], out=tmp_path, name="both")
    with pytest.raises(UnsupportedError, match="'2b' cannot begin the names"):
        write_source([models["alpha"]], out=tmp_path, name="2b")
    with pytest.raises(UnsupportedError, match="no instruction set 'sse'"):
        write_source([models["alpha"]], out=tmp_path, name="alpha", isa=["sse"])
