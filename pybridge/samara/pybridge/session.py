# SPDX-License-Identifier: Apache-2.0
"""Session: running a model from Python."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import NULL, failure, ffi, library, text
from samara.pybridge._state import State
from samara.pybridge.bound_outputs import WORTH_BYTES, BoundOutputs
from samara.pybridge.device import (
    BackendChoice,
    BackendReport,
    PlacementRow,
    backend_report,
    placement_rows,
)
from samara.pybridge.dtypes import (
    PACKED,
    pack_nibbles,
    packed_bytes,
)
from samara.pybridge.errors import (
    ArgumentError,
    SamaraError,
    ShapeError,
    UnsupportedError,
)
from samara.pybridge.feeds_and_results import (
    as_input,
    as_output,
    check_shape,
    checked_shapes,
    copied,
    explain_inputs,
    explain_outputs,
    fixed_shape,
    listed_specs,
    named_feeds,
    names_of,
    output_shapes,
    refuse_copies,
    refuse_packed,
    resize_inputs,
    unpacked,
    wanted_outputs,
)
from samara.pybridge.files import kind_of
from samara.pybridge.memory_use import MemoryRow, session_rows
from samara.pybridge.model import Model, TensorSpec
from samara.pybridge.notebook import html_report, html_table
from samara.pybridge.profile import ProfileRow, profile_rows, trace_text
from samara.pybridge.repeated import Repeated, places
from samara.pybridge.session_create import busy, create_session
from samara.pybridge.tuned import NodeChoice, node_choices

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from samara.pybridge.answers import Answer
    from samara.pybridge.listen import Listener

Array = npt.NDArray[Any]

_Made = TypeVar("_Made")

_log = logging.getLogger("samara.session")


def _opened(model: Model, options: Mapping[str, Any]) -> Session:
    return Session(model, **options)


def no_answer(function: str) -> UnsupportedError:
    """The error for a file without an answer record."""
    return UnsupportedError(
        f"the file does not say what the outputs of {function!r} mean",
        fix='export it with postprocess="classify OUTPUT softmax" (docs/guides/postprocessing.md)',
    )


class Session:
    """Runs one function of a model. Holds the activations and the state; one thread at a time.

    model: a Model, or the arguments of Model: a source, copy and verify. function: name; None for the
    first. threads: None means min(4, cores).
    backend: "cpu"; "opencl", or "opencl:1", which runs every node there that the device supports; the
    path of a library with a backend; a Backend; or a list of these, of which the first that supports a
    node gets it. "auto" uses a device only if it is faster: the session starts on the CPU, tries the device
    between two runs when it is ready, times seven runs on each side and keeps the faster one
    (backend_report().settled). In a list "auto" applies to the devices in it. wait: wait for the device
    at creation, so that its runs come first.
    check_every: number of runs after which the CPU also computes a part of a random node of a device, and
    compares. If a device fails, the run is repeated on the CPU, which also does all later runs.
    isa: ceiling list such as "avx2" or "scalar". keep: names of intermediate tensors to keep readable
    ("all": every one).
    accuracy: "strict" excludes transformed and reduced-precision algorithms. "bfloat16" lets products of
    float32 by constant weights (matmul, conv) round both to bfloat16 and accumulate in float32, if the CPU
    has instructions for that (avx512-bf16, neon-bf16); otherwise it changes nothing. "float16" stores
    float32 values on devices as float16 and accumulates in float32: this halves their memory and the bytes
    to copy. Numbers beyond 65504 become infinite. On the CPU it means "default".
    limits: {"max_arena_bytes", "max_steps", "deadline_s"}; a run that exceeds one raises LimitError.
    tuned: choices that `samara tune` measured on this machine: a file of it, or its bytes; True for the
    file in the cache, if there is one; None for the file that the environment variable SAMARA_TUNED names;
    False for none. Choices for another model or CPU are ignored.

    As a context manager it closes at the end of the `with`:

        with samara.Session("model.samara") as session:
            outputs = session.run({"image": array})

    A session on a model that was opened from a path can be pickled, also to the processes of
    multiprocessing: a session with the same options is created there, without the state.

    >>> session = samara.Session("model.samara", threads=2)
    >>> session.run({"image": np.zeros((5, 1, 8, 8), np.float32)})["probability"].shape
    (5, 10)
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str] | bytes | bytearray | memoryview,
        *,
        function: str | None = None,
        threads: int | None = None,
        backend: BackendChoice = "cpu",
        wait: bool = False,
        check_every: int = 256,
        isa: Sequence[str] | str | None = None,
        keep: Sequence[str] | str = (),
        accuracy: str = "default",
        limits: Mapping[str, float] | None = None,
        tuned: str | os.PathLike[str] | bytes | bool | None = None,
        copy: bool = False,
        verify: bool | None = None,
    ) -> None:
        if isinstance(model, Model):
            if copy or verify is not None:
                raise SamaraError(
                    "copy and verify apply when a file is opened, but this model is open",
                    fix="give them to samara.Model, or call verify() of the model",
                )
            self.model = model
        else:
            self.model = Model(model, copy=copy, verify=verify)
        self._options = {
            "function": function,
            "threads": threads,
            "backend": backend,
            "wait": wait,
            "check_every": check_every,
            "isa": isa,
            "keep": keep,
            "accuracy": accuracy,
            "limits": limits,
            "tuned": tuned,
        }
        spec = self.model.function(function)
        self._keep = names_of(keep, "keep")
        self._lib = library()
        self.handle = create_session(
            self.model,
            spec.name,
            threads=threads,
            backend=backend,
            wait=wait,
            check_every=check_every,
            isa=isa,
            keep=self._keep,
            accuracy=accuracy,
            limits=limits,
            tuned=tuned,
        )
        self.function = spec.name
        self.inputs: tuple[TensorSpec, ...] = spec.inputs
        self.outputs: tuple[TensorSpec, ...] = spec.outputs
        self._lock = threading.Lock()
        self._runner: ThreadPoolExecutor | None = None  # for run_async
        self._in = ffi.new("void *[]", max(1, len(spec.inputs)))
        self._out = ffi.new("void *[]", max(1, len(spec.outputs)))
        self._dtypes = [s.numpy_dtype for s in spec.inputs]
        self._out_dtypes = [s.numpy_dtype for s in spec.outputs]
        # int4 and uint4 arrays hold a value per item, the runtime's memory two per byte.
        self._packed = [s.dtype in PACKED for s in spec.inputs]
        self._out_packed = [s.dtype in PACKED for s in spec.outputs]
        self._names = [s.name for s in spec.inputs]
        self._records = any(s.record is not None for s in spec.inputs)
        self._rank = len(spec.inputs[0].shape) if spec.inputs else 0
        self._out_names = [s.name for s in spec.outputs]
        self._shapes: list[tuple[int, ...] | None] = [fixed_shape(s) for s in spec.inputs]
        self._out_shapes: list[tuple[int, ...] | None] = []
        self._profiling = False
        self._unheard = False  # whether a caller stopped listening before the end of a recording
        self._bound = BoundOutputs(self._lib, len(spec.outputs))
        # Pointers and arrays of the last run, which profile() repeats. A change of shapes invalidates them.
        self._repeat: tuple[Any, Sequence[Array | None]] | None = None
        self._quick: Repeated | None = None
        if all(s is not None for s in self._shapes):
            self._out_shapes = output_shapes(self.handle, len(self._out_names), self._check)
            self._quick = self._repeated()
        _log.debug("created %r with %s", self, self._options)

    # ---- lifetime

    def close(self) -> None:
        """Free the memory of the session, which cannot run any more. A second call does nothing.

        A callable of `bind` keeps the memory as long as it lives. Waits for runs of run_async. Raises
        SamaraError while another thread runs the session.
        """
        if self._runner is not None:
            self._runner.shutdown()
        if not self._lock.acquire(blocking=False):
            raise busy()
        try:
            handle = self.__dict__.pop("handle", None)
            if handle is not None:
                self._bound.clear(handle)
            self._repeat = self._quick = None
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name == "handle" and "_lock" in self.__dict__:
            raise SamaraError("the session is closed", fix="create another one, or close it later")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self.model, self._options)

    def __repr__(self) -> str:
        where = "memory" if self.model.path is None else repr(self.model.path)
        closed = "" if "handle" in self.__dict__ else ", closed"
        inputs, outputs = listed_specs(self.inputs), listed_specs(self.outputs)
        return f"Session({where}, {self.function}({inputs}) -> ({outputs}){closed})"

    def _repr_html_(self) -> str:
        where = "memory" if self.model.path is None else str(self.model.path)
        facts = {"function": self.function}
        given = {"threads": None, "backend": "cpu", "isa": None, "accuracy": "default"}
        facts |= {k: str(self._options[k]) for k, v in given.items() if self._options[k] != v}
        # Another thread may run it, and may close it.
        if "handle" in self.__dict__ and self._lock.acquire(blocking=False):
            try:
                facts["arena"] = f"{self.arena_bytes:,} bytes"
                facts["all memory"] = f"{self.total_bytes:,} bytes"
            finally:
                self._lock.release()
        closed = "" if "handle" in self.__dict__ else ", closed"
        rows = [
            (way, s.name, s.dtype, ", ".join(map(str, s.shape)) or "scalar", str(s.record or ""))
            for way, specs in (("input", self.inputs), ("output", self.outputs))
            for s in specs
        ]
        recorded = any(r[-1] for r in rows)
        heads = ("", "name", "dtype", "shape", *(("takes",) if recorded else ()))
        table = html_table(heads, rows if recorded else [r[:-1] for r in rows])
        return html_report(f"Session of {where}{closed}", facts, table)

    # ---- running

    def run(
        self,
        feeds: Mapping[str, Any] | Sequence[Any] | Any = None,
        *,
        outputs: Sequence[str] | str | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> dict[str, Array]:
        """Run on named inputs and return named outputs: fresh arrays, or the arrays given in `out`.

        feeds: {name: array}; or a list or tuple of arrays in the order of `inputs`; or one array if there is
        one input; nothing for a model without inputs. An array is a numpy array, or anything with __dlpack__,
        __array__ or a buffer. New shapes resize the session. For bfloat16, int4 and uint4 see TensorSpec. An
        input with a record (TensorSpec.record) also takes a picture, as samara.preprocess does: a
        samara.Image, a PIL image, the path of a file, or an array uint8 [height, width, 3] in RGB.
        outputs: names of outputs or kept tensors; default: all outputs. Raises ShapeError for a wrong dtype
        or shape, UnknownNameError for a wrong name, ArgumentError for another kind of argument. After a
        failed run the contents of the arrays in `out` are undefined.

            logits = session.run({"image": image})["logits"]

        >>> session = samara.Session("model.samara")
        >>> out = {"probability": np.empty((1, 10), np.float32)}
        >>> _ = session.run({"image": np.zeros((1, 1, 8, 8), np.float32)}, out=out)
        >>> round(float(out["probability"].sum()), 3)
        1.0
        """
        quick = self._quick
        if quick is not None and out is None and outputs is None and type(feeds) is dict:
            results = quick.run(feeds)
            if results is not None:
                self._repeat = quick.state
                return results
        if not isinstance(feeds, dict):
            feeds = named_feeds(feeds, self._names, self._rank, pictures=self._records)
        wanted = wanted_outputs(outputs, self._out_names, self._keep)
        if not self._lock.acquire(blocking=False):
            raise busy()
        try:
            held = self._feed(feeds)
            made = self._run(out)
            self._repeat = (self._in, held)
        finally:
            self._lock.release()
        if wanted is None:
            return made
        return {name: made[name] if name in made else self.kept(name) for name in wanted}

    def predict(self, feeds: Mapping[str, Any] | Sequence[Any] | Any = None) -> Answer:
        """Run, and return an answer by the record of the file (docs/guides/postprocessing.md): a
        Classification, Detections, a Mask or Keypoints.

        feeds: as for run. Boxes, masks and points are in pixels of the given picture, or in pixels of the
        input if it was given as a tensor. UnsupportedError if the file has no answer record; otherwise the
        errors of run, and ShapeError for outputs that do not fit the record.

            for face in session.predict("group.jpg"):
                print(face.label, face.score, face.box)

        >>> record = {"image": "gray float32 nchw resize=8x8 scale=0.0625"}
        >>> answer = "classify probability"
        >>> _ = samara.export(
        ...     samara.open_program("model.samara"), "photos.samara", preprocess=record, postprocess=answer
        ... )
        >>> type(samara.Session("photos.samara").predict(np.zeros((64, 64), np.uint8)))
        <class 'samara.pybridge.answers.Classification'>
        """
        if not isinstance(feeds, dict):
            feeds = named_feeds(feeds, self._names, self._rank, pictures=self._records)
        if self.model.function(self.function).answer is None:
            raise no_answer(self.function)
        from samara.pybridge.preprocess import stand_ins

        if not self._lock.acquire(blocking=False):
            raise busy()
        try:
            feeds, pictures = stand_ins(feeds, self.inputs)
            held = self._feed(feeds)
            for i, (image, kept) in pictures.items():
                self._check(self._lib.samara_session_set_image(self.handle, i, image))
                self._in[i] = NULL  # set for the picture
                del kept
            answer = self._run_for_answer()
            self._repeat = (self._in, held)
            return answer
        finally:
            self._lock.release()

    def listen(
        self, sound: Any, feeds: Mapping[str, Any] | None = None, *, end: bool = True
    ) -> Iterator[dict[str, Array]]:
        """Run on each tensor that the record of an input makes of sound, and yield the outputs of each run.

        sound: a samara.Audio, the path of a WAV file, or an array [count] of int16 or floats at the rate of
        the record. feeds: the other inputs, the same in every run; state is kept from run to run. end: whether
        the sound ends here. With False, samples that do not fill a tensor are kept for the next call, so
        portions of a microphone give the same outputs as one recording; portions of another rate or number of
        channels start again. If the caller stops early, the rest of the sound is discarded. UnsupportedError if
        no input has an audio record; otherwise the errors of run.

            for outputs in session.listen("speech.wav"):
                print(outputs["probability"])
        """
        return self._listen(sound, feeds, end, lambda: self._run(None))

    def predict_each(
        self, sound: Any, feeds: Mapping[str, Any] | None = None, *, end: bool = True
    ) -> Iterator[Answer]:
        """Like listen, but yield answers, as predict returns them.

        for word in session.predict_each("speech.wav"):
            print(word.label, word.score)
        """
        if self.model.function(self.function).answer is None:
            raise no_answer(self.function)
        return self._listen(sound, feeds, end, self._run_for_answer)

    def __call__(self, *arrays: Any) -> Any:
        """Run on inputs in order; returns the output array, or a tuple if there are several outputs."""
        quick = self._quick
        results = None if quick is None else quick.call(arrays)
        if quick is not None and results is not None:
            self._repeat = quick.state
            return results[self._out_names[0]] if len(results) == 1 else (*results.values(),)
        if len(arrays) != len(self._names):
            raise ShapeError(
                f"{len(arrays)} inputs given",
                fix=f"the function takes {len(self._names)}: {self._names}",
            )
        made = tuple(self.run(dict(zip(self._names, arrays, strict=True))).values())
        return made[0] if len(made) == 1 else made

    def run_async(
        self,
        feeds: Mapping[str, Any] | Sequence[Any] | Any = None,
        *,
        outputs: Sequence[str] | str | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> Future[dict[str, Array]]:
        """Begin a run in the session's own thread; the Future has the result of run, or its error.

        Runs of a session start and end in the order of the calls. The arrays of `feeds` and `out` must not
        change until the Future is done. Until then only run_async and cancel(), which stops the current run, may be
        called. Future.cancel() removes a run that has not started.

            future = session.run_async({"image": image})
            scores = future.result()["scores"]

        >>> session = samara.Session("model.samara")
        >>> future = session.run_async({"image": np.zeros((1, 1, 8, 8), np.float32)})
        >>> future.result()["probability"].shape
        (1, 10)
        """
        self.handle  # noqa: B018  raises where the session is closed
        if self._runner is None:
            from concurrent.futures import ThreadPoolExecutor

            self._runner = ThreadPoolExecutor(1, thread_name_prefix="samara-session")
        return self._runner.submit(self.run, feeds, outputs=outputs, out=out)

    def bind(self, feeds: Mapping[str, Array], out: Mapping[str, Array]) -> Callable[[], None]:
        """A callable that runs on these arrays, reading inputs and computing outputs in place.

        All inputs and outputs must be given, C-contiguous and with the right dtype and shape. The callable
        keeps them alive. An output may be the array of an input, as for recurrent state; after a failed run the
        contents of outputs are undefined. A call costs one C call. It raises an error after a resize to other
        shapes.

        >>> session = samara.Session("model.samara")
        >>> image, scores = np.zeros((1, 1, 8, 8), np.float32), np.empty((1, 10), np.float32)
        >>> run = session.bind({"image": image}, {"probability": scores})
        >>> image[:] = 1  # the next run reads it where it lies
        >>> run()
        """
        refuse_packed((*self.inputs, *self.outputs))
        feeds = named_feeds(feeds, self._names, self._rank)
        out = named_feeds(
            out, self._out_names, len(self.outputs[0].shape) if self.outputs else 0, "outputs"
        )
        held = self._feed(feeds)
        refuse_copies(held, feeds, self._names)
        ins = ffi.new("void *[]", max(1, len(held)))
        outs = ffi.new("void *[]", max(1, len(self._out_names)))
        given: list[Array] = []
        for i, array in enumerate(held):
            ins[i] = ffi.from_buffer(array)
        for i, name in enumerate(self._out_names):
            if name not in out:
                raise ShapeError(
                    f"output {name!r} is not bound", fix=f"out= needs {self._out_names}"
                )
            array = as_output(self.outputs[i], out[name], self._out_dtypes[i], self._out_shapes[i])
            outs[i] = ffi.from_buffer(array, require_writable=True)
            given.append(array)
        shapes = self._shapes  # a resize replaces this list
        repeat = (ins, [*held, *given])
        run_with, handle, lock = self._lib.samara_session_run_with, self.handle, self._lock
        targets = self._bound

        def bound() -> None:
            if not lock.acquire(False):
                raise busy()
            try:
                if self._shapes is not shapes and self._shapes != shapes:
                    raise ShapeError("the session was resized after bind", fix="bind again")
                if targets.arrays is not given:
                    targets.put(handle, given)
                status = run_with(handle, ins, outs)
                self._repeat = repeat
            finally:
                lock.release()
            if status:
                raise self._failure(status)

        return bound

    def resize(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Set input shapes by name. If that fails, the session keeps the previous shapes.

        It allocates memory only if the new shapes need more than any earlier ones.

        >>> session = samara.Session("model.samara")
        >>> session.resize({"image": (4, 1, 8, 8)})
        >>> session.output_shapes
        [(4, 10)]
        """
        shapes = checked_shapes(shapes, self._names)
        self._resize(
            [
                tuple(shapes[n]) if n in shapes else s
                for n, s in zip(self._names, self._shapes, strict=True)
            ]
        )

    def cancel(self) -> None:
        """Stop a run of another thread, which then raises CancelledError."""
        self._lib.samara_session_cancel(self.handle)

    def kept(self, name: str) -> Array:
        """A copy of an intermediate tensor of the last run that `keep` named.

        If another node absorbed the tensor, SamaraError names that node.
        """
        if not isinstance(name, str):
            raise ArgumentError(f"kept takes a name, not {kind_of(name)}", fix='kept("name")')
        tensor = ffi.new("samara_tensor *")
        status = self._lib.samara_session_kept(self.handle, name.encode(), tensor)
        if status:
            error = self._failure(status)
            error.fix = error.fix or "name it in keep= when making the session"
            raise error
        return copied(tensor)

    # ---- state

    @property
    def state(self) -> State:
        """The session's variables by name; reading copies out, assigning writes. `state.save(path)`
        and `state.load(path)` keep all of them in a file.

        >>> dict(samara.Session("model.samara").state)
        {}
        """
        return State(self.handle, self._check)

    def reset(self) -> None:
        """Set every variable to its initial value.

        >>> samara.Session("model.samara").reset()
        """
        self._check(self._lib.samara_session_reset(self.handle))

    # ---- what it costs

    @property
    def arena_bytes(self) -> int:
        """Bytes of activations and scratch that the session holds now."""
        return int(self._lib.samara_session_arena_bytes(self.handle))

    @property
    def output_shapes(self) -> list[tuple[int, ...] | None]:
        """Shapes of the outputs for the present input shapes; None for one that depends on data, or while
        inputs have no shapes yet.
        """
        return list(self._out_shapes) or [None] * len(self._out_names)

    @property
    def total_bytes(self) -> int:
        """All bytes that the session got from its allocator, the arena among them."""
        return int(self._lib.samara_session_total_bytes(self.handle))

    def memory(self) -> tuple[MemoryRow, ...]:
        """Where its bytes are: the plan of every function, and other allocations; empty while inputs have no
        shapes.
        """
        return session_rows(self.handle)

    def set_profiling(self, on: bool) -> None:
        """Time every node of the following runs."""
        self._check(self._lib.samara_session_set_profiling(self.handle, on))
        self._profiling = on

    def profile(self) -> list[ProfileRow]:
        """Time per node of the last run, with the kernel that ran.

        If that run was not timed, timing is switched on and the run is repeated on the same arrays; the state
        is restored afterwards.

        >>> session = samara.Session("model.samara")
        >>> session.set_profiling(True)
        >>> _ = session.run({"image": np.zeros((1, 1, 8, 8), np.float32)})
        >>> [row.op for row in session.profile()][-1]
        'softmax'
        """
        if not self._profiling:
            self._repeat_timed()
        return profile_rows(self.handle, self._check)

    def trace(self) -> str:
        """The profile of the last run as Chrome trace JSON."""
        return trace_text(self.handle, self._check)

    def choices(self) -> tuple[NodeChoice, ...]:
        """The kernel of every node that computes something, and the alternatives of its operator."""
        return node_choices(self.handle)

    # ---- devices

    def placement(self) -> list[PlacementRow]:
        """Where every node runs, and why.

        for row in session.placement():
            print(row.node, row.device, row.reason)

        >>> session = samara.Session("model.samara", backend="auto", wait=True)
        >>> {row.device for row in session.placement()} <= {"cpu", "opencl:0"}
        True
        """
        return placement_rows(self.handle)

    def backend_report(self) -> BackendReport:
        """What the session's devices did, and why the CPU took over if it did.

        if session.backend_report().failure:
            print(session.backend_report().failure)
        """
        return backend_report(self.handle)

    # ---- internals

    def _repeat_timed(self) -> None:
        if self._repeat is None:
            raise SamaraError(
                "the session has not run with its present shapes",
                fix="run the session, then ask for the profile",
            )
        before = dict(self.state)
        self.set_profiling(True)
        self._bound.clear(self.handle)
        self._check(self._lib.samara_session_run_with(self.handle, self._repeat[0], NULL))
        for name, value in before.items():
            self.state[name] = value

    def _feed(self, feeds: Mapping[str, Any]) -> list[Array]:
        """Arrays to read, their pointers set, the session resized when shapes changed."""
        if len(feeds) != len(self._names):
            explain_inputs(feeds, self._names)
        held: list[Array] = []
        shapes: list[tuple[int, ...] | None] = []
        changed = False
        pointers = self._in
        for i, name in enumerate(self._names):
            array = feeds.get(name)
            if (
                type(array) is not np.ndarray
                or array.dtype != self._dtypes[i]
                or not array.flags.c_contiguous
            ):
                if name not in feeds:
                    explain_inputs(feeds, self._names)
                array = as_input(self.inputs[i], feeds[name], self._dtypes[i])
            elif self._records and array.ndim != len(self.inputs[i].shape):
                array = as_input(self.inputs[i], array, self._dtypes[i])
            shapes.append(array.shape)
            if array.shape != self._shapes[i]:
                changed = True
            if self._packed[i]:
                array = pack_nibbles(array)
            pointers[i] = ffi.from_buffer(array)
            held.append(array)
        if changed:
            self._resize(shapes)
        return held

    def _run(self, out: Mapping[str, Array] | None) -> dict[str, Array]:
        """Run on the inputs that `_feed` has pointed at, into `out` or fresh arrays."""
        if out is not None:
            explain_outputs(out, self._out_names)
        made: dict[str, Array] = {}
        places: list[Array | None] | None = None  # outputs large enough to be computed in place
        late: list[int] = []
        packed: list[tuple[Array, Array, str]] = []
        pointers = self._out
        for i, name in enumerate(self._out_names):
            shape = self._out_shapes[i]
            if out is not None and name in out:
                array = as_output(self.outputs[i], out[name], self._out_dtypes[i], shape)
                if array.nbytes >= WORTH_BYTES and not self._out_packed[i]:
                    places = [None] * len(self._out_names) if places is None else places
                    places[i] = array
            elif shape is None:
                late.append(i)
                pointers[i] = NULL
                continue
            else:
                array = np.empty(shape, self._out_dtypes[i])
            made[name] = array
            if self._out_packed[i]:
                packed.append((array, np.empty(packed_bytes(shape or ()), np.uint8), name))
                array = packed[-1][1]
            pointers[i] = ffi.from_buffer(array)
        if places is not None:
            self._bound.put(self.handle, places)
        elif self._bound.arrays is not None:
            self._bound.clear(self.handle)
        status = self._lib.samara_session_run_with(self.handle, self._in, pointers)
        if status:
            raise self._failure(status)
        for array, data, name in packed:
            array[...] = unpacked(
                data, self.outputs[self._out_names.index(name)].dtype, array.shape
            )
        for i in late:
            tensor = ffi.new("samara_tensor *")
            self._check(self._lib.samara_session_output(self.handle, i, tensor))
            made[self._out_names[i]] = copied(tensor)
        return {name: made[name] for name in self._out_names} if late else made

    def _run_for_answer(self) -> Answer:
        """Run on the inputs that `_feed` has pointed at, for what the outputs mean."""
        from samara.pybridge.answer_read import read_answer

        native = ffi.new("samara_answer *")
        native.struct_size = ffi.sizeof("samara_answer")
        self._bound.clear(self.handle)
        self._check(self._lib.samara_session_run_with(self.handle, self._in, NULL))
        self._check(self._lib.samara_session_answer(self.handle, native))
        return read_answer(native, self.model.labels)

    def _listen(
        self, sound: Any, feeds: Mapping[str, Any] | None, end: bool, run: Callable[[], _Made]
    ) -> Iterator[_Made]:
        from samara.pybridge.listen import Listener

        heard = Listener(self._lib, self.inputs, sound, end=end)
        given = {**(feeds or {}), heard.name: heard.stand_in}
        return self._heard(heard, given, end, run)

    def _heard(
        self, heard: Listener, given: Mapping[str, Any], end: bool, run: Callable[[], _Made]
    ) -> Iterator[_Made]:
        try:
            while True:
                if not self._lock.acquire(blocking=False):
                    raise busy()
                try:
                    held = self._feed(given)
                    if self._unheard:
                        heard.drop(self.handle, self._check)
                        self._unheard = False
                    if not heard.next(self.handle, self._check):
                        end = False
                        return
                    self._in[heard.index] = NULL  # set for the sound
                    made = run()
                    self._repeat = (self._in, held)
                finally:
                    self._lock.release()
                yield made
        finally:
            self._unheard = end  # the caller stopped before the end

    def _resize(self, shapes: Sequence[tuple[int, ...] | None]) -> None:
        if any(s is None for s in shapes):
            missing = [n for n, s in zip(self._names, shapes, strict=True) if s is None]
            raise ShapeError(
                f"the shapes of {missing} are not known yet", fix="give all symbolic inputs a shape"
            )
        for spec, shape in zip(self.inputs, shapes, strict=True):
            assert shape is not None
            check_shape(spec, shape)
        self._bound.clear(self.handle)  # the resize would unbind them anyway
        resize_inputs(self.handle, [s for s in shapes if s is not None], self._check)
        _log.debug("resized to %s: the arena has %d bytes", shapes, self.arena_bytes)
        self._shapes = list(shapes)
        self._repeat = None
        self._out_shapes = output_shapes(self.handle, len(self._out_names), self._check)
        self._quick = self._repeated()

    def _repeated(self) -> Repeated | None:
        """The short way for runs in the present shapes; None for types and shapes that it cannot serve."""
        if self._records or any(self._packed) or any(self._out_packed):
            return None
        inputs = places(self._names, self._dtypes, self._shapes)
        outputs = places(self._out_names, self._out_dtypes, self._out_shapes)
        if inputs is None or outputs is None:
            return None
        return Repeated(
            self.handle, inputs, outputs, (self._in, self._out), self._lock, self._bound
        )

    def _failure(self, status: int) -> SamaraError:
        return failure(status, text(self._lib.samara_session_error(self.handle)))

    def _check(self, status: int) -> None:
        if status:
            raise self._failure(status)
