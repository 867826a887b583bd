# SPDX-License-Identifier: Apache-2.0
"""From models to a runtime: the full library's answers, and a refusal of every other model."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter.build import build, c_name, gathered, model_features, write_source
from samara.exporter.export import export
from samara.exporter.ir import ProgramBuilder, read_file, to_bytes
from samara.exporter.ir.schema import Layout
from samara.exporter.package.selection import Selection
from samara.exporter.package.toolchain import Toolchain
from samara.pybridge import SamaraError, UnsupportedError
from samara.pybridge.custom import registered_kernels


@pytest.fixture
def small(small_dist: Path) -> Path:
    return small_dist.parent / "small.samara"


def _relu_model(path: Path) -> Path:
    """A model of an operator that the small net does not have."""

    def f(x: samara.Tensor) -> samara.Tensor:
        return samara.tanh(x)

    program = samara.trace(f, (samara.ones(2, 3),), input_names=["x"])
    export(program, path, check=False)
    return path


def _samara_run(dist: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [dist / "bin" / "samara-run", *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("isa", ["scalar", "avx2", "avx512"])
def test_bits_are_those_of_the_full_library(
    isa: str, small_dist: Path, small: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    image = rng.standard_normal((2, 3, 8, 8), dtype=np.float32)
    np.save(tmp_path / "image.npy", image)
    try:
        session = samara.Session(small, isa=isa)
    except SamaraError as error:
        pytest.skip(f"NOT RUN: {isa} ({error.message})")
    done = _samara_run(
        *(small_dist, small, "--input", f"image={tmp_path / 'image.npy'}"),
        *("--isa", isa, "--output", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    want = session.run({"image": image})["score"]
    assert np.load(tmp_path / "score.npy").tobytes() == want.tobytes()


def test_another_model_is_refused_by_the_name_of_its_operator(
    repo: Path, small_dist: Path, swish: Path, tmp_path: Path
) -> None:
    done = _samara_run(small_dist, _relu_model(tmp_path / "tanh.samara"))
    assert done.returncode == 1
    path = tmp_path / "tanh.samara"
    assert done.stderr.startswith(f"error: {path}: ")
    assert done.stderr.count(str(path)) == 1
    assert "operator tanh is not in this build" in done.stderr
    assert "samara build" in done.stderr
    custom = _samara_run(small_dist, swish)
    assert "operator custom (mydomain::swish_beta) is not in this build" in custom.stderr
    # Older files do not say names; a library that lacks an operator then has its code alone.
    old = _samara_run(small_dist, repo / "tests" / "golden" / "0.5.0.samara")
    assert re.search(
        r"operator \d+ is not in this build .*: run samara build with this model", old.stderr
    )


def test_what_a_build_lacks_is_said(small_dist: Path, small: Path) -> None:
    done = _samara_run(small_dist, small, "--selftest")
    assert done.returncode == 1
    assert "samara build --features selftest" in done.stderr


def test_list_of_a_build_says_as_much_as_its_models(small_dist: Path, small: Path) -> None:
    with gathered([small_dist / "ops.txt"]) as listed, gathered([small]) as read:
        assert listed.selection.ops == read.selection.ops
        assert listed.models == ()
        assert read.models == (small,)
        assert (read.selection.parts or frozenset()) <= (listed.selection.parts or frozenset())


def test_models_are_joined(small: Path, tmp_path: Path) -> None:
    other = _relu_model(tmp_path / "tanh.samara")
    with gathered([small, other]) as both:
        assert {"conv", "tanh"} <= both.selection.ops.keys()


def test_features_follow_from_what_a_model_holds(small: Path, tmp_path: Path) -> None:
    image = tmp_path / "image.npz"
    np.savez(image, image=np.ones((1, 3, 8, 8), np.float32))
    rich = tmp_path / "rich.samara"
    program = samara.open_program(small)
    export(program, rich, check=False, golden=[str(image)], labels=["a", "b", "c", "d"])
    assert model_features(small) == ()
    assert model_features(rich) == ("selftest", "metadata")
    with gathered([small, rich]) as given:
        assert given.selection.features == ("metadata", "selftest")


@pytest.mark.parametrize(
    ("shape", "record", "answer", "features"),
    [
        ((1, 3, 8, 8), "rgb float32 nchw resize=8x8", None, ("images",)),
        ((1, 64), "samples float32 nf rate=8000 window=64", None, ("audio",)),
        ((1, 6), None, "classify y", ("answers",)),
    ],
)
def test_features_follow_from_records(
    shape: tuple[int, ...],
    record: str | None,
    answer: str | None,
    features: tuple[str, ...],
    tmp_path: Path,
) -> None:
    program = samara.trace(
        lambda x: x + x, (samara.zeros(*shape),), input_names=["x"], output_names=["y"]
    )
    path = tmp_path / "model.samara"
    export(program, path, preprocess={"x": record} if record else None, postprocess=answer)
    assert model_features(path) == features


def test_onnx_models_are_converted(tmp_path: Path) -> None:
    from samara.exporter.testing import small_onnx

    (tmp_path / "small.onnx").write_bytes(small_onnx())
    notes: list[str] = []
    with gathered([tmp_path / "small.onnx"], note=notes.append) as given:
        assert isinstance(given.selection, Selection)
        assert given.models[0].is_file()
    assert "converted in memory" in notes[0]


@pytest.fixture
def swish(tmp_path: Path) -> Path:
    """y = x * sigmoid(2 x) of five numbers, by the custom operator."""
    program = ProgramBuilder()
    b = program.function("main")
    x = b.input("x", "f32", [5])
    stated = {"dtypes": (1,), "ranks": (1,), "shape": x.type.shape, "attributes": {"beta": 2.0}}
    attributes = {"name": "mydomain::swish_beta", **stated}
    (y,) = b.op("custom", x, outputs=["y"], attributes=attributes)
    b.finish([y], ["y"])
    model = tmp_path / "swish.samara"
    model.write_bytes(to_bytes(program.finish(["main"])))
    return model


def test_custom_operators_join(
    repo: Path, swish: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    source, known = repo / "examples" / "custom_op" / "swish_beta.c", registered_kernels()
    report = build([swish], out=tmp_path / "dist", custom=[source], isa=["scalar"], features=[])
    assert registered_kernels() == known
    assert "swish_beta, above" in report.notes[0]
    assert "-lm" in report.libraries or not report.libraries
    assert any(row.room == "custom operators" for row in report.bill.rows) or not report.bill.rows
    given = rng.standard_normal(5, dtype=np.float32)
    np.save(tmp_path / "x.npy", given)
    done = _samara_run(
        tmp_path / "dist", swish, "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(
        np.load(tmp_path / "y.npy"), given / (1 + np.exp(-2 * given)), rtol=1e-6
    )


def test_custom_operators_join_a_single_file(repo: Path, swish: Path, tmp_path: Path) -> None:
    source = repo / "examples" / "custom_op" / "swish_beta.c"
    write_source([swish], out=tmp_path, name="one", embed=True, isa=["scalar"], custom=[source])
    (tmp_path / "main.c").write_text(
        '#include "one.h"\n#include <stdio.h>\n'
        "int main(void) {\n"
        "  const float x[ONE_INPUT_X_SIZE] = {-2, -1, 0, 1, 2};\n"
        "  float y[ONE_OUTPUT_Y_SIZE];\n"
        "  one_net *net;\n"
        "  if (one_open(&net, NULL) != ONE_OK || one_run(net, x, y) != ONE_OK) return 1;\n"
        '  for (int i = 0; i < 5; i++) printf("%.9g\\n", (double)y[i]);\n'
        "  one_close(net);\n"
        "}\n"
    )
    command = ["cc", "-Wall", "-Wextra", "-Werror", "one_model.c", "main.c", "-o", "main", "-lm"]
    subprocess.run([*command, "-lpthread"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    x = np.arange(-2, 3, dtype=np.float32)
    found = np.array(done.stdout.split(), np.float32)
    np.testing.assert_allclose(found, x / (1 + np.exp(-2 * x)), rtol=1e-6)


def test_wrong_requests_come_before_work(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_arguments: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(Toolchain, "compile", never)
    out = tmp_path / "dist"
    with pytest.raises(UnsupportedError, match="no optimisation level '3'"):
        build([small], out=out, opt="3")
    with pytest.raises(UnsupportedError, match="no target 'amiga'"):
        build([small], out=out, target="amiga")
    with pytest.raises(UnsupportedError, match="instruction set 'altivec'"):
        build([small], out=out, isa=["altivec"])
    with pytest.raises(SamaraError, match="no model is given"):
        build([], out=out)
    with pytest.raises(SamaraError, match=r"gone\.samara"):
        build([tmp_path / "gone.samara"], out=out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("stem", "name"), [("kws", "kws"), ("kws-small.v2", "kws_small_v2"), ("2nd", "m2nd")]
)
def test_stems_become_c_names(stem: str, name: str) -> None:
    assert c_name(stem) == name


def test_bare_metal_builds_ask_strict_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theirs are strict, in which other algorithms run."""
    asked: list[str] = []

    def asking(files: object, accuracy: str, backend: str | None) -> object:
        asked.append(accuracy)
        raise UnsupportedError("enough")

    monkeypatch.setattr(sys.modules[write_source.__module__], "survey", asking)
    model = _relu_model(tmp_path / "net.samara")
    for core in (None, "cortex-m3"):
        with pytest.raises(UnsupportedError, match="enough"):
            write_source([model], out=tmp_path / "dist", bare_metal=core)
    assert asked == ["default", "strict"]


