// SPDX-License-Identifier: Apache-2.0
// The exact forms of operators (accuracy="exact"): what several operators share.
#ifndef SMR_OPS_EXACT_H
#define SMR_OPS_EXACT_H

#include "kernels/f32_exact/f32_exact.h"
#include "kernels/f32_vunary/f32_vunary.h"
#include "ops/op.h"

/// The kernel with which an exact job computes `function`, and its part. Functions of a few
/// specified operations have the usual kernel. Fails if there is no exact form.
samara_status smr_exact_function(struct smr_job *job, enum smr_f32_vunary function,
                                 smr_f32_vunary_ukernel *kernel);

#endif
