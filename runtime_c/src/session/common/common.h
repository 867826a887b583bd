// SPDX-License-Identifier: Apache-2.0
// What every part of a session shares: its memory, the limits of its run, where its errors go, and
// what was chosen when it was created.
#ifndef SMR_SESSION_COMMON_COMMON_H
#define SMR_SESSION_COMMON_COMMON_H

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "model/model.h"
#include "ops/op.h"

/// Memory that grows and never shrinks, until the session is destroyed. It counts as arena.
struct smr_block {
  void *data;
  size_t size_bytes;
  struct smr_block *next;  // of the session's blocks
};

/// Memory that is handed out piece by piece and freed with the session.
struct smr_region {
  struct smr_region *next;
  size_t used_bytes, size_bytes;
};

struct smr_memory {
  samara_allocator allocator;
  struct smr_region *regions;
  struct smr_block *blocks;  // those that were allocated
  size_t arena_bytes;        // in blocks
  size_t total_bytes;        // in blocks, regions and the session itself
  uint64_t max_arena_bytes;  // 0: no limit
};

enum smr_run_state {
  SMR_RUN_IDLE,
  SMR_RUN_BEGUN,  // by samara_session_run_async, whose thread has not taken it yet
  SMR_RUN_GOING,
  SMR_RUN_CANCELLED
};

/// The run that is going on, or the last one, and its limits.
struct smr_run {
  struct smr_deadline deadline;
  uint64_t number;            // counts runs; 0 before the first
  uint64_t steps, max_steps;  // nodes and iterations; no limit where max_steps is 0
  SMR_ATOMIC(int) state;      // enum smr_run_state
};

/// The first member of struct samara_session. What most functions read comes first: near fields
/// take shorter instructions.
struct smr_common {
  samara_error *error;
  const samara_model *model;
  struct smr_memory memory;
  size_t threads;  // that may share the tiles of a node
  uint32_t isa;    // instruction sets that may be used
  bool strict;     // accuracy=strict
  bool bfloat16;   // accuracy=bfloat16
  struct smr_run run;
  samara_log_fn log;
  void *log_user;
  struct smr_parts parts;       // what the session needs beyond its nodes and its model
  struct smr_devices *devices;  // that it may use (session/device); NULL: the CPU alone
};

/* ---- session_memory.c ---- */

/// `count * size_bytes` zeroed bytes, 64-aligned, until the session is destroyed. Count 0 gives a
/// pointer too. NULL where memory is out, which the error says then.
void *smr_session_take(struct smr_common *common, size_t count, size_t size_bytes);
/// Point `pointer` at `count` elements of that kind; returns OUT_OF_MEMORY from the calling
/// function on failure.
#define SMR_TAKE(common, pointer, count) SMR_TAKE_BYTES(common, pointer, count, sizeof *(pointer))
/// The same for elements of any size.
#define SMR_TAKE_BYTES(common, pointer, count, size_bytes)         \
  do {                                                             \
    (pointer) = smr_session_take((common), (count), (size_bytes)); \
    if ((pointer) == NULL) return SAMARA_OUT_OF_MEMORY;            \
  } while (0)
/// Free all blocks, then all regions.
void smr_session_release(struct smr_common *common);
/// Make `block` at least `size_bytes` large. Keeps the first `keep_bytes` bytes. LIMIT beyond
/// max_arena_bytes; on failure the block is as before.
samara_status smr_block_ensure(struct smr_common *common, struct smr_block *block,
                               size_t size_bytes, size_t keep_bytes, const char *what);
/// Free the memory of `block`, which may have none.
void smr_block_free(struct smr_common *common, struct smr_block *block);
/// `n` rounded up to a multiple of SMR_ALIGNMENT; SIZE_MAX when that does not fit.
size_t smr_align64(size_t n);

/* ---- common.c ---- */

/// The instruction sets to use below `ceiling` (NULL: none given). BAD_ARGUMENT for unknown names,
/// in SAMARA_ISA too.
samara_status smr_isa_resolve(const char *ceiling, uint32_t *isa, samara_error *error);
/// Drop a failure that means nothing: OK.
samara_status smr_session_forgive(struct smr_common *common);
/// Count a step; fails when the run is cancelled, too long or too late.
samara_status smr_session_tick(struct smr_common *common);
void smr_session_log(struct smr_common *common, samara_log_level level, const char *format, ...)
    SMR_PRINTF(3, 4);

/* ---- sharing.c: whether threads are worth their costs ---- */

enum {
  SMR_INLINE_BYTES = 128 * 1024,  // a job with fewer bytes runs on one thread: see smr_job_bytes
  SMR_INLINE_WORK = 1 << 18,      // multiply-adds that take two microseconds or more
  SMR_FOLLOW_BYTES = 16 * 1024,   // of a job whose inputs lie in the caches of several cores
};

/// Bytes of a job's operands, with or without its constants, counted up to SMR_INLINE_BYTES: below
/// that, threads cost more than they save. Waking one takes 0.4 us while it still looks for work
/// and some 5 us when it sleeps; one core moves this much in a few microseconds.
size_t smr_job_bytes(const struct smr_job *job, bool constants);
/// Whether a job's tiles go to the pool. They do if there are several and the job has many bytes or
/// much arithmetic. If the job before was shared (`follows`), fewer bytes are enough, because
/// another core has part of them in its cache.
bool smr_job_is_worth_sharing(const struct smr_job *job, bool follows);

#endif
