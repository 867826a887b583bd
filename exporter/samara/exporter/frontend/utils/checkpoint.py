# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.checkpoint`: activations computed again in backward instead of being kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from samara.exporter.frontend import tape
from samara.exporter.frontend.random import generator_of
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, of which nothing is kept for backward but its arguments: backward
    runs it again. The memory of its activations is paid for with a second forward pass.

        y = checkpoint(block, x, use_reentrant=False)

    Gradients are those without checkpoint, also of parameters that `function` uses and of
    derivatives of derivatives. preserve_rng_state: draw the same random numbers again (dropout).
    use_reentrant, context_fn, determinism_check and debug have no effect. Running statistics are
    updated twice, as in PyTorch. What a custom autograd.Function saves is kept.

    Backward raises SamaraError where `function` does other things when it is run again, or where an
    argument or parameter was changed in place in between.
    """
    if not tape.MODE.enabled or tape.MODE.tracer is not None:
        return function(*args, **kwargs)
    given = [(t, t._version[0]) for t in _tensors((args, kwargs))]
    before = generator_of(None).get_state() if preserve_rng_state else None
    first = tape.next_order()
    out = function(*args, **kwargs)
    nodes = _recorded(out, first)
    if any(t._version[0] != version for t, version in given):
        return out  # it changed its arguments in place: run again it would change them once more
    leaves = [
        (edge[0], edge[0]._version[0])
        for node in nodes
        for edge in node.edges
        if edge is not None and isinstance(edge[0], Tensor)
    ]
    again = _Again(function, args, kwargs, before, [n.op for n in nodes], [*given, *leaves])
    for i, node in enumerate(nodes):
        node.saved = _Later(again, i)  # type: ignore[assignment]
    return out


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The modules or functions one after the other, in `segments` parts of which all but the last
    are checkpoints. SamaraError where there are fewer functions than segments."""
    steps = list(functions.children() if hasattr(functions, "children") else functions)
    if not 1 <= segments <= len(steps):
        raise SamaraError(f"{len(steps)} functions cannot be cut in {segments} segments")

    def run(part: list[Any]) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in part:
                value = step(value)
            return value

        return forward

    size = len(steps) // segments
    for begin in range(0, size * (segments - 1), size):
        input = checkpoint(run(steps[begin : begin + size]), input, **kwargs)
    return run(steps[size * (segments - 1) :])(input)


class _Again:
    """How the function is run once more, and what its nodes then saved."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: Any,
        expected: list[Any],
        given: list[tuple[Tensor, int]],
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.state = state
        self.expected = expected
        self.given = given
        self.saved: list[Any] = []

    def take(self, index: int) -> Any:
        """What node `index` saved; it belongs to the caller from now on."""
        if not self.saved or self.saved[index] is None:
            self.run()
        saved, self.saved[index] = self.saved[index], None
        return saved

    def run(self) -> None:
        for t, version in self.given:
            if t._version[0] != version:
                raise SamaraError(
                    f"a tensor of shape {list(t.shape)} that a checkpoint computes from was changed "
                    "in place before backward",
                    fix="call backward before the optimizer steps, or clone the tensor first",
                )
        now = generator_of(None).get_state() if self.state is not None else None
        if self.state is not None:
            generator_of(None).set_state(self.state)
        try:
            with tape.enable_grad():
                first = tape.next_order()
                nodes = _recorded(self.function(*self.args, **self.kwargs), first)
        finally:
            if now is not None:
                generator_of(None).set_state(now)
        if [n.op for n in nodes] != self.expected:
            raise SamaraError(
                "a checkpoint recorded other operators when it was run again for backward: "
                f"{len(nodes)} and not {len(self.expected)}, or in another order",
                fix="let the function depend on its arguments alone",
            )
        self.saved = [n.saved for n in nodes]


class _Later:
    """In place of what a node saved: computed when it is looked at."""

    def __init__(self, again: _Again, index: int) -> None:
        self.again = again
        self.index = index
        self.saved: dict[str, Any] | None = None

    def items(self) -> Any:
        if self.saved is None:
            self.saved = self.again.take(self.index)
        return self.saved.items()


def _recorded(out: Any, first: int) -> list[tape.Node]:
    """Nodes behind `out` that were recorded after `first` and saved something, in their order."""
    found: dict[int, tape.Node] = {}
    stack = [t._node for t in _tensors(out) if t._node is not None]
    while stack:
        node = stack.pop()
        if node.order <= first or id(node) in found:
            continue
        found[id(node)] = node
        stack.extend(e[0] for e in node.edges if e is not None and isinstance(e[0], tape.Node))
    plain = (n for n in found.values() if type(n) is tape.Node and n.saved)
    return sorted(plain, key=lambda n: n.order)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The eager tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for part in parts:
            yield from _tensors(part)
