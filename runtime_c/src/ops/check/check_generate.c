// SPDX-License-Identifier: Apache-2.0
// The check class of operators that create a tensor from dims.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

samara_status smr_expect_dtype_attr(const struct smr_job *job, int64_t dtype, uint32_t set) {
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", set));
  if (dtype != job->outputs[0]->dtype)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: dtype is %" PRId64 ", the output has %s", job->op->name,
             dtype, smr_dtype_name(job->outputs[0]->dtype));
  return SAMARA_OK;
}

samara_status smr_check_dims(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype_attr(job, SMR_ATTR(job, dims, dtype)->i,
                                SMR_DTYPE_I64 | SMR_DTYPE_I32 | SMR_DTYPE_F32 | SMR_DTYPE_BOOL));
  const int64_t count = SMR_ATTR(job, dims, values)->count;
  const bool scalar = SMR_ATTR(job, dims, scalar)->i != 0;
  if (scalar && count != 1)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: a scalar holds one value, not %" PRId64, job->op->name,
             count);
  return smr_expect_dims(job, job->outputs[0], "output", &count, scalar ? 0 : 1);
}
