# SPDX-License-Identifier: Apache-2.0
"""Figures that follow from measured times, the tables, and the words of the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import overview, page, run
from benchmarks.engines import NAMES, Form, engine
from benchmarks.results import (
    Cost,
    Own,
    Report,
    Row,
    best_peer,
    geometric_mean,
    lead,
    merged,
    milliseconds,
    plain,
    report_from,
    spread,
    summary,
)
from benchmarks.rounds import plan

MILLION = 1_000_000


def _row(engine_name: str, median: int | None, problem: str = "", model: str = "ds_cnn") -> Row:
    return Row(
        model, "float32", 1, engine_name, "1.0", "none", 5, 6, 1, median, 9, 99.0, None, problem
    )


@pytest.fixture
def report() -> Report:
    cost = Cost(9 * MILLION, 20 * MILLION, 4 * MILLION, 5 * MILLION)
    rows = [
        replace(_row("samara", 2 * MILLION), cost=cost),
        _row("ncnn", 3 * MILLION),
        _row("mnn", MILLION, "wrong answer: 3 dB"),
        _row("samara", 4 * MILLION, model="yolo"),
        _row("ncnn", 2 * MILLION, model="yolo"),
    ]
    own = {"ds_cnn float32": Own(3 * MILLION, MILLION, 0, 1000)}
    operations = {"ds_cnn": 100 * MILLION, "yolo": 100 * MILLION}
    return Report("a machine", "2026-01-01", 4, "wall", {"float32": 100.0}, operations, rows, own)


def test_spread() -> None:
    assert spread(list(range(100, 0, -1))) == (1, 50, 90)
    assert spread([7]) == (7, 7, 7)


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([]) is None


def test_wrong_answers_are_no_peers(report: Report) -> None:
    rows = report.rows[:3]
    peer = best_peer(rows)
    assert peer is not None
    assert peer.engine == "ncnn"
    assert lead(rows) == pytest.approx(1.5)
    assert lead(rows[1:]) is None
    assert lead([rows[0], rows[2]]) is None


def test_milliseconds() -> None:
    shown = [milliseconds(n) for n in (None, 12_345, 1_234_567, 12_345_678)]
    assert shown == ["-", "0.0123", "1.23", "12.3"]


def test_limits_of_memory() -> None:
    own = Own(arena=100, derived=100, structures=7, file=1000)
    assert own.private_limit() == pytest.approx(210)
    assert own.total_limit() == pytest.approx(1210)


def test_plan_fills_a_round() -> None:
    assert plan([(50 * MILLION, 0)]) == (1, 1)
    assert plan([(9_000, 0), (10_000, 0)]) == (12, 111)
    samples, repeats = plan([(0, 0)])
    assert samples >= 1
    assert repeats >= 1


def test_json_comes_back(report: Report) -> None:
    assert report_from(json.loads(json.dumps(plain(report)))) == report
    assert all("problem" not in r or r["problem"] for r in plain(report)["rows"])


def test_later_runs_replace_earlier_ones(report: Report) -> None:
    later = replace(report, peaks={"int8": 7.0}, rows=[_row("samara", 9 * MILLION)], own={})
    both = merged([report, later])
    assert [(r.model, r.median) for r in both.rows if r.engine == "samara"] == [
        ("ds_cnn", 9 * MILLION),
        ("yolo", 4 * MILLION),
    ]
    assert both.peaks == {"float32": 100.0, "int8": 7.0}
    assert both.own == report.own
    assert both.rows[0].cost == report.rows[0].cost, "memory was not measured again"


def test_rounds_are_those_of_rows_that_are_left(report: Report) -> None:
    quick = replace(report, rounds=1, rows=report.rows[:2])
    assert merged([quick, report]).rounds == report.rounds
    assert merged([report, quick]).rounds == 1


def test_summary_has_ratios_and_reasons(report: Report) -> None:
    text = summary(report, ["samara", "ncnn", "mnn"])
    assert "1.50" in text
    assert "geometric mean of peer : samara 0.866, least 0.50" in text
    assert "ds_cnn float32 1 mnn: wrong answer: 3 dB" in text


def test_page_keeps_what_is_around(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    path.write_text(f"before\n{page.BEGIN}\nformer figures\n{page.END}\nafter\n", encoding="utf-8")
    page.update(path, report)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "former figures" not in text
    page.update(path, report)
    assert path.read_text(encoding="utf-8") == text


def test_page_shows_losses_and_limits(report: Report) -> None:
    text = page.tables(report)
    assert "| keyword DS-CNN | 2.00 | 3.00 | - | ncnn | 1.50 | 50 % |" in text
    assert "**0.50**" in text
    assert "samara is behind on 1 of 1 (bold)" in text
    assert "| 4.2 pass | 3.3 **miss** |" in text
    assert "wrong answer: 3 dB" in text


def test_page_says_what_it_leaves_out(report: Report) -> None:
    text = page.tables(report)
    assert "Not measured in float32 with 1 thread(s): models MobileNetV1," in text
    assert "executorch (0 of 2)" in text
    assert "mnn (1 of 2)" in text
    assert "Not measured at all: float32 with 2, int8 with 1, int8 with 2 thread(s)." in text
    assert "computes in float" not in text
    rows = [replace(_row("openvino", MILLION), form="int8", sqnr_db=131.0)]
    assert "computes in float, by its answer: openvino on keyword DS-CNN" in page.tables(
        replace(report, rows=rows)
    )


@pytest.mark.parametrize("name", NAMES)
def test_engines_say_how_their_files_are_made(name: str) -> None:
    found = engine(name)
    assert {"float32", "int8"} <= set(found.FORMS)
    for form in found.FORMS.values():
        assert (form.converter if isinstance(form, Form) else form) != ""
    assert all("==" in p or p == "numpy" for p in found.ENVIRONMENT.packages), (
        "versions are pinned, so that a figure can be measured again"
    )


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = run.options_of(
        ["--models", "lstm", "--engines", "samara,ncnn", "--threads", "1", "--int8"]
    )
    assert (chosen.models, chosen.engines) == (["lstm"], ["samara", "ncnn"])
    assert (chosen.threads, chosen.forms) == ([1], ["int8"])
    assert run.options_of([]).forms == ["float32", "int8"]
    with pytest.raises(SystemExit) as caught:
        run.options_of(["--models", "large"])
    assert caught.value.code == 2
    assert "no 'large'; there are mobilenet_v1," in capsys.readouterr().err


def test_an_earlier_result_is_shown(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(plain(report)), encoding="utf-8")
    assert run.main(["--from-json", str(path)]) == 0
    assert "best peer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        ("model name\t: A CPU\nflags\t\t: sse2 avx2 avx512f avx512_vnni\n", "A CPU (avx512_vnni)"),
        ("model name\t: A CPU\nflags\t\t: sse2 avx2\n", "A CPU (avx2)"),
        ("model name\t: A CPU\nflags\t\t: sse2\n", "A CPU"),
    ],
)
def test_cpus_of_one_name_differ_by_their_instruction_set(cpuinfo: str, name: str) -> None:
    assert run.processor(cpuinfo) == name


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The models that a run measures, by a contest that needs no engine and stops at "stop"."""
    seen: list[str] = []

    def rows(self: run.Contest, engines: list[str], *_how: object) -> list[Row]:
        if self.model == "yolo" and "stop" in seen:
            raise KeyboardInterrupt
        seen.append(self.model)
        return [_row(e, MILLION, model=self.model) for e in engines]

    monkeypatch.setattr(run.Contest, "rows", rows)
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    monkeypatch.setattr(run, "peaks", dict)
    return seen


