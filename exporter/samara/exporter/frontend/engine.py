# SPDX-License-Identifier: Apache-2.0
"""The backward pass: walks the tape from results to leaves."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import memory, spans, tape
from samara.exporter.frontend.operands import as_tensor, cast
from samara.exporter.frontend.tape import Node
from samara.pybridge.errors import SamaraError, ShapeError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor

Array = np.ndarray[Any, Any]


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Accumulate gradients of `tensors` into the `grad` of all leaves, or of the leaves `inputs`."""
    only = None if inputs is None else {id(t): t for t in inputs}
    if inputs is not None and any(t._node is not None for t in inputs):
        raise SamaraError("backward(inputs=…) takes leaves", fix="use autograd.grad for others")
    _Pass(create_graph, retain_graph, only, ()).run(tensors, gradients)


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None],
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> list[Tensor | None]:
    """Gradients of `outputs` for `inputs` (leaves or not). No `grad` changes."""
    run = _Pass(create_graph, retain_graph, {}, inputs)
    run.run(outputs, grad_outputs)
    return run.results(inputs)


class _Running(threading.local):
    """Callbacks for the end of this thread's outermost pass; None: no pass is running."""

    callbacks: list[Callable[[], object]] | None = None


_RUNNING = _Running()


def at_end(callback: Callable[[], object]) -> None:
    """Call `callback` once at the end of this thread's backward pass, from a hook of that pass.

    Callbacks run in the order of registration, when all gradients of the pass are complete; where
    passes are nested, at the end of the outermost. They run with the recording mode of hooks, and
    may register more. If the pass or a callback raises, the remaining ones are dropped.

    Raises SamaraError where no backward pass is running in this thread.
    """
    if _RUNNING.callbacks is None:
        raise SamaraError(
            "no backward pass is running in this thread", fix="call at_end from a hook of a tensor"
        )
    _RUNNING.callbacks.append(callback)


def _place(t: Tensor) -> tuple[int, int]:
    return (id(t), 0) if t._node is None else (id(t._node), t._index)


