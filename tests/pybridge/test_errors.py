# SPDX-License-Identifier: Apache-2.0
"""Tests of the public errors: hierarchy, fields, text and pickling."""

from __future__ import annotations

import pickle

import pytest

from samara.pybridge import errors
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError

CLASSES = [getattr(errors, name) for name in errors.__all__]


def test_hierarchy() -> None:
    assert len(CLASSES) == 13
    assert all(issubclass(kind, SamaraError) for kind in CLASSES)
    assert issubclass(UnsupportedError, NotImplementedError)
    assert issubclass(ShapeError, ValueError)
    assert issubclass(errors.RangeError, IndexError)
    assert issubclass(errors.RangeError, RuntimeError)
    assert not issubclass(errors.LimitError, ValueError)


def test_text_names_place_message_and_fix() -> None:
    error = ShapeError("got 3, expected 4", op="conv", node="stem", fix="transpose the input")
    assert str(error) == "conv 'stem': got 3, expected 4\n  fix: transpose the input"
    assert (error.op, error.node, error.fix) == ("conv", "stem", "transpose the input")
    assert error.message == "got 3, expected 4"
    assert str(SamaraError("no", node="a")) == "'a': no"
    assert str(SamaraError("no", op="add")) == "add: no"
    plain = SamaraError("no")
    assert str(plain) == "no"
    assert (plain.op, plain.node, plain.fix) == (None, None, None)


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_travel_between_processes(kind: type[SamaraError]) -> None:
    error = pickle.loads(pickle.dumps(kind("text", op="o", node="n", fix="f")))
    assert type(error) is kind
    assert str(error) == "o 'n': text\n  fix: f"


# What Python or PyTorch raise where the library raises this, so that ported `except` clauses work.
STANDARD: dict[str, tuple[type[Exception], ...]] = {
    "SamaraError": (RuntimeError,),
    "ShapeError": (RuntimeError, ValueError),
    "ArgumentError": (RuntimeError, ValueError, TypeError),
    "RangeError": (RuntimeError, ValueError, IndexError),
    "UnknownNameError": (RuntimeError, ValueError, KeyError),
    "UnsupportedError": (RuntimeError, NotImplementedError),
    "FileError": (RuntimeError, OSError),
}


@pytest.mark.parametrize("name", STANDARD)
def test_errors_are_also_those_of_python(name: str) -> None:
    error = getattr(errors, name)("text", fix="try again")
    assert all(isinstance(error, kind) for kind in STANDARD[name])
    assert str(error) == "text\n  fix: try again"


@pytest.mark.parametrize(
    ("system", "kind"),
    [
        (2, FileNotFoundError),
        (13, PermissionError),
        (1, PermissionError),
        (21, IsADirectoryError),
        (20, NotADirectoryError),
        (17, FileExistsError),
        (32, BrokenPipeError),
        (28, OSError),
    ],
)
def test_errors_of_files_are_those_of_the_system(system: int, kind: type[OSError]) -> None:
    error = errors.FileError.of(OSError(system, "why"), "/a/b", "it went wrong", fix="do this")
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert isinstance(each, kind)
        assert isinstance(each, errors.FileError)
        assert (each.errno, each.strerror, each.filename) == (system, "why", "/a/b")
        assert str(each) == "it went wrong\n  fix: do this"
