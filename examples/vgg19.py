# SPDX-License-Identifier: Apache-2.0
"""VGG-19 with random weights: build, trace, export, run; and write a page about every stage.

    python examples/vgg19.py                                  # export and run
    python examples/vgg19.py --walkthrough docs/guides/vgg19.md      # write the page

The page shows the program after tracing, the changes of each pass, the memory plan, and the kernel and
time of each node on this machine. --width 0.25 makes a net with a quarter of the channels.
"""

from __future__ import annotations

import argparse
import difflib
import platform
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import samara
from samara import nn
from samara.exporter.ir import print_node
from samara.exporter.passes import PIPELINE

# Channels of the convolutions; a 0 is a pooling (Simonyan and Zisserman 2014, arXiv:1409.1556,
# column E).
PLAN = [64, 64, 0, 128, 128, 0, *[256] * 4, 0, *[512] * 4, 0, *[512] * 4, 0]
SHOWN = 12  # lines of a pass's changes
RUNS = 15


class VGG19(nn.Module):
    """Like torchvision's vgg19, whose weights it can load; `width` scales the channels."""

    def __init__(self, classes=1000, width=1.0):
        super().__init__()
        layers, channels = [], 3
        for planned in PLAN:
            if planned == 0:
                layers.append(nn.MaxPool2d(2))
                continue
            wide = max(1, int(planned * width))
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU()]
            channels = wide
        hidden = max(1, int(4096 * width))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            *(nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Dropout()),
            *(nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout()),
            nn.Linear(hidden, classes),
        )
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(layer.bias)

    def forward(self, image):
        x = self.avgpool(self.features(image))
        return {"logits": self.classifier(x.flatten(1))}


def node_lines(program):
    """The nodes of the default function, one line each, without their source locations."""
    return [print_node(replace(node, source=None)) for node in program.main.nodes]


def fenced(lines, language=""):
    return "\n".join([f"```{language}", *lines, "```"])


def cut(line, width=110):
    return line if len(line) <= width else line[: width - 1] + "…"


def passes_section(program):
    """The changes of each pass of the pipeline, and the resulting program."""
    parts = ["## What each pass does", ""]
    for step in PIPELINE:
        before = node_lines(program)
        program = step.run(program)
        after = node_lines(program)
        changes = [
            cut(line)
            for line in difflib.unified_diff(before, after, n=0, lineterm="")
            if not line.startswith(("---", "+++", "@@"))
        ]
        count = f"{len(before)} nodes" + ("" if len(after) == len(before) else f" to {len(after)}")
        parts.append(f"**{step.name}**: {step.doc}. {count}, {len(changes)} lines changed.\n")
        if changes:
            more = len(changes) - SHOWN
            tail = [f"  … and {more} more"] if more > 0 else []
            parts.append(fenced([*changes[:SHOWN], *tail], "diff") + "\n")
    return "\n".join(parts), program


def lifetimes(function):
    """(name, bytes, index of the node that makes it, index of its last reader) of tensors."""
    made, last = {}, {}
    for i, node in enumerate(function.nodes):
        for v in node.inputs:
            if v is not None and not v.is_constant:
                last[v] = i
        for v in node.outputs:
            made[v] = i
    end = len(function.nodes) - 1
    for v in function.outputs:
        last[v] = end
    values = [*((v, 0) for v in function.inputs), *made.items()]
    return [(v.name, size_of(v), born, last.get(v, born)) for v, born in values]


def size_of(value):
    items = int(np.prod([d.as_int() for d in value.type.shape], dtype=np.int64))
    return items * value.type.dtype.numpy.itemsize


