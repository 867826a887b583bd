# SPDX-License-Identifier: Apache-2.0
"""Messages as text by chat templates."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

from samara.pybridge.chat import TEMPLATE, render_chat
from samara.pybridge.errors import ArgumentError, SamaraError, UnsupportedError

pytest.importorskip("jinja2")

USER = {"role": "user", "content": "Grüß \n'Gott'"}


def render(template: str, messages: Any = (USER,), **variables: Any) -> str:
    return render_chat({TEMPLATE: template, "text.bos_token": "<s>"}, list(messages), **variables)


def test_what_templates_have() -> None:
    assert render("{{ bos_token }}{{ messages[0].role }}{{ eos_token }}") == "<s>user"
    assert render("{{ messages[0].content | tojson }}") == "\"Grüß \\n'Gott'\""
    assert render("{% if add_generation_prompt %}A{% endif %}", add_generation_prompt=True) == "A"
    assert render("{% for t in tools %}{{ t }}{% endfor %}", tools=["a", "b"]) == "ab"
    assert render("  {% if true %}\n  x\n  {% endif %}\n") == "  x\n"  # blocks take their line
    assert len(render("{{ strftime_now('%Y') }}")) == 4


def test_refusals() -> None:
    with pytest.raises(SamaraError, match="no chat template"):
        render_chat({}, [USER])
    with pytest.raises(ArgumentError, match="a message is"):
        render("x", ["Hello"])
    with pytest.raises(SamaraError, match="refuses these messages: only users"):
        render("{{ raise_exception('only users') }}")
    with pytest.raises(SamaraError, match="refuses these messages"):
        render("{% for %}")
    with pytest.raises(SamaraError, match="refuses these messages"):
        render("{{ nothing.at.all }}")


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append({}) }}",
        "{{ messages[0].update(a=1) }}",
    ],
)
def test_templates_of_strangers_stay_inside(template: str) -> None:
    with pytest.raises(SamaraError, match="refuses these messages"):
        render(template)


def test_insides_of_functions_are_not_there() -> None:
    assert render("{{ raise_exception.__globals__ }}") == ""


def test_without_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "jinja2":
            raise ImportError(name)
        return real(name, *rest, **more)

    for name in [n for n in sys.modules if n.partition(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UnsupportedError, match="need jinja2"):
        render("x")