def test_bare_metal_builds_read_weights_in_place(tmp_path: Path) -> None:
    thin = samara.nn.Linear(64, 3)
    program = samara.trace(lambda x: thin(x), (samara.ones(1, 64),), input_names=["x"])
    samara.export(program, tmp_path / "thin.samara", golden={"x": np.ones((1, 64), np.float32)})
    weight = max(read_file(tmp_path / "thin.samara").constants, key=lambda c: c.size)
    assert weight.layout is Layout.PLAIN
    with gathered([tmp_path / "thin.samara"]) as given:
        assert given.models == (tmp_path / "thin.samara",)
        assert "derived" in (given.selection.parts or ())
    with gathered([tmp_path / "thin.samara"], in_place=True) as given:
        (file,) = given.models
        assert file.name == "thin.samara"
        assert max(read_file(file).constants, key=lambda c: c.size).layout is Layout.PANEL
        assert "derived" not in (given.selection.parts or ())
        assert read_file(file).golden
        with gathered([file], in_place=True) as again:
            assert again.models == (file,)


def test_backends_bring_kernels_and_a_feature(tmp_path: Path) -> None:
    path = _relu_model(tmp_path / "tanh.samara")
    with gathered([path], backend="opencl") as given:
        assert {"backends", "backend_opencl", "cl_unary"} <= (given.selection.parts or set())
        assert "opencl" in (given.selection.features or ())
        listed = tmp_path / "ops.txt"
        listed.write_text(given.selection.text())
    with gathered([listed, path]) as again:
        assert "cl_unary" in (again.selection.parts or set())
        assert "opencl" in (again.selection.features or ())
    listed.write_text("samara-manifest 1\nop tanh float32\n")
    with gathered([listed], backend="opencl") as bare:
        assert any("all runs on the CPU" in note for note in bare.notes)
    with (
        pytest.raises(UnsupportedError, match="no backend 'cuda'"),
        gathered([path], backend="cuda"),
    ):
        pass
    with pytest.raises(UnsupportedError, match="no backend"):
        write_source([path], out=tmp_path / "bare", bare_metal="cortex-m4f", backend="opencl")


