# SPDX-License-Identifier: Apache-2.0
"""Finding the syntax tree of a function, and making a function of a changed tree."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import sysconfig
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from samara.pybridge.errors import ScriptError

# The name by which rewritten code knows the functions of runtime.py.
RUNTIME: Final = "_samara_rt"
_FACTORY: Final = "_samara_factory"
_STDLIB: Final = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib"))
_FOREIGN: Final = ("samara", "numpy")

Definition = ast.FunctionDef | ast.Lambda


def is_library(f: FunctionType) -> bool:
    """Whether a function belongs to samara, numpy or Python itself; such code runs as it is."""
    if str(f.__globals__.get("__name__", "")).partition(".")[0] in _FOREIGN:
        return True
    file = f.__code__.co_filename
    return file.startswith("<frozen") or (file.startswith(_STDLIB) and "site-packages" not in file)


def definition_of(f: FunctionType) -> Definition | None:
    """A fresh copy of the syntax tree of `f`, its lines as in the file; None without a source.

    Raises ScriptError where two lambdas of one line cannot be told apart.
    """
    code = f.__code__
    tree = _module_tree(code.co_filename)
    if tree is None:
        return None
    found = [
        n
        for n in ast.walk(tree)
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        and _name(n) == code.co_name
        and _first_line(n) == code.co_firstlineno
    ]
    found = [n for n in found if _parameters(n) == list(_variables(code))]
    if len(found) > 1:
        raise ScriptError(
            f"{code.co_filename}:{code.co_firstlineno}: two functions of this line cannot be told "
            "apart",
            fix="write one of them as a def",
        )
    if not found or isinstance(found[0], ast.AsyncFunctionDef):
        return None
    return copy.deepcopy(found[0])


def with_code(f: FunctionType, code: CodeType, runtime: Any) -> FunctionType:
    """`f` with other code; globals, defaults and closure cells are those of `f`."""
    own = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells = tuple(CellType(runtime) if n == RUNTIME else own[n] for n in code.co_freevars)
    made = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__qualname__ = f.__qualname__
    made.__module__ = f.__module__
    return made


def compiled(f: FunctionType, node: Definition) -> CodeType:
    """The code of `node` in place of that of `f`, compiled where all free names are variables of an enclosing function.

    Of a method also inside a class of the same name, for the sake of private names.
    """
    names = [*f.__code__.co_freevars, RUNTIME]
    inner: ast.stmt
    if isinstance(node, ast.Lambda):
        inner = ast.copy_location(ast.Expr(node), node)
    else:
        node.decorator_list = []
        _plain_signature(node)
        inner = node
    path = [_FACTORY]
    owner = f.__qualname__.rpartition(".")[0].rpartition(".")[2]
    if owner and owner != "<locals>":
        shell = ast.parse(f"class {owner}: pass").body[0]
        assert isinstance(shell, ast.ClassDef)
        shell.body = [inner]
        inner = shell
        path.append(owner)
    factory = ast.parse(f"def {_FACTORY}({', '.join(names)}): pass")
    assert isinstance(factory.body[0], ast.FunctionDef)
    factory.body[0].body = [inner]
    if (own := getattr(inner, "name", "")) and own not in names:
        # What it calls by its own name is the user's global, not what the factory makes.
        factory.body[0].body.insert(0, ast.Global([own]))
    code = compile(
        ast.fix_missing_locations(factory),
        f.__code__.co_filename,
        "exec",
        dont_inherit=True,
        flags=f.__code__.co_flags & _FUTURES,
    )
    for name in (*path, f.__code__.co_name):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


# `from __future__ import annotations`, as the function was compiled with it.
_FUTURES: Final = 0x1000000


def _plain_signature(node: ast.FunctionDef) -> None:
    """Defaults come from the function itself, annotations are not needed."""
    node.returns = None
    args = node.args
    none = ast.Constant(None)
    args.defaults = [ast.copy_location(none, d) for d in args.defaults]
    args.kw_defaults = [d and ast.copy_location(none, d) for d in args.kw_defaults]
    for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if a is not None:
            a.annotation = None


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text, file)
    except SyntaxError:
        return None


def _module_tree(file: str) -> ast.Module | None:
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    return _parsed(file, text) if text else None


def _name(node: Any) -> str:
    return getattr(node, "name", "<lambda>")


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def _parameters(node: Any) -> list[str]:
    a = node.args
    rest = [p for p in (a.vararg, a.kwarg) if p is not None]
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *rest)]


def _variables(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]
