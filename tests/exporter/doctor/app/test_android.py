# SPDX-License-Identifier: Apache-2.0
"""APKs and AARs as a whole: libraries beside each other, classes, places of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.exporter.doctor.app.made import (
    ALIGNED,
    BINARY_MANIFEST,
    PLAIN_MANIFEST,
    elf,
    faults,
    selection_text,
    zipped,
)

from samara.exporter.doctor.app.android import AndroidApp
from samara.exporter.doctor.app.entries import opened_files

OWN = elf(payload=selection_text())
ARM = elf("armeabi-v7a", payload=selection_text())
DEX = b"dex\n035\0 Ldev/samara/Model;"
JNI = "libsamara_jni.so"
GOOD = {
    "AndroidManifest.xml": BINARY_MANIFEST,
    "classes.dex": DEX,
    f"lib/arm64-v8a/{JNI}": OWN,
    "assets/m.samara": b"m" * 100,
}


def app(
    folder: Path, entries: Mapping[str, bytes], kind: str = "apk", deflated: Sequence[str] = ()
) -> AndroidApp:
    path = folder / f"a.{kind}"
    path.write_bytes(zipped(entries, deflated=deflated, alignment=ALIGNED))
    with opened_files(path) as files:
        return AndroidApp(kind, files)


def test_good_app(tmp_path: Path) -> None:
    made = app(tmp_path, GOOD)
    assert faults(made) == []
    assert made.facts == {"package": "dev.example", "version": "1.2", "minSdkVersion": "24"}
    (library,) = made.libraries
    assert (library.name, library.abi) == (f"lib/arm64-v8a/{JNI}", "arm64-v8a")
    assert (library.samara, library.size_bytes) == ("0.9.0", len(OWN))
    assert list(made.runtimes) == ["arm64-v8a"]
    checks = {row.check for row in made.rows}
    assert checks >= {"machine", "pages", "in the archive", "needed", "symbols", "ABIs", "model"}


def test_good_package(tmp_path: Path) -> None:
    entries = {"AndroidManifest.xml": PLAIN_MANIFEST, f"jni/arm64-v8a/{JNI}": OWN}
    made = app(tmp_path, entries, "aar", deflated=list(entries))
    assert faults(made) == []
    assert made.facts["package"] == "dev.samara"


def test_an_abi_without_samara(tmp_path: Path) -> None:
    other = elf("armeabi-v7a")
    made = app(tmp_path, {**GOOD, "lib/armeabi-v7a/libother.so": other})
    assert faults(made) == [("broken", "ABIs")]
    both = {**GOOD, "lib/armeabi-v7a/libother.so": other, f"lib/armeabi-v7a/{JNI}": ARM}
    assert faults(app(tmp_path, both)) == []
    # No app of samara's: only the other library's own faults count.
    alone = {"AndroidManifest.xml": BINARY_MANIFEST, "lib/arm64-v8a/libother.so": elf()}
    assert faults(app(tmp_path, alone)) == []


def test_32_bits_alone(tmp_path: Path) -> None:
    entries = {k: v for k, v in GOOD.items() if "arm64" not in k}
    made = app(tmp_path, {**entries, f"lib/armeabi-v7a/{JNI}": ARM})
    assert faults(made) == [("doubtful", "ABIs")]


def test_classes(tmp_path: Path) -> None:
    without = {k: v for k, v in GOOD.items() if not k.startswith("lib/")}
    assert faults(app(tmp_path, without)) == [("broken", "classes")]
    nameless = {**GOOD, "classes.dex": b"dex\n035\0"}
    assert faults(app(tmp_path, nameless)) == [("doubtful", "classes")]
    assert faults(app(tmp_path, {**nameless, "classes2.dex": DEX})) == []


def test_manifest(tmp_path: Path) -> None:
    without = {k: v for k, v in GOOD.items() if k != "AndroidManifest.xml"}
    assert faults(app(tmp_path, without)) == [("broken", "manifest")]
    broken = {**GOOD, "AndroidManifest.xml": BINARY_MANIFEST[:100]}
    assert faults(app(tmp_path, broken)) == [("doubtful", "manifest")]


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        (("libc.so", "libm.so", "libdl.so", "liblog.so"), []),
        (("libc++_shared.so",), [("broken", "needed")]),
        (("libssl.so",), [("broken", "needed")]),
        (("libaaudio.so",), [("broken", "needed")]),  # from API level 26 on
        (("libbeside.so",), []),
    ],
)
def test_needed(tmp_path: Path, needed: Sequence[str], expected: list[tuple[str, str]]) -> None:
    own = elf(needed=needed, payload=selection_text())
    entries = {**GOOD, f"lib/arm64-v8a/{JNI}": own, "lib/arm64-v8a/libbeside.so": elf()}
    assert faults(app(tmp_path, entries)) == expected


def test_needed_of_the_device(tmp_path: Path) -> None:
    own = elf(needed=("libOpenCL.so",), payload=selection_text())
    entries = {"AndroidManifest.xml": PLAIN_MANIFEST, f"jni/arm64-v8a/{JNI}": own}
    assert faults(app(tmp_path, entries, "aar")) == []
    entries["AndroidManifest.xml"] = b"<manifest/>"
    assert faults(app(tmp_path, entries, "aar")) == [("doubtful", "needed")]


def test_symbols(tmp_path: Path) -> None:
    def made(**changes: Sequence[str]) -> list[tuple[str, str]]:
        own = elf(payload=selection_text(), **changes)  # type: ignore[arg-type]
        beside = elf(defined=("helper",))
        entries = {**GOOD, f"lib/arm64-v8a/{JNI}": own, "lib/arm64-v8a/libb.so": beside}
        return faults(app(tmp_path, entries))

    assert made(undefined=("memcpy", "expf", "__stack_chk_fail", "helper")) == []
    assert made(undefined=("aligned_alloc",)) == [("doubtful", "symbols")]  # API level 28
    assert made(defined=()) == [("broken", "symbols")]


def test_a_library_that_says_nothing(tmp_path: Path) -> None:
    assert faults(app(tmp_path, {**GOOD, f"lib/arm64-v8a/{JNI}": elf()})) == [
        ("doubtful", "contents")
    ]
    text = selection_text("op made_up float32")
    made = app(tmp_path, {**GOOD, f"lib/arm64-v8a/{JNI}": elf(payload=text)})
    assert ("broken", "library") in faults(made)
    assert any("made_up" in row.said for row in made.rows)


def test_versions(tmp_path: Path) -> None:
    older = elf("armeabi-v7a", payload=selection_text(version="0.8.0"))
    made = app(tmp_path, {**GOOD, f"lib/armeabi-v7a/{JNI}": older})
    assert faults(made) == [("broken", "version")]
    fewer = elf("armeabi-v7a", payload=selection_text("op exp float32"))
    made = app(tmp_path, {**GOOD, f"lib/armeabi-v7a/{JNI}": fewer})
    assert faults(made) == [("doubtful", "version")]


def test_a_library_elsewhere(tmp_path: Path) -> None:
    assert faults(app(tmp_path, {**GOOD, "assets/x.so": elf()})) == [("doubtful", "library")]
    assert faults(app(tmp_path, {**GOOD, "lib/arm64-v8a/libx.so": b"text"})) == [
        ("broken", "library")
    ]


def test_places_of_models(tmp_path: Path) -> None:
    made = app(tmp_path, GOOD, deflated=["assets/m.samara"])
    assert faults(made) == [("doubtful", "model")]
    assert any('noCompress += "samara"' in row.fix for row in made.rows)
    path = tmp_path / "b.apk"
    path.write_bytes(zipped(GOOD, alignment={".so": 16384}))
    with opened_files(path) as files:
        found = faults(AndroidApp("apk", files))
    assert found == [("doubtful", "model")]
