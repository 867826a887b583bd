# SPDX-License-Identifier: Apache-2.0
"""The files that a function needs, through names made by macros too."""

from __future__ import annotations

import pytest

from samara.exporter.package._reach import Library, _macro, _tokens, expand
from samara.pybridge import SamaraError

LIST = "OP(add)\nOP(neg)\n"
FILES = {
    "ops.inc": LIST,
    "ops.h": (
        '#ifndef OPS_H\n#define OPS_H\n#define OP(name) extern const int smr_##name##_op;\n'
        '#include "ops.inc"\n#undef OP\nvoid smr_log(void);\nint smr_start(void);\n'
        "static inline void smr_inline(void) { smr_log(); }\n#endif\n"
    ),
    "table.c": (
        '#include "ops.h"\nstatic const int *table[] = {\n#define OP(name) &smr_##name##_op,\n'
        '#include "ops.inc"\n#undef OP\n};\nint smr_start(void) {\n  return *table[0];\n}\n'
    ),
    "add.c": '#include "ops.h"\n#define DEFINE(name) const int smr_##name##_op = 1;\nDEFINE(add)\n',
    "neg.c": '#include "ops.h"\nconst int smr_neg_op = 2;\n',
    "log.c": '#include "ops.h"\nvoid smr_log(void) {\n}\n',
    "more.c": "void smr_more(void) {\n}\n",
}  # fmt: skip


def reached(files: dict[str, str], *roots: str) -> list[str]:
    compiled = [name for name in files if name.endswith(".c")]
    return Library(files.__getitem__, compiled, set(files)).reached(roots)


def test_names_out_of_a_list_lead_to_their_files() -> None:
    assert reached(FILES, "smr_start") == ["table.c", "add.c", "neg.c", "log.c"]


def test_a_shorter_list_needs_fewer_files() -> None:
    assert reached({**FILES, "ops.inc": "OP(neg)\n"}, "smr_start") == ["table.c", "neg.c", "log.c"]


def test_what_a_list_compiles_counts_as_text_of_its_file() -> None:
    files = {
        **FILES,
        "f.c": '#include "ops.h"\n#define SMR_SIMD_BODY "body.h"\n#include "isas.inc"\n',
        "isas.inc": "#include SMR_SIMD_BODY\n",
        "body.h": "int smr_body(void) {\n  smr_log();\n  return 0;\n}\n",
        "f.h": "#ifndef F_H\n#define F_H\nint smr_body(void);\n#endif\n",
    }
    assert reached(files, "smr_body") == ["log.c", "f.c"]


def test_a_row_that_nothing_defines_is_an_error() -> None:
    with pytest.raises(SamaraError, match="defines smr_mul_op"):
        reached({**FILES, "ops.inc": "OP(mul)\n"}, "smr_start")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("CALL(x)", "f_x ( 1 )"),
        ("PICK(IS_control control, other, ~)", "control"),
        ("PICK(IS_axis control, other, ~)", "other"),
        ("EACH(ITEM)", "item a item b"),
        ("LOOP", "LOOP"),
        ("CALL", "CALL"),
    ],
)
def test_macros_expand_as_in_c(text: str, expanded: str) -> None:
    macros = dict(
        map(
            _macro,
            [
                "CALL(n) f_##n(1)",
                "IS_control ~,",
                "SECOND(a, b, ...) b",
                "PICK(...) SECOND(__VA_ARGS__)",
                "EACH(X) X(a) X(b)",
                "ITEM(n) item n",
                "LOOP LOOP",
            ],
        )
    )
    assert " ".join(expand(_tokens(text), macros)) == expanded
