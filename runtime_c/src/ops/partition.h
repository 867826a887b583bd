// SPDX-License-Identifier: Apache-2.0
// Work partition: into how many pieces an operator cuts its work for several threads.
#ifndef SMR_OPS_PARTITION_H
#define SMR_OPS_PARTITION_H

#include "ops/op.h"

enum { SMR_PIECES_PER_THREAD = 4 };  // at most: one thread may come late

/// The number of pieces for job->work: 1 for one thread. A caller must compute the same bits for
/// every number of pieces.
size_t smr_partition(const struct smr_job *job);

#endif
