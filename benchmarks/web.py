# SPDX-License-Identifier: Apache-2.0
"""samara in a browser beside onnxruntime-web and LiteRT.js, in one page of one Chromium.

    python -m benchmarks.web --nets mobilenet_v2 --forms float32 --threads 1 --rounds 20

`make bench-web BENCH_ARGS="…"` installs the peers by npm in build/bench/web and runs this. All engines are open in
one isolated page and take turns, round by round; the first of a round changes. Beside them, a native process of
samara takes turns too, with all instruction sets of this machine and with AVX2 only. Outputs are compared with the
graph in float64. Load times are those of a new browser profile per engine. Results are kept in
benchmarks/web.json: nets that are not measured again keep theirs. --page writes them into
docs/internals/benchmarks.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import reference
from benchmarks.engines import Array
from benchmarks.environments import Missing
from benchmarks.files import Files
from benchmarks.rounds import Worker, plan
from benchmarks.run import BOUNDS_DB, FOLDER

NETS = ("mobilenet_v2", "squeezenet", "ds_cnn", "minilm", "lstm")
ENGINES = ("samara", "onnxruntime", "litert")
NATIVE = {"native": "", "native avx2": "avx2"}  # the value of SAMARA_ISA
PACKAGES = ("onnxruntime-web@1.30.0", "@litertjs/core@2.5.3", "playwright-core@1.65.1")
HOME = FOLDER / "web"
PAGES = Path(__file__).with_name("web")
KEPT = Path(__file__).with_name("web.json")
BEGIN = "<!-- begin of what `make bench-web BENCH_ARGS=--page` writes -->"
END = "<!-- end of what `make bench-web BENCH_ARGS=--page` writes -->"
_LOADS = 5


@dataclass(slots=True)
class Row:
    """An engine on a net. Times are milliseconds; median of the runs, load of the time from nothing to the first
    answer. bytes: of the files that it fetched, and of the same compressed. problem: why there are no times, or
    why they do not count.
    """

    net: str
    form: str
    threads: int
    engine: str
    median: float | None = None
    load: float | None = None
    bytes: int | None = None
    gzip_bytes: int | None = None
    model_bytes: int | None = None
    sqnr_db: float | None = None
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        return (self.net, self.form, self.threads, self.engine)

    @property
    def counts(self) -> bool:
        return self.median is not None and not self.problem


@dataclass(slots=True)
class Results:
    """Everything that was measured."""

    machine: str = ""
    browser: str = ""
    date: str = ""
    load_average: float = 0
    rounds: int = 0
    rows: list[Row] = field(default_factory=list)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows in place of earlier ones of the same key."""
        fresh = {row.key for row in rows}
        self.rows = [row for row in self.rows if row.key not in fresh] + [*rows]

    def of(self, net: str, form: str, threads: int) -> dict[str, Row]:
        return {r.engine: r for r in self.rows if r.key[:3] == (net, form, threads)}


def results_from(data: Mapping[str, Any]) -> Results:
    return Results(**{**data, "rows": [Row(**row) for row in data["rows"]]})


