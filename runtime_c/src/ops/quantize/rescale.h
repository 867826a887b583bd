// SPDX-License-Identifier: Apache-2.0
// Parameters of operators that map one int8 tensor to another: qavg_pool, qmean, qresize.
#ifndef SMR_OPS_RESCALE_H
#define SMR_OPS_RESCALE_H

#include "ops/op.h"
#include "ops/table/opattrs.h"

struct smr_rescale {
  float ratio;  // scale of input 0 divided by that of the output; finite
  int32_t x_zero, zero, lo, hi;
};

/// Fails unless input 0 and output 0 are qint8, each with one usable pair of parameters, and
/// `attrs` are valid for the output.
samara_status smr_rescale_check(const struct smr_job *job,
                                const struct smr_attrs_int8_output *attrs);

/// Read the parameters of a checked node.
struct smr_rescale smr_rescale_read(const struct smr_job *job,
                                    const struct smr_attrs_int8_output *attrs);

#endif
