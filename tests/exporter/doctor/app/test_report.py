# SPDX-License-Identifier: Apache-2.0
"""Tables, JSON, and what makes an app unhealthy."""

from __future__ import annotations

import json

from samara.exporter.doctor.app.report import AppReport, Library, ModelEntry, Row, printable

OK = Row("ok", "pages", "lib/a.so", "fine")
DOUBT = Row("doubtful", "model", "m.samara", "compressed", "store it")
BROKEN = Row("broken", "pages", "lib/b.so", "4096", "link it again")


def report(*rows: Row) -> AppReport:
    return AppReport(
        "a.apk",
        "apk",
        2048,
        {"minSdkVersion": "24"},
        (Library("lib/a.so", "arm64-v8a", 1234, "0.9.0", 5),),
        (ModelEntry("m.samara", 99, "0.5.0", ("conv",), ("arm64-v8a",)), ModelEntry("n.samara", 1)),
        rows,
    )


def test_health() -> None:
    assert report().healthy
    assert report(OK, DOUBT).healthy
    assert not report(OK, BROKEN).healthy


def test_text() -> None:
    text = report(OK, DOUBT, BROKEN).text()
    assert text.startswith("a.apk: apk, 2 KiB, minSdkVersion 24\n")
    assert text.index("broken ") < text.index("doubtful ") < text.index("ok ")
    assert "0.9.0, 5 operators" in text
    assert "would fail on devices: 1; doubtful: 1" in text
    assert text.count("link it again") == 1
    assert "would fail on devices: nothing; doubtful: nothing" in report(OK).text()


def test_rows_that_say_the_same_stand_once() -> None:
    text = report(OK, Row("ok", "pages", "lib/c.so", "fine"), BROKEN, BROKEN).text()
    assert "lib/a.so and 1 more" in text
    assert text.count("lib/b.so") == 2


def test_json() -> None:
    found = json.loads(json.dumps(report(OK, BROKEN).to_json()))
    assert found["healthy"] is False
    assert found["rows"][1] == {
        "level": "broken",
        "check": "pages",
        "where": "lib/b.so",
        "said": "4096",
        "fix": "link it again",
    }
    assert found["libraries"][0]["operators"] == 5
    assert found["models"][0]["runs_on"] == ["arm64-v8a"]


def test_names_that_a_terminal_would_obey() -> None:
    assert printable("ä/b") == "ä/b"
    row = Row("doubtful", "x", "a\x1b[2Jb", "c\nd")
    text = report(row).text()
    assert "a\\x1b[2Jb" in text
    assert "\x1b" not in text
    assert report(row).to_json()["rows"][0]["where"] == "a\x1b[2Jb"
    forged = report(Row("doubtful", "x", "a", "b\n  ok  all is well")).text()
    assert "b\\x0a  ok" in forged
