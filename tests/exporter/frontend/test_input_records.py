# SPDX-License-Identifier: Apache-2.0
"""Marks of tensors and notes of modules: what keeps them, and what loses them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samara
from samara import Tensor, nn
from samara.exporter.frontend import input_records
from samara.exporter.frontend.input_records import joined, mark, marks

A, B = "rgb float32 chw", "bgr float32 chw"


def marked(*texts: str, seed: int = 0) -> Tensor:
    numbers = np.random.default_rng(seed).standard_normal((3, 4, 4)).astype(np.float32)
    made: Tensor = mark(samara.from_numpy(numbers), texts or (A,))
    return made


def with_data(x: Tensor, data: Tensor) -> Tensor:
    x.data = data
    return x


KEEPS: dict[str, Callable[[Tensor], Any]] = {
    "itself": lambda x: x,
    "to the CPU": lambda x: x.to("cpu"),
    "the dtype it has": lambda x: x.float(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": copy.deepcopy,
    "stack": lambda x: samara.stack([x, x]),
}
LOSES: dict[str, Callable[[Tensor], Any]] = {
    "arithmetic": lambda x: x * 1.0,
    "a flip": lambda x: x.flip(-1),
    "a part": lambda x: x[:, 1:],
    "a stack along another axis": lambda x: samara.stack([x, x], 1),
    "a stack with others": lambda x: samara.stack([x, samara.zeros(3, 4, 4)]),
    "written into": lambda x: x.mul_(2),
    "written into a part": lambda x: x[0].zero_() is None or x,
    "other memory": lambda x: with_data(x, samara.zeros(3, 4, 4)),
}


@pytest.mark.parametrize("how", KEEPS)
def test_a_mark_is_kept_by(how: str) -> None:
    assert marks(KEEPS[how](marked())) == (A,)


@pytest.mark.parametrize("how", LOSES)
def test_a_mark_is_lost_by(how: str) -> None:
    assert marks(LOSES[how](marked())) == ()


def test_a_batch_of_two_records_has_both() -> None:
    assert joined([marked(A), marked(B)]) == (B, A)
    assert joined([marked(A), samara.zeros(3)]) == ()


def test_nothing_is_looked_for_without_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_records.STATE, "marked", False)
    monkeypatch.setattr("samara.exporter.frontend.nn.module.note", None)  # a call would fail
    nn.Linear(4, 2)(samara.zeros(1, 4))
    monkeypatch.setattr(input_records.STATE, "marked", True)
    with pytest.raises(TypeError):
        nn.Linear(4, 2)(samara.zeros(1, 4))


def trained(program: Any) -> Any:
    import json

    return json.loads(program.metadata.get("preprocess.trained", "{}"))


class Pair(nn.Module):
    """Two inputs, one of them in a dict."""

    def forward(self, left: Tensor, parts: dict[str, Tensor]) -> Tensor:
        return left + parts["right"]


def test_inputs_are_known_by_name_and_place() -> None:
    pair = Pair()
    pair(marked(A), {"right": marked(B)})
    program = samara.trace(pair, {"parts": {"right": marked()}, "left": marked()})
    assert trained(program) == {"left": {A: "training"}, "parts.right": {B: "training"}}
    program = samara.trace(lambda x: pair(samara.zeros(3, 4, 4), parts={"right": x}), marked())
    assert trained(program) == {"x": {B: "training"}}


@pytest.mark.parametrize("capture", [samara.trace, samara.script])
def test_wrappers_hand_the_input_on_unchanged(capture: Any) -> None:
    inner = nn.Sequential(nn.Conv2d(3, 2, 3))
    inner(marked())
    asked = nn.Sequential(inner, nn.ReLU())
    assert trained(capture(asked, marked())) == {"input": {A: "training"}}
    changed = nn.Sequential(nn.ReLU(), inner)
    assert trained(capture(changed, marked())) == {}


class Doubled(nn.Module):
    """Its inner layer never sees the unchanged input."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(3, 2, 3)

    def forward(self, image: Tensor) -> Tensor:
        out: Tensor = self.inner(image * 2)
        return out


@pytest.mark.parametrize("capture", [samara.trace, samara.script])
def test_the_module_itself_knows(capture: Any) -> None:
    model = Doubled()
    model(marked())
    assert trained(capture(model, marked())) == {"image": {A: "training"}}
    assert trained(capture(model.inner, marked())) == {}


def test_what_is_inside_may_have_been_part_of_another_model() -> None:
    body = nn.Conv2d(3, 2, 3)
    nn.Sequential(body)(marked(A))
    model = nn.Sequential(body, nn.ReLU())
    model(marked(B))
    assert trained(samara.trace(model, marked())) == {"input": {B: "training"}}
    both = samara.trace(body, marked())
    assert trained(both) == {"input": {A: "training", B: "training"}}


def test_evaluation_alone_says_nothing() -> None:
    model = nn.Conv2d(3, 2, 3).eval()
    model(marked(A))
    assert trained(samara.trace(model, marked())) == {}
    model.train()(marked(B))
    model.eval()(marked(B))
    assert trained(samara.trace(model, marked())) == {"input": {A: "evaluation", B: "training"}}


def test_copies_of_modules_know_it_and_states_do_not() -> None:
    model = nn.Conv2d(3, 2, 3)
    model(marked())
    assert trained(samara.trace(copy.deepcopy(model), marked())) == {"input": {A: "training"}}
    fresh = nn.Conv2d(3, 2, 3)
    fresh.load_state_dict(model.state_dict())
    assert trained(samara.trace(fresh, marked())) == {}


def test_quantization_in_training_knows_what_the_float_model_knew() -> None:
    model = nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU())
    model(marked()[None])
    assert trained(samara.trace(model, marked()[None])) == {}  # x[None] is another tensor
    model(samara.stack([marked()]))
    example = (samara.zeros(1, 3, 4, 4),)
    aware = samara.quantize_aware(model, example_inputs=example)
    aware(samara.stack([marked(B)]))
    assert trained(samara.trace(aware.eval(), example)) == {"input": {A: "training", B: "training"}}
    assert trained(samara.trace(model.eval(), example)) == {"input": {A: "training"}}