def test_a_run_that_was_stopped_goes_on(measured: list[str], tmp_path: Path) -> None:
    words = ["--models", "ds_cnn,yolo", "--engines", "samara,ncnn", "--threads", "1", "--float32"]
    words += ["--no-memory", "--json", str(tmp_path / "r.json")]
    measured.append("stop")
    assert run.main(words) == 130
    measured.clear()
    assert run.main(words) == 0
    assert measured == ["yolo"]
    rows = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["rows"]
    assert [(r["model"], r["engine"]) for r in rows] == [
        ("ds_cnn", "samara"), ("ds_cnn", "ncnn"), ("yolo", "samara"), ("yolo", "ncnn")
    ]  # fmt: skip
    # Other ways to measure, engines that it lacks, and --again begin from the start.
    for more in (["--rounds", "3"], ["--engines", "samara,ncnn,mnn"], ["--again"]):
        measured.clear()
        assert run.main(words + more) == 0
        assert measured == ["ds_cnn", "yolo"], more


def test_the_page_keeps_what_was_not_measured_again(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "PAGE", tmp_path / "page.json")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    (tmp_path / "docs" / "internals").mkdir(parents=True)
    shown = tmp_path / "docs" / "internals" / "benchmarks.md"
    shown.write_text(f"{page.BEGIN}\n{page.END}\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(f"{overview.BEGIN}\n{overview.END}\n", encoding="utf-8")
    result = tmp_path / "results.json"
    arguments = ["--from-json", str(result), "--page"]
    result.write_text(json.dumps(plain(report)), encoding="utf-8")
    assert run.main(arguments) == 0
    again = replace(report, rows=[_row("samara", 9 * MILLION), _row("ncnn", 3 * MILLION)])
    result.write_text(json.dumps(plain(again)), encoding="utf-8")
    assert run.main(arguments) == 0
    assert "| keyword DS-CNN | 9.00 | 3.00 |" in shown.read_text(encoding="utf-8")
    assert "| YOLO-style detector | 4.00 | 2.00 |" in shown.read_text(encoding="utf-8")
    other = replace(again, machine="another machine")
    result.write_text(json.dumps(plain(other)), encoding="utf-8")
    assert run.main(arguments) == 0
    assert "YOLO" not in shown.read_text(encoding="utf-8").split("| model |")[1]


def test_the_page_shows_its_data(repo: Path) -> None:
    shown = (repo / "docs" / "internals" / "benchmarks.md").read_text(encoding="utf-8")
    measured = shown.split(page.BEGIN)[1].split(page.END)[0].strip()
    kept = report_from(json.loads(run.PAGE.read_text(encoding="utf-8")))
    assert measured == page.tables(kept), "make bench BENCH_ARGS=--page writes both"
