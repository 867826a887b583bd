// SPDX-License-Identifier: Apache-2.0
// Work partition: how many tiles an operator makes for several threads.
#ifndef SMR_OPS_PARTITION_H
#define SMR_OPS_PARTITION_H

#include "ops/op.h"

enum { SMR_PIECES_PER_THREAD = 4 };  // at most: evens out a thread that starts late

/// The number of tiles for job->work; 1 for one thread. The result must not depend on this number,
/// to the bit.
size_t smr_partition(const struct smr_job *job);

#endif
