# SPDX-License-Identifier: Apache-2.0
"""Single operators: preparing, running, batches, counts, threads and forks."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from samara.pybridge import SamaraError, ShapeError, UnsupportedError, op

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    before = op.get_num_threads()
    yield
    op.set_num_threads(before)


def values(*shape: int, dtype: str = "float32") -> Array:
    """Numbers of few bits: sums of products of them are exact."""
    n = int(np.prod(shape))
    return ((np.arange(n) * 37 + 11) % 32 - 16).reshape(shape).astype(dtype)


def run(name: str, attrs: dict[str, Any], inputs: list[Any], outputs: list[Array]) -> list[Array]:
    op.prepare(name, attrs, inputs, outputs)(inputs, outputs)
    return outputs


# ---- preparing and running


def test_operands_of_every_layout() -> None:
    x, w = values(6, 7), values(7, 5)
    padded = np.zeros((6, 11), np.float32)
    padded[:, 2:9] = x
    for a in (x, np.asfortranarray(x), padded[:, 2:9], x[::-1], np.repeat(x, 2, 1)[:, ::2]):
        for b in (w, w.T.copy().T):
            y = np.full((6, 5), np.nan, np.float32)
            run("matmul", {}, [a, b], [y])
            assert np.array_equal(y, a @ b)


def test_transposed_factors() -> None:
    """Of every rank, with and without transpose_w; sizes of 1 lie in either order."""
    for batch in ((), (3,), (2, 1)):
        for m, k, n in ((4, 6, 5), (1, 6, 1), (4, 1, 5), (2, 2, 2)):
            x, w = values(*batch, m, k), values(*batch, k, n)
            y = np.empty((*batch, m, n), np.float32)
            for given, flag in ((w, False), (w.swapaxes(-1, -2), True)):
                for lying in (given, given.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
                    y[...] = np.nan
                    run("matmul", {"transpose_w": flag}, [x, lying], [y])
                    assert np.array_equal(y, x @ w)


def test_channels_first_picture() -> None:
    x, w = values(2, 3, 5, 6), values(4, 3, 3, 3)
    y, same = np.empty((2, 5, 6, 4), np.float32), np.empty((2, 5, 6, 4), np.float32)
    attrs = {"strides": (1, 1), "dilations": [1, 1], "pads": np.ones(4, np.int64)}
    run("conv", attrs, [x.transpose(0, 2, 3, 1), w], [y])
    run("conv", attrs, [np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w], [same])
    assert np.array_equal(y, same)
    assert y[1, 2, 3, 2] == (x[1, :, 1:4, 2:5].transpose(1, 2, 0) * w[2]).sum()


def test_attributes_of_every_kind() -> None:
    x = values(3, 4) / 8
    y = np.empty_like(x)
    run("leaky_relu", {"alpha": 2}, [x], [y])  # an integer for a float
    assert np.array_equal(y, np.where(x >= 0, x, 2 * x))
    run("clamp", {"lo": -0.5, "hi": np.float32(0.25)}, [x], [y])
    assert np.array_equal(y, x.clip(-0.5, 0.25))
    run("clamp", {"lo": None, "hi": 0.5}, [x], [y])  # None: the default
    assert np.array_equal(y, x.clip(None, 0.5))
    whole = np.empty((3, 4), np.int64)
    run("cast", {"to": "int64"}, [x * 8], [whole])
    assert np.array_equal(whole, x * 8)
    total = np.empty((), np.float32)
    run("sum_to", {"shape": ()}, [x], [total])
    assert total == x.sum()
    z = np.empty((3, 4), np.float32)
    run("matmul", {"transpose_w": True, "post": "tanh"}, [x, values(4, 4)], [z])
    assert np.allclose(z, np.tanh(x @ values(4, 4).T), atol=1e-6)


def test_absent_inputs_several_outputs_and_dtypes() -> None:
    x, w, residual = values(2, 3), values(3, 4), values(2, 4)
    y = np.empty((2, 4), np.float32)
    run("matmul", {}, [x, w, None, residual], [y])
    assert np.array_equal(y, x @ w + residual)
    parts = [np.empty((2, 1), np.float32), np.empty((2, 2), np.float32)]
    run("split", {"axis": 1, "sizes": [1, 2]}, [x], parts)
    assert np.array_equal(np.concatenate(parts, 1), x)
    for dtype in ("float16", "int32", "int64", "uint8", "int8"):
        a = values(5, 3, dtype=dtype)
        out = np.empty_like(a)
        run("add", {}, [a, a], [out])
        assert np.array_equal(out, a + a)
    flags = np.array([True, False])
    out = np.empty_like(flags)
    run("logical_not", {}, [flags], [out])
    assert out.tolist() == [False, True]


def test_descriptions_instead_of_arrays() -> None:
    inputs = [("float32", (2, 3), (4, 8)), (np.float32, (3,))]
    add = op.prepare("add", {}, inputs, [(np.dtype("float32"), (2, 3))])
    x, row = values(3, 2), values(3)
    y = np.empty((2, 3), np.float32)
    add([x.T, row], [y])
    assert np.array_equal(y, x.T + row)
    assert add.op == "add"
    assert add.kernel
    by_code = op.prepare(50, {}, [x, x], [x])
    assert by_code.kernel == add.kernel


def test_quantized_operands() -> None:
    x, q = np.array([-1, 0, 1.25], np.float32), np.empty(3, np.int8)
    spec = ("qint8", (3,), None, (0.25, 3))
    attrs = {"scales": [0.25], "zero_points": [3]}
    op.prepare("quantize", attrs, [x], [spec])([x], [q])
    assert q.tolist() == [-1, 3, 8]


def test_quantized_along_an_axis() -> None:
    x, q = np.array([[1, -4], [0.5, 2]], np.float32), np.empty((2, 2), np.int8)
    quant = SimpleNamespace(scales=(0.5, 0.25), zero_points=(3, -1), axis=1)
    attrs = {"scales": quant.scales, "zero_points": quant.zero_points, "axis": 1}
    spec = ("qint8", (2, 2), None, quant)
    op.prepare("quantize", attrs, [x], [spec])([x], [q])
    assert q.tolist() == [[5, -17], [4, 7]]
    back = np.empty_like(x)
    op.prepare("dequantize", {}, [spec], [back])([q], [back])
    assert np.array_equal(back, x)
    op.prepare("dequantize", {}, [("qint8", (2, 2), (1, 2), quant)], [back])([q.T], [back])
    assert back.tolist() == [[1, 1.25], [-10, 2]]
    whole = SimpleNamespace(scales=(0.5,), zero_points=(3,), axis=None)
    op.prepare("dequantize", {}, [("qint8", (2, 2), None, whole)], [back])([q], [back])
    assert back.tolist() == [[1, -10], [0.5, 2]]


def test_quantized_factors_are_read_as_they_lie() -> None:
    """A second factor that is another's transpose is not copied; its scales follow its columns."""
    x, w = values(5, 7, dtype="int8"), values(6, 7, dtype="int8")
    columns = SimpleNamespace(scales=tuple(0.25 * (i + 1) for i in range(6)), axis=1)
    columns.zero_points = tuple(range(6))
    real_w = (w.T.astype(np.float32) - np.arange(6)) * np.array(columns.scales, np.float32)
    for name, given in (("matmul", x.astype(np.float32)), ("qmatmul", x)):
        spec = given if name == "matmul" else ("qint8", (5, 7), None, (1.0, 0))
        attrs = {} if name == "matmul" else {"to": 6}
        out = np.empty((5, 6), "float32" if name == "matmul" else "int32")
        view = op.prepare(name, attrs, [spec, ("qint8", (7, 6), (1, 7), columns)], [out])
        view([given, w.T], [out])
        scale = 1 if name == "matmul" else np.array(columns.scales)
        assert np.array_equal(out * scale, x.astype(np.float32) @ real_w)
        dense = np.ascontiguousarray(w.T)
        again = np.empty_like(out)
        copied = op.prepare(name, attrs, [spec, ("qint8", (7, 6), None, columns)], [again])
        copied([given, dense], [again])
        assert np.array_equal(out, again)


