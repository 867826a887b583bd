# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/guides/embedding.md, compiled against a selective build, give samara.Session's bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.pages import write_files

import samara
from samara.exporter.ir import ProgramBuilder, save_program
from samara.exporter.package.targets import find_target

Tool = Callable[[str, str], str]

_STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")

# What samara.hpp promises and the page's program does not show; prints what fails.
_CHECKS = """\
#include <samara/samara.hpp>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#if !SAMARA_SELECTIVE || !SAMARA_WITH_FILES || SAMARA_WITH_STATE
#error the build has other features than the test expects
#endif

template <class T>
constexpr bool moves_only() {
  return std::is_nothrow_move_constructible<T>::value && std::is_nothrow_move_assignable<T>::value &&
         !std::is_copy_constructible<T>::value && !std::is_copy_assignable<T>::value;
}
static_assert(moves_only<samara::Model>() && moves_only<samara::Session>(), "");
static_assert(moves_only<samara::Pool>(), "");
static_assert(sizeof(samara::Model) == sizeof(void *), "");

static int failures;
#define EXPECT(what) ((what) ? (void)0 : (void)(failures++, std::printf("%d: %s\\n", __LINE__, #what)))

template <class Call>
static samara_status status_of(Call call, const char *says) {
  try {
    call();
    return SAMARA_OK;
  } catch (const samara::Error &error) {
    EXPECT(std::strstr(error.what(), says) != nullptr);
    return error.status();
  }
}

int main(int, char **argv) {
  EXPECT(status_of([] { samara::Model::open("/no/such/file"); }, "/no/such/file") == SAMARA_IO);
  static const std::int64_t zeros[8] = {};
  EXPECT(status_of([] { samara::Model::from_memory(zeros, sizeof zeros); }, "") == SAMARA_BAD_MODEL);

  samara::Model first = samara::Model::open(argv[1]);
  samara::Model model = std::move(first);
  EXPECT(first.get() == nullptr && model.get() != nullptr);
  EXPECT(model.function_count() == 1 && model.input_count() == 1 && model.output_count() == 1);
  EXPECT(std::strcmp(model.input(0).name, "image") == 0 && model.input(0).shape[0] == -1);
  EXPECT(status_of([&] { model.input(1); }, "no such input") == SAMARA_BAD_ARGUMENT);

  EXPECT(model.verified() == SAMARA_VERIFIED);
  EXPECT(status_of([&] { model.verify(); }, "") == SAMARA_OK);
  samara_model_options unread = samara::options<samara_model_options>();
  unread.verify = SAMARA_VERIFY_NEVER;
  unread.copy = true;
  samara::Model trusted = samara::Model::open(argv[1], &unread);
  EXPECT(trusted.verified() == SAMARA_NOT_VERIFIED_TRUSTED);

  samara::Pool pool(2);
  EXPECT(pool.threads() == 2);
  samara_session_options wanted = samara::options<samara_session_options>();
  wanted.pool = pool.get();
  char function[64];
  std::snprintf(function, sizeof function, "%s", model.function_name(0));
  wanted.function = function;
  samara::Session other(model, wanted);
  std::memset(function, 0, sizeof function);  // the session took what it needs
  samara::Session session(model);
  session = std::move(other);
  EXPECT(session.input_count() == 1 && session.output_index("score") == 0);

  EXPECT(status_of([&] { session.run(); }, "") == SAMARA_BAD_STATE);
  EXPECT(status_of([&] { session.resize(samara::Shape(1, 3, 8)); }, "image") == SAMARA_BAD_SHAPE);
  EXPECT(status_of([&] { session.resize(samara::Shape(1, 4, 8, 8)); }, "") == SAMARA_BAD_SHAPE);
  session.resize(samara::Shape(2, 3, 8, 8));
  EXPECT(session.output_shape(0).dim(0) == 2 && session.output_shape(0).rank() == 2);

  static float image[2 * 3 * 8 * 8];
  static std::int32_t integers[2 * 3 * 8 * 8];
  for (std::size_t i = 0; i < sizeof image / sizeof *image; i++) image[i] = float(i % 7) / 7;
  EXPECT(status_of([&] { session.set_input("image", integers, 384); }, "image") == SAMARA_BAD_SHAPE);
  EXPECT(status_of([&] { session.set_input("image", image, 383); }, "") == SAMARA_BAD_SHAPE);
  EXPECT(status_of([&] { session.set_input("picture", image, 384); }, "picture") == SAMARA_NOT_FOUND);
  session.set_input("image", image, 384);
  session.run();
  float copied[8];
  const samara::Values<float> scores = session.output("score").values<float>();
  EXPECT(scores.size() == 8 && session.output(0).dim(1) == 4);
  std::memcpy(copied, scores.data(), sizeof copied);
  EXPECT(status_of([&] { session.output(0).values<double>(); }, "type") == SAMARA_BAD_SHAPE);

  session.set_profiling(true);
  session.bind_input("image", image, 384);
  session.run();
  EXPECT(std::memcmp(session.output(0).data(), copied, sizeof copied) == 0);
  EXPECT(session.profile(nullptr, 0) > 0);

  float direct[8] = {};
  const void *inputs[] = {image};
  void *outputs[] = {direct};
  session.run_with(inputs, outputs);
  EXPECT(std::memcmp(direct, copied, sizeof copied) == 0);
  session.cancel();
  EXPECT(session.arena_bytes() > 0 && session.total_bytes() > session.arena_bytes());
  return failures != 0;
}
"""


