// SPDX-License-Identifier: Apache-2.0
// Into how many pieces an operator cuts its work where threads wait for it.
#ifndef SMR_OPS_PIECES_H
#define SMR_OPS_PIECES_H

#include "ops/op.h"

enum {
  SMR_PIECES_PER_THREAD = 4,  // of small work: one thread may come late
  SMR_PIECE_WORK = 1 << 17,   // multiply-adds of the least piece: a microsecond or two
};

/// Pieces of `work` multiply-adds: 1 for one thread. Only what gives the same bits in any pieces
/// may depend on it.
static inline size_t smr_pieces(const struct smr_job *job, double work) {
  const double least = SMR_PIECE_WORK, most = (double)job->threads * SMR_PIECES_PER_THREAD;
  if (job->threads <= 1 || work < 2 * least) return 1;
  return (size_t)(work / least < most ? work / least : most);
}

#endif