@pytest.mark.parametrize(
    ("quant", "text"),
    [
        ((0.0, 3), "has the scale 0"),
        ((1.0, 300), "has the zero point 300"),
        (SimpleNamespace(scales=(1.0,), zero_points=(0,), axis=1), "has 1 scales along axis 1"),
        (SimpleNamespace(scales=(1.0,), zero_points=(0,), axis=5), "along axis 5 of rank 2"),
        (SimpleNamespace(scales=(1.0,), zero_points=(0,), axis=0, block=2), "per 2 elements"),
    ],
)
def test_quantization_that_does_not_fit(quant: Any, text: str) -> None:
    y = np.empty((2, 2), np.float32)
    with pytest.raises(SamaraError, match=text):
        op.prepare("dequantize", {}, [("qint8", (2, 2), None, quant)], [y])


def test_addresses() -> None:
    x, y = values(4, 6), np.empty((6, 4), np.float32)
    assert op.address(x) == x.ctypes.data
    assert op.address(x[::-1, ::2]) == x[::-1, ::2].ctypes.data
    tanh = op.prepare("tanh", {}, [x.T], [y])
    tanh.at([op.address(x.T)], (op.address(y),))
    assert np.allclose(y, np.tanh(x.T), atol=1e-6)


def test_more_operands_than_a_new_context_has_room_for() -> None:
    parts = [values(1, 2) + i for i in range(100)]
    y = np.empty((100, 2), np.float32)
    run("concat", {"axis": 0}, parts, [y])
    assert np.array_equal(y, np.concatenate(parts))
    back = [np.empty((1, 2), np.float32) for _ in range(100)]
    split = op.prepare("split", {"axis": 0, "sizes": [1] * 100}, [y], back)
    split.at([op.address(y)], [op.address(b) for b in back])
    assert np.array_equal(np.concatenate(back), y)


