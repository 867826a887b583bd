# SPDX-License-Identifier: Apache-2.0
"""`nn.DataParallel`: replicas of a module compute the parts of a batch in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import engine, tape
from samara.exporter.frontend.input_records import STATE, note
from samara.exporter.frontend.nn import statistics
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parallel.replicas import (
    copied,
    draw,
    in_threads,
    inside,
    leaf_over,
)
from samara.exporter.frontend.nn.parallel.scatter_gather import gather, mapped, scatter, tensors_of
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import SamaraError, UnsupportedError

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Runs `module`, with `replicas` > 1 on the parts of a batch in as many threads.

    The tensors among the arguments, also in tuples, lists and dicts, are cut in chunks along `dim`;
    the outputs are joined along `dim`, those without dimensions to a vector. There are fewer replicas
    where the batch is too small, and one in a trace and within a replica. Backward runs in the same
    number of threads. Gradients are added in the order of replicas, so results repeat bit for bit for
    one number of replicas; between numbers they differ by the rounding of sums over the batch.

    Batch normalisation uses the statistics of the chunk; those of the first replica persist, like
    everything it writes into buffers. The random numbers of a replica follow from one number of the
    default generator, drawn in each forward, and its position. State has the keys of `module` behind
    "module.". device_ids and output_device have no effect. replicas None: one.

    Raises ShapeError for tensors that are cut in different numbers of chunks, UnsupportedError for
    derivatives of derivatives, SamaraError where the module computes from a tensor that needs
    gradients and is neither a parameter nor an argument. An error in a replica names it.

    PyTorch: `torch.nn.DataParallel`; `replicas` is samara's own.

    >>> net = nn.DataParallel(nn.Linear(4, 2), replicas=2)
    >>> net(samara.ones(5, 4)).shape
    (5, 2)
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        *,
        replicas: int | None = None,
    ) -> None:
        super().__init__()
        if replicas is not None and replicas < 1:
            raise ArgumentError(f"replicas is {replicas}, expected at least 1")
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim
        self.replicas = 1 if replicas is None else replicas

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.replicas == 1 or tape.tracing() is not None or inside():
            return self.module(*inputs, **kwargs)
        parts = scatter((inputs, kwargs), self.replicas, self.dim)
        if len(parts) == 1 or parts[0] is parts[1]:
            return self.module(*inputs, **kwargs)
        if STATE.marked:  # chunks have no marks
            note(self.module, inputs, kwargs)
        runs = [_Run(self.module, i, *part) for i, part in enumerate(parts)]
        number = draw()
        in_threads([run.forward for run in runs], number)
        return gather(_outputs(runs, number), None, self.dim)

    def extra_repr(self) -> str:
        return f"replicas={self.replicas}" if self.replicas > 1 else ""


class _Run:
    """One replica: its module, arguments and output, recorded on a tape of its own.

    leaves: the tensors at the beginning of that tape, with those that they stand for.
    """

    def __init__(self, module: Module, index: int, args: Any, kwargs: Any) -> None:
        self.leaves: list[tuple[Tensor, Tensor]] = []
        self.originals: dict[int, Any] = {}
        self.first = index == 0
        memo: dict[int, Any] = {}
        self.module = copied(module, self._parameter, memo, self.first)
        if self.first and statistics.records() is not None:
            self.originals = {id(memo[id(m)]): m for m in module.modules()}
        self.args = mapped(args, self._argument)
        self.kwargs = mapped(kwargs, self._argument)
        self.output: Any = None
        self.results: list[Tensor] = []  # of the output, those that need gradients

    def _parameter(self, parameter: Parameter) -> Parameter:
        leaf = leaf_over(parameter, parameter._requires_grad)
        if leaf._requires_grad:
            self.leaves.append((leaf, parameter))
        return leaf

    def _argument(self, given: Tensor) -> Tensor:
        if not given._requires_grad:
            return given
        leaf = given.detach().requires_grad_()
        self.leaves.append((leaf, given))
        return leaf

    def forward(self) -> None:
        """Call the module and keep its output."""
        begin = tape.next_order()
        outer = statistics.records()
        if not self.first or outer is None:
            self.output = self.module(*self.args, **self.kwargs)
        else:
            own: list[statistics.Record] = []
            with statistics.recorded(own):
                self.output = self.module(*self.args, **self.kwargs)
            outer += [(self.originals[id(layer)], *batch) for layer, *batch in own]
        self.results = [t for t in tensors_of(self.output) if t._requires_grad]
        self._refuse_others(begin)

    def _refuse_others(self, begin: int) -> None:
        """SamaraError if the results depend on something else that needs gradients."""
        known = {id(leaf) for leaf, _ in self.leaves}
        seen: set[int] = set()
        stack: list[Any] = [t if t._node is None else t._node for t in self.results]
        while stack:
            place = stack.pop()
            if id(place) in seen or id(place) in known:
                continue
            seen.add(id(place))
            if isinstance(place, Tensor) or place.order < begin:
                raise SamaraError(
                    f"{type(self.module).__name__} computes from a tensor that needs gradients and "
                    "is neither its parameter nor an argument",
                    fix="register it as a parameter, or pass it as an argument",
                )
            stack.extend(edge[0] for edge in place.edges if edge is not None)

    def gradients(self, dys: Sequence[Tensor | None], wanted: set[int]) -> dict[int, Tensor]:
        """The gradients of the tensors that `wanted` leaves stand for, by id."""
        known = [(t, dy) for t, dy in zip(self.results, dys, strict=True) if dy is not None]
        leaves = [(leaf, id(stands)) for leaf, stands in self.leaves if id(stands) in wanted]
        if not known or not leaves:
            return {}
        found = engine.grad(
            [t for t, _ in known], [leaf for leaf, _ in leaves], [dy for _, dy in known], True
        )
        # An argument that occurs twice has two leaves.
        out: dict[int, Tensor] = {}
        for (_, stands), g in zip(leaves, found, strict=True):
            if g is not None:
                out[stands] = _sum(out[stands], g) if stands in out else g
        return out


def _outputs(runs: Sequence[_Run], number: int) -> list[Any]:
    """The outputs of the replicas. Their tensors that need gradients are results of one node."""
    results = [t for run in runs for t in run.results]
    if not results:
        return [run.output for run in runs]
    node = _Replicas(runs, number, results)
    index = 0

    def result(t: Tensor) -> Tensor:
        nonlocal index
        if not t._requires_grad:
            return t
        out = t.detach()
        out._requires_grad, out._node, out._index = True, node, index
        index += 1
        return out

    return [mapped(run.output, result) for run in runs]


class _Replicas(tape.Node):
    """The node of all replicas: its backward walks the tape of each in a thread."""

    __slots__ = ("number", "runs", "stands")

    runs: Sequence[_Run] | None

    def __init__(self, runs: Sequence[_Run], number: int, results: Sequence[Tensor]) -> None:
        self.runs = runs
        self.number = number
        self.stands = list({id(t): t for run in runs for _, t in run.leaves}.values())
        self.edges = tuple((t, 0) if t._node is None else (t._node, t._index) for t in self.stands)
        self.outputs = tuple((t._data.shape, t._data.dtype) for t in results)
        self.hooks = None
        self.order = tape.next_order()

    @property
    def name(self) -> str:
        return "DataParallel"

    def backward(
        self,
        dys: Sequence[Tensor | None],
        create_graph: bool,
        edges: Sequence[tape.Edge | None],
    ) -> Sequence[Any]:
        """The gradients of parameters and arguments, added in the order of replicas."""
        if self.runs is None:
            raise tape.used_twice(self.name)
        if create_graph:
            raise UnsupportedError(
                "DataParallel with replicas has no derivatives of derivatives",
                fix="pass replicas=None",
            )
        wanted = {id(t) for t, edge in zip(self.stands, edges, strict=True) if edge is not None}
        calls: list[Callable[[], dict[int, Tensor]]] = []
        begin = 0
        for run in self.runs:
            own = dys[begin : begin + len(run.results)]
            begin += len(own)
            calls.append(lambda run=run, own=own: run.gradients(own, wanted))  # type: ignore[misc]
        found = in_threads(calls, self.number)
        return [_total([g[id(t)] for g in found if id(t) in g]) for t in self.stands]

    def release(self) -> None:
        self.runs = None


def _total(gradients: Sequence[Tensor]) -> Tensor | None:
    """The sum, from left to right. It may take the place of the first."""
    total = gradients[0] if gradients else None
    for g in gradients[1:]:
        assert total is not None
        total = _sum(total, g)
    return total


def _sum(total: Tensor, g: Tensor) -> Tensor:
    array = total._data
    own = array.base is None or type(array.base) is bytearray  # a block of the allocator
    if not own or not array.flags.writeable:
        out: Tensor = ops.add(total, g)
        return out
    np.add(array, g._data, out=array)
    return total
