# SPDX-License-Identifier: Apache-2.0
"""Search for files that make a reader in Python fail: mutants of small valid files, in a worker process.

An input depends on the reader, the seed and its index alone, so a run of the same commit repeats it. A
reader may accept an input or raise a SamaraError. Anything else is a finding: another exception, a
crash, more than CPU_SECONDS of processor time, more than MEMORY_BYTES of additional address space.
"""

from __future__ import annotations

import contextlib
import gc
import io
import multiprocessing
import random
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / room) for room in ("exporter", "pybridge", ".")]

from samara.exporter.types import SamaraError  # noqa: E402

CPU_SECONDS: Final = 10.0
# Without processor time, such as in a wait that never ends.
WALL_SECONDS: Final = 300.0
MEMORY_BYTES: Final = 2 << 30
# More places than this in one run say nothing new.
MOST_FINDINGS: Final = 20
# A pipe holds the findings of a worker until it ends.
_MOST_TEXT: Final = 2000

_WORDS: Final = (0, 1, 2, 4, 7, 8, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1)
_BYTES: Final = b'\x00\x01\x02\x08\x0a\x12\x7f\x80\xff.({}[]":,0-9e\\\x93\x8b\x8a\x96\x8e\x94tRbQq'


@dataclass(frozen=True)
class Reader:
    """A reader and its inputs. `make` gives an input by its own source of randomness."""

    name: str
    make: Callable[[random.Random], bytes]
    read: Callable[[bytes], object]

    def input(self, seed: int, index: int) -> bytes:
        return self.make(random.Random(f"{self.name} {seed} {index}"))


@dataclass(frozen=True)
class Finding:
    """An input that a reader must not answer so, by what is wrong and where."""

    index: int
    what: str
    text: str


@dataclass
class Outcome:
    """How many inputs ran, how many of them were accepted, and the findings, one per place."""

    executions: int = 0
    accepted: int = 0
    findings: list[Finding] = field(default_factory=list)


# ---- mutations


