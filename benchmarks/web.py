# SPDX-License-Identifier: Apache-2.0
"""samara in a browser beside onnxruntime-web and LiteRT.js, in one page of one Chromium.

    python -m benchmarks.web --nets mobilenet_v2 --forms float32 --threads 1 --rounds 20

`make bench-web BENCH_ARGS="…"` installs the peers by npm in build/bench/web and runs this. All engines are open in
one isolated page and take turns, round by round; the first of a round changes. With one thread, native processes of
samara take turns too: one with all instruction sets of this machine, one with AVX2 at most. Outputs are compared
with the graph in float64. Load times are those of a new browser profile per engine. Single layers are measured
beside native samara only. Results are kept in benchmarks/web.json, in which nets that are not measured keep theirs,
and with --page written into docs/internals/benchmarks.md. Exit status 1: samara's own output was wrong.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import reference
from benchmarks.engines import Array
from benchmarks.environments import ROOT, Missing
from benchmarks.files import SAMPLES, Files, sources_digest
from benchmarks.rounds import Worker, plan
from benchmarks.run import BOUNDS_DB, FOLDER, processor
from benchmarks.web_layers import LAYERS
from benchmarks.web_page import NATIVE, Results, Row, results_from, tables, update

NETS = ("mobilenet_v2", "squeezenet", "ds_cnn", "minilm", "lstm")
ENGINES = ("samara", "onnxruntime", "litert")
FORMS = {("litert", "int8"): "int8_float_io"}
PACKAGES = ("onnxruntime-web@1.30.0", "@litertjs/core@2.5.3", "playwright-core@1.65.1")
HOME = FOLDER / "web"
PAGES = Path(__file__).with_name("web_pages")
_PAUSE_SECONDS = 0.01  # until the threads of an engine sleep

Ask = Callable[[int, int], list[float]]


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
        if before is not None:
            os.environ["SAMARA_ISA"] = before
        else:
            os.environ.pop("SAMARA_ISA", None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A net that an engine can open. config: what bench.js takes. model: the engine's file."""

    engine: str
    config: dict[str, Any]
    model: Path


class Site:
    """The folder that the browser is served from."""

    def __init__(self, folder: Path, files: Files, opt: str) -> None:
        self.folder, self.files, self.opt = folder, files, opt
        for name in ("bench.html", "bench.js"):
            shutil.copyfile(PAGES / name, folder / name)

    def entry(self, engine: str, net: str, form: str, threads: int) -> Entry:
        """Make the files of an engine. Missing with the reason if it cannot run the net."""
        home = self.files.model(net)
        given = np.load(home / "input.npy")
        made = self.files.converted(net, engine, FORMS.get((engine, form), form))
        if engine == "samara":
            return self.samara(made, [made], given, threads)
        if engine == "litert" and given.ndim == 4:
            given = given.transpose(0, 2, 3, 1)
        place = self.folder / "nets" / f"{net}.{form}.{engine}"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, place / made.name)
        return self._entry(engine, place / made.name, given, threads)

    def samara(self, model: Path, models: Sequence[Path], given: Array, threads: int) -> Entry:
        """The entry of a model in a package for `models`, which is built again when a source has changed."""
        from samara.exporter.build import write_web

        place = self.folder / "nets" / f"{models[0].parent.name}.{models[0].stem}"
        stamp = place.with_suffix(".stamp")
        digest = sources_digest(ROOT)
        for path in (*sorted((ROOT / "runtime_c" / "src").rglob("*.[chi]*")), *models):
            digest.update(path.read_bytes())
        for path in sorted((ROOT / "web").rglob("*.*")):
            digest.update(path.read_bytes())
        key = f"{digest.hexdigest()} {self.opt}"
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != key:
            shutil.rmtree(place, ignore_errors=True)
            write_web([*models], out=place, opt=self.opt)
            stamp.write_text(key, encoding="utf-8")
        return self._entry("samara", place / model.name, given, threads)

    def _entry(self, engine: str, model: Path, given: Array, threads: int) -> Entry:
        at = f"/{model.parent.relative_to(self.folder).as_posix()}"
        path = model.parent / f"{model.stem}.input.bin"
        path.write_bytes(np.ascontiguousarray(given, np.float32).tobytes())
        config = {
            "model": f"{at}/{model.name}",
            "package": at,
            "input": f"{at}/{path.name}",
            "shape": list(given.shape),
            "threads": threads,
        }
        return Entry(engine, config, model)


