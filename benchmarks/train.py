# SPDX-License-Identifier: Apache-2.0
"""Benchmark of training steps compared with PyTorch.

Usage: train.py [--steps N] [--threads 1,2] [--alone] [--profile MODEL] [--json FILE] [MODEL…].
The same code builds each model in both frameworks, because the names are the same. Steps are taken in turns
and medians compared. Both start from the same weights, and their losses must agree. It also prints the CPU time
of a chain of elementwise operators, the overhead of an eager operator over numpy, the ratio of backward to forward of
convolutions, a step exported to a file and run by the C runtime compared with the eager one, the gain of the caching
allocator, and how often a heavy operator fell back to numpy (exit status 1 if it ever did).
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

# Two pools of spinning threads in one process would slow each other down.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import samara
import samara.nn
import samara.optim
from samara.exporter.frontend import native
from samara.exporter.types.text import table
from samara.pybridge import op as bridge

RTOL = 2e-3  # of losses after WARM steps


def digits_cnn(t: Any) -> tuple[Any, tuple[tuple[int, ...], int]]:
    """The CNN of `samara demo`, batch 64."""
    nn = t.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
        nn.MaxPool2d(2),
        *(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        nn.MaxPool2d(2),
        nn.Flatten(),
        *(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)),
    )
    return model, ((64, 1, 8, 8), 10)


def resnet8(t: Any) -> tuple[Any, tuple[tuple[int, ...], int]]:
    """ResNet-8 of MLPerf Tiny on 32x32x3, batch 32."""
    nn = t.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if stride > 1 else None
            self.relu = nn.ReLU()

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + (x if self.short is None else self.short(x)))

    model = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
        *(Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )
    return model, ((32, 3, 32, 32), 10)


def transformer(t: Any) -> tuple[Any, tuple[tuple[int, ...], int]]:
    """Two encoder layers of width 128, length 64, batch 16."""
    nn, functional = t.nn, t.nn.functional

    class Layer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

        def forward(self, x: Any) -> Any:
            n, s, d = x.shape
            q, k, v = (
                y.reshape(n, s, 4, d // 4).transpose(1, 2)
                for y in self.qkv(self.norm1(x)).split(d, -1)
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(n, s, d))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(96, 128)
            self.place = nn.Parameter(t.zeros(64, 128))
            self.layers = nn.Sequential(Layer(), Layer())
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 96)

        def forward(self, x: Any) -> Any:
            y = self.layers(self.embed(x) + self.place)
            return self.head(self.norm(y)).reshape(-1, 96)

    return Model(), ((16, 64), 96)


MODELS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "digits_cnn": digits_cnn,
    "resnet8": resnet8,
    "transformer": transformer,
}
WARM = 8
SIZES = (64, 512)  # of the chain's matrices: within the first cache, and beyond the second


class Side:
    """A model trained in one framework."""

    def __init__(self, t: Any, name: str, tensor: Callable[[Any], Any]) -> None:
        self.t = t
        self.model, (shape, classes) = MODELS[name](t)
        self.optimizer = t.optim.AdamW(self.model.parameters(), lr=1e-3)
        source = np.random.default_rng(0)
        if name == "transformer":
            x = source.integers(0, classes, shape)
            y = source.integers(0, classes, x.size)
        else:
            x = source.standard_normal(shape, np.float32)
            y = source.integers(0, classes, shape[0])
        self.x, self.y = tensor(x), tensor(y)

    def train(self, x: Any, y: Any) -> Any:
        """One training step on a batch; returns its loss."""
        self.optimizer.zero_grad()
        loss = self.t.nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def step(self) -> float:
        """One training step; returns its loss."""
        return float(self.train(self.x, self.y).item())


def interleaved(
    calls: list[Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Median seconds of each call, taken in turns."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for took, call in zip(times, calls, strict=True):
            begin = clock()
            call()
            took.append(clock() - begin)
    return [statistics.median(t) for t in times]


def compare(torch: Any, name: str, threads: int, steps: int) -> dict[str, Any]:
    """Both frameworks on one model: milliseconds per step, and whether the losses agree."""
    bridge.set_num_threads(threads)
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    other = Side(torch, name, torch.from_numpy)
    own = Side(samara, name, samara.from_numpy)
    own.model.load_state_dict({k: v.numpy() for k, v in other.model.state_dict().items()})
    losses = [(own.step(), other.step()) for _ in range(WARM)]
    agree = all(abs(a - b) <= RTOL * abs(b) for a, b in losses)
    mine, theirs = interleaved([own.step, other.step], steps)
    bridge.set_num_threads(1)
    return {
        "model": name,
        "threads": threads,
        "samara_ms": mine * 1e3,
        "torch_ms": theirs * 1e3,
        "ratio": mine / theirs,
        "losses_agree": agree,
    }


class Chain:
    """Elementwise operators on square matrices, trained in one framework."""

    def __init__(self, t: Any, size: int, tensor: Callable[[Any], Any]) -> None:
        self.t = t
        source = np.random.default_rng(0)
        self.x, self.y, *weights = (
            tensor(source.standard_normal((size, size), np.float32)) for _ in range(5)
        )
        bias = [tensor(source.standard_normal(size, np.float32)) for _ in range(2)]
        self.weights = [t.nn.Parameter(w) for w in (*weights, *bias)]
        self.optimizer = t.optim.AdamW(self.weights, lr=1e-3)

    def loss(self) -> Any:
        """The mean square of a chain of fifteen kinds of operators."""
        t, x, (u, v, w, b, c) = self.t, self.x, self.weights
        y = t.nn.functional.gelu(x * u + b)
        gate = (y * v + c).sigmoid()
        y = gate * y.tanh() + (1 - gate) * x
        y = t.where(y > 0, y, y**3 * 0.1)
        y = y / ((y * w).exp() + 1) - (y.abs() + 1).log()
        return t.nn.functional.mse_loss(y, self.y)

    def gradients(self) -> float:
        """Forward and backward; returns the loss."""
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        return float(loss.item())

    def step(self) -> float:
        """Forward, backward and the optimizer's update; returns the loss."""
        loss = self.gradients()
        self.optimizer.step()
        return loss