# The same where a program has no exceptions; thrown() is of a file compiled with them.
_RETURNS = r"""
#include <samara/samara.hpp>
int thrown(const char *path);
static int failures;
#define EXPECT(x) ((x) ? (void)0 : (failures++, (void)std::fprintf(stderr, "%d: %s\n", __LINE__, #x)))

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  samara::Result<samara::Model> none = samara::Model::open("/nowhere.samara");
  EXPECT(!none.ok() && none.error() == SAMARA_IO);
  EXPECT(std::strstr(none.error().what(), "/nowhere.samara: cannot open") != nullptr);
  samara::Result<samara::Model> model = samara::Model::open(argv[1]);
  EXPECT(model.ok() && model->function_count() == 1 && model->verify() == SAMARA_OK);
  samara::Result<samara::Session> made = samara::Session::create(*model);
  EXPECT(made.ok());
  samara::Session session = std::move(*made);
  EXPECT(session.resize(samara::Shape(1, 3)) == SAMARA_BAD_SHAPE);
  EXPECT(session.resize(samara::Shape(1, 3, 8, 8)) == SAMARA_OK);
  static float image[3 * 8 * 8];
  static std::int32_t integers[3 * 8 * 8];
  for (std::size_t i = 0; i < 192; i++) image[i] = float(i % 5) / 5;
  EXPECT(session.set_input("image", integers, 192) == SAMARA_BAD_SHAPE);
  EXPECT(session.set_input("picture", image, 192) == SAMARA_NOT_FOUND);
  EXPECT(session.set_input(7, image, 192) == SAMARA_BAD_ARGUMENT);
  const samara::Error bytes = session.set_input_bytes("image", image, 5);
  EXPECT(bytes == SAMARA_BAD_SHAPE && std::strstr(bytes.what(), "input 'image' takes 768") != nullptr);
  EXPECT(session.set_input("image", image, 192) == SAMARA_OK);
  EXPECT(!session.output("score").ok() && session.output("score").error() == SAMARA_BAD_STATE);
  EXPECT(session.run() == SAMARA_OK);
  EXPECT(*session.output_index("score") == 0 && !session.input_index("score").ok());
  samara::Result<samara::Tensor> score = session.output("score");
  EXPECT(score.ok() && !score->values<double>().ok() && score->values<float>()->size() == 4);
  EXPECT(session.profile(nullptr, 0).error() == SAMARA_BAD_STATE);
  samara::Result<samara::Pool> pool = samara::Pool::create(2);
  EXPECT(pool.ok() && pool->threads() == 2);
  EXPECT(thrown(argv[1]) == 0);
  return failures != 0;
}
"""
_THROWS = r"""
#include <samara/samara.hpp>
int thrown(const char *path) {
  try {
    const samara::Model model = samara::Model::open(path);
    samara::Session session = samara::Session::create(model);
    session.resize(samara::Shape(1, 3));
  } catch (const samara::Error &error) {
    return error.status() == SAMARA_BAD_SHAPE ? 0 : 1;
  }
  return 2;
}
"""


