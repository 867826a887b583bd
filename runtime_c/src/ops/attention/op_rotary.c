// SPDX-License-Identifier: Apache-2.0
// rotary: pairs of elements turned by the angles of their row. Every operation is rounded, so the
// result is the same on every machine.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/table/attrs.h"

static samara_status rotary_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_one_dtype(job, SMR_DTYPE_F32));
  SMR_TRY(smr_expect_rank(job, x, "x", 4, 4));
  if (x->dims[3] % 2 != 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: the last axis of x is odd", job->op->name);
  const int64_t dims[] = {x->dims[1], x->dims[3] / 2};
  SMR_TRY(smr_expect_dims(job, job->inputs[1], "cosines", dims, 2));
  return smr_expect_dims(job, job->inputs[2], "sines", dims, 2);
}

// A tile is a row of all heads.
static samara_status rotary_prepare(struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  job->kernel = "rotary";
  job->tiles = smr_numel(x) != 0 ? (size_t)(x->dims[0] * x->dims[1]) : 0;
  return SAMARA_OK;
}

static samara_status rotary_run(const struct smr_job *job, size_t begin, size_t end,
                                void *scratch) {
  (void)scratch;
  const struct smr_tensor *t = job->inputs[0];
  const size_t heads = (size_t)t->dims[2], half = (size_t)t->dims[3] / 2;
  for (size_t tile = begin; tile < end; tile++) {
    const size_t row = tile % (size_t)t->dims[1];
    const float *c = (const float *)job->inputs[1]->data + row * half;
    const float *s = (const float *)job->inputs[2]->data + row * half;
    for (size_t head = tile * heads; head < (tile + 1) * heads; head++) {
      const float *x = (const float *)t->data + head * 2 * half;
      float *y = (float *)job->outputs[0]->data + head * 2 * half;
      for (size_t i = 0; i < half; i++) {
        const float low = x[i], high = x[half + i];
        y[i] = low * c[i] - high * s[i];
        y[half + i] = high * c[i] + low * s[i];
      }
    }
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_rotary_funcs = {
    .check = rotary_check, .prepare = rotary_prepare, .run = rotary_run};
