# SPDX-License-Identifier: Apache-2.0
"""The generated functions of a model: prototypes for every kind of input and output."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.exporter.ir import Function, Program, Value
from samara.exporter.package.features import functions
from samara.exporter.package.ports import Signature, signatures
from samara.exporter.package.typed_api import TypedApi, joined, wrapped
from samara.exporter.types import Dim, DType, TensorType, as_dim, sym


def typed(dtype: DType, *shape: int | Dim) -> TensorType:
    return TensorType(dtype, tuple(as_dim(size) for size in shape))


FIXED = typed(DType.F32, 2, 3)
ROWS = typed(DType.I32, sym("n"), sym("n"), 4)


def passing(name: str, **types: TensorType) -> Signature:
    """The signature of a function that returns its inputs."""
    values = tuple(Value(word, type_) for word, type_ in types.items())
    function = Function(name, values, values, (), tuple(f"{word}_out" for word in types))
    (found,) = signatures(Program({name: function}, (name,)))
    return found


@pytest.mark.parametrize(
    ("signature", "prototype"),
    [
        (
            passing("f", x=FIXED),
            "samara_run(samara_net *net, const float x[SAMARA_INPUT_X_SIZE], "
            "float x_out[SAMARA_OUTPUT_X_OUT_SIZE])",
        ),
        (
            passing("f", x=ROWS),
            "samara_run(samara_net *net, int64_t n, const int32_t *x, int32_t *x_out, "
            "size_t x_out_size)",
        ),
        (passing("f", x=typed(DType.BOOL, 0)), "samara_run(samara_net *net, const bool *x, bool *x_out)"),
    ],
)  # fmt: skip
def test_prototypes(signature: Signature, prototype: str) -> None:
    api = TypedApi([signature], embed=True, taken=functions(()))
    assert api.calls() == [f"samara_status {prototype}"]
    assert f"SAMARA_API samara_status {prototype};" in api.header()


def test_an_output_whose_size_depends_on_data_is_a_tensor() -> None:
    program = samara.trace(
        samara.nonzero, (samara.from_numpy(np.ones(4, np.float32)),), input_names=["x"],
        output_names=["at"],
    )  # fmt: skip
    api = TypedApi(signatures(program), embed=True, taken=())
    assert api.calls()[0].endswith("samara_tensor *at)")
    assert "samara_session_output(samara_net_session(net), 0, at)" in api.source()
    assert "&at)" in api.example(1)


def test_other_functions_have_their_name_in_theirs() -> None:
    both = [passing("infer", x=FIXED), passing("train step", x=FIXED), passing("session", x=FIXED)]
    api = TypedApi(both, embed=False, taken=functions(()))
    exported = api.exported()
    assert {"samara_run", "samara_train_step_run", "samara_train_step_open_memory"} <= exported
    # samara_session_run exists already.
    assert "samara_session_fn_run" in exported
    assert not exported & functions(())
    assert "#define SAMARA_TRAIN_STEP_INPUT_X_SIZE 6" in api.header()


def test_custom_operators_are_handed_to_sessions() -> None:
    api = TypedApi([passing("f", x=FIXED)], embed=True, taken=(), ops=["my_op", "other"])
    assert "net_ops[] = {&my_op, &other};" in api.source()


def test_long_lines_break_after_commas() -> None:
    line = "  f(" + ", ".join(f"argument_{i}" for i in range(12)) + ");"
    broken = wrapped(f"#define {line * 3}\n{line}").split("\n")
    assert broken[0] == f"#define {line * 3}"
    assert len(broken) == 3
    assert all(len(each) <= 100 for each in broken[1:])
    assert " ".join(each.strip() for each in broken[1:]) == line.strip()


def test_what_is_made_for_a_model_ends_the_header() -> None:
    header = "/* licence */\n#ifndef H\nint a;\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    assert joined(header, "int b;\n", "/* about */\n") == (
        "/* licence */\n/* about */\n#ifndef H\nint a;\n\nint b;\n"
        "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )
