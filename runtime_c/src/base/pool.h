// SPDX-License-Identifier: Apache-2.0
// The thread pool: divides a range of tiles among threads.
#ifndef SMR_BASE_POOL_H
#define SMR_BASE_POOL_H

#include "base/error.h"

#include <stddef.h>

/// Process tiles [begin, end). Called any number of times per run, for disjoint ranges,
/// concurrently from different threads. `thread` < samara_pool_threads() identifies the calling
/// thread, for per-thread scratch.
typedef void (*smr_pool_fn)(void *context, size_t begin, size_t end, size_t thread);

/// Call `fn` so that [0, tiles) is covered exactly once; return when all of it is done. The caller
/// works as thread 0. Runs inline, as one call, if `pool` is NULL, is busy with another run (of any
/// thread, including an enclosing run), or belongs to another process (after a fork). Allocates
/// nothing. Every thread starts with its own share, the first thread with the first tiles; threads
/// that finish early help the others. Results must not depend on where the range is divided.
void smr_pool_run(samara_pool *pool, size_t tiles, smr_pool_fn fn, void *context);

#endif