class _Pass:
    """One backward pass.

    Nodes run in reverse order of recording, so every gradient is complete when its node is reached.
    The gradient of a leaf is complete when its first use has run.
    """

    def __init__(
        self,
        create_graph: bool,
        retain_graph: bool | None,
        only: Mapping[int, Tensor] | None,
        captures: Sequence[Tensor],
    ) -> None:
        """`only`: the leaves to accumulate into, by id; None means all."""
        self.create_graph = create_graph
        self.retain_graph = create_graph if retain_graph is None else retain_graph
        self.only = only
        self.wanted = {_place(t) for t in captures}
        self.captured: dict[tuple[int, int], Tensor] = {}
        self.pending: dict[int, list[Tensor | None]] = {}
        self.leaf_grads: dict[int, Tensor] = {}
        self.leaf_uses: dict[int, int] = {}
        self.needed: set[int] | None = None  # ids of nodes on a path to a wanted tensor; None: all
        # Sums that only this pass refers to, by id. Holding them keeps their ids unique.
        self.owned: dict[int, Tensor] = {}
        self.shared: set[int] = set()  # ids of arrays that others may read

    def run(self, tensors: Sequence[Tensor], gradients: Sequence[Any]) -> None:
        """Walk from `tensors`, whose gradients are given, to the leaves."""
        roots: list[tuple[Node, int, Tensor]] = []
        leaves: list[tuple[Tensor, Tensor]] = []
        for t, given in zip(tensors, gradients, strict=True):
            if not t._requires_grad:
                raise SamaraError(
                    "this tensor does not depend on anything that requires gradients",
                    fix="set requires_grad on a leaf, and compute outside no_grad()",
                )
            g = _seed(t, given)
            self._share(g)
            if t._node is None:
                self.leaf_uses[id(t)] = self.leaf_uses.get(id(t), 0) + 1
                leaves.append((t, g))
            else:
                roots.append((t._node, t._index, g))
        outermost = _RUNNING.callbacks is None
        if outermost:
            _RUNNING.callbacks = []
        try:
            mode = tape.enable_grad() if self.create_graph else tape.no_grad()
            with mode, _QUIET(), spans.span("backward"):
                self._walk(roots, leaves)
                if outermost:
                    for callback in _RUNNING.callbacks or ():  # it may grow meanwhile
                        callback()
        finally:
            if outermost:
                _RUNNING.callbacks = None

    def _walk(
        self, roots: Sequence[tuple[Node, int, Tensor]], leaves: Sequence[tuple[Tensor, Tensor]]
    ) -> None:
        nodes = self._reached(n for n, _, _ in roots)
        for leaf, g in leaves:
            self._to_leaf(leaf, g)
        for node, index, g in roots:
            self._add(node, index, g)
        for node in nodes:
            self._step(node)
        for leaf, _ in leaves:
            self._use_leaf((leaf, 0))

    def results(self, inputs: Sequence[Tensor]) -> list[Tensor | None]:
        """The captured gradients. They share memory neither with each other nor with the seeds."""
        results = []
        for t in inputs:
            g = self.captured.get(_place(t))
            if g is not None:
                if id(_root(g._data)) in self.shared:
                    g = g.clone()
                self._share(g)
            results.append(g)
        return results

    def _step(self, node: Node) -> None:
        """Run one node and pass the gradients to its inputs."""
        dys = self.pending.pop(id(node), None)
        if dys is None or (self.needed is not None and id(node) not in self.needed):
            if dys is not None:
                self._at_node(node, dys)
            for edge in node.edges:
                self._use_leaf(edge)
            return
        for dy in dys:
            self.owned.pop(id(dy), None)
        self._at_node(node, dys)
        edges = node.edges if self.needed is None else self._useful(node.edges)
        places = self._places_of(node, edges)
        if places:
            with memory.offering(places):
                grads = node.backward(dys, self.create_graph, edges)
            grads = _moved_from(places, edges, grads)
        else:
            grads = node.backward(dys, self.create_graph, edges)
        if tape.MODE.anomaly:
            _refuse_nan(node, grads)
        if node.foreign:
            for g in grads:
                if g is not None:
                    self._share(g)
        elif len(edges) > 1:
            self._find_shared(edges, grads)
        for edge, g in zip(edges, grads, strict=False):
            if edge is not None and g is not None:
                target, index = edge
                if isinstance(target, Node):
                    self._add(target, index, g)
                else:
                    self._to_leaf(target, g)
        for edge in node.edges:
            self._use_leaf(edge)
        if not self.retain_graph:
            node.release()

    def _places_of(self, node: Node, edges: Sequence[tape.Edge | None]) -> list[Array]:
        """Where the gradients of leaves are wanted that this node alone makes, and nothing else reads."""
        places: list[Array] = []
        if self.create_graph or type(node) is not Node:
            return places
        for edge in edges:
            if edge is None or isinstance(edge[0], Node):
                continue
            leaf = edge[0]
            place = _place_of(leaf)
            if (
                place is not None
                and leaf._grad is None
                and not leaf._hooks
                and self.leaf_uses[id(leaf)] == 1
                and (self.only is None or id(leaf) in self.only)
            ):
                places.append(place)
        return places

    def _reached(self, roots: Iterable[Node]) -> list[Node]:
        """All nodes reachable from the roots, last recorded first. Also counts the uses of leaves."""
        found: dict[int, Node] = {}
        stack = list(roots)
        while stack:
            node = stack.pop()
            if id(node) in found:
                continue
            found[id(node)] = node
            for edge in node.edges:
                if edge is None:
                    continue
                target = edge[0]
                if isinstance(target, Node):
                    if id(target) not in found:
                        stack.append(target)
                else:
                    self.leaf_uses[id(target)] = self.leaf_uses.get(id(target), 0) + 1
        nodes = sorted(found.values(), key=operator.attrgetter("order"), reverse=True)
        if self.only is not None:
            needed: set[int] = set()
            for node in reversed(nodes):
                if any(self._leads(edge, needed) for edge in node.edges):
                    needed.add(id(node))
            self.needed = needed
        return nodes

    def _leads(self, edge: tape.Edge | None, needed: set[int]) -> bool:
        """Whether a gradient along this edge reaches a wanted tensor."""
        if edge is None:
            return False
        target, index = edge
        if (id(target), index) in self.wanted:
            return True
        if isinstance(target, Node):
            return id(target) in needed
        return self.only is not None and id(target) in self.only

    def _useful(self, edges: Sequence[tape.Edge | None]) -> list[tape.Edge | None]:
        assert self.needed is not None
        return [edge if self._leads(edge, self.needed) else None for edge in edges]

    def _at_node(self, node: Node, dys: list[Tensor | None]) -> None:
        """Run the hooks of the node's results and capture their gradients."""
        if node.hooks is not None:
            for index, hooks in node.hooks.items():
                dy = dys[index]
                if dy is not None:
                    dys[index] = self._hooked(hooks, dy)
        if self.wanted:
            for index, dy in enumerate(dys):
                if dy is not None and (id(node), index) in self.wanted:
                    self.captured[id(node), index] = dy

    def _hooked(self, hooks: Sequence[Any], g: Tensor) -> Tensor:
        """The gradient after the hooks, any of which may replace it."""
        for hook in tuple(hooks):
            self._share(g)
            new = hook(g)
            if new is not None:
                if tuple(new.shape) != tuple(g.shape):
                    raise ShapeError(
                        f"a hook returned a gradient of shape {list(new.shape)} for one of shape "
                        f"{list(g.shape)}"
                    )
                g = new
                self._share(g)
        return g

    def _share(self, g: Tensor) -> None:
        """Note that others may read this memory."""
        self.shared.add(id(_root(g._data)))

    def _find_shared(self, edges: Sequence[tape.Edge | None], grads: Sequence[Any]) -> None:
        """Note memory that several edges carry: x + y passes one gradient to both."""
        seen: set[int] = set()
        for edge, g in zip(edges, grads, strict=False):
            if edge is not None and g is not None:
                root = id(_root(g._data))
                if root in seen:
                    self.shared.add(root)
                seen.add(root)

    def _add(self, node: Node, index: int, g: Tensor) -> None:
        slots = self.pending.get(id(node))
        if slots is None:
            slots = self.pending[id(node)] = [None] * (
                1 if node.outputs is None else len(node.outputs)
            )
        known = slots[index]
        slots[index] = g if known is None else self._sum(known, g)

    def _sum(self, known: Tensor, g: Tensor) -> Tensor:
        """known + g, in place if `known` is a sum of this pass that nothing else refers to."""
        if self.create_graph or id(known) not in self.owned or known._data.shape != g._data.shape:
            out: Tensor = ops.add(known, g)
            self.owned[id(out)] = out
            return out
        np.add(known._data, g._data, out=known._data)
        return known

    # ---- leaves

    def _to_leaf(self, leaf: Tensor, g: Tensor) -> None:
        known = self.leaf_grads.get(id(leaf))
        self.leaf_grads[id(leaf)] = g if known is None else self._sum(known, g)

    def _use_leaf(self, edge: tape.Edge | None) -> None:
        """Count one use of a leaf as done. After the last use its gradient is complete."""
        if edge is None or isinstance(edge[0], Node):
            return
        leaf = edge[0]
        left = self.leaf_uses[id(leaf)] - 1
        self.leaf_uses[id(leaf)] = left
        if left == 0 and id(leaf) in self.leaf_grads:
            self._finish(leaf)

    def _finish(self, leaf: Tensor) -> None:
        g = self.leaf_grads.pop(id(leaf))
        self.owned.pop(id(g), None)
        if leaf._hooks:
            g = self._hooked(leaf._hooks, g)
        if (id(leaf), 0) in self.wanted:
            self.captured[id(leaf), 0] = g
        if self.only is None or id(leaf) in self.only:
            self._accumulate(leaf, g)
            for post in tuple(leaf._post_hooks or ()):
                post(leaf)

    def _accumulate(self, leaf: Tensor, g: Tensor) -> None:
        known = leaf._grad
        if self.create_graph:
            leaf._grad = g.clone() if known is None else ops.add(known, g)
        elif known is None:
            leaf._grad = self._own(g, leaf)
        elif known._requires_grad or not known._data.flags.writeable:
            leaf._grad = ops.add(known, g).detach()
        else:
            np.add(known._data, g._data, out=known._data)
            known._version[0] += 1

    def _own(self, g: Tensor, leaf: Tensor) -> Tensor:
        """The gradient in row-major memory that nothing else refers to."""
        array = g._data
        place = _place_of(leaf)
        if place is not None:
            if array is not place:
                np.copyto(place, array, casting="same_kind")
            return tape.wrap(place)
        own = array.base is None or type(array.base) is bytearray  # a block of the allocator
        dense = array.flags.c_contiguous and array.dtype == leaf._data.dtype
        if own and dense and id(array) not in self.shared:
            self.shared.add(id(array))
            return tape.wrap(array)
        copy = memory.empty(array.shape, leaf._data.dtype)
        np.copyto(copy, array, casting="same_kind")
        return tape.wrap(copy)


