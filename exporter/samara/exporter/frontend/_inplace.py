# SPDX-License-Identifier: Apache-2.0
"""Methods that change tensors in place. They keep the tape correct or raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import _views, tape
from samara.exporter.frontend.operands import SCALARS, as_tensor, cast, is_tensor
from samara.exporter.frontend.random import generator_of
from samara.pybridge.errors import SamaraError, ShapeError

if TYPE_CHECKING:
    from samara.exporter.frontend.tensor import Tensor

S = TypeVar("S")


class _InPlace(Protocol):
    """The type of a method that returns the tensor it is called on, so that a Parameter stays one."""

    @overload
    def __get__(self, tensor: None, owner: Any) -> Callable[..., Tensor]: ...
    @overload
    def __get__(self, tensor: S, owner: Any) -> Callable[..., S]: ...


def _inplace(name: str, ufunc: Any = None) -> _InPlace:
    """The in-place form of method `name`. `ufunc` does it directly if nothing is recorded."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if tape.TRACERS:
            self._touch(*args)
        if self._data is None or (tape.TRACERS and self._symbolic) or self._records(*args):
            return self._change(lambda x: getattr(x, name)(*args, **kwargs))
        if ufunc is not None and len(args) <= 1 and not kwargs:
            operands = [v._data if is_tensor(v) else v for v in args]
            if all(type(v) in SCALARS or getattr(v, "dtype", None) == self.dtype for v in operands):
                try:
                    ufunc(self._writable(), *operands, out=self._data)
                except (ValueError, TypeError) as error:
                    raise _does_not_fit(self, name, error) from None
                self._version[0] += 1
                return self
        with tape.no_grad():
            return self._become(getattr(self, name)(*args, **kwargs))

    method.__name__ = name + "_"
    method.__doc__ = f"`{name}`, in place."
    return method


