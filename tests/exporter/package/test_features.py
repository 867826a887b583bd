# SPDX-License-Identifier: Apache-2.0
"""Every public function belongs to one feature, and a cut header declares the features' functions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from samara.exporter.package.features import (
    FEATURES,
    IMAGE_FORMATS,
    closed,
    declarations_of,
    functions,
    parts,
    public_header,
)
from samara.pybridge import SamaraError


@pytest.fixture(scope="module")
def header(repo: Path) -> str:
    return (repo / "runtime_c/include/samara/samara.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def experimental(repo: Path) -> str:
    return (repo / "runtime_c/include/samara/samara_experimental.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def backend(repo: Path) -> str:
    return (repo / "runtime_c/include/samara/samara_backend.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def media(repo: Path) -> str:
    return (repo / "runtime_c/include/samara/samara_media.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(repo: Path) -> str:
    return (repo / "runtime_c/include/samara/samara_text.h").read_text(encoding="utf-8")


def declared(header: str) -> list[str]:
    return re.findall(r"^SAMARA_API [^;]*?\b(samara_\w+)\(", header, re.MULTILINE)


def test_every_public_function_is_in_one_feature(
    header: str, experimental: str, backend: str, media: str, text: str
) -> None:
    listed = Counter(name for feature in FEATURES.values() for name in feature.functions)
    unsettled = set(FEATURES["choices"].functions)  # the others serve tools, with the full library
    assert unsettled <= set(declared(experimental))
    assert listed - Counter(unsettled) == Counter(
        declared(header) + declared(backend) + declared(media) + declared(text)
    )


def test_a_cut_experimental_header(header: str, experimental: str) -> None:
    cut = public_header(experimental, functions(("choices",)))
    assert set(declared(cut)) == set(FEATURES["choices"].functions)
    assert "samara_algorithm_row;" in cut


def test_the_example_stays_where_it_compiles(header: str) -> None:
    assert "In twelve lines" in public_header(header, functions(("files", "names")))
    assert "In twelve lines" not in public_header(header, functions(("files",)))


def test_parts_are_parts_of_the_runtime(repo: Path) -> None:
    rows = (repo / "runtime_c/src/base/parts.inc").read_text(encoding="utf-8")
    known = set(re.findall(r"^SMR_PART\((\w+),", rows, re.MULTILINE))
    assert parts(FEATURES) <= known


def test_formats_of_pictures_are_those_named_or_all() -> None:
    assert closed(("images",)) == ("images", *IMAGE_FORMATS)
    assert closed(("image_nv21", "image_rgb")) == ("images", "image_rgb", "image_nv21")
    assert parts(("image_nv21",)) == {"verify", "image", "image_from_nv21"}
    assert IMAGE_FORMATS[0] not in closed(("files", "answers"))


def test_all_features_leave_the_header_alone(header: str) -> None:
    assert public_header(header, functions(FEATURES)) == header


def test_the_header_says_what_another_header_lacks(header: str) -> None:
    cut = public_header(header, functions(set(FEATURES) - {"backends", "backend_auto", "opencl"}))
    assert set(declared(cut)) == set(declared(header))
    assert "#define SAMARA_SELECTIVE 1" in cut
    assert "#define SAMARA_WITH_ANSWERS 1" in cut
    assert "SAMARA_WITH_BACKENDS" not in cut


@pytest.mark.parametrize("names", [(), ("files",), ("state", "profile")])
def test_a_cut_header_declares_its_features(header: str, names: tuple[str, ...]) -> None:
    cut = public_header(header, functions(names))
    assert set(declared(cut)) == functions(names)
    assert set(re.findall(r"#define SAMARA_WITH_(\w+) 1", cut)) == {n.upper() for n in names}
    assert "#define SAMARA_SELECTIVE 1" in cut
    assert "\n\n\n" not in cut


def test_a_comment_leaves_with_the_last_function_it_speaks_of(header: str) -> None:
    cut = public_header(header, functions(()))
    assert "Join and free" not in cut  # in the comment of pool_destroy alone
    assert "Inputs and outputs of a function" in cut
    some = public_header(header, functions(()) | {"samara_session_state_info"})
    assert "Variables: their number" in some  # comment of a group with one remaining function


def test_a_backend_brings_the_functions_of_devices(header: str, backend: str) -> None:
    assert closed(("opencl",)) == ("backends", "opencl")
    assert functions(("opencl",)) == functions(("backends",))
    assert parts(("opencl",)) == parts(()) | {"backends", "backend_opencl"}
    assert public_header(backend, functions(("opencl",))) == backend
    assert "#define SAMARA_WITH_BACKENDS 1" in public_header(header, functions(("opencl",)))
    assert not declared(public_header(backend, functions(())))
    inside = declarations_of(backend)
    assert "samara_backend_open(" in inside
    assert 'extern "C"' not in inside
    assert declarations_of("") == ""


def test_an_unknown_feature_is_refused() -> None:
    with pytest.raises(SamaraError, match="no feature thread"):
        functions(("thread",))