def pointwise(torch: Any, size: int, threads: int, steps: int) -> dict[str, Any]:
    """Both frameworks on a chain of elementwise operators: milliseconds of CPU time of all threads."""
    bridge.set_num_threads(threads)
    torch.set_num_threads(threads)
    own, other = Chain(samara, size, samara.from_numpy), Chain(torch, size, torch.from_numpy)
    losses = [(own.step(), other.step()) for _ in range(WARM)]
    calls = [own.gradients, other.gradients, own.step, other.step]
    times = [t * 1e3 for t in interleaved(calls, steps, time.process_time)]
    bridge.set_num_threads(1)
    return {
        "size": size,
        "threads": threads,
        "samara_ms": times[0],
        "torch_ms": times[1],
        "ratio": times[0] / times[1],
        "step_ratio": times[2] / times[3],
        "losses_agree": all(abs(a - b) <= RTOL * abs(b) for a, b in losses),
    }


def per_operator() -> dict[str, float]:
    """Microseconds of an eager add of two 8-element tensors and of numpy's.

    Measured in CPU time of the thread, because such short calls would otherwise measure other load on the machine.
    """
    a = samara.randn(8, requires_grad=True)
    b = samara.randn(8)
    x, y = a.detach().numpy(), b.numpy()
    number = 2000
    eager, plain = interleaved(
        [
            lambda: [a + b for _ in range(number)],
            lambda: [np.add(x, y) for _ in range(number)],
        ],
        31,
        time.thread_time,
    )
    return {"eager_us": eager / number * 1e6, "numpy_us": plain / number * 1e6}


