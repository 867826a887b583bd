# SPDX-License-Identifier: Apache-2.0
"""`samara explain`: what an operator, an error, a kernel or a node of a model is."""

from __future__ import annotations

from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import opened_model, print_json, step


def explain(
    topic: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC|MODEL",
            help="An operator, an error or status, a kernel, a word of a quantization report;"
            " or a .samara, .onnx or .tflite file.",
        ),
    ],
    node: Annotated[
        str | None,
        typer.Argument(metavar="[NODE]", help="With a model: the node to explain."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Explain a name that a report or an error shows.

    \b
    samara explain conv
    samara explain BAD_MODEL
    samara explain f32_gemm_8x48__avx512
    samara explain "range used"
    samara explain model.samara conv1 --json
    """
    from samara.exporter.explain import explain as explain_topic
    from samara.exporter.explain import explain_node

    if node is None:
        found = explain_topic(topic)
    else:
        with opened_model(topic) as file, step(f"inspecting {topic}"):
            found = explain_node(file.path, node, name=topic)
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.text())