@pytest.fixture(scope="module")
def place(
    small_dist: Path, repo: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, bytes, bytes]:
    """A folder with the page's files, the build as `dist` and small.samara; an image, its scores."""
    folder = tmp_path_factory.mktemp("embedding")
    names = [path.name for path in write_files(repo / "docs" / "guides" / "embedding.md", folder)]
    assert names == ["app.c", "Makefile", "app.cpp", "CMakeLists.txt", "loads.c"]
    (folder / "dist").symlink_to(small_dist)
    model = folder / "small.samara"
    shutil.copy(small_dist.parent / model.name, model)
    image = np.random.default_rng(3).random((1, 3, 8, 8), np.float32)
    return folder, image.tobytes(), samara.Session(model).run({"image": image})["score"].tobytes()


def _call(*command: str | Path, cwd: Path, given: bytes = b"") -> bytes:
    done = subprocess.run(command, cwd=cwd, input=given, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout!r}\n{done.stderr.decode()}"
    return done.stdout


def _libraries(dist: Path) -> list[str]:
    """What the build says a program needs besides its static library."""
    text = (dist / "lib/pkgconfig/samara.pc").read_text()
    return next(
        (line.split()[1:] for line in text.splitlines() if line.startswith("Libs.private:")), []
    )


@pytest.mark.slow
def test_makefile(place: tuple[Path, bytes, bytes], need_tool: Tool) -> None:
    folder, image, scores = place
    if _libraries(folder / "dist"):
        pytest.skip("NOT RUN: this C library needs more than the page's one line")
    _call(need_tool("make", "make"), "app", cwd=folder)
    assert _call("./app", "small.samara", cwd=folder, given=image) == scores


def test_program_in_c_is_warning_free(
    place: tuple[Path, bytes, bytes], need_tool: Tool, tmp_path: Path
) -> None:
    folder, _, _ = place
    for name in ("app.c", "loads.c"):
        flags = (*_STRICT, "-std=gnu11", "-Idist/include", "-c", "-o", tmp_path / "app.o")
        _call(need_tool("cc", "cc"), name, *flags, cwd=folder)


@pytest.mark.parametrize(("compiler", "standard"), [("g++", "c++11"), ("clang++-19", "c++20")])
def test_cpp(
    compiler: str, standard: str, place: tuple[Path, bytes, bytes], need_tool: Tool, tmp_path: Path
) -> None:
    folder, image, scores = place
    cxx = need_tool("clang" if "clang" in compiler else "gcc", compiler)
    (tmp_path / "checks.cpp").write_text(_CHECKS, encoding="utf-8")
    linked = ("-Idist/include", "dist/lib/libsamara.a", *_libraries(folder / "dist"))
    for source in (folder / "app.cpp", tmp_path / "checks.cpp"):
        program = tmp_path / source.stem
        _call(cxx, f"-std={standard}", *_STRICT, source, *linked, "-o", program, cwd=folder)
        printed = _call(program, "small.samara", cwd=folder, given=image)
        assert printed == (scores if source.stem == "app" else b"")


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_cpp_without_exceptions(
    compiler: str, standard: str, place: tuple[Path, bytes, bytes], need_tool: Tool, tmp_path: Path
) -> None:
    """Functions return what they would throw, also in one program with a file that has exceptions."""
    folder, _, _ = place
    cxx = need_tool("clang" if "clang" in compiler else "gcc", compiler)
    flags = (f"-std={standard}", *_STRICT, f"-I{folder / 'dist' / 'include'}")
    for name, text, own in (
        ("returns", _RETURNS, ("-fno-exceptions", "-fno-rtti")),
        ("throws", _THROWS, ()),
    ):
        (tmp_path / f"{name}.cpp").write_text(text, encoding="utf-8")
        _call(cxx, *flags, *own, "-c", f"{name}.cpp", cwd=tmp_path)
    library = folder / "dist/lib/libsamara.a"
    _call(cxx, "returns.o", "throws.o", library, *_libraries(folder / "dist"), cwd=tmp_path)
    _call(tmp_path / "a.out", folder / "small.samara", cwd=tmp_path)