def _place_of(leaf: Tensor) -> Array | None:
    """Where somebody wants the gradient of a parameter, as long as it has that type."""
    place: Array | None = getattr(leaf, "grad_place", None)
    if place is None or place.shape != leaf._data.shape or place.dtype != leaf._data.dtype:
        return None
    return place


def _moved_from(
    places: Sequence[Array], edges: Sequence[tape.Edge | None], grads: Sequence[Any]
) -> Sequence[Any]:
    """The gradients; what was made at a place, but is not the one wanted there, as a copy."""
    roots = {id(_root(place)) for place in places}
    moved = list(grads)
    for at, (edge, g) in enumerate(zip(edges, grads, strict=False)):
        if edge is None or g is None or id(_root(g._data)) not in roots:
            continue
        leaf = edge[0]
        if isinstance(leaf, Node) or g._data is not _place_of(leaf):
            moved[at] = tape.wrap(g._data.copy())
    return moved


_QUIET = functools.partial(np.errstate, all="ignore")


def _root(array: Array) -> Array:
    """The array that owns the memory, as far as numpy knows."""
    base = array.base
    return base if type(base) is np.ndarray else array


def _refuse_nan(node: Node, grads: Sequence[Any]) -> None:
    for i, g in enumerate(grads):
        if g is not None and not g._symbolic and np.isnan(g._data).any():
            raise SamaraError(
                f"the gradient of {node.name} for its input {i} is NaN",
                op=node.name,
                fix="check its inputs: sqrt and log at 0, 0 / 0, infinities",
            )


def _seed(t: Tensor, given: Any) -> Tensor:
    if given is None:
        if t._data.size != 1:
            raise SamaraError(
                f"the result has shape {list(t.shape)}; backward needs a scalar",
                fix="reduce it first, or pass its gradient",
            )
        return tape.wrap(np.ones(t._data.shape, t._data.dtype))
    g = as_tensor(given, t)
    if tuple(g.shape) != tuple(t.shape):
        raise ShapeError(f"the gradient has shape {list(g.shape)}, the result {list(t.shape)}")
    return g if g.dtype == t.dtype else cast(g, t.dtype)
