// SPDX-License-Identifier: Apache-2.0
// What operators from one int8 tensor to another read of their parameters: qavg_pool, qmean,
// qresize.
#ifndef SMR_OPS_RESCALE_H
#define SMR_OPS_RESCALE_H

#include "ops/op.h"
#include "ops/table/opattrs.h"

struct smr_rescale {
  float ratio;  // scale of input 0 by that of the output; finite
  int32_t x_zero, zero, lo, hi;
};

/// Fails unless input 0 and output 0 are qs8 with one pair of usable parameters each, and
/// `attrs` describe an output.
samara_status smr_rescale_check(const struct smr_job *job,
                                const struct smr_attrs_int8_output *attrs);

/// Of a checked node.
struct smr_rescale smr_rescale_read(const struct smr_job *job,
                                    const struct smr_attrs_int8_output *attrs);

#endif
