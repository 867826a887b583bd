// SPDX-License-Identifier: Apache-2.0
// Check classes of operators whose outputs follow their inputs element by element.
#include "base/fp.h"

#include "ops/check/check.h"

// Output dims equal those of input 0.
samara_status smr_check_same(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}

// The same, and `axis` is an axis.
samara_status smr_check_axis(const struct smr_job *job) {
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, softmax, axis)->i, job->inputs[0]->rank, &axis));
  return smr_check_same(job);
}

// The first `count` inputs broadcast together; the output has the dims that gives.
static samara_status check_broadcast_inputs(const struct smr_job *job, uint32_t count) {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct smr_tensor *t = job->inputs[i];
    const struct smr_dims_text before = smr_dims_text(dims, rank);
    if (smr_broadcast_dims(dims, &rank, t->dims, t->rank)) continue;
    const struct smr_dims_text dims_text = smr_dims_text(t->dims, t->rank);
    SMR_FAIL(job->error, BAD_SHAPE, "%s: dims %s do not broadcast with %s", job->op->name,
             dims_text.text, before.text);
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, rank);
}

samara_status smr_check_broadcast(const struct smr_job *job) {
  return check_broadcast_inputs(job, 2);
}

samara_status smr_check_where(const struct smr_job *job) { return check_broadcast_inputs(job, 3); }

// The output has the dims `shape`, and broadcasting them would give the dims of the input.
samara_status smr_check_sum_to(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_shape(job, SMR_ATTR(job, sum_to, shape)));
  bool fits = y->rank <= x->rank;
  for (uint32_t i = 0; fits && i < y->rank; i++) {
    const int64_t from = x->dims[x->rank - y->rank + i];
    fits = y->dims[i] == from || y->dims[i] == 1;
  }
  if (fits) return SAMARA_OK;
  const struct smr_dims_text from = smr_dims_text(x->dims, x->rank);
  const struct smr_dims_text to = smr_dims_text(y->dims, y->rank);
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s cannot be summed to %s", job->op->name, from.text,
           to.text);
}
