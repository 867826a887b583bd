# SPDX-License-Identifier: Apache-2.0
"""Run ONNX's backend test suite through import, passes, file and C runtime, and write the score. The reference
interpreter is tested too.

Every case runs in a worker process, so that a crash or a hang does not affect other cases. Graph inputs stay
inputs, so outputs come from kernels; `runs` counts the nodes that the C runtime ran.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / room) for room in ("exporter", "pybridge", ".")]

from tools.onnx_page import Result, page  # noqa: E402
from tools.score_workers import Failure, answers  # noqa: E402

# The importer's reason for inputs that are sequences or optionals.
_NO_TENSOR = "graphs hold tensors only here"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")


@dataclass(slots=True)
class Case:
    """A model with inputs and the expected outputs."""

    name: str
    kind: str
    model: onnx.ModelProto
    data: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float
    operators: tuple[str, ...] = field(default=())


# ---- the suite


def load(kind: str) -> dict[str, Any]:
    """The cases of a kind in ONNX's description, by name."""
    # ONNX's generators overflow on purpose, and set shapes, which NumPy 2.5 deprecates.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return {c.name: c for c in load_model_tests(kind=kind)}


def open_case(described: Any, kind: str) -> Case:
    """A described case with its model and data loaded."""
    if described.model is not None:
        data = [
            ([_array(i) for i in inputs], [_array(o) for o in outputs])
            for inputs, outputs in described.data_sets
        ]
        model = described.model
    elif described.model_dir is not None:
        folder = Path(described.model_dir)
        model = onnx.load(str(folder / "model.onnx"))
        data = [
            (
                _read_protos(f, "input", model.graph.input),
                _read_protos(f, "output", model.graph.output),
            )
            for f in sorted(folder.glob("test_data_set_*"))
        ]
    else:
        path = Path(onnx.__file__).parent.parent / described.url
        model = onnx.load(str(path))
        given = {t.name for t in model.graph.initializer}
        inputs = [
            Runner.generate_dummy_data(i, name=described.model_name)
            for i in model.graph.input
            if i.name not in given
        ]
        outputs = [
            numpy_helper.to_array(onnx.load_tensor(f"{path.with_suffix('')}_output_{i}.pb"))
            for i in range(len(model.graph.output))
        ]
        data = [(inputs, outputs)]
    return Case(described.name, kind, model, data, described.rtol, described.atol)


