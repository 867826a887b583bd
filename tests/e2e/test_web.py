# SPDX-License-Identifier: Apache-2.0
"""The npm package of `samara build --target web`: the answers of native runs, in node and in browsers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e import web_package
from tests.e2e.commands import output_of

import samara
from samara.exporter.build import write_web
from samara.exporter.package.webassembly import OPTIMIZER

Tool = Callable[[str, str], str]
Missing = Callable[[str, str], None]
InBrowser = Callable[..., dict[str, Any]]

_HERE = Path(__file__).parent / "web"
_NETS = ("float32", "int8")
# Bytes of its modules, with wasm-opt and without.
_KEYWORD_NET = {"simd": (68_557, 71_840), "threads": (72_926, 76_270)}


def _node(*arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output_of("node", *arguments))
    return found


def _check(package: Path, net: str, score: list[float]) -> None:
    """Scores are those of a native session: the same bits where the net is of integers."""
    with samara.Session(package / f"{net}.samara") as session:
        want = session.run({"image": web_package.images()})["score"].ravel()
    if net == "int8":
        assert np.array(score, np.float32).tobytes() == want.tobytes()
    else:
        np.testing.assert_allclose(score, want, rtol=1e-5, atol=1e-5)


@pytest.mark.emulated
@pytest.mark.parametrize("net", _NETS)
@pytest.mark.parametrize("flag", ["", "--experimental-wasm-relaxed-simd"])
def test_in_node(net: str, flag: str, web: Path, need_tool: Tool) -> None:
    """With relaxed SIMD too, which node has from version 21 on, and before with the flag."""
    node = need_tool("node", "node")
    flags = [flag] if flag and flag in output_of(node, "--v8-options") else []
    found = _node(*flags, _HERE / "node.mjs", web, net)
    _check(web, net, found["score"])
    assert {each["module"] for each in found["imports"]} == {"samara"}, "no WASI"
    variant, why = ("relaxed", "") if found["relaxed"] else ("simd", "; no relaxed SIMD")
    assert found["relaxed"] or not flags
    reason = f"there are no workers{why}"
    assert found["info"] == {"variant": variant, "threads": 1, "reason": reason}


@pytest.mark.emulated
def test_modules_keep_nan(web: Path) -> None:
    """Of relaxed SIMD they use what every engine computes alike but for rounding: no minimum or maximum."""
    relaxed = (web / "samara.relaxed.wasm").read_bytes()
    assert b"\xfd\x85\x02" in relaxed, "multiply-adds"
    for opcode in (b"\xfd\x8d\x02", b"\xfd\x8e\x02"):
        assert opcode not in relaxed
    assert b"\xfd\x85\x02" not in (web / "samara.simd.wasm").read_bytes()


@pytest.mark.emulated
def test_sound_labels_and_state(web: Path, need_tool: Tool) -> None:
    """Two models of one package: one hears words, one keeps a sum."""
    need_tool("node", "node")
    found = _node(_HERE / "sound.mjs", web)
    samples = np.array(json.loads((web / "samples.json").read_text("utf-8")), np.float32)
    with samara.Session(web / "words.samara") as session:
        native: list[Any] = [*session.predict_each(samples)]
    assert len(native) > 3
    for answers in (found["whole"], found["portions"]):
        _check_words(answers, native)
    assert found["refused"].startswith("ShapeError: samples are no Float32Array")
    assert found["sums"] == [2, 4, 6, 2]
    # JavaScript prints the numbers in texts of the module.
    assert found["range"].endswith("range: from 0.5 to 1e-7 by 0 is not a range")
    assert "maybe" in found["metadata"]["labels"]


@pytest.mark.emulated
def test_a_package_without_pictures_sound_and_answers(
    missing: Missing, need_tool: Tool, tmp_path: Path
) -> None:
    """What its JavaScript calls is optional in the module: here nothing but state is there, and one shape."""
    web_package.require(missing)
    need_tool("node", "node")
    samara.export(samara.script(web_package.Sum(), (samara.zeros(2),)), tmp_path / "counter.samara")
    write_web([tmp_path / "counter.samara"], out=tmp_path / "out")
    assert _node(_HERE / "counter.mjs", tmp_path / "out") == {
        "sums": [2, 4, 6, 2, 4],
        "longer": "ShapeError: function 'forward': axis 0 of input 'x' is 3, expected 2",
        "picture": "UnsupportedError: no input takes a picture\n"
        "  fix: export with preprocess=, or call run",
        "sound": "UnsupportedError: no input takes sound\n"
        "  fix: export with preprocess=, or call run",
    }


@pytest.mark.emulated
def test_size_of_the_keyword_net(missing: Missing, models: Path, tmp_path: Path) -> None:
    """The bytes of docs/guides/web.md and 2 % more; wasm-opt makes a module smaller where it is installed."""
    web_package.require(missing)
    source = models / "micro_kws_m_qdq" / "model.onnx"
    net = samara.import_onnx(source, shapes={"serving_default_input:0": [1, 1960]})
    samara.export(net, tmp_path / "words.samara", check=False)
    write_web([tmp_path / "words.samara"], out=tmp_path / "out")
    optimized = shutil.which(OPTIMIZER) is not None
    for variant, (best, plain) in _KEYWORD_NET.items():
        size = (tmp_path / "out" / f"samara.{variant}.wasm").stat().st_size
        assert size <= 1.02 * (best if optimized else plain), variant
    assert (tmp_path / "out" / "samara.js").stat().st_size <= 9400


@pytest.mark.extended
def test_size_of_the_whole_runtime(missing: Missing, tmp_path: Path) -> None:
    """No module of the package for any model has more than 700 KB; 2 % more where wasm-opt is not installed."""
    web_package.require(missing)
    write_web([], out=tmp_path / "out", full=True)
    modules = sorted((tmp_path / "out").glob("*.wasm"))
    assert len(modules) == 4
    limit = 700_000 if shutil.which(OPTIMIZER) is not None else 714_000
    for module in modules:
        assert module.stat().st_size <= limit, module.name


def test_in_browser(web: Path, in_browser: InBrowser) -> None:
    found = in_browser(web, "small")
    for net in _NETS:
        _check_answers(web, net, found)
    assert found["strings"] == "EvalError", "the pages have a content security policy"
    assert found["offline"] == ["forward"]
    variant = "relaxed_threads" if found["relaxed"] else "threads"
    assert f"float32.samara: {variant}, threads: " in found["page"]
    for worker in ("", " worker"):
        for net in _NETS:
            _check_pictures(web, net, found["media"][net + worker])
        _check_sounds(web, found["media"][f"words{worker}"])


def _check_answers(web: Path, net: str, found: dict[str, Any]) -> None:
    """In isolated pages and in others, with one thread and two, in the page and in a worker."""
    first = found[f'{net} isolated {{"threads":1}}']
    for place, shared in (("isolated", True), ("plain", False)):
        for options in ('{"threads":1}', '{"threads":2}', '{"threads":2,"worker":true}'):
            case = found[f"{net} {place} {options}"]
            _check(web, net, case["score"])
            assert case["shape"] == [2, 10]
            assert case["progress"] == 1
            two = "2" in options and shared
            twin = "relaxed_threads" if two else "relaxed"
            assert case["info"]["variant"] == (
                twin if found["relaxed"] else "threads" if two else "simd"
            )
            assert ("no relaxed SIMD" in case["info"].get("reason", "")) != found["relaxed"]
            assert case["info"]["threads"] == (2 if two else 1)
            if "2" in options and not shared:
                why = "the page is not cross-origin isolated"
                assert case["info"]["reason"].startswith(why)
            assert case["picture"] == first["picture"]
            _check_failures(case["failures"])
    assert first["picture"]["kind"] == "classes"
    assert sum(each["score"] for each in first["picture"]["classes"]) <= 1.001


def _check_failures(failures: dict[str, str]) -> None:
    assert (
        failures["name"] == "UnknownNameError: there is no input 'nothing'\n  fix: inputs are image"
    )
    assert failures["dtype"].startswith(
        "ShapeError: input 'image' is Int8Array, expected Float32Array"
    )
    assert failures["shape"].startswith("ShapeError: ")
    assert "image" in failures["shape"]
    assert failures["elements"].startswith("ShapeError: input 'image' has 100 elements in [")
    assert failures["damaged"].startswith("ModelFormatError: ")
    assert "404" in failures["absent"]
    assert failures["absent"].startswith("FileError: ")
    assert failures["disposed"] == "the model is disposed\n  fix: load it again"
    assert failures["pending"] in ("none", "the model is disposed\n  fix: load it again")


def _classes(answer: Any) -> list[tuple[str, int, float]]:
    return [(guess.label, guess.index, guess.score) for guess in answer]


def _check_classes(given: dict[str, Any], want: Any, *, exactly: bool) -> None:
    assert given["kind"] == "classes"
    got = [(each["label"], each["index"], each["score"]) for each in given["classes"]]
    assert [each[:2] for each in got] == [each[:2] for each in _classes(want)]
    scores, native = ([each[2] for each in rows] for rows in (got, _classes(want)))
    np.testing.assert_allclose(scores, native, rtol=0 if exactly else 1e-5)


def _check_pictures(web: Path, net: str, given: dict[str, Any]) -> None:
    """The same pixels give native's answer, whatever object of the browser holds them."""
    pixels = web_package.picture()
    with samara.Session(web / f"{net}.samara") as session:
        plain = session.predict({"image": samara.Image(pixels, "rgb")})
        turned = session.predict({"image": samara.Image(pixels, "rgb", rotation=90, mirror=True)})
    assert _classes(plain) != _classes(turned)
    sources = ("image", "fresh", "canvas", "offscreen", "data", "frame", "bitmap", "drawn")
    assert {*given} == {*sources, "turned", "closed", "empty"}
    for source in sources:
        _check_classes(given[source], plain, exactly=net == "int8")
    _check_classes(given["turned"], turned, exactly=net == "int8")
    for refused in ("closed", "empty"):
        assert given[refused].startswith("ShapeError: the picture has no pixels: "), refused


def _check_sounds(web: Path, given: dict[str, Any]) -> None:
    """An AudioBuffer of one channel at the net's rate, and one of two channels at another."""
    samples = np.array(json.loads((web / "samples.json").read_text("utf-8")), np.float32)
    sounds = {
        "mono": samara.Audio(samples, 16000),
        "stereo": samara.Audio(np.stack([samples, samples[::-1]], axis=1), 44100),
    }
    for name, sound in sounds.items():
        with samara.Session(web / "words.samara") as session:
            _check_words(given[name], [*session.predict_each(sound)])


def _check_words(answers: list[dict[str, Any]], native: list[Any]) -> None:
    assert len(answers) == len(native) > 0
    for answer, want in zip(answers, native, strict=True):
        _check_classes(answer, want, exactly=False)
