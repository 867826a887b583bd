// SPDX-License-Identifier: Apache-2.0
// State shared by all parts of a session: memory, limits of the run, the last error, options.
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

/// Memory for many small allocations, freed with the session.
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
  SMR_RUN_BEGUN,  // by samara_session_run_async; the thread has not started it
  SMR_RUN_GOING,
  SMR_RUN_CANCELLED
};

/// The current or last run and its limits.
struct smr_run {
  struct smr_deadline deadline;
  uint64_t number;            // counts runs; 0 before the first
  uint64_t steps, max_steps;  // nodes and iterations; max_steps 0: no limit
  SMR_ATOMIC(int) state;      // enum smr_run_state
};

/// The first member of struct samara_session. The most used fields come first, because small
/// offsets make shorter instructions.
struct smr_common {
  samara_error *error;
  const samara_model *model;
  struct smr_memory memory;
  size_t threads;  // workers that may share the tiles of a node
  uint32_t isa;    // instruction sets that may be used
  bool strict;     // accuracy=strict
  bool bfloat16;   // accuracy=bfloat16
  bool exact;      // accuracy=exact
  struct smr_run run;
  samara_log_fn log;
  void *log_user;
  struct smr_parts parts;       // parts that the session needs in addition to those of its nodes
                                // and its model
  struct smr_devices *devices;  // devices to use (session/device); NULL: only the CPU
};

/* ---- session_memory.c ---- */

/// `count * size_bytes` zeroed bytes, 64-aligned, until the session is destroyed. Not NULL for
/// count 0. NULL and an error message if memory is exhausted.
void *smr_session_take(struct smr_common *common, size_t count, size_t size_bytes);
/// Point `pointer` at `count` new elements. On failure the calling function returns OUT_OF_MEMORY.
#define SMR_TAKE(common, pointer, count) SMR_TAKE_BYTES(common, pointer, count, sizeof *(pointer))
/// The same for elements of any size.
#define SMR_TAKE_BYTES(common, pointer, count, size_bytes)         \
  do {                                                             \
    (pointer) = smr_session_take((common), (count), (size_bytes)); \
    if ((pointer) == NULL) return SAMARA_OUT_OF_MEMORY;            \
  } while (0)
/// The same for `size_bytes` bytes of which few may be used: with the default allocator the system
/// gives their pages when they are written.
samara_status smr_session_take_lazily(struct smr_common *common, size_t size_bytes, void **out);
/// Free all blocks, then all regions.
void smr_session_release(struct smr_common *common);
/// Make `block` at least `size_bytes` large. Keeps the first `keep_bytes` bytes. LIMIT beyond
/// max_arena_bytes; on failure the block is as before.
samara_status smr_block_ensure(struct smr_common *common, struct smr_block *block,
                               size_t size_bytes, size_t keep_bytes, const char *what);
/// Free the memory of `block`, if any.
void smr_block_free(struct smr_common *common, struct smr_block *block);
/// `n` rounded up to a multiple of SMR_ALIGNMENT; SIZE_MAX on overflow.
size_t smr_align64(size_t n);

/* ---- common.c ---- */

/// The instruction sets to use, at most `ceiling` (NULL: no limit). BAD_ARGUMENT for unknown names,
/// also in SAMARA_ISA.
samara_status smr_isa_resolve(const char *ceiling, uint32_t *isa, samara_error *error);
/// Clear the error and return OK: the failure is expected.
samara_status smr_session_forgive(struct smr_common *common);
/// Count a step. Fails if the run is cancelled, has too many steps or is past its deadline.
samara_status smr_session_tick(struct smr_common *common);
void smr_session_log(struct smr_common *common, samara_log_level level, const char *format, ...)
    SMR_PRINTF(3, 4);

/* ---- sharing.c: whether a job is worth several threads ---- */

enum {
  SMR_INLINE_BYTES = 128 * 1024,  // jobs with fewer bytes run on one thread: see smr_job_bytes
  SMR_INLINE_WORK = 1 << 18,      // multiply-adds: at least 2 us of work
  SMR_FOLLOW_BYTES = 16 * 1024,   // the same limit if the inputs are in the caches of several cores
};

/// Bytes of a job's operands, with or without its constants, counted up to SMR_INLINE_BYTES. Below
/// that threads cost more than they save: waking a worker takes 0.4 us while it polls and about 5
/// us when it sleeps, and one core moves this many bytes in a few microseconds.
size_t smr_job_bytes(const struct smr_job *job, bool constants);
/// Whether a job runs on the pool: if it has several tiles, and many bytes or multiply-adds. If the
/// previous job was shared (`follows`), fewer bytes are enough, because part of them is in another
/// core's cache.
bool smr_job_is_worth_sharing(const struct smr_job *job, bool follows);

#endif