def test_the_example_of_the_header(repo: Path, need_tool: Tool, tmp_path: Path) -> None:
    """Its twelve lines, taken out of the comment, print what a session gives."""
    header = (repo / "runtime_c/include/samara/samara.h").read_text(encoding="utf-8")
    block = header[header.index(" *   #include") : header.index(" * What follows")]
    lines = [line.removeprefix(" *").removeprefix("   ") for line in block.splitlines()]
    main = lines[lines.index("int main(void) {") + 1 : lines.index("}")]
    assert len(main) == 12
    weight = np.arange(640, dtype=np.float32).reshape(64, 10)
    bias = np.linspace(-1, 1, 10, dtype=np.float32)
    f = (program := ProgramBuilder()).function("main")
    f.finish([f.op("matmul", f.input("image", "f32", [1, 64]), weight, bias)], ["scores"])
    save_program(program.finish(["main"]), tmp_path / "digits.samara")
    (tmp_path / "example.c").write_text("\n".join(lines), encoding="utf-8")
    library = repo / "build" / "dev" / "libsamara.a"
    flags = (*_STRICT, "-std=c11", f"-I{repo / 'runtime_c' / 'include'}")
    _call(need_tool("cc", "cc"), *flags, "example.c", library, "-lm", "-lpthread", cwd=tmp_path)
    printed = _call(tmp_path / "a.out", cwd=tmp_path).split()
    assert np.array_equal(
        np.array(printed, np.float32), np.array([f"{x:g}" for x in bias], np.float32)
    )
    (tmp_path / "digits.samara").unlink()
    failed = subprocess.run([tmp_path / "a.out"], cwd=tmp_path, capture_output=True, check=False)
    assert failed.returncode == 1
    assert failed.stdout.startswith(b"digits.samara: cannot open")


def test_cpp_header_of_everything(repo: Path, need_tool: Tool, tmp_path: Path) -> None:
    """Beside the full samara.h every member is declared, and its body compiles."""
    source = tmp_path / "all.cpp"
    source.write_text(
        "#include <samara/samara.hpp>\n"
        "auto members() -> decltype(&samara::Session::reset) { return &samara::Session::reset; }\n"
        "auto more() -> decltype(&samara::Session::kept) { return &samara::Session::kept; }\n"
        "auto file() -> decltype(&samara::Model::selftest) { return &samara::Model::selftest; }\n"
        "auto reader() -> decltype(&samara::Model::from_reader) { return &samara::Model::from_reader; }\n"
        "auto key() -> decltype(&samara::Model::metadata) { return &samara::Model::metadata; }\n"
        "auto last(samara::Session &s, float *y) -> decltype(s.unbind_output(0)) {\n"
        "  s.bind_output(0, y, 1);\n"
        "  return s.unbind_output(0);\n"
        "}\n"
    )
    include = f"-I{repo / 'runtime_c' / 'include'}"
    flags = ("-std=c++11", *_STRICT, include, "-fsyntax-only")
    for own in ((), ("-fno-exceptions", "-fno-rtti")):
        _call(need_tool("cc", "g++"), *flags, *own, source, cwd=tmp_path)


def test_cmake(place: tuple[Path, bytes, bytes], need_tool: Tool, tmp_path: Path) -> None:
    folder, image, scores = place
    cmake, ninja = need_tool("cmake", "cmake"), need_tool("ninja", "ninja")
    made = f"-DCMAKE_MAKE_PROGRAM={ninja}"
    _call(cmake, "-S", folder, "-B", tmp_path, "-G", "Ninja", made, cwd=tmp_path)
    _call(cmake, "--build", tmp_path, cwd=tmp_path)
    for program in ("app", "app_cpp"):
        assert _call(tmp_path / program, "small.samara", cwd=folder, given=image) == scores


def test_loaded_at_run_time(
    place: tuple[Path, bytes, bytes], need_tool: Tool, tmp_path: Path
) -> None:
    folder, image, scores = place
    shared = find_target("host").shared_name
    if shared is None or os.name == "nt":
        pytest.skip("NOT RUN: no dlopen here")
    program = tmp_path / "loads"
    _call(need_tool("cc", "cc"), "loads.c", "-Idist/include", "-o", program, "-ldl", cwd=folder)
    library = f"dist/lib/{shared}"
    assert _call(program, library, "small.samara", cwd=folder, given=image) == scores