class Contest:
    """One net in one form with one number of threads, on every engine."""

    def __init__(
        self, browser: Browser, reference: Array, net: str, form: str, threads: int
    ) -> None:
        self.browser, self.reference = browser, reference
        self.net, self.form, self.threads = net, form, threads
        self.rows: dict[str, Row] = {}
        self.entries: list[Entry] = []

    def row(self, engine: str) -> Row:
        return self.rows.setdefault(engine, Row(self.net, self.form, self.threads, engine))

    def load(self, loads: int) -> None:
        """Open every engine in a profile of its own, in turns."""
        took: dict[str, list[float]] = {entry.engine: [] for entry in self.entries}
        for turn in range(loads):
            for k in range(len(self.entries)):
                entry = self.entries[(turn + k) % len(self.entries)]
                row = self.row(entry.engine)
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
                row.gzip_bytes = sum(packed_bytes(HOME / name[1:]) for name in found["files"])
        for name, times in took.items():
            if times:
                self.row(name).load = statistics.median(times)

    def race(self, rounds: int, natives: Mapping[str, Worker]) -> None:
        """Runs in turns: of the page that has all engines open, and of native processes."""
        self.browser.ask(page=True)
        turns: dict[str, Ask] = {}
        for entry in self.entries:
            row = self.row(entry.engine)
            if row.problem:
                continue
            try:
                found = self.browser.ask(open=entry.engine, config=entry.config)
            except Missing as missing:
                row.problem = str(missing)
                continue
            self._check(row, np.array(found["answer"], np.float64))
            turns[entry.engine] = self._page_turn(entry.engine)
        turns |= {name: _process_turn(worker) for name, worker in natives.items()}
        for name, times in interleaved(turns, rounds).items():
            self.row(name).median = statistics.median(times)

    def native(self, stack: ExitStack, model: Path, given: Path) -> dict[str, Worker]:
        """Processes of native samara that have had their first run."""
        found = {}
        for name, ceiling in NATIVE.items():
            answer = HOME / f"{name}.npy"
            words = [str(model), str(given), str(answer), "1"]
            with isa(ceiling):
                worker = Worker(Path(sys.executable), "samara_copying", words, HOME / f"{name}.log")
            stack.callback(worker.close)
            worker.ask("load")
            worker.ask("first")
            self._check(self.row(name), np.load(answer))
            worker.pause()
            found[name] = worker
        return found

    def _check(self, row: Row, answer: Array) -> None:
        row.sqnr_db = reference.sqnr_db(self.reference, answer)
        least = BOUNDS_DB[self.form]
        if row.sqnr_db < least:
            row.problem = f"its output has {row.sqnr_db:.0f} dB, fewer than {least:g}"

    def _page_turn(self, name: str) -> Ask:
        def ask(samples: int, repeats: int) -> list[float]:
            found: list[float] = self.browser.ask(run=name, samples=samples, repeats=repeats)
            return found

        return ask


def _process_turn(worker: Worker) -> Ask:
    def ask(samples: int, repeats: int) -> list[float]:
        worker.resume()
        found = [wall / 1e6 for wall, _ in worker.ask(f"run {samples} {repeats}")]
        worker.pause()
        return found

    return ask


def interleaved(turns: Mapping[str, Ask], rounds: int) -> dict[str, list[float]]:
    """Milliseconds per run of everyone who takes turns. The first of a round changes."""
    names = [*turns]
    times: dict[str, list[float]] = {name: [] for name in names}
    plans: dict[str, tuple[int, int]] = {}
    for turn in range(rounds):
        for k in range(len(names)):
            name = names[(turn + k) % len(names)]
            time.sleep(_PAUSE_SECONDS)
            if name not in plans:
                plans[name] = plan([(int(1e6 * ms), 0) for ms in turns[name](3, 1)])
            times[name] += turns[name](*plans[name])
    return times


_packed: dict[Path, int] = {}


def packed_bytes(path: Path) -> int:
    """The size of a file compressed by gzip."""
    if path not in _packed:
        _packed[path] = len(gzip.compress(path.read_bytes(), 6))
    return _packed[path]


def net_rows(
    browser: Browser, site: Site, net: str, form: str, threads: int, given: Any
) -> list[Row]:
    """Measure a net."""
    home = site.files.model(net)
    contest = Contest(browser, np.load(home / "reference.npy"), net, form, threads)
    for engine in ENGINES:
        row = contest.row(engine)
        try:
            contest.entries.append(site.entry(engine, net, form, threads))
        except Missing as missing:
            row.problem = str(missing)
    contest.load(given.loads)
    with ExitStack() as stack:
        model = site.files.converted(net, "samara", form)
        natives = contest.native(stack, model, home / "input.npy") if threads == 1 else {}
        contest.race(given.rounds, natives)
    return [*contest.rows.values()]


