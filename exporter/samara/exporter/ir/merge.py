# SPDX-License-Identifier: Apache-2.0
"""Merging programs: the default entry of each becomes an entry of the result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from samara.exporter.ir.answer_records import ANSWERS, joined_answers
from samara.exporter.ir.program import Function, Node, Program, Variable
from samara.exporter.ir.records import joined_records
from samara.exporter.ir.trained_records import joined_trained
from samara.exporter.types import ArgumentError, ShapeError


def merge(programs: Mapping[str, Program]) -> Program:
    """One Program whose entries are the default entries of the given ones, under the given names."""
    functions: dict[str, Function] = {}
    variables: dict[str, Variable] = {}
    metadata: dict[str, str] = {}
    answers: dict[str, str] = {}
    tokenizers = {p.tokenizer for p in programs.values() if p.tokenizer is not None}
    if len(tokenizers) > 1:
        raise ArgumentError(
            "the tokenizers of the programs differ, and a file has one",
            fix="give all of them the same one, or export them apart",
        )
    for name, p in programs.items():
        renamed = {f: name if f == p.entries[0] else f"{name}/{f}" for f in p.functions}
        for f in p.functions.values():
            nodes = tuple(_renamed_node(n, renamed) for n in f.nodes)
            functions[renamed[f.name]] = replace(f, name=renamed[f.name], nodes=nodes)
        for v in p.variables:
            known = variables.setdefault(v.name, v)
            same = known.type == v.type and known.length == v.length
            if not same or not (v.length or np.array_equal(known.initial, v.initial)):
                raise ShapeError(
                    f"variable {v.name!r} differs between the programs",
                    fix="give them equal types and initial values",
                )
        answers |= joined_answers(p.metadata, {p.entries[0]: name})
        metadata = {**p.metadata, **metadata, **joined_records(p.metadata, metadata)}
        metadata |= joined_trained(p.metadata, metadata)
    if answers:
        metadata[ANSWERS] = json.dumps(answers)
    return Program(
        functions,
        tuple(programs),
        tuple(variables.values()),
        metadata,
        next(iter(tokenizers), None),
    )


def _renamed_node(node: Node, names: Mapping[str, str]) -> Node:
    changed = {a.name: names[node.attrs[a.name]] for a in node.op.attrs if a.type == "function"}
    return replace(node, attrs={**node.attrs, **changed}) if changed else node
