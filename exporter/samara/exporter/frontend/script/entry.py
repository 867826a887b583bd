# SPDX-License-Identifier: Apache-2.0
"""`samara.script`: capture a function with its branches and loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from samara.exporter.frontend.graph import _PACKAGE, Tracer, user_frame
from samara.exporter.frontend.script import runtime
from samara.exporter.frontend.script.convert import converted, require_scriptable
from samara.exporter.frontend.script.tracer import ScriptTracer
from samara.exporter.frontend.trace import Capture, Dynamic, check_callable
from samara.exporter.ir.program import Program
from samara.pybridge.errors import ScriptError


def script(
    f: Callable[..., Any],
    example_inputs: Any,
    *,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    variables: bool = False,
) -> Program:
    """The Program that `f` (a function or a Module) computes, with its branches and loops.

    Like `samara.trace`, but `if`, `while`, `for … in range(tensor)`, `break`, `continue`, early
    `return`, `and`, `or`, `not`, conditional expressions and `assert` on tensors become branches,
    loops and checks of the Program, in `f` and in every user function that it calls. Branches on
    Python values are decided now, and loops over Python values are unrolled. `f` itself does not
    change: called directly it runs as written, so print and a debugger work.

    Raises ScriptError with the user's file and line for Python that a Program cannot express, and
    ShapeError and UnsupportedError as operators do.

    >>> program = samara.script(nn.LSTM(4, 8), samara.ones(3, 1, 4), dynamic={"input": {0: "time"}})
    >>> [y.shape for y in program.run({"input": np.zeros((7, 1, 4), np.float32)}).values()]
    [(7, 1, 8), (1, 1, 8), (1, 1, 8)]
    """
    check_callable(f, "script")
    require_scriptable(f)
    return ScriptCapture(f, example_inputs, dynamic, input_names, output_names, variables).program()


class ScriptCapture(Capture):
    """A capture that runs the rewritten form of the function."""

    strict = True

    def tracer(self, name: str) -> Tracer:
        return ScriptTracer(name, self.state, runtime, self.strict)

    def entry(self) -> Callable[..., Any]:
        f: Callable[..., Any] = converted(self.f, runtime)
        return f

    def call(self, tracer: Tracer) -> Any:
        try:
            results = super().call(tracer)
        except RecursionError as error:
            raise _too_deep(error) from None
        except ValueError as error:
            if "does not belong to function" in str(error):
                raise _escaped() from error
            raise
        if isinstance(tracer, ScriptTracer) and tracer.failure is not None:
            raise tracer.failure  # the user's code caught it
        return results


def _too_deep(error: RecursionError) -> ScriptError:
    """The error for endless recursion, with the user's line that stands most often in the traceback."""
    lines: Counter[tuple[str, int, str]] = Counter()
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<frozen")):
            lines[code.co_filename, trace.tb_lineno, code.co_name] += 1
        trace = trace.tb_next
    (file, line, name), _ = lines.most_common(1)[0]
    return ScriptError(
        f"{file}:{line}: calls of {name} nest deeper than Python's recursion limit",
        fix="write the recursion as a loop",
    )


def _escaped() -> ScriptError:
    file, line = user_frame()
    return ScriptError(
        f"{file}:{line}: a tensor made inside a branch or loop is used outside of it",
        fix="pass it out in a local variable, a list or a dict, not in a global or an attribute",
    )


__all__ = ["ScriptCapture", "script"]
