# SPDX-License-Identifier: Apache-2.0
"""Messages of a chat as text, by the template of a model's file."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from samara.pybridge.errors import ArgumentError, SamaraError, UnsupportedError
from samara.pybridge.files import kind_of

TEMPLATE = "text.chat_template"


def render_chat(
    metadata: Mapping[str, str], messages: Sequence[Mapping[str, Any]], **variables: Any
) -> str:
    """The text of messages by the template under "text.chat_template", a Jinja template in the form of Hugging Face's.

    Templates run in Jinja's sandbox. Raises SamaraError if there is none, or if it fails or refuses the messages;
    UnsupportedError without jinja2, ArgumentError for messages that are no dicts with a role.
    """
    if not metadata.get(TEMPLATE):
        raise SamaraError(
            "the file has no chat template",
            fix="export the model from a folder with one, or give a prompt to generate",
        )
    for message in messages:
        given: Any = message
        if not isinstance(given, Mapping) or "role" not in given:
            raise ArgumentError(
                f"a message is {kind_of(message)}",
                fix='give dicts such as {"role": "user", "content": "Hello"}',
            )
    special = {
        name: metadata.get(f"text.{name}", "") for name in ("bos_token", "eos_token", "pad_token")
    }
    variables = {"messages": [dict(m) for m in messages], **special, **variables}
    return _rendered(metadata[TEMPLATE], variables)


def _rendered(template: str, variables: Mapping[str, Any]) -> str:
    try:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise UnsupportedError(
            "chat templates need jinja2", fix="pip install 'samara-nn[text]'"
        ) from None
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    try:
        text: str = environment.from_string(template).render(**variables)
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise SamaraError(
            f"the chat template refuses these messages: {error}",
            fix="give the roles and fields that the model's template knows",
        ) from None
    return text


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)
