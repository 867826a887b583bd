// SPDX-License-Identifier: Apache-2.0
// Into how many pieces an operator cuts its work where threads wait for it.
#ifndef SMR_OPS_PARTITION_H
#define SMR_OPS_PARTITION_H

#include "ops/op.h"

enum { SMR_PIECES_PER_THREAD = 4 };  // at most: one thread may come late

/// Pieces of job->work: 1 for one thread. Only what gives the same bits in any pieces may depend on
/// it.
size_t smr_pieces(const struct smr_job *job);

#endif
