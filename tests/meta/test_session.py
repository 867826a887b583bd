# SPDX-License-Identifier: Apache-2.0
"""The concerns of a session stand in an order: nothing lower includes what is higher, and the host
reads values in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# Lowest first, as runtime_c/src/session/session.h says.
CONCERNS = ("common", "frame", "plan", "device", "stage", "control", "state", "observe")
# Single operators without a session: a folder beside the order, and what it may know.
BESIDE = {"eager": {"common", "eager"}}
# Whose files hold public functions, which take the whole session.
PUBLIC = ("state", "observe")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_ORDER = re.compile(r"^//   (\w+)/ ", re.MULTILINE)

# Only smr_value_read reads the bytes of a tensor. Blocks, variables and constants are no
# tensors; these are.
_TENSOR = r"(?:t|tensor|in|out|from|now|inputs\[\w+\]|outputs\[\w+\])(?:->|\.)data\b"
_READS = (
    re.compile(rf"\*\s*\(const [\w ]+\*\)[^;,]*\b{_TENSOR}"),  # *(const uint8_t *)t->data
    re.compile(rf"\bmem(?:cpy|move|cmp)\([^;]*,[^;,]*\b{_TENSOR}"),  # memcpy(to, t->data, …)
)


def _folder(path: Path, session: Path) -> str:
    """The concern of a file, "" for what lies in session/ itself."""
    parts = path.relative_to(session).parts
    return parts[0] if len(parts) > 1 else ""


def _known(folder: str, path: Path) -> set[str]:
    """The folders whose headers a file may include."""
    if folder in BESIDE:
        return BESIDE[folder]
    if folder == "":
        return {*CONCERNS, ""}
    lower = set(CONCERNS[: CONCERNS.index(folder) + 1])
    return lower | {""} if folder in PUBLIC and path.suffix == ".c" else lower


def order_faults(session: Path) -> list[str]:
    """Includes that go up, and folders that have no place in the order."""
    faults = []
    for path in sorted(p for p in session.rglob("*") if p.suffix in (".c", ".h", ".inc")):
        folder, name = _folder(path, session), path.relative_to(session).as_posix()
        if folder not in ("", *CONCERNS, *BESIDE):
            faults.append(f"{name}: {folder} has no place in the order of concerns")
            continue
        for include in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            beside = (path.parent / include).resolve()
            target = beside if beside.is_file() else session.parent / include
            if not target.is_relative_to(session):
                continue
            known = _folder(target, session)
            above = known == "" and folder != "" and target.name != "session.h"
            if known not in _known(folder, path) or above:
                faults.append(f"{name}: may not know {target.relative_to(session).as_posix()}")
    return faults


def read_faults(session: Path) -> list[str]:
    """Host reads of a tensor that do not go through smr_value_read."""
    faults = []
    for path in sorted(session.rglob("*.c")):
        if _folder(path, session) in BESIDE:
            continue
        text = path.read_text(encoding="utf-8")
        for pattern in _READS:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                faults.append(f"{path.relative_to(session).as_posix()}:{line}: {match[0]}")
    return faults


def test_concerns_stand_in_their_order(repo: Path) -> None:
    session = (repo / "runtime_c/src/session").resolve()
    assert order_faults(session) == []
    for folder in (*CONCERNS, *BESIDE):
        assert (session / folder / f"{folder}.h").is_file()


def test_the_header_states_the_order(repo: Path) -> None:
    text = (repo / "runtime_c/src/session/session.h").read_text(encoding="utf-8")
    assert tuple(_ORDER.findall(text)) == (*CONCERNS, "session")


def test_the_host_reads_values_in_one_place(repo: Path) -> None:
    assert read_faults(repo / "runtime_c/src/session") == []


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A small session without faults."""
    folder = tmp_path.resolve() / "src" / "session"
    for concern in (*CONCERNS, *BESIDE):
        (folder / concern).mkdir(parents=True)
        (folder / concern / f"{concern}.h").write_text('#include "session/common/common.h"\n')
    (folder / "session.h").write_text('#include "session/observe/observe.h"\n')
    (folder / "run.c").write_text('#include "session/session.h"\n')
    (folder / "state" / "state.c").write_text('#include "session/session.h"\n')
    return folder


def test_clean_session(session: Path) -> None:
    assert order_faults(session) == []
    assert read_faults(session) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("plan/planted.c", '#include "session/stage/stage.h"'),
        ("plan/planted.h", '#include "../control/control.h"'),
        ("control/planted.c", '#include "session/session.h"'),
        ("state/planted.h", '#include "session/session.h"'),
        ("state/planted.c", '#  include "session/observe/observe.h"'),
        ("state/planted.c", '#include "session/threads.h"'),
        ("eager/planted.c", '#include "session/frame/frame.h"'),
        ("common/planted.c", '#include "session/eager/eager.h"'),
        ("planted.c", '#include "session/eager/eager.h"'),
        ("extra/planted.c", ""),
    ],
)
def test_planted_include(session: Path, file: str, line: str) -> None:
    (session / file).parent.mkdir(exist_ok=True)
    (session / file).write_text(line + "\n")
    faults = order_faults(session)
    assert len(faults) == 1
    assert faults[0].startswith(f"{file}: ")


@pytest.mark.parametrize(
    "line",
    [
        "bool c = *(const uint8_t *)job->inputs[0]->data != 0;",
        "memcpy(to, (const uint8_t *)value->tensor.data + 4, 4);",
        "if (n != 0) memcpy(v->spare, t->data, n);",
    ],
)
def test_planted_read(session: Path, line: str) -> None:
    (session / "control" / "planted.c").write_text(line + "\n")
    assert len(read_faults(session)) == 1