def plan_section(program, session):
    """The lifetimes of tensors, and the planner's result."""
    tensors = lifetimes(program.main)
    rows = []
    for i, node in enumerate(program.main.nodes):
        living = [(name, size) for name, size, born, dead in tensors if born <= i <= dead]
        names = ", ".join(f"{name} {size:,}" for name, size in living)
        rows.append((str(i), node.op.name, names, f"{sum(s for _, s in living):,}"))
    total = sum(size for _, size, _, _ in tensors)
    peak = max(int(row[3].replace(",", "")) for row in rows)
    text = (
        f"All tensors between input and output have {total:,} bytes; at most {peak:,} are alive at "
        f"one time. The arena, which the planner lays them out in, has {session.arena_bytes:,} "
        "bytes, the scratch memory of the kernels included. A view (reshape) shares the memory of "
        "its input, so it costs nothing there. Weights are read where the file lies.\n\n"
    )
    return "## The plan\n\n" + text + table(("node", "operator", "alive, bytes", "sum"), rows)


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times_section(program, session, feeds):
    """Kernel and median time of each node."""
    session.run(feeds)
    runs = [session.profile() for _ in range(RUNS)]
    total = statistics.median(sum(row.total_us for row in run) for run in runs)
    rows = []
    for at in zip(*runs, strict=True):
        took = statistics.median(row.total_us for row in at)
        name, op, kernel = at[0].node, at[0].op, at[0].kernel
        rows.append((name, op, kernel, f"{took / 1e3:.3f}", f"{100 * took / total:.1f} %"))
    text = (
        f"Medians of {RUNS} runs with one thread on one {platform.machine()} machine, which other "
        f"programs use too: {total / 1e3:.1f} ms in all. Another machine has other times, and may "
        "have other kernels.\n\n"
    )
    heads = ("node", "operator", "kernel", "ms", "share")
    return "## Kernels and times\n\n" + text + table(heads, rows)


def walkthrough(model, program, image, options):
    """The page."""
    weights = sum(p.numel() for p in model.parameters())
    parts = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "# VGG-19, from the module to the kernels\n",
        f"Written by `python examples/vgg19.py --width {options.width:g} --size {options.size} "
        "--walkthrough FILE`.\n",
        "## The program as it was traced\n",
        f"{weights:,} weights; an image is {list(image.shape)}. `nn` speaks NCHW and the operators "
        "NHWC, so each spatial one comes between two transposes.\n",
        fenced(map(cut, node_lines(program))) + "\n",
    ]
    section, optimized = passes_section(program)
    parts += [section, "## The program after the passes\n"]
    parts.append(fenced(map(cut, node_lines(optimized))) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        session, feeds = exported(program, Path(folder) / "vgg19.samara", image, options)
        parts += [plan_section(optimized, session) + "\n"]
        parts += [times_section(optimized, session, feeds), ""]
    return "\n".join(parts)


def exported(program, path, image, options):
    """A session on the program's file, and its input."""
    # Checking needs the reference interpreter, which takes minutes for a net of this size.
    print(samara.export(program, path, check=options.check))
    return samara.Session(path, threads=1), {"image": image.numpy()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=224, help="of the image, a multiple of 32")
    parser.add_argument("--check", action="store_true", help="check every pass on sample inputs")
    parser.add_argument("--walkthrough", type=Path, metavar="FILE", help="write the page")
    parser.add_argument("--out", type=Path, default=Path("vgg19.samara"))
    options = parser.parse_args()
    samara.manual_seed(0)
    model = VGG19(width=options.width).eval()
    image = samara.randn(1, 3, options.size, options.size)
    program = samara.trace(model, image)
    if options.walkthrough is not None:
        options.walkthrough.write_text(
            walkthrough(model, program, image, options), encoding="utf-8"
        )
        print(f"{options.walkthrough} is written")
        return 0
    session, feeds = exported(program, options.out, image, options)
    got = session.run(feeds)["logits"]
    with samara.no_grad():
        want = model(image)["logits"].numpy()
    difference = np.abs(got - want).max() / np.abs(want).max()
    print(f"largest difference from samara.nn: {difference:.1e} of the largest logit")
    return 0 if difference < 1e-4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
