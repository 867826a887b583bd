# SPDX-License-Identifier: Apache-2.0
"""The Android library on this machine's JVM: Python's bytes, misuse, threads, garbage, speed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.e2e import golden_cases, java, java_models, java_texts
from tests.e2e.commands import output_of
from tests.e2e.models import NAMES
from tests.e2e.pages import write_files

import samara
from samara.exporter.build import build_android
from samara.exporter.package.elf import Elf
from samara.pybridge import library_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.uname().sysname != "Linux", reason="NOT RUN: java (Linux alone)"),
]

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]

_JAVA_8 = 52  # of class files
_OVERHEAD_NANOS = 2000  # that a run in Java may take longer than one in C

# What Speed does, in C: nanoseconds of a run with the input set and the output read.
_C_SPEED = """\
#include <samara/samara.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  const int runs = atoi(argv[2]);
  samara_model *model;
  samara_session *session;
  float x[8] = {0}, y[6];
  double best = 1e18;
  if (argc != 3 || samara_model_open_path(argv[1], NULL, &model, NULL)) return 1;
  if (samara_session_create(model, NULL, &session, NULL)) return 1;
  for (int round = 0; round < 10; round++) {
    const double begin = now();
    for (int i = 0; i < runs; i++) {
      samara_tensor out;
      samara_session_set_input(session, 0, x, sizeof x);
      if (samara_session_run(session) || samara_session_output(session, 0, &out)) return 1;
      memcpy(y, out.data, sizeof y);
    }
    const double took = (now() - begin) / runs;
    if (took < best) best = took;
  }
  printf("%.0f\\n", best);
  samara_session_destroy(session);
  samara_model_close(model);
  return 0;
}
"""


@pytest.fixture(scope="module")
def built(
    repo: Path, need_tool: Tool, missing: Missing, tmp_path_factory: pytest.TempPathFactory
) -> java.Built:
    """The library's classes and JNI files, compiled for this machine."""
    jdk = Path(need_tool("java", "javac")).resolve().parent.parent
    if not (jdk / "include" / "jni.h").is_file():
        missing("java", f"{jdk} holds no include/jni.h")
    return java.build(repo, jdk, need_tool("cc", "cc"), tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("java_models")
    java_models.write(folder)
    java_texts.write(folder)
    return folder


def test_values_are_those_of_python(built: java.Built, models: Path) -> None:
    printed = built.java("Values", models, samara.__version__)
    assert printed == java_models.values(models)


def test_pictures_sound_and_answers_are_those_of_python(built: java.Built, models: Path) -> None:
    assert built.java("Meanings", models) == java_models.meanings(models)


def test_details_are_those_of_python(built: java.Built, models: Path) -> None:
    assert built.java("Details", models) == java_models.details(models)


def test_sound_is_heard_run_by_run(built: java.Built, models: Path) -> None:
    """Also after loops that were left and callbacks that threw."""
    assert built.java("Heard", models) == java_models.heard(models)


def test_texts_are_those_of_python(built: java.Built, models: Path) -> None:
    """Tokens and bytes of texts, parts, kept files, ids; and what is refused."""
    assert built.java("Texts", models) == java_texts.texts(models)
    model = samara.TextModel(models / "text.samara", threads=1)
    model.load(models / "java.text")
    assert model.tokens == [*(java_texts.PROMPT * 20).encode()]


def test_accuracies_of_an_exact_model_are_those_of_python(built: java.Built, models: Path) -> None:
    assert built.java("Accuracies", models) == java_texts.accuracies(models)


def test_text_models_that_are_cancelled_closed_or_forgotten(
    built: java.Built, models: Path
) -> None:
    assert built.java("TextLives", models) == ""


def test_a_library_without_text_says_so(
    built: java.Built,
    models: Path,
    repo: Path,
    need_tool: Tool,
    small_dist: Path,
    tmp_path: Path,
) -> None:
    """The JNI files over a runtime of `samara build` that has other features."""
    header = (small_dist / "include" / "samara" / "samara.h").read_text(encoding="utf-8")
    assert "SAMARA_WITH_PROFILE" in header
    assert "SAMARA_WITH_TEXT" not in header
    jni = repo / "android" / "samara" / "src" / "main" / "jni"
    lacking = java.with_runtime(built, small_dist, need_tool("cc", "cc"), jni, tmp_path)
    small = small_dist.parent / "small.samara"
    assert lacking.java("TextAbsent", small) == ""


def test_executors_and_callbacks_that_throw(built: java.Built, models: Path) -> None:
    assert built.java("Async", models) == ""


def test_golden_bytes(built: java.Built, tmp_path: Path) -> None:
    """In every way to run a model, the bytes that Python's sessions give."""
    printed = golden_cases.write(tmp_path)
    assert built.java("Golden", tmp_path) == printed


@pytest.mark.extended
def test_golden_bytes_of_the_recorded_networks(
    built: java.Built, missing: Missing, tmp_path: Path
) -> None:
    networks = os.environ.get("SAMARA_MODELS")
    if not networks:
        missing("models", "SAMARA_MODELS is not set")
    printed = golden_cases.write(tmp_path, Path(str(networks)))
    assert len(NAMES) == 12
    assert {f"{name}=1" for name in NAMES} <= set(printed.splitlines())
    assert built.java("Golden", tmp_path, heap="1g", check=False) == printed


def test_misuse_throws(built: java.Built, models: Path) -> None:
    assert built.java("Misuse", models) == ""


def test_assets_bitmaps_frames_and_hardware_buffers(built: java.Built, models: Path) -> None:
    """With stand-ins of Android's classes and libraries: the real ones run only on Android."""
    assert built.java("Systems", models, android=True) == ""


# Runs docs/guides/android.md's program.
_PAGE_MAIN = """\
import android.content.Context;
import android.graphics.Bitmap;
import java.io.File;

public final class PageMain {
  public static void main(String[] arguments) {
    Context context = new Context(new File(arguments[0]));
    try (Example example = new Example(context)) {
      System.out.println(example.look(new Bitmap(Bitmap.Config.ARGB_8888, 4, 4, 16)));
    }
    StringBuilder shown = new StringBuilder();
    try (Writer writer = new Writer(new File(arguments[0], "text.samara"))) {
      String written = writer.write("A maple", shown::append).getText();
      System.out.println(written.equals(shown.toString()) && !written.isEmpty());
    }
  }
}
"""


def test_the_program_of_the_page(
    built: java.Built, models: Path, repo: Path, tmp_path: Path
) -> None:
    names = write_files(repo / "docs" / "guides" / "android.md", tmp_path)
    gradle = ["settings.gradle", "build.gradle"]
    shown = [*gradle, "Example.java", "Writer.java", "Scores.kt", "Faces.kt"]
    assert [path.name for path in names][:6] == shown
    (tmp_path / "PageMain.java").write_text(_PAGE_MAIN, encoding="utf-8")
    path = os.pathsep.join(map(str, (built.classes, built.android)))
    sources = [tmp_path / f"{name}.java" for name in ("Example", "Writer", "PageMain")]
    javac = (built.jdk / "bin" / "javac", "-Xlint:all", "-Werror", "-cp", path)
    java.call(*javac, "-d", built.folder / "tests", *sources, cwd=tmp_path)
    black = samara.Session(models / "classes.samara").predict(np.zeros((4, 4, 3), np.uint8))
    assert isinstance(black, samara.Classification)
    assert built.java("PageMain", models, android=True, package="") == f"{black.label}\ntrue\n"


def test_the_lines_of_the_tutorial(built: java.Built, repo: Path, tmp_path: Path) -> None:
    page = (repo / "docs" / "tutorial" / "index.md").read_text(encoding="utf-8")
    lines = page.split("```java\n")[1].split("```")[0]
    (tmp_path / "Lines.java").write_text(
        "import android.content.Context;\nimport dev.samara.*;\n\nclass Lines {\n"
        f"  void run(Context context, float[] pixels) {{\n{lines}  }}\n}}\n",
        encoding="utf-8",
    )
    path = os.pathsep.join(map(str, (built.classes, built.android)))
    javac = (built.jdk / "bin" / "javac", "-Xlint:all", "-Werror", "-cp", path)
    java.call(*javac, "-d", tmp_path, tmp_path / "Lines.java", cwd=tmp_path)


@pytest.fixture(scope="module")
def sanitized_jni(
    built: java.Built, repo: Path, need_tool: Tool, tmp_path_factory: pytest.TempPathFactory
) -> java.Built:
    """The JNI files under AddressSanitizer, which watches what the runtime asks memory for, too."""
    folder = tmp_path_factory.mktemp("java_asan")
    jni = repo / "android" / "samara" / "src" / "main" / "jni"
    return java.with_asan(built, repo, need_tool("cc", "cc"), jni, folder)


def test_asan_sees_nothing(sanitized_jni: java.Built, models: Path) -> None:
    printed = sanitized_jni.java("Values", models, samara.__version__)
    assert printed == java_models.values(models)
    assert sanitized_jni.java("Meanings", models) == java_models.meanings(models)
    assert sanitized_jni.java("Misuse", models) == ""
    assert sanitized_jni.java("Systems", models, android=True) == ""
    assert sanitized_jni.java("Async", models) == ""
    assert sanitized_jni.java("Texts", models) == java_texts.texts(models)
    assert sanitized_jni.java("TextLives", models) == ""


def test_asan_sees_a_byte_too_many(
    built: java.Built, repo: Path, models: Path, need_tool: Tool, tmp_path: Path
) -> None:
    jni, folder = tmp_path / "jni", tmp_path / "built"
    shutil.copytree(repo / "android" / "samara" / "src" / "main" / "jni", jni)
    source = (jni / "jni_util.c").read_text(encoding="utf-8")
    faulty = source.replace("malloc((size_t)size + 1)", "malloc((size_t)size)")
    assert faulty != source
    (jni / "jni_util.c").write_text(faulty, encoding="utf-8")
    folder.mkdir()
    faulty_build = java.with_asan(built, repo, need_tool("cc", "cc"), jni, folder)
    with pytest.raises(AssertionError):
        faulty_build.java("Values", models, samara.__version__)
    (log,) = folder.glob("asan.*")
    assert "heap-buffer-overflow" in log.read_text(encoding="utf-8")


def test_lives(built: java.Built, models: Path) -> None:
    """Cancellation, closing from other threads, garbage collection, memory of 1,000 sessions."""
    printed = built.java("Lives", models, "1000")
    assert re.fullmatch(r"grown=-?\d+\n", printed)


@pytest.mark.extended
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="NOT RUN: java (x86-64 alone)")
def test_an_aar_gives_the_same(
    built: java.Built,
    models: Path,
    need_tool: Tool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The classes and the x86-64 library for Android, on this machine."""
    need_tool("clang", "clang-19")
    need_tool("clang", "ld.lld-19")
    for variable in ("ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_NDK"):
        monkeypatch.delenv(variable, raising=False)
    build_android(
        sorted(models.glob("*.samara")),
        out=tmp_path / "all.aar",
        abis=["x86_64"],
        # All that Python's runtime computes with: sums of floats are in another order without.
        isa=("avx2", "avx512", "avx512-vnni", "avx512-bf16"),
        features=("keep", "profile", "checkpoints", "state", "selftest", "bind"),
    )
    (tmp_path / "all").mkdir()
    app = java.unpacked(tmp_path / "all.aar", built, need_tool("cc", "cc"), tmp_path / "all")
    printed = app.java("Values", models, samara.__version__, android=True)
    assert printed == java_models.values(models)
    assert app.java("Meanings", models, android=True) == java_models.meanings(models)
    assert app.java("Texts", models, android=True) == java_texts.texts(models)
    assert re.match(r"grown=", app.java("Lives", models, "400", android=True))
    logged = app.java("Systems", models, android=True)
    why = ("not aligned by zipalign", "compressed")
    assert [line.partition(", so ")[0] for line in logged.splitlines()] == [
        f"log 5 samara: asset {name} is {w}"
        for name, w in zip(("stored", "golden.samara"), why, strict=True)
    ]
    assert 'androidResources { noCompress += "samara" }' in logged


@pytest.mark.extended
def test_many_lives(built: java.Built, models: Path) -> None:
    assert built.java("Lives", models, "10000", check=False).startswith("grown=")


def test_a_run_makes_no_garbage_and_costs_little_more_than_in_c(
    built: java.Built, models: Path, need_tool: Tool, repo: Path, tmp_path: Path
) -> None:
    printed = built.java("Speed", models, "50000", check=False)
    garbage, nanos = (int(line.partition("=")[2]) for line in printed.split())
    assert garbage == 0
    (tmp_path / "speed.c").write_text(_C_SPEED, encoding="utf-8")
    runtime = Path(library_path()).resolve()
    java.call(
        *(need_tool("cc", "cc"), "-O2", "speed.c", f"-I{repo / 'runtime_c' / 'include'}"),
        *(runtime, f"-Wl,-rpath,{runtime.parent}", "-o", "speed"),
        cwd=tmp_path,
    )
    in_c = int(java.call(tmp_path / "speed", models / "static.samara", "50000", cwd=tmp_path))
    print(f"a run takes {in_c} ns in C and {nanos} ns in Java")
    assert nanos - in_c <= _OVERHEAD_NANOS


def test_classes_are_of_java_8(built: java.Built) -> None:
    files = sorted(built.classes.rglob("*.class"))
    assert files
    for file in files:
        assert int.from_bytes(file.read_bytes()[6:8], "big") == _JAVA_8, file
    # Stubs are not among them: an app has the real ones.
    assert {file.parent.name for file in files} == {"samara"}


def test_library_shows_what_java_calls_alone(built: java.Built) -> None:
    elf = Elf(built.library.read_bytes(), "libsamara_jni.so")
    shown = {s.name for s in elf.symbols if s.section and s.is_function}
    assert {"JNI_OnLoad", "JNI_OnUnload"} <= shown
    assert not any(name.startswith("Java_") for name in shown)
    listed = output_of("nm", "-D", "--defined-only", built.library)
    assert {line.split()[-1] for line in listed.splitlines()} == {"JNI_OnLoad", "JNI_OnUnload"}
