// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that fold axes away or pick along one.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

// Output dims are the input's without the axes in `mask` (as 1 when kept).
static samara_status check_reduced(const struct smr_job *job, uint32_t mask) {
  const struct smr_tensor *x = job->inputs[0];
  const bool keep = SMR_ATTR(job, reduce_sum, keepdims)->i != 0;
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (!(mask >> i & 1u))
      dims[rank++] = x->dims[i];
    else if (keep)
      dims[rank++] = 1;
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, rank);
}

// `axes` are distinct axes of the input; the output lacks them, or has 1 there.
samara_status smr_check_reduce(const struct smr_job *job) {
  const struct smr_attr *axes = SMR_ATTR(job, reduce_sum, axes);
  uint32_t mask = 0;
  for (uint32_t i = 0; i < axes->count; i++) {
    uint32_t axis;
    SMR_TRY(smr_expect_axis(job, axes->ints[i], job->inputs[0]->rank, &axis));
    if (mask >> axis & 1u)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: axis %" PRId64 " is given twice", job->op->name,
               axes->ints[i]);
    mask |= 1u << axis;
  }
  return check_reduced(job, mask);
}

// The same for one `axis`, which has at least one element.
samara_status smr_check_arg(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, argmax, axis)->i, x->rank, &axis));
  if (x->dims[axis] == 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: axis %u is empty", job->op->name, (unsigned)axis);
  return check_reduced(job, 1u << axis);
}

// Both outputs are the input with `k`, at most its extent, along `axis`.
samara_status smr_check_top_k(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, top_k, axis)->i, x->rank, &axis));
  const int64_t k = SMR_ATTR(job, top_k, k)->i;
  if (k < 0 || k > x->dims[axis])
    SMR_FAIL(job->error, BAD_SHAPE, "%s: k is %" PRId64 ", axis %u has %" PRId64, job->op->name, k,
             (unsigned)axis, x->dims[axis]);
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = i == axis ? k : x->dims[i];
  SMR_TRY(smr_expect_dims(job, job->outputs[0], "values", dims, x->rank));
  return smr_expect_dims(job, job->outputs[1], "indices", dims, x->rank);
}
