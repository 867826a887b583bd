# SPDX-License-Identifier: Apache-2.0
"""Find out what models need of a runtime by preparing them with the full library's own code."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samara.exporter.ir import Program, read_file, save_program
from samara.exporter.measure.feeds import choose_feeds
from samara.exporter.package.selection import Selection
from samara.exporter.types import SamaraError
from samara.pybridge import Model, Session
from samara.pybridge.needs import NodeNeeds, backend_needs, session_needs

_READY = ("prepared", "view", "placed", "control")
# Parts for which portable C may be enough, with the extra nanoseconds per element compared to vectors
# (Zen 4, GCC 12 -Os, rounded up). All instruction sets give the same bits for them.
_PORTABLE = {
    "vquant_quantize": 1.0,
    "vquant_dequantize": 1.0,
    "vquant_requantize": 1.5,
    "q8_vbinary_add": 2.5,
    "q8_vbinary_mul": 2.5,
    "q8_vbinary_scale": 2.5,
}
_WORK_PER_NS = 200.0  # int8 multiply-adds of one fast core: VNNI, short convolutions
_FELT = 0.01  # share of a run that is considered noticeable


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of one model.

    `model_parts` are the parts that it needs as a whole; `nodes` those of all its functions. `unknown` are
    nodes that no run reached and whose sizes depend on data: only their operators are known to be needed.
    """

    path: Path
    selection: Selection
    model_parts: frozenset[str]
    nodes: tuple[NodeNeeds, ...]
    unknown: tuple[NodeNeeds, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """How to make the sessions that report needs: the arguments of needs_of."""

    shapes: Mapping[str, Sequence[int]]
    accuracy: str
    backend: str | None
    limits: Mapping[str, float] | None


def needs_of(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    accuracy: str = "default",
    backend: str | None = None,
    limits: Mapping[str, float] | None = None,
) -> Needs:
    """The needs of the `.samara` file at `path`, for all instruction sets.

    shapes: of inputs with symbolic dims; others are found by trying. If sizes depend on data, the model runs
    once on seeded random inputs. accuracy: of the sessions that the build is for. backend: one of the
    runtime's own ("opencl") that nodes will run on too; its kernels are added. limits: of the sessions here,
    as Session takes them, for files from unknown sources.
    """
    asked = _Asked(shapes or {}, accuracy, backend, limits)
    found: dict[tuple[str, str, int], NodeNeeds] = {}
    model_parts = _entries_needs(path, found, asked)
    # Include operators of functions that nothing calls, because a runtime reads the whole file.
    program = read_file(path, checked=False).program
    named = [n.op.name for f in program.functions.values() for n in f.nodes]
    ops = dict.fromkeys(named, frozenset[str]())
    model_parts |= _bodies_needs(program, found, asked)
    nodes = tuple(found.values())
    for node in nodes:
        ops[node.op] |= node.dtypes
    unknown = tuple(node for node in nodes if node.state not in _READY)
    parts = model_parts.union(*(node.parts for node in nodes))
    if unknown:
        return Needs(Path(path), Selection(ops=ops, parts=None), model_parts, nodes, unknown)
    selection = Selection(ops=ops, parts=parts, portable=portable_parts(nodes))
    return Needs(Path(path), selection, model_parts, nodes, unknown)


def portable_parts(nodes: Sequence[NodeNeeds]) -> frozenset[str]:
    """Parts for whose kernels portable C is enough: together they add less than a hundredth to the time of
    every function. This requires that every node runs exactly once, and holds for the sizes for which the
    nodes were prepared; other sizes scale the products as well."""
    if any(node.state == "control" for node in nodes):
        return frozenset()
    # Nanoseconds by function, and the loss by part.
    runs: defaultdict[str, float] = defaultdict(float)
    longer: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for node in nodes:
        runs[node.function] += node.work / _WORK_PER_NS
        lost = longer[node.function]
        for part in node.parts & _PORTABLE.keys():
            lost[part] += node.elements * _PORTABLE[part]
    chosen = {part for lost in longer.values() for part in lost}
    # Remove the part with the largest loss until the rest is not noticeable.
    for part in sorted(chosen, key=lambda p: -max(lost[p] for lost in longer.values())):
        if any(
            sum(lost[each] for each in chosen) > _FELT * runs[name] for name, lost in longer.items()
        ):
            chosen.remove(part)
    return frozenset(chosen)


def _entries_needs(
    path: str | os.PathLike[str],
    found: dict[tuple[str, str, int], NodeNeeds],
    asked: _Asked,
) -> frozenset[str]:
    """Put the nodes of all functions into `found`; returns the model's own parts.

    Keys are the function, the node's name, and its index among nodes of that name.
    """
    model = Model(path)
    model_parts: frozenset[str] = frozenset()
    for function in model.functions:
        whole, nodes = _function_needs(model, function, asked)
        model_parts |= whole
        named: Counter[tuple[str, str]] = Counter()
        for node in nodes:
            key = node.function, node.node, named[node.function, node.node]
            named[node.function, node.node] += 1
            known = found.get(key)
            if known is None or known.state not in _READY:
                found[key] = node
    return model_parts


def _bodies_needs(
    program: Program,
    found: dict[tuple[str, str, int], NodeNeeds],
    asked: _Asked,
) -> frozenset[str]:
    """Prepare bodies that no run reached as functions of their own. Returns the parts that they need as
    models."""
    parts: frozenset[str] = frozenset()
    for name in program.functions:
        if all(n.state in _READY for (function, *_), n in found.items() if function == name):
            continue
        with tempfile.TemporaryDirectory(prefix="samara-") as folder:
            file = Path(folder) / "body.samara"
            with contextlib.suppress(SamaraError):
                save_program(replace(program, entries=(name,)), file)
                whole = _entries_needs(file, found, asked)
                if asked.backend is not None:
                    parts |= whole
    return parts


def survey(
    models: Iterable[str | os.PathLike[str]],
    *,
    accuracy: str = "default",
    backend: str | None = None,
) -> tuple[Selection, list[Needs]]:
    """The needs of all models together, and of each. accuracy: of the sessions that run them. backend: as for
    needs_of."""
    found = [needs_of(path, accuracy=accuracy, backend=backend) for path in models]
    selection = Selection()
    for needs in found:
        selection = selection.merge(needs.selection)
    return selection, found


def _function_needs(
    model: Model, function: str, asked: _Asked
) -> tuple[frozenset[str], list[NodeNeeds]]:
    session = Session(
        model, function=function, threads=1, accuracy=asked.accuracy, limits=asked.limits
    )
    # Kernels do not depend on sizes that only a run determines: such nodes stay on the CPU.
    kernels = frozenset[str]()
    if asked.backend is not None:
        kernels = backend_needs(session, asked.backend)
    whole, nodes = session_needs(session)
    whole |= kernels
    if all(node.state in _READY for node in nodes):
        return whole, nodes
    open_sizes = any(isinstance(d, str) for spec in session.inputs for d in spec.shape)
    try:
        session.run(choose_feeds(session, shapes=asked.shapes).arrays)
    except SamaraError:
        if open_sizes:
            raise  # not even preparing succeeded
        # Nodes that the run did not reach stay unknown.
    whole, nodes = session_needs(session)
    return whole | kernels, nodes
