# SPDX-License-Identifier: Apache-2.0
"""What prevents an import: found node by node, and reported all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samara.exporter.ir.program import Program
from samara.exporter.types import SamaraError, ShapeError, UnsupportedError

# Exceptions of converters and numpy for nodes that violate their format's rules, as by missing attributes or inputs.
MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that prevents the import of a model.

    `unsupported`: whether it can never be imported, as opposed to operands that do not fit (a clone in the
    other branch may succeed). `cause` is the underlying exception if it was not raised on purpose.
    """

    op: str
    node: str
    reason: str
    fix: str
    unsupported: bool
    cause: BaseException | None = None


def malformed(error: BaseException, format_name: str, fix: str) -> UnsupportedError:
    """The error to report for an exception that was not raised on purpose, which becomes its cause."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    made = UnsupportedError(
        f"the node breaks {format_name}'s rules, or has a form that the importer does not know ({text})",
        fix=fix,
    )
    made.__cause__ = error
    return made


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of an import: the Program, or everything that prevents it."""

    program: Program | None
    problems: tuple[Problem, ...]


def report(problems: Sequence[Problem]) -> SamaraError:
    """One error for all problems: a row per distinct reason, with its nodes."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for p in problems:
        rows.setdefault((p.op, p.reason, p.fix), []).append(p.node)
    count = len({(p.op, p.node, p.reason) for p in problems})
    lines = [f"{count} problem{'s' * (count > 1)} found while importing:"]
    for (op, reason, fix), found in rows.items():
        nodes = list(dict.fromkeys(found))
        where = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
        lines.append(f"  {op:<20} {where}\n      why: {reason}")
        lines += [f"      fix: {fix}"] if fix else []
    kind = UnsupportedError if any(p.unsupported for p in problems) else ShapeError
    error = kind("\n".join(lines))
    error.__cause__ = next((p.cause for p in problems if p.cause is not None), None)
    return error
