# SPDX-License-Identifier: Apache-2.0
"""Session: running a model from Python."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy.typing as npt

from samara.pybridge._native import NULL, ffi, library
from samara.pybridge._state import State
from samara.pybridge.device import (
    BackendChoice,
    BackendReport,
    PlacementRow,
    backend_report,
    placement_rows,
)
from samara.pybridge.errors import ArgumentError, SamaraError, ShapeError, no_answer
from samara.pybridge.feeds_and_results import (
    checked_shapes,
    copied,
    listed_specs,
    named_feeds,
    names_of,
    refuse_packed,
    wanted_outputs,
)
from samara.pybridge.files import kind_of
from samara.pybridge.memory_use import MemoryRow, session_rows
from samara.pybridge.model import Model, TensorSpec
from samara.pybridge.notebook import html_report, html_tensors
from samara.pybridge.profile import ProfileRow, profile_rows, trace_text
from samara.pybridge.session_create import busy, create_session, session_check
from samara.pybridge.session_tensors import SessionTensors
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


class Session:
    """Runs one function of a model. Holds the activations and the state; one thread at a time.

    model: a Model, or the arguments of Model: a source, copy and verify. function: name; None for the
    first. threads: None means SAMARA_NUM_THREADS of the environment, or min(4, cores).
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
    "exact" computes floats with the same bits on every CPU, as models exported with accuracy="exact" do by
    default; "bounded", "bfloat16" and "float16" turn that off for such a model. It excludes devices: only
    backend="auto" is accepted, and stays on the CPU.
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
        self._tensors = SessionTensors(self._lib, spec.inputs, spec.outputs, self._lock)
        self._tensors.prepare(self.handle)
        self._profiling = False
        self._unheard = False  # whether a caller stopped listening before the end of a recording
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
                self._tensors.clear(handle)
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
        return html_report(
            f"Session of {where}{closed}", facts, html_tensors(self.inputs, self.outputs)
        )

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
        tensors = self._tensors
        quick = tensors.quick
        if quick is not None and out is None and outputs is None and type(feeds) is dict:
            results = quick.run(feeds)
            if results is not None:
                tensors.repeat = quick.state
                return results
        if not isinstance(feeds, dict):
            feeds = named_feeds(feeds, tensors.names, tensors.rank, pictures=tensors.records)
        wanted = wanted_outputs(outputs, tensors.out_names, self._keep)
        if not self._lock.acquire(blocking=False):
            raise busy()
        try:
            held = tensors.feed(self.handle, feeds)
            made = tensors.run(self.handle, out)
            tensors.repeat = (tensors.ins, held)
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
        tensors = self._tensors
        if not isinstance(feeds, dict):
            feeds = named_feeds(feeds, tensors.names, tensors.rank, pictures=tensors.records)
        if self.model.function(self.function).answer is None:
            raise no_answer(self.function)
        from samara.pybridge.preprocess import stand_ins

        if not self._lock.acquire(blocking=False):
            raise busy()
        try:
            feeds, pictures = stand_ins(feeds, self.inputs)
            held = tensors.feed(self.handle, feeds)
            for i, (image, kept) in pictures.items():
                self._check(self._lib.samara_session_set_image(self.handle, i, image))
                tensors.ins[i] = NULL  # set for the picture
                del kept
            answer = self._run_for_answer()
            tensors.repeat = (tensors.ins, held)
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
        return self._listen(sound, feeds, end, lambda: self._tensors.run(self.handle, None))

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
        tensors = self._tensors
        quick = tensors.quick
        results = None if quick is None else quick.call(arrays)
        if quick is not None and results is not None:
            tensors.repeat = quick.state
            return results[tensors.out_names[0]] if len(results) == 1 else (*results.values(),)
        if len(arrays) != len(tensors.names):
            raise ShapeError(
                f"{len(arrays)} inputs given",
                fix=f"the function takes {len(tensors.names)}: {tensors.names}",
            )
        made = tuple(self.run(dict(zip(tensors.names, arrays, strict=True))).values())
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
        tensors = self._tensors
        feeds = named_feeds(feeds, tensors.names, tensors.rank)
        out = named_feeds(out, tensors.out_names, tensors.out_rank, "outputs")
        return tensors.bind(self.handle, feeds, out)

    def resize(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Set input shapes by name. If that fails, the session keeps the previous shapes.

        It allocates memory only if the new shapes need more than any earlier ones.

        >>> session = samara.Session("model.samara")
        >>> session.resize({"image": (4, 1, 8, 8)})
        >>> session.output_shapes
        [(4, 10)]
        """
        tensors = self._tensors
        shapes = checked_shapes(shapes, tensors.names)
        tensors.resize(
            self.handle,
            [
                tuple(shapes[n]) if n in shapes else s
                for n, s in zip(tensors.names, tensors.shapes, strict=True)
            ],
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
        try:
            self._check(status)
        except SamaraError as error:
            error.fix = error.fix or "name it in keep= when making the session"
            raise
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
        return list(self._tensors.out_shapes) or [None] * len(self._tensors.out_names)

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
        if self._tensors.repeat is None:
            raise SamaraError(
                "the session has not run with its present shapes",
                fix="run the session, then ask for the profile",
            )
        before = self.state.to_bytes()
        self.set_profiling(True)
        self._tensors.bound.clear(self.handle)
        self._check(self._lib.samara_session_run_with(self.handle, self._tensors.repeat[0], NULL))
        self.state.from_bytes(before)

    def _run_for_answer(self) -> Answer:
        """Run on the inputs that `feed` has pointed at, for what the outputs mean."""
        from samara.pybridge.answer_read import read_answer

        native = ffi.new("samara_answer *")
        native.struct_size = ffi.sizeof("samara_answer")
        self._tensors.bound.clear(self.handle)
        self._check(self._lib.samara_session_run_with(self.handle, self._tensors.ins, NULL))
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
        tensors = self._tensors
        try:
            while True:
                if not self._lock.acquire(blocking=False):
                    raise busy()
                try:
                    held = tensors.feed(self.handle, given)
                    if self._unheard:
                        heard.drop(self.handle, self._check)
                        self._unheard = False
                    if not heard.next(self.handle, self._check):
                        end = False
                        return
                    tensors.ins[heard.index] = NULL  # set for the sound
                    made = run()
                    tensors.repeat = (tensors.ins, held)
                finally:
                    self._lock.release()
                yield made
        finally:
            self._unheard = end  # the caller stopped before the end

    def _check(self, status: int) -> None:
        session_check(self.handle, status)