# ---- refusals

F32 = ("float32", (2, 2))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (("relu", {"slope": 1}, [F32], [F32]), ShapeError, "no attribute 'slope'"),
        (("cast", {}, [F32], [F32]), ShapeError, "'to' is missing"),
        (("softmax", {"axis": 0.5}, [F32], [F32]), ShapeError, "'axis' takes one integer"),
        (("softmax", {"axis": {}}, [F32], [F32]), ShapeError, "attribute 'axis' is {}"),
        (("gelu", {"approximate": "erf"}, [F32], [F32]), ShapeError, "one of none,tanh"),
        (("add", {}, [F32, ("float32", (3, 2))], [F32]), ShapeError, "broadcast"),
        (("add", {}, [F32, F32], [("float32", (2, 3))]), ShapeError, r"\[2, 3\], expected \[2, 2"),
        (("add", {}, [F32], [F32]), ShapeError, "has 1 inputs, expected 2"),
        (("add", {}, [F32, None], [F32]), ShapeError, "input 1 is required"),
        (("add", {}, [("complex64", (2,)), F32], [F32]), ShapeError, "no dtype complex64"),
        (("relu", {}, [("int4", (2,))], [("int4", (2,))]), ShapeError, "no dtype int4"),
        (("prelu", {}, [("bfloat16", (2,))] * 2, [("bfloat16", (2,))]), ShapeError, "cannot have"),
        (("relu", {}, [("float32", (2, 2), (6, 4))], [F32]), ShapeError, "whole elements"),
        (("relu", {}, [F32], [("float32", (2, 2), (4, 8))]), ShapeError, "output 0 is not dense"),
        (("if", {}, [F32], [F32]), UnsupportedError, "only has a meaning in a model"),
        (("nonzero", {}, [F32], [("int64", (2, 4))]), UnsupportedError, "depend on data"),
        (("no_such", {}, [F32], [F32]), SamaraError, "no operator 'no_such'"),
    ],
)
def test_refused(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        op.prepare(*call)


def test_wrong_number_of_arrays() -> None:
    x = values(2, 2)
    add = op.prepare("add", {}, [x, x], [x])
    for call in (
        lambda: add([x], [x]),
        lambda: add.at([1, 2], []),
        lambda: op.Batch([(add, [x, x], [x, x])]),
    ):
        with pytest.raises(ShapeError, match="it was prepared for 2 and 1"):
            call()


def test_bad_data_is_an_error_and_the_next_run_is_fine() -> None:
    x, at, y = values(4, 2), np.array([1, 9], np.int64), np.empty((2, 2), np.float32)
    gather = op.prepare("gather", {}, [x, at], [y])
    with pytest.raises(SamaraError, match="index 9 at position 1"):
        gather([x, at], [y])
    with pytest.raises(SamaraError, match="operator 1: gather: index 9"):
        op.Batch([(gather, [x, at % 4], [y]), (gather, [x, at], [y.copy()])]).run()
    at %= 4
    gather([x, at], [y])
    assert np.array_equal(y, x[[1, 1]])


# ---- batches, threads, counts


def test_batch_is_its_items() -> None:
    shapes = [(3, 5), (64, 300), (0,), (7,), (3, 5)]
    items, expected = [], []
    for k, shape in enumerate(shapes):
        a, b = values(*shape) + k, values(*shape[::-1]).T - k
        out = np.full(shape, np.nan, np.float32)
        items.append((op.prepare("add", {}, [a, b], [out]), [a, b], [out]))
        expected.append(a + b)
    batch = op.Batch(items)
    assert len(batch) == len(shapes)
    for threads in (1, 3):
        op.set_num_threads(threads)
        for _, _, (out,) in items:
            out[...] = np.nan
        batch.run()
        for (_, _, (out,)), want in zip(items, expected, strict=True):
            assert np.array_equal(out, want)
    op.Batch([]).run()


def test_batch_keeps_its_arrays() -> None:
    out = np.zeros(1000, np.float32)
    x = values(1000)
    batch = op.Batch([(op.prepare("neg", {}, [x], [out]), [x], [out])])
    want = -x
    del x
    gc.collect()
    batch.run()
    assert np.array_equal(out, want)


def test_counts_and_scratch() -> None:
    x = values(2, 2)
    before = op.run_counts()
    run("asinh", {}, [x], [np.empty_like(x)])
    asinh = op.prepare("asinh", {}, [x], [x])
    op.Batch([(asinh, [x], [np.empty_like(x)])] * 3).run()
    after = op.run_counts()
    changed = {k: n - before.get(k, 0) for k, n in after.items() if n != before.get(k, 0)}
    assert changed == {"asinh": 4}
    run("add", {}, [values(300, 200), values(200, 300).T], [np.empty((300, 200), np.float32)])
    assert op.scratch_bytes() >= 300 * 200 * 4


def test_number_of_threads() -> None:
    x, w = values(70, 300), values(300, 90)
    results = []
    for threads in (1, 2, 3):
        op.set_num_threads(threads)
        assert op.get_num_threads() == threads
        results += run("matmul", {}, [x / 7, w / 3], [np.empty((70, 90), np.float32)])
    assert all(np.array_equal(r, results[0]) for r in results)
    op.set_num_threads(None)
    assert 1 <= op.get_num_threads() <= 4
    with pytest.raises(ShapeError, match="at least 1"):
        op.set_num_threads(0)


def test_python_threads_share_what_is_prepared() -> None:
    x, w = values(40, 200), values(200, 60)
    matmul = op.prepare("matmul", {}, [x, w], [np.empty((40, 60), np.float32)])
    wrong: list[int] = []
    before = op.run_counts().get("matmul", 0)

    def work(k: int) -> None:
        y = np.empty((40, 60), np.float32)
        for _ in range(50):
            matmul([x + k, w], [y])
            if not np.array_equal(y, (x + k) @ w):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    del threads, t
    gc.collect()
    assert op.run_counts()["matmul"] == before + 200  # their contexts are gone, the counts are not


def test_operator_inside_the_preparation_of_another() -> None:
    """A signal handler or a finalizer that runs operators does not disturb the one it interrupts."""
    x, y, inner = values(4), np.empty(4, np.float32), np.empty(4, np.float32)
    neg = op.prepare("neg", {}, [x], [y])

    class Inputs(list[Array]):
        def __iter__(self) -> Iterator[Array]:
            yield x
            neg([x + 100], [inner])

    neg(Inputs([x]), [y])
    assert np.array_equal(y, -x)
    assert np.array_equal(inner, -x - 100)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT RUN: fork (this system has none)")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_of_a_fork_runs_operators() -> None:
    op.set_num_threads(2)
    x, w = values(64, 300), values(300, 64)
    y = np.empty((64, 64), np.float32)
    matmul = op.prepare("matmul", {}, [x, w], [y])
    matmul([x, w], [y])
    child = os.fork()
    if child == 0:
        # No pytest in the child: only the exit status speaks.
        code = 1
        try:
            own = np.empty_like(y)
            matmul([x, w], [own])
            code = 0 if np.array_equal(own, y) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
