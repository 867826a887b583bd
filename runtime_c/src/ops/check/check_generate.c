// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that make tensors out of numbers, or out of how many there are.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

// Three scalars of one dtype; the output's one dim is measured.
samara_status smr_check_range(const struct smr_job *job) {
  const struct smr_tensor *y = job->outputs[0];
  SMR_TRY(smr_expect_dtype(job, y, "output",
                           SMR_DTYPE_F32 | SMR_DTYPE_F64 | SMR_DTYPE_I32 | SMR_DTYPE_I64));
  for (uint32_t i = 0; i < 3; i++) {
    const struct smr_tensor *scalar = job->inputs[i];
    SMR_TRY(smr_expect_same_dtype(job, scalar, y, "an input and the output"));
    if (smr_numel(scalar) != 1) SMR_TRY(smr_expect_dims(job, scalar, "an input", y->dims, 0));
  }
  return smr_expect_rank(job, y, "output", 1, 1);
}

// Output dtype is the attribute's.
static samara_status check_dtype_attr(const struct smr_job *job, int64_t dtype, uint32_t set) {
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", set));
  if (dtype != job->outputs[0]->dtype)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: dtype is %" PRId64 ", the output has %s", job->op->name,
             dtype, smr_dtype_name(job->outputs[0]->dtype));
  return SAMARA_OK;
}

// Output dims: [length].
samara_status smr_check_iota(const struct smr_job *job) {
  SMR_TRY(check_dtype_attr(job, SMR_ATTR(job, iota, dtype)->i,
                           SMR_DTYPE_F32 | SMR_DTYPE_I32 | SMR_DTYPE_I64));
  const int64_t length = SMR_ATTR(job, iota, length)->i;
  return smr_expect_dims(job, job->outputs[0], "output", &length, 1);
}

// Output dims: the attribute `shape`.
samara_status smr_check_shaped(const struct smr_job *job) {
  return smr_expect_shape(job, SMR_ATTR(job, mel_weights, shape));
}

// Output: int64 [rank, measured].
samara_status smr_check_nonzero(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_dtype(job, x, "input", SMR_DTYPES_PLAIN | SMR_DTYPES_MORE));
  SMR_TRY(smr_expect_dtype(job, y, "output", SMR_DTYPE_I64));
  SMR_TRY(smr_expect_rank(job, y, "output", 2, 2));
  if (y->dims[0] != (int64_t)x->rank)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: output has %" PRId64 " rows for an input of rank %u",
             job->op->name, y->dims[0], (unsigned)x->rank);
  return SAMARA_OK;
}

// Output: [number of values], or a scalar of the one value.
samara_status smr_check_dims(const struct smr_job *job) {
  SMR_TRY(check_dtype_attr(job, SMR_ATTR(job, dims, dtype)->i,
                           SMR_DTYPE_I64 | SMR_DTYPE_I32 | SMR_DTYPE_F32 | SMR_DTYPE_BOOL));
  const int64_t count = SMR_ATTR(job, dims, values)->count;
  const bool scalar = SMR_ATTR(job, dims, scalar)->i != 0;
  if (scalar && count != 1)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: a scalar holds one value, not %" PRId64, job->op->name,
             count);
  return smr_expect_dims(job, job->outputs[0], "output", &count, scalar ? 0 : 1);
}