def mutant(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """`data` with one to eight changes; `others` are files that parts may come from."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4, 8))):
        if not out:
            break
        _CHANGES[rng.randrange(len(_CHANGES))](out, rng, others or (data,))
    return bytes(out)


def _flip(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)


def _byte(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    out[rng.randrange(len(out))] = rng.choice(_BYTES)


def _word(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """An aligned 32-bit number, such as an offset or a count: an extreme, or a little more or less."""
    at = rng.randrange(len(out)) & ~3
    if at + 4 > len(out):
        return
    (old,) = struct.unpack_from("<I", out, at)
    new = rng.choice(_WORDS) if rng.random() < 0.5 else old + rng.randint(-9, 9)
    struct.pack_into("<I", out, at, new & 0xFFFFFFFF)


def _half(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """An aligned 16-bit number, such as an entry of a vtable."""
    at = rng.randrange(len(out)) & ~1
    if at + 2 <= len(out):
        struct.pack_into("<H", out, at, rng.choice((0, 1, 2, 4, 6, 8, 12, 16, 255, 65535)))


def _varint(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """A number of seven bits per byte, as protobuf has them: another value, of another length maybe."""
    at = rng.randrange(len(out))
    end = at
    while end < len(out) - 1 and out[end] & 0x80 and end - at < 9:
        end += 1
    value = rng.choice((*_WORDS, out[at] + 1, max(out[at] - 1, 0), 2**63, 2**64 - 1))
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    out[at : end + 1] = made


def _remove(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(out))
    del out[at : at + rng.randrange(1, 32)]


def _double(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(out))
    out[at:at] = out[at : at + rng.randrange(1, 64)]


def _noise(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    at = rng.randrange(len(out))
    out[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))


def _splice(out: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A part of another file in the place of one."""
    other = rng.choice(others)
    length = rng.randrange(1, 48)
    at, source = rng.randrange(len(out)), rng.randrange(len(other) or 1)
    out[at : at + length] = other[source : source + length]


def _copy(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    """A part of the file at another place of it, with the same size."""
    length = min(rng.choice((1, 2, 4, 8, 16)), len(out))
    to, source = (rng.randrange(len(out) - length + 1) for _ in range(2))
    out[to : to + length] = out[source : source + length]


def _cut(out: bytearray, rng: random.Random, _: Sequence[bytes]) -> None:
    if rng.randrange(4) == 0:
        del out[rng.randrange(len(out)) :]


Change = Callable[[bytearray, random.Random, Sequence[bytes]], None]
_CHANGES: Final[tuple[Change, ...]] = (
    *(_flip, _byte, _word, _half, _varint, _remove, _double, _noise, _splice, _copy, _cut),
)


# ---- readers: their small valid files, what becomes of those, and the call


def _onnx() -> Reader:
    from tests.exporter.importers.onnx.models import parse
    from tests.exporter.importers.onnx.mutations import mutate
    from tests.exporter.importers.onnx.test_robustness import SEEDS

    from samara import import_onnx

    models = [parse(text) for text in SEEDS.values()]
    files = [m.SerializeToString() for m in models]

    def make(rng: random.Random) -> bytes:
        which = rng.randrange(len(models))
        if rng.random() < 0.5:
            return mutant(files[which], rng, files)
        chooser = np.random.default_rng(rng.getrandbits(32))
        made: bytes = mutate(models[which], chooser, rng.randint(1, 5)).SerializeToString()
        return mutant(made, rng, files) if rng.random() < 0.25 else made

    return Reader("onnx", make, import_onnx)


def _tflite() -> Reader:
    from tests.exporter.importers.tflite.models import small_tflite
    from tests.exporter.importers.tflite.suite.collection import suite

    from samara import import_tflite

    first = {e.op: e for e in reversed(list(suite().values()))}
    files = [e.make(np.random.default_rng(0)).model() for e in first.values()]
    files = [small_tflite(), *(f for f in files if len(f) <= 1500)]

    def make(rng: random.Random) -> bytes:
        return mutant(rng.choice(files), rng, files)

    return Reader("tflite", make, import_tflite)


def _pt() -> Reader:
    from tests.exporter.frontend.torch_file.maker import Pickler, bfloat16, stream, zipped
    from tests.exporter.frontend.torch_file.test_reader import a_state, rng_samples

    state = a_state()
    whole = [zipped(state), stream(state), zipped({"x": bfloat16([1, 2])})]
    pickles = [Pickler().dump(state), *rng_samples()]

    def make(rng: random.Random) -> bytes:
        if rng.random() < 0.4:
            return mutant(rng.choice(whole), rng, whole)
        # The archive's checksums are right, so that the damage reaches the pickle machine.
        return zipped(state, pickle=mutant(rng.choice(pickles), rng, pickles))

    return Reader("pt", make, _load)


def _safetensors() -> Reader:
    from samara.exporter.frontend.tensor_file import write_tensors

    arrays: dict[str, np.ndarray[Any, Any]] = {
        "fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "fc.bias": np.ones(2, np.float64),
        "flags": np.array([True, False]),
        "empty": np.zeros((0, 3), np.int64),
        "steps": np.array(7, np.int64),
    }
    files = []
    for names in (list(arrays), ["fc.weight"], ["steps", "flags"], []):
        out = io.BytesIO()
        write_tensors(out, {n: arrays[n] for n in names}, {"format": "pt"} if names else {})
        files.append(out.getvalue())

    def make(rng: random.Random) -> bytes:
        out = mutant(rng.choice(files), rng, files)
        if rng.random() < 0.5:  # the header ends with the last brace
            end = out.rfind(b"}") + 1
            out = max(end - 8, 0).to_bytes(8, "little") + out[8:]
        return out

    return Reader("safetensors", make, _load)


def _load(data: bytes) -> object:
    import samara

    return samara.load(io.BytesIO(data))


READERS: Final[dict[str, Callable[[], Reader]]] = {
    "onnx": _onnx,
    "tflite": _tflite,
    "pt": _pt,
    "safetensors": _safetensors,
}


# ---- the worker


def _limit_memory(more: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    name = Path(last.filename)
    where = name.relative_to(ROOT) if name.is_relative_to(ROOT) else Path(name.name)
    return f"{type(error).__name__} at {where}:{last.lineno}"


def _serve(reader: Reader, seed: int, first: int, end: int, shared: Any, sink: Any) -> None:
    """Run inputs until `end` or until shared[2] is set. shared: next index, accepted, stop."""
    _limit_memory(MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    gc.freeze()
    said: set[str] = set()
    for index in range(first, end):
        shared[0] = index
        if shared[2]:
            return
        data = reader.input(seed, index)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            with np.errstate(all="ignore"):
                reader.read(data)
            shared[1] += 1
        except SamaraError:
            pass
        except Exception as error:  # noqa: BLE001  (any of them is a finding)
            place = _place(error)
            if place not in said:
                said.add(place)
                sink.send(Finding(index, place, traceback.format_exc()[-_MOST_TEXT:]))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    shared[0] = end


def _wait(worker: Any, shared: Any, deadline: float) -> bool:
    """Wait for a worker, which is stopped at the deadline. Whether it was killed for a wait without end."""
    seen, since = -1, time.monotonic()
    while worker.is_alive():
        worker.join(0.2)
        now = time.monotonic()
        if now >= deadline:
            shared[2] = 1
        if shared[0] != seen:
            seen, since = shared[0], now
        elif now - since > WALL_SECONDS:
            worker.kill()
            worker.join()
            return True
    return False


def _how_it_died(worker: Any, waited: bool) -> str:
    if waited:
        return f"no answer in {WALL_SECONDS:g} s"
    if worker.exitcode == -signal.SIGPROF:
        return f"more than {CPU_SECONDS:g} s of processor time"
    if worker.exitcode is not None and worker.exitcode < 0:
        return f"killed by {signal.Signals(-worker.exitcode).name}"
    return f"ended with status {worker.exitcode}"


def search(reader: Reader, seed: int, executions: int, seconds: float) -> Outcome:
    """Run inputs 0, 1, … of a seed until so many have run or so much time has passed."""
    context = multiprocessing.get_context("fork")
    outcome, deadline = Outcome(), time.monotonic() + seconds
    shared = context.Array("q", 3, lock=False)
    first = 0
    while first < executions and time.monotonic() < deadline:
        receiver, sender = context.Pipe(duplex=False)
        arguments = (reader, seed, first, executions, shared, sender)
        worker = context.Process(target=_serve, args=arguments)
        worker.start()
        sender.close()
        waited = _wait(worker, shared, deadline)
        found = _received(receiver)
        if worker.exitcode != 0:
            how = _how_it_died(worker, waited)
            found.append(Finding(shared[0], how, f"{how} at input {shared[0]}"))
            shared[0] += 1
        places = {f.what for f in outcome.findings}
        outcome.findings += [f for f in found if f.what not in places]
        first = shared[0]
        if shared[2] or len(outcome.findings) >= MOST_FINDINGS:
            break
    outcome.executions, outcome.accepted = first, shared[1]
    return outcome


def _received(receiver: Any) -> list[Finding]:
    found = []
    with contextlib.suppress(EOFError):
        while True:
            found.append(receiver.recv())
    return found


def save(reader: Reader, seed: int, outcome: Outcome, folder: Path) -> list[Path]:
    """Write the input and the report of every finding."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for finding in outcome.findings:
        path = folder / f"{reader.name}-{seed}-{finding.index}"
        path.write_bytes(reader.input(seed, finding.index))
        Path(f"{path}.txt").write_text(finding.text, encoding="utf-8")
        paths.append(path)
    return paths
