// SPDX-License-Identifier: Apache-2.0
// The thread pool: splits a range of tiles over threads.
#ifndef SMR_BASE_POOL_H
#define SMR_BASE_POOL_H

#include "base/error.h"

#include <stddef.h>

/// Work on tiles [begin, end). Called any number of times per run, for disjoint ranges, at the same
/// time from different threads; `thread` < samara_pool_threads() names the one that calls, for
/// per-thread scratch.
typedef void (*smr_pool_fn)(void *context, size_t begin, size_t end, size_t thread);

/// Call `fn` so that [0, tiles) is covered exactly once, and return when all of it is done. The
/// caller takes part as thread 0. Runs inline, as one call, when `pool` is NULL, busy with another
/// run (from any thread, an enclosing run included), or another process's (after a fork). Allocates
/// nothing. Every thread begins with a part of its own, the first ones with the first tiles; who is
/// done helps the others. No result may depend on where ranges are cut.
void smr_pool_run(samara_pool *pool, size_t tiles, smr_pool_fn fn, void *context);

#endif