def layer_rows(browser: Browser, site: Site, rounds: int) -> Iterator[Row]:
    """Measure the single layers, all in one package."""
    import onnx

    import samara

    folder = HOME / "layers"
    folder.mkdir(parents=True, exist_ok=True)
    made: list[tuple[str, str, Path, Path, Array]] = []
    for k, (name, build) in enumerate(LAYERS.items()):
        model = build()
        onnx.save(model, folder / f"{k}.onnx")
        drawn = reference.draw(model, SAMPLES + 1, seed=7)
        np.save(folder / f"{k}.npy", drawn[0])
        program = samara.import_onnx(folder / f"{k}.onnx")
        answer = reference.answer(model, drawn[0])
        quantized = samara.quantize(program, [{"x": x} for x in drawn[1:]])
        forms = {"float32": program}
        if any(node.op.name.startswith("q") for node in quantized.main.nodes):
            forms["int8"] = quantized
        for form, version in forms.items():
            path = folder / f"layer{k}_{form}.samara"
            samara.export(version, path, check=False)
            made.append((name, form, path, folder / f"{k}.npy", answer))
    models = [path for _, _, path, _, _ in made]
    for name, form, path, given, answer in made:
        contest = Contest(browser, answer, name, form, 1)
        contest.entries.append(site.samara(path, models, np.load(given), 1))
        with ExitStack() as stack:
            contest.race(rounds, contest.native(stack, path, given))
        yield from contest.rows.values()


def install() -> None:
    """Install the peers by npm, if they are not there in these versions."""
    HOME.mkdir(parents=True, exist_ok=True)
    stamp, wanted = HOME / "installed.txt", "\n".join(PACKAGES)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    words = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run([*words, "--prefix", str(HOME), *PACKAGES], check=True, stdout=sys.stderr)
    stamp.write_text(wanted, encoding="utf-8")


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--nets", default=",".join(NETS), help="names of benchmarks/zoo, or nothing"
    )
    parser.add_argument("--forms", default="float32,int8")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--layers", action="store_true", help="measure the single layers")
    parser.add_argument("--opt", default="s", choices=("s", "2"), help="of samara's modules")
    parser.add_argument("--page", action="store_true", help="write docs/internals/benchmarks.md")
    parser.add_argument(
        "--results", type=Path, help="file of results; default: benchmarks/web.json"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, keep, print, write."""
    given = options_of(arguments)
    where = (given.results,) if given.results else ()
    results = results_from(*where)
    fresh: list[Row] = []
    nets = [net for net in given.nets.split(",") if net]
    if nets or given.layers:
        fresh = _measured(given, nets, results, where)
    print(tables(results))
    if given.page:
        update(ROOT / "docs" / "internals" / "benchmarks.md", results)
    return 1 if any(row.problem for row in fresh if row.engine == "samara") else 0


def _measured(
    given: argparse.Namespace, nets: Sequence[str], results: Results, where: tuple[Path, ...]
) -> list[Row]:
    install()
    site = Site(HOME, Files(FOLDER), given.opt)
    browser = Browser(HOME)
    fresh: list[Row] = []

    def keep(rows: Sequence[Row]) -> None:
        fresh.extend(rows)
        results.add(rows)
        busy = os.getloadavg()[0]
        low, high = results.load_average
        results.load_average = (min(low or busy, busy), max(high, busy))
        results.save(*where)
        print(rows[0].net, rows[0].form, rows[0].threads, file=sys.stderr)

    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    results.machine = f"{processor(cpuinfo)}, {platform.system()} {platform.machine()}"
    results.date = datetime.date.today().isoformat()
    results.rounds, results.packages = given.rounds, PACKAGES[:2]
    results.load_average = (0, 0)
    try:
        results.browser = browser.ask(page=True)
        for net in nets:
            for form in given.forms.split(","):
                for threads in map(int, given.threads.split(",")):
                    keep(net_rows(browser, site, net, form, threads, given))
        if given.layers:
            for row in layer_rows(browser, site, given.rounds):
                keep([row])
    finally:
        browser.close()
    return fresh


if __name__ == "__main__":
    sys.exit(main())
