// SPDX-License-Identifier: Apache-2.0
// Into how many pieces an operator cuts its work where threads wait for it.
#include "base/fp.h"

#include "ops/partition.h"

// Multiply-adds of the least piece, a microsecond or two; and of one where what a piece prepares
// for itself no longer counts.
static const smr_work pieces_small = 1 << 16, pieces_large = 1 << 19;

size_t smr_pieces(const struct smr_job *job) {
  if (!SMR_HAS(threads) || job->threads <= 1 || job->work < 2 * pieces_small) return 1;
  const size_t threads = job->threads, many = SMR_PIECES_PER_THREAD * threads;
  // As many for every thread where there are enough, and few different numbers: the work comes in
  // rows of tiles, which do not cut evenly in any.
  if (job->work >= smr_work_of((int64_t)many) * pieces_large) return many;
  const smr_work small = job->work / pieces_small;
  if (small >= smr_work_of((int64_t)(2 * threads))) return 2 * threads;
  return small < smr_work_of((int64_t)threads) ? (size_t)(int64_t)small : threads;
}