class InplaceMethods:
    """In-place methods.

    A leaf that requires gradients cannot be changed while recording. A recorded change moves the
    tensor to a new node of the tape. If a change overwrites a saved tensor, the backward pass finds
    it by the version counter and raises.
    """

    __slots__ = ()

    add_ = _inplace("add", np.add)
    sub_ = _inplace("sub", np.subtract)
    mul_ = _inplace("mul", np.multiply)
    div_ = _inplace("div", np.divide)
    pow_ = _inplace("pow")
    neg_ = _inplace("neg")
    abs_ = _inplace("abs")
    exp_ = _inplace("exp")
    log_ = _inplace("log")
    sqrt_ = _inplace("sqrt")
    rsqrt_ = _inplace("rsqrt")
    tanh_ = _inplace("tanh")
    sigmoid_ = _inplace("sigmoid")
    relu_ = _inplace("relu")
    floor_ = _inplace("floor")
    ceil_ = _inplace("ceil")
    round_ = _inplace("round")
    clamp_ = _inplace("clamp")
    clip_ = _inplace("clip")
    clamp_min_ = _inplace("clamp_min")
    clamp_max_ = _inplace("clamp_max")
    lerp_ = _inplace("lerp")
    addcmul_ = _inplace("addcmul")
    addcdiv_ = _inplace("addcdiv")
    masked_fill_ = _inplace("masked_fill")
    scatter_ = _inplace("scatter")
    scatter_add_ = _inplace("scatter_add")
    index_add_ = _inplace("index_add")
    index_copy_ = _inplace("index_copy")
    index_fill_ = _inplace("index_fill")
    reciprocal_ = _inplace("reciprocal")
    remainder_ = _inplace("remainder")
    fmod_ = _inplace("fmod")
    floor_divide_ = _inplace("floor_divide")
    square_ = _inplace("square")
    sign_ = _inplace("sign")
    trunc_ = _inplace("trunc")
    sin_ = _inplace("sin")
    cos_ = _inplace("cos")
    cumsum_ = _inplace("cumsum")
    cumprod_ = _inplace("cumprod")
    erf_ = _inplace("erf")
    exp2_ = _inplace("exp2")
    log2_ = _inplace("log2")
    log10_ = _inplace("log10")
    logical_and_ = _inplace("logical_and")
    logical_or_ = _inplace("logical_or")
    scatter_reduce_ = _inplace("scatter_reduce")
    masked_scatter_ = _inplace("masked_scatter")
    expm1_ = _inplace("expm1")
    log1p_ = _inplace("log1p")
    nan_to_num_ = _inplace("nan_to_num")
    tril_ = _inplace("tril")
    triu_ = _inplace("triu")
    bitwise_and_ = _inplace("bitwise_and")
    bitwise_or_ = _inplace("bitwise_or")
    bitwise_xor_ = _inplace("bitwise_xor")
    logical_not_ = _inplace("logical_not")

    __iadd__ = add_
    __isub__ = sub_
    __imul__ = mul_
    __itruediv__ = div_
    __ifloordiv__ = floor_divide_
    __imod__ = remainder_
    __ipow__ = pow_
    __iand__ = bitwise_and_
    __ior__ = bitwise_or_
    __ixor__ = bitwise_xor_

    def copy_(self: Any, src: Any) -> Tensor:
        """Copy the elements of `src`, which broadcasts."""
        self._touch(src)
        if self._symbolic or self._records(src):
            return self._become(self._all_of(src))
        try:
            np.copyto(self._writable(), src._data if is_tensor(src) else src, casting="unsafe")
        except (ValueError, TypeError) as error:
            raise _does_not_fit(self, "copy", error) from None
        self._version[0] += 1
        return self

    def fill_(self: Any, value: Any) -> Tensor:
        """Set every element to `value`."""
        self._touch(value)
        if self._symbolic or self._records(value):
            return self._become(self._all_of(value))
        self._writable()[...] = value._data if is_tensor(value) else value
        self._version[0] += 1
        return self

    def _all_of(self: Any, value: Any) -> Tensor:
        """`value` in the shape and dtype of self. No gradient flows to the old elements."""
        new = cast(as_tensor(value, self), self.dtype).expand(*self.shape)
        if self._symbolic or not self._requires_grad:
            return new.clone()
        return ops.where(as_tensor(True), new, _views.at_same_place(self))

    def zero_(self: Any) -> Tensor:
        """Set every element to 0."""
        return self.fill_(0)

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
        """Fill with normal random numbers."""
        return self._drawn(generator_of(generator).normal(self.shape, mean, std))

    def uniform_(
        self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None
    ) -> Tensor:
        """Fill with uniform random numbers from [from_, to)."""
        return self._drawn(generator_of(generator).uniform(self.shape, from_, to))

    def bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Tensor:
        """Set each element to 1 with probability p, else to 0."""
        return self._drawn(generator_of(generator).uniform(self.shape, 0.0, 1.0) < p)

    def random_(
        self: Any, from_: int = 0, to: int | None = None, *, generator: Any = None
    ) -> Tensor:
        """Fill with integers from [from_, to); `random_(n)` draws from [0, n)."""
        if to is None:
            limit = 2**24 if self.dtype.kind == "f" else int(np.iinfo(self.dtype).max)
            from_, to = (0, from_) if from_ else (0, limit)
        return self._drawn(generator_of(generator).integers(from_, to, self.shape))

    def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
        """Fill with exponentially distributed random numbers of mean 1 / lambd."""
        drawn = generator_of(generator).uniform(self.shape, 0.0, 1.0)
        return self._drawn(-np.log1p(-drawn) / lambd)

    def _drawn(self: Any, array: Any) -> Tensor:
        self._check_change()
        np.copyto(self._writable(), array, casting="unsafe")
        self._version[0] += 1
        return self

    # ---- how a change is made

    def _touch(self: Any, *others: Any) -> None:
        """Tell the current trace that this tensor is about to change."""
        tracer = tape.MODE.tracer if tape.TRACERS else None
        if tracer is None or self._symbolic:
            return
        if self._traced is not tracer:
            tracer.touch(self)
        elif any(is_tensor(v) and v._symbolic for v in others):
            tracer.touch(self, temporary=True)

    def _records(self: Any, *others: Any) -> bool:
        """Whether a change that reads `others` would be recorded. Raises if it is not allowed at all."""
        self._check_change()
        if not tape.MODE.enabled:
            return False
        if self._base is not None and self._base[0]._node is not self._base[1]:
            _views.renew(self)
        return bool(self._requires_grad) or any(
            is_tensor(v) and (v._data is None or v._requires_grad or (tape.TRACERS and v._symbolic))
            for v in others
        )

    def _check_change(self: Any) -> None:
        if not tape.MODE.enabled:
            return
        owner = self if self._base is None else self._base[0]
        if owner._requires_grad and owner._node is None:
            raise SamaraError(
                "a leaf that requires gradients cannot be changed in place while recording",
                fix="do it under no_grad(), or on a clone",
            )

    def _writable(self: Any) -> Any:
        if not self._data.flags.writeable:
            raise SamaraError(
                "this memory cannot be written: it is expanded or read-only",
                fix="clone the tensor first",
            )
        return self._data

    def _change_in(self: Any, function: Callable[[Any], Any], *others: Any) -> Tensor:
        """Replace the tensor by `function(self)`, recorded if self or `others` require gradients."""
        self._touch(*others)
        if self._symbolic or self._records(*others):
            return self._change(function)
        with tape.no_grad():
            return self._become(function(self))

    def _change(self: Any, function: Callable[[Any], Any]) -> Tensor:
        """Replace the tensor by `function(self)` and record it."""
        if self._symbolic:
            return self._become(function(self))
        if not _views.alone(self):
            return self._become(function(_views.at_same_place(self)))
        before = type(self)._wrap(self._data)
        before._requires_grad = self._requires_grad
        before._node, before._index = self._node, self._index
        new = function(before)
        array, version = new._data, self._version
        if tuple(array.shape) != tuple(self.shape) or array.dtype != self.dtype:
            return self._become(new)
        if np.may_share_memory(array, self._data):
            new = new.clone()
        # New memory and version: tensors that the tape saved keep the old memory unchanged.
        self._data, self._version = new._data, [version[0] + 1]
        if new._requires_grad:
            self._requires_grad = True
            self._node, self._index = new._node, new._index
        return self

    def _become(self: Any, other: Any) -> Tensor:
        """Take the elements of `other` and its node of the tape."""
        if tuple(other.shape) != tuple(self.shape):
            raise ShapeError(
                f"a result of shape {list(other.shape)} does not fit in place into a tensor of shape "
                f"{list(self.shape)}"
            )
        if self._symbolic:
            self._take(other)
            return self
        if not np.can_cast(other._data.dtype, self._data.dtype, "same_kind"):
            raise SamaraError(
                f"a result of {other.dtype} does not fit in place into a tensor of {self.dtype}",
                fix="convert the tensor first, or use the operation that makes a new tensor",
            )
        self._writable()
        recorded = self._base is not None and tape.MODE.enabled
        if recorded and (other._requires_grad or self._base[0]._requires_grad):
            _views.rebase(self, cast(other, self.dtype))
            return self
        np.copyto(self._data, other._data, casting="same_kind")
        self._version[0] += 1
        if other._requires_grad:
            self._requires_grad = True
            self._node, self._index = other._node, other._index
        return self


def _does_not_fit(t: Any, name: str, error: Exception) -> SamaraError:
    return ShapeError(
        f"the result does not fit in place into a tensor of shape {list(t.shape)}: {error}", op=name
    )
