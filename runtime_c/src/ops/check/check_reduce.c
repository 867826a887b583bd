// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that reduce axes or select along one.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

samara_status smr_check_reduce(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const bool one = smr_has_form(job, SMR_FORM_ONE);
  const struct smr_attr *axes = one ? SMR_ATTR(job, argmax, axis) : SMR_ATTR(job, reduce_sum, axes);
  uint32_t mask = 0;
  for (uint32_t i = 0; i < (one ? 1 : axes->count); i++) {
    const int64_t given = one ? axes->i : axes->ints[i];
    uint32_t axis;
    SMR_TRY(smr_expect_axis(job, given, x->rank, &axis));
    if (mask >> axis & 1u)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: axis %" PRId64 " is given twice", job->op->name, given);
    if (one && x->dims[axis] == 0)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: axis %u is empty", job->op->name, (unsigned)axis);
    mask |= 1u << axis;
  }
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