@pytest.mark.slow
def test_a_build_with_a_backend(tmp_path: Path) -> None:
    """Its programs know devices; without a driver, or without one of the kernels, all runs on the CPU."""
    path = _relu_model(tmp_path / "tanh.samara")
    report = build([path], out=tmp_path / "dist", backend="opencl")
    assert report.selection.features == ("files", "threads", "backends", "opencl")
    assert (tmp_path / "dist/include/samara/samara_backend.h").is_file()
    done = _samara_run(tmp_path / "dist", path, "--backend", "opencl:77")
    assert done.returncode != 0
    assert "opencl" in done.stderr.lower()
    done = _samara_run(tmp_path / "dist", path)
    assert done.returncode == 0, done.stderr
    bench = subprocess.run(
        [tmp_path / "dist/bin/samara-bench", path, "--backend", "opencl"],
        capture_output=True,
        text=True,
        check=False,
    )
    # Where there is no device it says so; where there is one the node runs there.
    assert '"device_nodes": 1' in bench.stdout or "OpenCL" in bench.stderr
    plain = build([path], out=tmp_path / "plain", programs=False)
    assert not (tmp_path / "plain/include/samara/samara_backend.h").exists()
    assert "smr_cl_" not in (tmp_path / "plain/src/samara.c").read_text()
    assert plain.bill.counted < report.bill.counted


def test_a_model_with_a_tokenizer_brings_the_feature(small: Path, tmp_path: Path) -> None:
    words = {"model": {"type": "WordLevel", "vocab": {"?": 0, "maple": 1}, "unk_token": "?"}}
    path = tmp_path / "words.samara"
    export(samara.open_program(small), path, tokenizer=samara.Tokenizer.from_json(words))
    assert model_features(path) == ("text",)
    report = build(
        [path], out=tmp_path / "dist", isa=["scalar"], features=["files"], programs=False
    )
    assert report.selection.features == ("files", "text")
    (tmp_path / "main.c").write_text(
        "#include <samara/samara_text.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv) {\n"
        "  samara_model *model;\n  samara_tokenizer *tokenizer;\n  samara_error error;\n"
        "  int32_t ids[4];\n  size_t count = 0;\n"
        "  if (argc != 2 || samara_model_open_path(argv[1], NULL, &model, &error) ||\n"
        "      samara_tokenizer_of_model(model, &tokenizer, &error) ||\n"
        '      samara_tokenizer_encode(tokenizer, "maple", 5, 0, ids, 4, &count, &error))\n'
        "    return 1;\n"
        '  printf("%d %d\\n", (int)count, (int)ids[0]);\n'
        "  samara_tokenizer_close(tokenizer);\n  samara_model_close(model);\n  return 0;\n}\n"
    )
    library = next((tmp_path / "dist/lib").glob("*.a"))
    sources: list[str | Path] = ["-I", tmp_path / "dist/include", tmp_path / "main.c", library]
    subprocess.run(
        ["cc", "-Werror", *sources, "-o", tmp_path / "main", "-lm", "-lpthread"], check=True
    )
    done = subprocess.run([tmp_path / "main", path], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1\n"
    with gathered([tmp_path / "dist/ops.txt"]) as listed:
        assert "text" in (listed.selection.features or ())
