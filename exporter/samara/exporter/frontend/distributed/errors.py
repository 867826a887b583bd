# SPDX-License-Identifier: Apache-2.0
"""The errors of distributed training. Each names the rank that is to blame and where it stands."""

from __future__ import annotations

from samara.pybridge.errors import SamaraError

__all__ = ["DistError", "DistTimeoutError", "MismatchError", "RankFailedError"]


class DistError(SamaraError):
    """Base of the errors of `samara.distributed`.

    >>> issubclass(samara.distributed.DistError, samara.SamaraError)
    True
    """


class DistTimeoutError(DistError, TimeoutError):
    """Some ranks did not join a collective within its timeout.

    The message names them and the line at which each of them is. Usual causes: a branch that only some
    ranks take, loops of different lengths (`nn.parallel.Join`, `DistributedSampler`), or a step that really takes
    longer than the timeout (`init_process_group(timeout=…)`).

    >>> issubclass(samara.distributed.DistTimeoutError, TimeoutError)
    True
    """


class MismatchError(DistError):
    """The ranks called different collectives, or the same one with different arguments.

    All ranks raise it with the same message, which says what each rank called and at which line. No
    data was exchanged, and the group can still be used.

    >>> issubclass(samara.distributed.MismatchError, samara.distributed.DistError)
    True
    """


class RankFailedError(DistError):
    """Another rank raised an error, ended or died. The message names it and its error.

    The group cannot be used any more.

    >>> issubclass(samara.distributed.RankFailedError, samara.distributed.DistError)
    True
    """