def _array(item: Any) -> Any:
    return numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def _read_protos(folder: Path, stem: str, infos: Any) -> list[Any]:
    count = len(list(folder.glob(f"{stem}_*.pb")))
    out: list[Any] = []
    for i, info in zip(range(count), infos, strict=False):
        data = (folder / f"{stem}_{i}.pb").read_bytes()
        if info.type.HasField("sequence_type"):
            out.append(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
        elif info.type.HasField("optional_type"):
            out.append(numpy_helper.to_optional(onnx.OptionalProto.FromString(data)))
        else:
            out.append(numpy_helper.to_array(onnx.TensorProto.FromString(data)))
    return out


def operators_of(name: str, model: onnx.ModelProto, bases: Mapping[str, str]) -> tuple[str, ...]:
    """The operators that a case tests: those of its nodes, or the one whose function body was expanded."""
    base = re.sub(r"_expanded(_ver\d+|_function.*)?$", "", name)
    if base != name and base in bases:
        return (bases[base],)
    return tuple(sorted({_qualified(n) for n in model.graph.node}))


def _qualified(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def dtypes_of(model: onnx.ModelProto) -> tuple[str, ...]:
    """The element types of a model's inputs, outputs and initializers."""
    codes = {t.data_type for t in model.graph.initializer}
    kinds: set[str] = set()
    for info in [*model.graph.input, *model.graph.output]:
        which = info.type.WhichOneof("value")
        if which == "tensor_type":
            codes.add(info.type.tensor_type.elem_type)
        else:
            kinds.add(str(which).removesuffix("_type"))
    for node in model.graph.node:
        codes |= {a.i for a in node.attribute if a.name in ("to", "dtype")}
    known = onnx.TensorProto.DataType
    return tuple(sorted(kinds | {known.Name(c).lower() for c in codes if c in known.values()}))


# ---- one case


def run_case(case: Case) -> tuple[str, str, int]:
    """(verdict, reason, nodes run) of a case."""
    from samara.exporter.onnx_backend import prepare
    from samara.exporter.types import SamaraError

    try:
        rep = prepare(case.model)
        for inputs, outputs in case.data:
            found = rep.run(inputs)
            Runner.assert_similar_outputs(outputs, list(found), case.rtol, case.atol)
            if case.kind != "real":  # too large for the interpreter
                compare_interpreter(rep, inputs, outputs, case)
        runs = sum(row.count for row in rep.session.profile())
    except SamaraError as error:
        reason = _one_line(error)
        return "out of scope" if out_of_scope(reason) else "unsupported", reason, 0
    except AssertionError as error:
        return "wrong", _one_line(error), 0
    except Exception as error:  # noqa: BLE001  (any exception is the case's verdict)
        return "crash", f"{type(error).__name__}: {_one_line(error)}", 0
    return "pass", "", runs


def compare_interpreter(rep: Any, inputs: Any, outputs: Sequence[Any], case: Case) -> None:
    """AssertionError if the reference interpreter's outputs differ from the case's, which were rounded to float32."""
    found = rep.program.run(rep.feeds(inputs))
    got = [found[spec.name] for spec in rep.session.outputs]
    try:
        Runner.assert_similar_outputs(outputs, got, case.rtol, max(case.atol, 1e-6))
    except AssertionError as error:
        raise AssertionError(f"the interpreter: {error}") from None


def out_of_scope(reason: str) -> bool:
    """Whether a refusal has one of the reasons for which a model is out of scope."""
    from samara.exporter.importers.onnx import context
    from samara.exporter.importers.onnx.scope_limits import limits

    known = [limit.reason for limit, _ in limits()]
    return any(
        text in reason
        for text in (*known, *getattr(context, "REFUSED_DTYPES", {}).values(), _NO_TENSOR)
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:1000]


def serve() -> None:
    """The worker: reads "kind name" lines and answers each with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # prints must not mix with the answers
    known: dict[str, dict[str, Any]] = {}
    bases: dict[str, str] = {}
    for line in sys.stdin:
        kind, name = line.split()
        if kind not in known:
            known[kind] = load(kind)
            for case in known[kind].values():
                if case.model is not None and len(case.model.graph.node) == 1:
                    bases[case.name] = _qualified(case.model.graph.node[0])
        case = open_case(known[kind][name], kind)
        case.operators = operators_of(name, case.model, bases)
        with np.errstate(all="ignore"):
            verdict, reason, runs = run_case(case)
        result = Result(name, kind, case.operators, dtypes_of(case.model), verdict, reason, runs)
        print(json.dumps(asdict(result)), file=answers, flush=True)


# ---- all cases

SERVE = (sys.executable, "-W", "ignore", __file__, "--serve")


def result_of(request: str, answer: dict[str, Any] | Failure) -> Result:
    """The result of a "kind name" case from its worker's answer."""
    kind, name = request.split()
    if isinstance(answer, Failure):
        return Result(name, kind, (), (), answer.verdict, answer.reason)
    for field_name in ("operators", "dtypes"):
        answer[field_name] = tuple(answer[field_name])
    return Result(**answer)


def score(cases: Sequence[tuple[str, str]], jobs: int, timeout: float) -> Iterator[Result]:
    """The results of (kind, name) cases, as they come."""
    requests = [f"{kind} {name}" for kind, name in cases]
    for request, answer in answers(requests, jobs, timeout, SERVE):
        yield result_of(request, answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="a regular expression over case names")
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds per case")
    parser.add_argument("--json", type=Path, help="write every result here")
    parser.add_argument("--page", type=Path, help="write docs/reference/onnx-coverage.md here")
    parser.add_argument("--check", action="store_true", help="fail where --page would change")
    args = parser.parse_args()
    if args.serve:
        serve()
        return 0
    cases = [
        (kind, name)
        for kind in args.kind or KINDS
        for name in load(kind)
        if re.search(args.only, name)
    ]
    results = []
    for i, result in enumerate(score(cases, args.jobs, args.timeout), 1):
        results.append(result)
        if sys.stderr.isatty():
            print(f"\r{i}/{len(cases)}", end="", file=sys.stderr)
    results.sort(key=lambda r: (KINDS.index(r.kind), r.name))
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in results], indent=0))
    counts = Counter(r.verdict for r in results)
    print(f"onnx {onnx.__version__}: " + ", ".join(f"{n} {v}" for v, n in counts.most_common()))
    for r in results:
        if r.verdict in ("wrong", "crash", "hang"):
            print(f"{r.verdict} {r.name}: {r.reason}")
    return write_page(results, args.page, args.check) if args.page else int(any(
        counts[v] for v in ("wrong", "crash", "hang")
    ))  # fmt: skip


def write_page(results: Sequence[Result], path: Path, check: bool) -> int:
    """Write the page, or with --check only report (exit status 1) that it is out of date."""
    text = page(results)
    if not check:
        path.write_text(text, encoding="utf-8")
        return 0
    old = path.read_text(encoding="utf-8")
    if f"onnx {onnx.__version__}" not in old:
        print(f"NOT RUN: {path} is about another version of onnx than {onnx.__version__}")
        return 0
    if old == text:
        return 0
    print(f"{path} is stale: run `make onnx-score`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
