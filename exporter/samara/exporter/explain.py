# SPDX-License-Identifier: Apache-2.0
"""What a name in a report means: an operator, an error, a kernel, a word of a quantization report, or a node.

Each answer comes from the place that also makes the reference pages or the report: the operator's row, the
error class, the header of the kernel family, the table of the report's words.
"""

from __future__ import annotations

import difflib
import functools
import inspect as _python
import os
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samara.exporter.inspect.contents import NodeRow, Report, family_of, inspect
from samara.exporter.ops import NO_GRAD, OpSpec, all_ops
from samara.exporter.ops.spec import REQUIRED, Attr
from samara.exporter.quantize.terms import TERMS, term_of
from samara.exporter.types import UnknownNameError
from samara.pybridge import errors
from samara.pybridge._native import error_class, statuses
from samara.pybridge._sources import sources

_WIDTH = 96
# Names in a profile's column of kernels that are no functions of a family.
_OTHER_KERNELS = {
    "view": "No kernel ran: the output lies in the bytes of the input, so nothing was moved.",
    "reference": "The numpy reference of a registered operator ran, since it has no kernel in C.",
}
_KERNELS_PAGE = "docs/internals/kernels.md says how a family is chosen, and at which fraction of the peak it runs."
_INSTRUCTIONS = {
    "scalar": "portable C, on every processor",
    "avx2": "AVX2 and FMA, on x86-64",
    "avx512": "AVX-512, on x86-64",
    "avx512vnni": "AVX-512 with dot products of int8 (VNNI), on x86-64",
    "avx512bf16": "AVX-512 with dot products of bfloat16, on x86-64",
    "amxint8": "AMX tiles of int8, on x86-64 servers with Linux",
    "neon": "NEON, on Arm",
    "neon_fp16": "NEON with arithmetic of float16, on Arm",
    "neon_dot": "NEON with dot products of int8, on Arm",
    "neon_i8mm": "NEON with matrix products of int8, on Arm",
    "v128": "vectors of 128 bits, in WebAssembly and on RISC-V with V",
    "v128_udot": "relaxed dot products of signed and unsigned bytes, in WebAssembly",
    "v128_sdot": "relaxed dot products of signed bytes, in WebAssembly",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a topic is. kind: "operator", "error", "status", "kernel", "quantization" or "node".

    paragraphs: in the order in which they are read. facts: names and values, as a table shows them.
    """

    topic: str
    kind: str
    title: str
    paragraphs: tuple[str, ...]
    facts: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain dicts, lists and strings."""
        return {
            "topic": self.topic,
            "kind": self.kind,
            "title": self.title,
            "paragraphs": list(self.paragraphs),
            "facts": dict(self.facts),
        }

    def text(self) -> str:
        """The explanation for a terminal."""
        parts = [self.title]
        parts += [p if "\n" in p else textwrap.fill(p, _WIDTH) for p in self.paragraphs]
        wide = max(map(len, self.facts), default=0)
        rows = [
            textwrap.fill(
                v, _WIDTH, initial_indent=f"  {k:{wide}}  ", subsequent_indent=" " * (wide + 4)
            )
            for k, v in self.facts.items()
        ]
        return "\n\n".join([*parts, *(["\n".join(rows)] if rows else [])])


def explain(topic: str) -> Explanation:
    """Explain an operator of the IR, an error class or status code, a kernel, or a word of a quantization report.

    topic: the name as reports print it: `conv`, `ShapeError`, `BAD_MODEL`, `20`,
        `f32_gemm_8x48__avx512`, `f32_gemm`, `range used`. Raises UnknownNameError for another name, with those that
        are spelt alike.

    >>> from samara.exporter.explain import explain
    >>> explain("relu").title
    'relu: an operator of the family pointwise'
    """
    for one in (_operator, _error, _status, _kernel, _term):
        found = one(topic)
        if found is not None:
            return found
    close = difflib.get_close_matches(topic, topics(), 4, 0.5)
    close += [t for t in topics() if topic.lower() in t.lower() and t not in close][:4]
    raise UnknownNameError(
        f"nothing to explain by the name {topic!r}",
        fix=f"did you mean {', '.join(close)}?"
        if close
        else "give an operator of `samara ops`, an error, a status, or a kernel of `samara inspect --kernels`",
    )


def explain_node(
    path: str | os.PathLike[str], node: str, *, name: str | None = None
) -> Explanation:
    """Explain a node of a model, by its name or path as `samara inspect --kernels` prints it.

    Runs the model a few times on random data to see which kernel is chosen. name: what the answer calls
    the model; default: `path`. Raises UnknownNameError if
    no node has the name, and what opening and running the model raises.
    """
    shown = os.fspath(path) if name is None else name
    report = inspect(path, name=shown)
    nodes = {n.path or n.name: n for f in report.functions for n in f.nodes}
    found = nodes.get(node) or next((n for n in nodes.values() if n.name == node), None)
    if found is None:
        # An importer calls the parts of the author's node `node.part`.
        parts = (
            n for n in nodes.values() for a in n.absorbed if a == node or a.startswith(f"{node}.")
        )
        absorbed = next(parts, None)
        if absorbed is not None:
            return _node(report, absorbed, node)
        close = difflib.get_close_matches(node, nodes, 4, 0.4)
        fix = (
            f"did you mean {', '.join(close)}?"
            if close
            else "`samara inspect --kernels` lists them"
        )
        raise UnknownNameError(f"{shown} has no node {node!r}", fix=fix)
    return _node(report, found, node)


def topics() -> list[str]:
    """Every name that `explain` knows, kernels by their families."""
    kernels = {*_families(), *_named_in_sources(), *_OTHER_KERNELS}
    return sorted({*_operators(), *errors.__all__, *statuses(), *kernels, *TERMS})


# ---- operators ----


@functools.cache
def _operators() -> dict[str, OpSpec]:
    return {op.name: op for op in all_ops()}


def _operator(topic: str) -> Explanation | None:
    op = _operators().get(topic)
    if op is None:
        return None
    facts = {
        "call": f"{op.name}({', '.join(op.inputs)}) -> {', '.join(op.outputs)}",
        "dtypes": ", ".join(op.dtypes),
        "gradient": "no" if op.grad in (None, NO_GRAD) else "yes",
        "code in files": f"{op.code}, since {op.since}",
    }
    if op.flags:
        facts["flags"] = ", ".join(sorted(op.flags))
    if op.measured:
        facts["output sizes"] = "known only once it has run"
    facts |= {f"attribute {a.name}": _attribute(a) for a in op.attrs}
    title = f"{op.name}: an operator of the family {family_of(op)}"
    reference = f"docs/reference/ops.md#{op.name} has its row beside all others."
    return Explanation(
        topic,
        "operator",
        title,
        (op.doc, reference),
        facts,
    )


def _attribute(a: Attr) -> str:
    kind = " | ".join(a.choices) if a.choices else str(a.type)
    default = "must be given" if a.default is REQUIRED else f"default {a.default}"
    return f"{kind}; {default}" + (f"; {a.doc}" if a.doc else "")


# ---- errors ----


def _error(topic: str) -> Explanation | None:
    if topic not in errors.__all__:
        return None
    kind = getattr(errors, topic)
    codes = [f"{name} ({code})" for name, code in statuses().items() if error_class(code) is kind]
    facts = {"is also a": ", ".join(b.__name__ for b in kind.__mro__[1:-3] if b is not kind)}
    if codes:
        facts["status in C"] = ", ".join(codes)
    return Explanation(topic, "error", f"{topic}: an error", _paragraphs(kind), facts)


def _status(topic: str) -> Explanation | None:
    name = topic.upper().removeprefix("SAMARA_")
    known = statuses()
    code = known.get(name)
    if code is None and topic.isdigit():
        code = int(topic)
        name = next((n for n, c in known.items() if c == code), "")
    if code is None or not name:
        return None
    kind = error_class(code)
    if code == 0:
        return Explanation(topic, "status", "OK: status 0", ("The call succeeded.",))
    title = f"SAMARA_{name}: status {code} of the C runtime"
    facts = {
        "in Python": kind.__name__,
        "in C": "samara_error.text says which value, where, and what to do",
    }
    return Explanation(topic, "status", title, _paragraphs(kind), facts)


def _paragraphs(kind: type) -> tuple[str, ...]:
    """The class's docstring, without its example."""
    parts = (_python.getdoc(kind) or "").split("\n\n")
    return tuple(" ".join(p.split()) for p in parts if not p.lstrip().startswith(">>>"))


# ---- kernels ----


@functools.cache
def _families() -> dict[str, str]:
    """The contract of each kernel family: the first comment of its header."""
    folders = sorted((sources() / "src" / "kernels").iterdir())
    return {
        f.name: _first_comment(f / f"{f.name}.h") for f in folders if (f / f"{f.name}.h").is_file()
    }


@functools.cache
def _named_in_sources() -> dict[str, Path]:
    """Names of kernels that are written out in an operator or a family, with the file."""
    found: dict[str, Path] = {}
    for folder in ("ops", "kernels"):
        for path in sorted((sources() / "src" / folder).rglob("*.c")):
            text = path.read_text(encoding="utf-8")
            for line in re.findall(r"^.*\bkernels?\b.*= .*\".*$", text, re.M):
                for name in re.findall(r'"([a-z][a-z0-9_]*)"', line):
                    found.setdefault(name, path)
    return found


def _first_comment(path: Path) -> str:
    """The comment below the licence line of a C file."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    end = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return "\n".join(line[2:].removeprefix(" ") for line in lines[:end])


def _kernel(topic: str) -> Explanation | None:
    if topic in _OTHER_KERNELS:
        return Explanation(topic, "kernel", f"{topic}: no kernel", (_OTHER_KERNELS[topic],))
    name, _, isa = topic.removeprefix("smr_").partition("__")
    family = max(
        (f for f in _families() if name == f or name.startswith(f"{f}_")), key=len, default=""
    )
    source = _named_in_sources().get(name)
    if not family and source is None:
        return None
    if not family and source is not None and source.parent.name in _families():
        family = source.parent.name
    facts: dict[str, str] = {}
    more: tuple[str, ...] = ()
    tile = re.search(r"_(\d+)x(\d+)(?:_|$)", name)
    if tile:
        facts["register tile"] = f"{tile[1]} rows x {tile[2]} columns of outputs stay in registers"
    isa = re.sub(r"_u\d+$", "", isa)
    if isa:
        facts["instructions"] = _INSTRUCTIONS.get(isa, isa)
    if family:
        facts["sources"] = f"runtime_c/src/kernels/{family}"
        said = _families()[family]
        more = (_KERNELS_PAGE,)
        what = "a family of kernels" if name == family else f"a kernel of the family {family}"
    else:
        assert source is not None
        facts["sources"] = f"runtime_c/{source.relative_to(sources()).as_posix()}"
        said, what = _first_comment(source), "a loop of an operator, in portable C"
    return Explanation(topic, "kernel", f"{topic}: {what}", (said, *more), facts)


# ---- quantization reports ----


def _term(topic: str) -> Explanation | None:
    found = term_of(topic)
    if found is None:
        return None
    name, said = found
    more = "docs/guides/quantization.md says how to read the report and what to change."
    title = f"{name}: a word of the quantization report"
    return Explanation(topic, "quantization", title, (said, more))


# ---- nodes ----


def _node(report: Report, n: NodeRow, topic: str) -> Explanation:
    paragraphs = [n.text]
    if topic not in (n.name, n.path):
        paragraphs.insert(0, f"{topic} was fused into {n.name}, which computes both.")
    op = _operators().get(n.op)
    if op is not None:
        paragraphs.append(f"{op.name}: {op.doc}")
    facts = {"output": ", ".join(map(str, n.outputs))}
    facts["promise"] = {
        "exact": "exact: the same bits on every device",
        "bounded": "bounded: within the tolerances of docs/reference/numerics.md",
    }.get(n.promise, n.promise)
    if n.kernel:
        facts["kernel here"] = n.kernel
    if n.algorithms:
        chosen, *others = (f"{name} (about {us:.3g} us)" for name, us in n.algorithms)
        rest = f"; the cost model gives {', '.join(others)}" if others else ""
        facts["algorithm"] = f"{chosen}{rest}"
    if n.microseconds is not None:
        share = "" if n.share is None else f", {100 * n.share:.1f} % of the run"
        facts["time here"] = f"{n.microseconds:.3g} us{share}"
    if n.absorbed:
        facts["fused into it"] = ", ".join(n.absorbed)
    if n.place:
        facts["from"] = n.place
    if n.note:
        facts["note"] = n.note
    return Explanation(
        topic, "node", f"{n.path or n.name}: a node of {report.path}", tuple(paragraphs), facts
    )
