// SPDX-License-Identifier: Apache-2.0
// Work partition: how many tiles an operator makes for several threads.
#include "base/fp.h"

#include "ops/partition.h"

// Multiply-adds of the smallest tile worth a hand-over (a microsecond or two), and of a tile whose
// own preparation no longer matters.
static const smr_work partition_small = 1 << 16, partition_large = 1 << 19;

size_t smr_partition(const struct smr_job *job) {
  if (!SMR_HAS(threads) || job->threads <= 1 || job->work < 2 * partition_small) return 1;
  const size_t threads = job->threads, many = SMR_PIECES_PER_THREAD * threads;
  // Give every thread the same number of tiles if the work is large enough. Prefer few distinct
  // counts: register tiles come in rows, which rarely divide evenly.
  if (job->work >= smr_work_of((int64_t)many) * partition_large) return many;
  const smr_work small = job->work / partition_small;
  if (small >= smr_work_of((int64_t)(2 * threads))) return 2 * threads;
  return small < smr_work_of((int64_t)threads) ? (size_t)(int64_t)small : threads;
}
