# SPDX-License-Identifier: Apache-2.0
"""The examples, run as a user runs them: the C programs on real files, the Python ones at small sizes."""

from __future__ import annotations

import json
import re
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.commands import output_of, ran
from tests.e2e.models import excess, recorded

import samara

Run = Callable[..., str]


def test_minimal_says_that_a_free_size_needs_resize(built: Path, newest_golden: Path) -> None:
    done = ran(built / "minimal", newest_golden)
    assert done.returncode != 0  # its image has a free batch size
    assert "resize" in done.stderr


def test_minimal_on_a_real_model(built: Path, models: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.samara"
    samara.export(samara.import_onnx(models / "mnist_cntk" / "model.onnx"), file, check=False)
    said = output_of(built / "minimal", file)
    assert said.startswith("output: 40 bytes")
    assert "ms  conv " in said


def test_three_sizes_in_one_c_session(built: Path, models: Path, tmp_path: Path) -> None:
    file = tmp_path / "yunet.samara"
    samara.export(samara.import_onnx(models / "yunet_s_dynamic" / "model.onnx"), file, check=False)
    cases = recorded(models / "yunet_s_dynamic")
    steps: list[str | Path] = []
    for k, case in enumerate(cases):
        x = case.inputs["input"]
        (tmp_path / f"in{k}.raw").write_bytes(x.tobytes())
        steps += ["x".join(map(str, x.shape)), tmp_path / f"in{k}.raw"]
    subprocess.run([built / "resize", file, *steps], check=True, capture_output=True, cwd=tmp_path)
    names = [s.name for s in samara.Model(file).function(None).outputs]
    for k, case in enumerate(cases):
        for i, name in enumerate(names):
            want = case.outputs[name]
            got = np.frombuffer((tmp_path / f"out{k}_{i}.raw").read_bytes(), want.dtype)
            assert excess("yunet_s_dynamic", got.reshape(want.shape), want) <= 1.0, (
                case.title,
                name,
            )


# ---- Python ----


def test_every_example_is_listed_and_tested(repo: Path) -> None:
    names = {p.name for p in (repo / "examples").glob("*.py")}
    page = (repo / "examples" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\[`(\w+\.py)`\]", page)) == names
    own = "".join(
        Path(__file__).with_name(name).read_text(encoding="utf-8")
        for name in ("test_examples.py", "test_live_examples.py", "test_tasks.py")
    )
    assert {n for n in names if f'"{n}"' in own} == names


def test_digits_cnn(run_example: Run, tmp_path: Path) -> None:
    printed = run_example(tmp_path, "digits_cnn.py", "--epochs", "3")
    accuracies = re.findall(r"(?:samara.nn|C runtime): ([\d.]+) % of 360", printed)
    assert len(accuracies) == 2
    assert accuracies[0] == accuracies[1]
    assert float(accuracies[0]) > 90


def test_char_transformer(run_example: Run, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the log. " * 40, encoding="ascii")
    printed = run_example(
        *(tmp_path, "char_transformer.py", "--text", text),
        *("--steps", "60", "--letters", "20"),
    )
    losses = [float(v) for v in re.findall(r"loss ([\d.]+)", printed)]
    assert losses[-1] < losses[0] / 2
    assert "allocate" not in printed  # the length is bounded
    differences = re.findall(r"length (\d+): .* ([\d.e+-]+)$", printed, re.M)
    assert [n for n, _ in differences] == ["1", "17", "64"]
    assert all(float(d) < 1e-5 for _, d in differences)
    assert len(printed.splitlines()[-1]) == 40


def test_language(run_example: Run, tmp_path: Path) -> None:
    printed = run_example(tmp_path, "language/language.py", "--quick", "--folder", tmp_path)
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="ascii"))
    frequency, rows = figures.pop("frequency"), figures
    assert list(rows) == ["float32", "int8", "int4"]
    before, after = map(float, re.findall(r"loss ([\d.]+) at first, ([\d.]+) at", printed)[0])
    assert before == pytest.approx(np.log(640), abs=0.2)  # as if all tokens were equally likely
    assert after < before - 2.5
    assert 100 < frequency < 640
    trained = rows["float32"]["perplexity"]
    assert trained < frequency / 3
    for name, scale, agreement in (("float32", 1, 1), ("int8", 1.01, 0.95), ("int4", 1.15, 0.7)):
        row = rows[name]
        assert trained / 1.05 < row["perplexity"] <= trained * scale, name
        assert agreement <= row["agreement"] <= 1, name
        assert row["ended"] == row["asked"] == 12, name
        assert row["right"] >= 4, name
    sizes = [row["bytes"] for row in rows.values()]
    assert sizes[0] > 2.5 * sizes[1] > 3.3 * sizes[2]

    model = samara.TextModel(tmp_path / "int4.samara")
    ((question, answer),) = re.findall(r"^> (What does \S+ do\?)\n(.*)$", printed, re.MULTILINE)
    said = model.chat([{"role": "user", "content": question}])
    assert (said.text, said.end) == (answer, "end token")
    choice: dict[str, Any] = {"max_tokens": 100, "temperature": 0.8, "top_p": 0.95}
    first, other, again = (model.generate("This module", seed=s, **choice) for s in (7, 8, 7))
    assert (first.text, first.tokens) == (again.text, again.tokens)
    assert first.text != other.text
    assert f"This module{first}\n" in printed


def test_byte_pairs_are_those_of_the_paper(repo: Path) -> None:
    """The example of Sennrich et al. 2016, algorithm 1, and texts through samara's tokenizer."""
    name = repo / "examples" / "language" / "byte_pairs.py"
    byte_pairs = runpy.run_path(str(name))
    words = {("l", "o", "w", "_"): 5, ("l", "o", "w", "e", "r", "_"): 2}
    words |= {("n", "e", "w", "e", "s", "t", "_"): 6, ("w", "i", "d", "e", "s", "t", "_"): 3}
    found = byte_pairs["merges"](words, 10)
    assert len(found) == 10
    assert ["".join(found[i]) for i in (2, 4)] == ["est_", "low"]  # the order of equals is free

    special = ("<|end|>", "<|user|>")
    texts = ["a low lower lowest newest  word\n    indented", "ünïcode 12 ++ 34"]
    file = byte_pairs["tokenizer_json"](texts * 3, 280, special)
    tokenizer = samara.Tokenizer.from_json(file)
    assert tokenizer.vocab_size == 280
    assert [tokenizer.token_to_id(t) for t in special] == [278, 279]
    for text in (*texts, "others: żółw 🙂\t<|end|>"):
        ids = tokenizer.encode(text, parse_special=False)
        assert tokenizer.decode(ids) == text
        assert len(ids) <= len(text.encode())
    assert len(tokenizer.encode(texts[0])) < len(texts[0]) / 1.5
    assert tokenizer.encode("<|end|>") == [278]


def test_lstm_with_a_while(run_example: Run, tmp_path: Path) -> None:
    printed = run_example(tmp_path, "lstm_while.py", "--steps", "120")
    assert "the program holds 1 loop; its example was 'one'" in printed
    assert "20 of 20 words are right" in printed
    assert {int(n) for n in re.findall(r" in (\d) steps", printed)} == {3, 4, 5, 6, 7, 8, 9}


def test_vgg19(run_example: Run, tmp_path: Path) -> None:
    small = ("--width", "0.03", "--size", "64")
    printed = run_example(tmp_path, "vgg19.py", *small, "--check")
    assert "checked on sample inputs" in printed
    assert "largest difference from samara.nn" in printed


def test_the_page_of_vgg19_is_what_the_example_writes(
    repo: Path, run_example: Run, tmp_path: Path
) -> None:
    run_example(tmp_path, "vgg19.py", "--width", "0.03", "--size", "32", "--walkthrough", "page.md")
    made = (tmp_path / "page.md").read_text(encoding="utf-8")
    kept = (repo / "docs" / "guides" / "vgg19.md").read_text(encoding="utf-8")
    heads = re.findall(r"^#+ .*", made, re.M)
    assert len(heads) == 5
    assert re.findall(r"^#+ .*", kept, re.M) == heads
    passes = re.findall(r"^\| (\w+) \| (.*?) \| \d+", made, re.M)
    assert len(passes) >= 15
    assert re.findall(r"^\| (\w+) \| (.*?) \| \d+", kept, re.M) == passes
    assert len(re.findall(r"^\| features\.\d+/relu \| conv \| [\d,]+ \| f32_\w+", made, re.M)) == 16


def test_custom_function(run_example: Run, tmp_path: Path) -> None:
    printed = run_example(tmp_path, "custom_function.py", "--steps", "150")
    assert "gradcheck: first and second derivatives agree" in printed
    assert "agrees on 500 of 500" in printed
    (share,) = re.findall(r"([\d.]+) % of new points", printed)
    assert float(share) > 90


def test_resume(run_example: Run, tmp_path: Path) -> None:
    printed = run_example(tmp_path, "resume.py", "--steps", "60", "--interrupt", "29")
    assert "every loss and weight is equal" in printed


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_finetuning_in_c_goes_on_bit_for_bit(
    example: Callable[[str], Any], built: Path, tmp_path: Path, optimizer: str
) -> None:
    finetune = example("finetune")
    model = finetune.prepare(tmp_path, optimizer, epochs=1)
    images, labels = finetune.test_digits()
    before = finetune.right_of(model, images, labels)

    def command(checkpoint: str) -> list[str]:
        line: list[str] = finetune.command(built / "finetune", tmp_path, tmp_path / checkpoint, 300)
        return line

    losses, right = finetune.finished(command("alone"))
    assert sorted(losses) == list(range(1, 301))
    assert losses[300] < losses[1] / 4
    assert right > before
    for lines in (23, 61):
        assert finetune.killed_after(lines, command("killed")) == -9
    again, right_again = finetune.finished(command("killed"))
    assert 61 < min(again) <= 300
    assert right_again == right
    assert all(losses[step] == loss for step, loss in again.items())
    want, got = (samara.load(tmp_path / n) for n in ("alone", "killed"))
    assert list(got) == list(want)
    assert any(name.endswith(("exp_avg", "momentum_buffer")) for name in got)
    for name, value in want.items():
        assert got[name].tobytes() == value.tobytes(), name

    finetune.read_back(model, tmp_path / "killed")
    assert int(model.steps.item()) == 300
    assert finetune.right_of(model, images, labels) == right


def test_finetune(run_example: Run, built: Path, tmp_path: Path) -> None:
    options = ("--program", built / "finetune", "--folder", tmp_path, "--epochs", "1")
    printed = run_example(tmp_path, "finetune.py", *options, "--optimizer", "sgd")
    sizes = re.findall(r"(before|after) the passes: (\d+) nodes, ([\d,]+) bytes", printed)
    assert [when for when, _, _ in sizes] == ["before", "after"]
    nodes, arenas = ([int(row[i].replace(",", "")) for row in sizes] for i in (1, 2))
    assert nodes[1] < nodes[0]
    assert arenas[1] <= arenas[0]
    assert "killed after: step 60" in printed
    assert "to step 300" in printed


def _rows(run_example: Run, folder: Path, *rows: str) -> tuple[dict[str, Any], str]:
    """Rows of distributed.py at a small size, and what it printed."""
    options = ("--samples", "480", "--epochs", "1", "--json", folder / "rows.json")
    printed = run_example(folder, "distributed.py", *options, "--rows", *rows)
    found = json.loads((folder / "rows.json").read_text(encoding="ascii"))
    assert list(found) == list(rows)
    ran = [row for row in found.values() if "reason" not in row]
    assert all(row["megabytes"] > 1 and row["batch_ms"] > 0 for row in ran)
    assert all(0.1 < row["accuracy"] <= 1 for row in ran)
    return found, printed


def test_distributed(run_example: Run, tmp_path: Path) -> None:
    found, printed = _rows(run_example, tmp_path, "single", "2 processes, shards")
    assert found["single"]["digest"] != found["2 processes, shards"]["digest"]
    assert "rows with shards: equal bits" in printed


@pytest.mark.extended
def test_every_row_of_distributed(
    example: Callable[[str], Any], run_example: Run, tmp_path: Path
) -> None:
    rows = list(example("distributed").ROWS)
    found, printed = _rows(run_example, tmp_path, *rows)
    assert "rows with shards: equal bits" in printed
    for name, row in found.items():
        assert "reason" not in row or (" nodes, " in name and not row["failed"])
    same = [found[name].get("digest") for name in rows if name.startswith("2 processes, two nodes")]
    assert set(same) <= {found["2 processes"]["digest"], None}


def test_two_nodes_say_why_they_cannot_be_made(
    example: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nodes = example("two_nodes")
    monkeypatch.setattr(sys, "argv", ["two_nodes.py", "train.py"])
    monkeypatch.setattr(nodes.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(nodes.shutil, "which", lambda name: f"/sbin/{name}")
    monkeypatch.setattr(nodes.signal, "signal", lambda *_: None)
    monkeypatch.setattr(nodes.sys, "platform", "linux")
    assert nodes.main() == 3
    assert "NOT RUN: only root may make network namespaces; use sudo" in capsys.readouterr().err


def test_packets_between_two_nodes_are_late_and_in_order(example: Callable[[str], Any]) -> None:
    nodes = example("two_nodes")
    (first, near), (second, far), (stop, stdin) = (
        socket.socketpair(type=socket.SOCK_DGRAM) for _ in range(3)
    )
    for end in (near, far):
        end.setblocking(False)
    relay = threading.Thread(
        target=nodes.between, args=([near.fileno(), far.fileno()], 0.02, stdin.fileno())
    )
    relay.start()
    begin = time.monotonic()
    for k in range(40):
        first.send(b"%d" % k)
    second.send(b"back")
    got = [int(second.recv(100)) for _ in range(40)]
    assert time.monotonic() - begin >= 0.02
    assert got == list(range(40))
    assert first.recv(100) == b"back"
    stop.send(b".")
    relay.join()
    for end in (first, near, second, far, stop, stdin):
        end.close()
