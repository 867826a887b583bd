// SPDX-License-Identifier: Apache-2.0
// Into how many pieces an operator cuts its work where threads wait for it.
#include "base/fp.h"

#include "ops/pieces.h"

// Multiply-adds of the least piece: a microsecond or two.
static const double pieces_least = 1 << 17;

size_t smr_pieces(const struct smr_job *job) {
  const double pieces = job->work / pieces_least;
  const size_t most = SMR_PIECES_PER_THREAD * (size_t)job->threads;
  if (!SMR_HAS(threads) || job->threads <= 1 || pieces < 2) return 1;
  return pieces < (double)(int64_t)most ? (size_t)(int64_t)pieces : most;
}