class Browser:
    """Chromium with one page, by drive.mjs."""

    def __init__(self, site: Path) -> None:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            raise Missing("there is no chromium on PATH")
        self._process = subprocess.Popen(
            ["node", str(PAGES / "drive.mjs"), str(site), program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **command: Any) -> Any:
        """The answer to a command. Missing with what failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("drive.mjs ended")
        reply = json.loads(line)
        if "error" in reply:
            raise Missing(str(reply["error"])[:200])
        return reply["value"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


@contextmanager
def isa(ceiling: str) -> Iterator[None]:
    """With SAMARA_ISA set to the ceiling, if one is given."""
    before = os.environ.get("SAMARA_ISA")
    if ceiling:
        os.environ["SAMARA_ISA"] = ceiling
    try:
        yield
    finally:
        os.environ.pop("SAMARA_ISA", None)
        if before is not None:
            os.environ["SAMARA_ISA"] = before


@dataclass(frozen=True, slots=True)
class Entry:
    """A net that an engine can open: what bench.js takes."""

    engine: str
    config: dict[str, Any]
    model: Path


class Site:
    """The folder that the browser is served from."""

    def __init__(self, folder: Path, files: Files, opt: str) -> None:
        self.folder, self.files, self.opt = folder, files, opt
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("bench.html", "bench.js"):
            shutil.copyfile(PAGES / name, folder / name)

    def entry(self, engine: str, net: str, form: str, threads: int) -> Entry:
        """Make the files of an engine. Missing with the reason if it cannot run the net."""
        home = self.files.model(net)
        given = np.load(home / "input.npy")
        made = self.files.converted(net, engine, form)
        place = self.folder / "nets" / f"{net}.{form}.{engine}"
        config: dict[str, Any] = {"threads": threads}
        if engine == "samara":
            self._package(made, place)
            config["package"] = f"/nets/{place.name}"
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, place / made.name)
        if engine == "litert":
            given = given.transpose(0, 2, 3, 1) if given.ndim == 4 else given
        (place / "input.bin").write_bytes(np.ascontiguousarray(given, np.float32).tobytes())
        config |= {
            "model": f"/nets/{place.name}/{made.name}",
            "input": f"/nets/{place.name}/input.bin",
            "shape": list(given.shape),
        }
        return Entry(engine, config, place / made.name)

    def _package(self, model: Path, place: Path) -> None:
        from samara.exporter.build import write_web

        shutil.rmtree(place, ignore_errors=True)
        write_web([model], out=place, opt=self.opt)


class Contest:
    """One net in one form with one number of threads, on every engine."""

    def __init__(self, browser: Browser, site: Site, net: str, form: str, threads: int) -> None:
        self.browser, self.site = browser, site
        self.net, self.form, self.threads = net, form, threads
        self.home = site.files.model(net)
        self.reference = np.load(self.home / "reference.npy")
        self.rows: dict[str, Row] = {}
        self.entries: list[Entry] = []

    def run(self, rounds: int) -> list[Row]:
        """Load times of every engine, then runs in turns."""
        for engine in ENGINES:
            row = self.rows[engine] = Row(self.net, self.form, self.threads, engine)
            try:
                self.entries.append(self.site.entry(engine, self.net, self.form, self.threads))
            except Missing as missing:
                row.problem = str(missing)
        self._loads()
        with ExitStack() as stack:
            self._turns(rounds, self._native(stack) if self.threads == 1 else {})
        return [*self.rows.values()]

    def _loads(self) -> None:
        """Open every engine in a profile of its own, in turns."""
        took: dict[str, list[float]] = {entry.engine: [] for entry in self.entries}
        for turn in range(_LOADS):
            for k in range(len(self.entries)):
                entry = self.entries[(turn + k) % len(self.entries)]
                row = self.rows[entry.engine]
                if row.problem:
                    continue
                try:
                    self.browser.ask(page=True)
                    found = self.browser.ask(open=entry.engine, config=entry.config)
                except Missing as missing:
                    row.problem = str(missing)
                    continue
                took[entry.engine].append(found["ms"])
                self._check(row, np.array(found["answer"], np.float64))
                row.bytes = sum(found["files"].values())
                row.model_bytes = entry.model.stat().st_size
                row.gzip_bytes = sum(map(self._packed, found["files"]))
        for name, times in took.items():
            if times:
                self.rows[name].load = statistics.median(times)

    def _check(self, row: Row, answer: Array) -> None:
        row.sqnr_db = reference.sqnr_db(self.reference, answer)
        least = BOUNDS_DB[self.form]
        if row.sqnr_db < least:
            row.problem = (
                f"its answer is {row.sqnr_db:.0f} dB from the reference, less than {least:g} dB"
            )

    def _packed(self, path: str) -> int:
        """Bytes of a file as a server sends it to a browser that takes gzip."""
        return packed_bytes(self.site.folder / path.lstrip("/"))

    def _native(self, stack: ExitStack) -> dict[str, Worker]:
        """Processes of native samara, which have had their first run."""
        model = self.site.files.converted(self.net, "samara", self.form)
        found = {}
        for name, ceiling in NATIVE.items():
            answer = HOME / f"{name}.npy"
            words = [*map(str, (model, self.home / "input.npy", answer)), "1"]
            with isa(ceiling):
                worker = Worker(Path(sys.executable), "samara", words, HOME / f"{name}.log")
            stack.callback(worker.close)
            worker.ask("load")
            worker.ask("first")
            row = self.rows[name] = Row(self.net, self.form, 1, name)
            self._check(row, np.load(answer))
            found[name] = worker
        return found

    def _turns(self, rounds: int, natives: Mapping[str, Worker]) -> None:
        self.browser.ask(page=True)
        turns: dict[str, Any] = {}
        for entry in self.entries:
            if not self.rows[entry.engine].problem:
                self.browser.ask(open=entry.engine, config=entry.config)
                turns[entry.engine] = self._in_page
        for name, worker in natives.items():
            worker.pause()
            turns[name] = worker
        names = [*turns]
        times: dict[str, list[float]] = {name: [] for name in names}
        plans: dict[str, tuple[int, int]] = {}
        for turn in range(rounds):
            for k in range(len(names)):
                name = names[(turn + k) % len(names)]
                time.sleep(0.01)  # until the threads of the engine before sleep
                ask = turns[name] if callable(turns[name]) else self._in_process(turns[name])
                if name not in plans:
                    plans[name] = plan([(int(1e6 * ms), 0) for ms in ask(name, 3, 1)])
                times[name] += ask(name, *plans[name])
        for name in names:
            self.rows[name].median = statistics.median(times[name])

    def _in_page(self, name: str, samples: int, repeats: int) -> list[float]:
        found: list[float] = self.browser.ask(run=name, samples=samples, repeats=repeats)
        return found

    def _in_process(self, worker: Worker) -> Any:
        def ask(_name: str, samples: int, repeats: int) -> list[float]:
            worker.resume()
            found = [wall / 1e6 for wall, _ in worker.ask(f"run {samples} {repeats}")]
            worker.pause()
            return found

        return ask


_packed: dict[Path, int] = {}


def packed_bytes(path: Path) -> int:
    """The size of a file compressed by gzip."""
    if path not in _packed:
        _packed[path] = len(gzip.compress(path.read_bytes(), 6))
    return _packed[path]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--forms", default="float32,int8")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--opt", default="s", choices=("s", "2"), help="of samara's module")
    parser.add_argument("--page", action="store_true", help="write docs/internals/benchmarks.md")
    parser.add_argument("--scratch", action="store_true", help="do not keep the results")
    given = parser.parse_args(arguments)
    results = Results()
    if KEPT.is_file():
        results = results_from(json.loads(KEPT.read_text(encoding="utf-8")))
    browser = Browser(HOME)
    site = Site(HOME, Files(FOLDER), given.opt)
    try:
        results.browser = browser.ask(page=True)
        for net in given.nets.split(","):
            for form in given.forms.split(","):
                for threads in map(int, given.threads.split(",")):
                    rows = Contest(browser, site, net, form, threads).run(given.rounds)
                    for row in rows:
                        print(json.dumps(asdict(row)), flush=True)
                    results.add(rows)
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
