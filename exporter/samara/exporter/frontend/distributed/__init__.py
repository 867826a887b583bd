# SPDX-License-Identifier: Apache-2.0
"""`samara.distributed`: training by several processes that MPI connects; the names are PyTorch's."""

from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.distributed import checkpoint as checkpoint
from samara.exporter.frontend.distributed._engine import Work
from samara.exporter.frontend.distributed._reduction import ReduceOp
from samara.exporter.frontend.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from samara.exporter.frontend.distributed.errors import (
    DistError,
    DistTimeoutError,
    MismatchError,
    RankFailedError,
)
from samara.exporter.frontend.distributed.group import (
    Backend,
    GroupMember,
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_initialized,
    is_mpi_available,
    new_group,
)
from samara.exporter.frontend.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from samara.exporter.frontend.distributed.point_to_point import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    recv,
    send,
)
from samara.exporter.frontend.distributed.profiling import profile
from samara.exporter.frontend.distributed.progress_bar import progress
from samara.exporter.frontend.distributed.threads import run_threads

__all__ = [
    "Backend",
    "DistError",
    "DistTimeoutError",
    "GroupMember",
    "MismatchError",
    "P2POp",
    "ProcessGroup",
    "RankFailedError",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "checkpoint",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_initialized",
    "is_mpi_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "profile",
    "progress",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "run_threads",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
]

name_counterparts(globals(), __all__, "torch.distributed")