def convolution(rounds: int) -> list[dict[str, Any]]:
    """Backward time divided by forward time of convolutions in typical training shapes."""
    functional = samara.nn.functional
    rows = []
    for n, c, size, o, k, stride, groups in (
        (32, 16, 32, 16, 3, 1, 1),
        (32, 32, 16, 32, 3, 1, 1),
        (32, 16, 32, 32, 3, 2, 1),
        (32, 3, 32, 16, 3, 1, 1),
        (8, 64, 28, 128, 3, 1, 1),
        (32, 16, 32, 32, 1, 2, 1),
        (8, 64, 56, 64, 3, 1, 64),
        (8, 64, 56, 64, 3, 2, 64),
        (8, 3, 224, 64, 7, 2, 1),
    ):
        x = samara.randn(n, size, size, c).permute(0, 3, 1, 2).requires_grad_()  # channels last
        w = samara.randn(o, c // groups, k, k, requires_grad=True)
        y = functional.conv2d(x, w, None, stride, k // 2, 1, groups)
        g = y.detach() * 1.0

        def forward(
            x: Any = x, w: Any = w, stride: int = stride, k: int = k, groups: int = groups
        ) -> Any:
            return functional.conv2d(x, w, None, stride, k // 2, 1, groups)

        def backward(y: Any = y, x: Any = x, w: Any = w, g: Any = g) -> None:
            samara.autograd.grad(y, (x, w), g, retain_graph=True)

        forward(), backward()
        ahead, back = interleaved([forward, backward], rounds)
        kind = f", {groups} groups" if groups > 1 else ""
        rows.append(
            {
                "case": f"[{n},{c},{size},{size}] -> {o}, {k}x{k}, stride {stride}{kind}",
                "forward_ms": ahead * 1e3,
                "backward_ms": back * 1e3,
                "ratio": back / ahead,
            }
        )
    return rows


def exported(name: str, threads: int, steps: int) -> dict[str, Any]:
    """A step as a function of a file, run by the C runtime, and the same step run eagerly."""
    bridge.set_num_threads(threads)
    side = Side(samara, name, samara.from_numpy)
    side.step()
    program = samara.trace(lambda x, y: side.train(x, y), (side.x, side.y))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.samara")
        samara.export(program, path, check=False)
        session = samara.Session(path, threads=threads)
    x, y = side.x.numpy(), side.y.numpy()
    feeds = dict(zip([spec.name for spec in session.inputs], (x, y), strict=True))

    def run() -> float:
        (loss,) = session.run(feeds).values()
        return float(loss)

    losses = [(run(), side.step()) for _ in range(WARM)]
    file, eager = interleaved([run, side.step], steps)
    bridge.set_num_threads(1)
    return {
        "model": name,
        "threads": threads,
        "c_ms": file * 1e3,
        "eager_ms": eager * 1e3,
        "losses_agree": all(abs(a - b) <= RTOL * abs(b) for a, b in losses),
    }


def allocator_gain(name: str, steps: int, rounds: int) -> float:
    """Step time with the system's allocator divided by that with the cache."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import train;"
        "s = train.Side(train.samara, sys.argv[2], train.samara.from_numpy);"
        "[s.step() for _ in range(5)];"
        "print(train.interleaved([s.step], int(sys.argv[3]))[0])"
    )
    took: dict[str, list[float]] = {"": [], "system": []}
    for _ in range(rounds):
        for kind, seconds in took.items():
            done = subprocess.run(
                [sys.executable, "-c", code, os.path.dirname(__file__), name, str(steps)],
                env={
                    **os.environ,
                    "SAMARA_ALLOC": kind,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
                capture_output=True,
                text=True,
                check=True,
            )
            seconds.append(float(done.stdout))
    return statistics.median(took["system"]) / statistics.median(took[""])


def profiled(name: str) -> str:
    """A profile of 30 steps."""
    side = Side(samara, name, samara.from_numpy)
    side.step()
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(30):
        side.step()
    profile.disable()
    out = io.StringIO()
    pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(25)
    return out.getvalue()


def main() -> int:
    """Measure, print, and report by the exit status whether all checks held."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--alone", action="store_true", help="without PyTorch")
    parser.add_argument("--profile", metavar="MODEL", help="where one model's time goes")
    parser.add_argument("--json", help="also write everything measured to this file")
    options = parser.parse_args()
    if unknown := set(options.models) - set(MODELS):
        parser.error(f"no model {sorted(unknown)[0]!r}; there are {', '.join(MODELS)}")
    if options.profile is not None:
        print(profiled(options.profile))
        return 0
    found: dict[str, Any] = {"steps": [], "pointwise": []}
    names = options.models if options.models else list(MODELS)
    threads = [int(n) for n in options.threads.split(",")]
    if not options.alone:
        try:
            import torch
        except ImportError:
            print("PyTorch is not installed; `make bench-train` installs it", file=sys.stderr)
            return 1
        found["steps"] = [compare(torch, n, t, options.steps) for n in names for t in threads]
        print(
            f"training steps, {options.steps} rounds in turns, medians; PyTorch {torch.__version__}"
        )
        print(steps_table(found["steps"]))
        found["pointwise"] = [pointwise(torch, n, t, options.steps) for n in SIZES for t in threads]
        print("a chain of elementwise operators, forward and backward, CPU time of all threads:")
        print(pointwise_table(found["pointwise"]))
    found["exported"] = [exported(n, t, options.steps) for n in names for t in threads]
    print("the step exported, in the C runtime, and eager:")
    print(exported_table(found["exported"]))
    found["operator_us"] = cost = per_operator()
    print(
        f"eager add of 8 elements with gradient: {cost['eager_us']:.2f} us, "
        f"{cost['eager_us'] - cost['numpy_us']:.2f} over numpy"
    )
    found["convolutions"] = convolution(min(options.steps, 41))
    print("convolutions, one thread:")
    print(convolution_table(found["convolutions"]))
    rounds = min(5, options.steps)
    found["allocator"] = gain = allocator_gain(names[-1], min(options.steps, 20), rounds)
    print(f"caching allocator: a step of {names[-1]} takes {gain:.2f} times as long without it")
    found["fallbacks"] = dict(native.fallbacks)
    print(f"heavy operators that ran in numpy: {found['fallbacks'] or 'none'}")
    if options.json is not None:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=2)
    compared = (*found["steps"], *found["pointwise"], *found["exported"])
    agree = all(r["losses_agree"] for r in compared)
    return 0 if agree and not native.fallbacks else 1


def _verdict(row: dict[str, Any]) -> str:
    return "agree" if row["losses_agree"] else "DIFFER"


def steps_table(rows: list[dict[str, Any]]) -> str:
    """Both frameworks side by side."""
    cells = [
        (
            r["model"],
            str(r["threads"]),
            f"{r['samara_ms']:.3f}",
            f"{r['torch_ms']:.3f}",
            f"{r['ratio']:.2f}",
            _verdict(r),
        )
        for r in rows
    ]
    heads = ("model", "threads", "samara ms", "PyTorch ms", "samara/it", "losses")
    return table(heads, cells, right={1, 2, 3, 4})


def pointwise_table(rows: list[dict[str, Any]]) -> str:
    """Both frameworks side by side; the last ratio is that of whole steps with AdamW."""
    cells = [
        (
            f"{r['size']}x{r['size']}",
            str(r["threads"]),
            f"{r['samara_ms']:.3f}",
            f"{r['torch_ms']:.3f}",
            f"{r['ratio']:.2f}",
            f"{r['step_ratio']:.2f}",
            _verdict(r),
        )
        for r in rows
    ]
    heads = ("chain", "threads", "samara ms", "PyTorch ms", "samara/it", "with AdamW", "losses")
    return table(heads, cells, right={1, 2, 3, 4, 5})


def exported_table(rows: list[dict[str, Any]]) -> str:
    """A step of a file and the eager one."""
    cells = [
        (r["model"], str(r["threads"]), f"{r['c_ms']:.3f}", f"{r['eager_ms']:.3f}", _verdict(r))
        for r in rows
    ]
    return table(("model", "threads", "C ms", "eager ms", "losses"), cells, right={1, 2, 3})


def convolution_table(rows: list[dict[str, Any]]) -> str:
    """Backward over forward."""
    cells = [
        (r["case"], f"{r['forward_ms']:.3f}", f"{r['backward_ms']:.3f}", f"{r['ratio']:.2f}")
        for r in rows
    ]
    heads = ("case", "forward ms", "backward ms", "backward/forward")
    return table(heads, cells, right={1, 2, 3})


if __name__ == "__main__":
    sys.exit(main())
