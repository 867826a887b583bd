// SPDX-License-Identifier: Apache-2.0
// Check classes of elementwise operators.
#include "base/fp.h"

#include "ops/check/check.h"

samara_status smr_check_same(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  return smr_expect_dims(job, job->outputs[0], "output", x->dims, x->rank);
}

samara_status smr_check_axis(const struct smr_job *job) {
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, softmax, axis)->i, job->inputs[0]->rank, &axis));
  return smr_check_same(job);
}

samara_status smr_check_broadcast(const struct smr_job *job) {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < job->input_count; i++) {
    const struct smr_tensor *t = job->inputs[i];
    const struct smr_dims_text before = smr_dims_text(dims, rank);
    if (smr_broadcast_dims(dims, &rank, t->dims, t->rank)) continue;
    const struct smr_dims_text dims_text = smr_dims_text(t->dims, t->rank);
    SMR_FAIL(job->error, BAD_SHAPE, "%s: dims %s do not broadcast with %s", job->op->name,
             dims_text.text, before.text);
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, rank);
}

samara_status smr_check_expand(const struct smr_job *job) {
  const bool sum = smr_has_form(job, SMR_FORM_SUM);
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_shape(job, SMR_ATTR(job, expand, shape)));
  const struct smr_tensor *narrow = sum ? y : x, *wide = sum ? x : y;
  bool fits = narrow->rank <= wide->rank;
  for (uint32_t i = 0; fits && i < narrow->rank; i++)
    fits = narrow->dims[i] == 1 || narrow->dims[i] == wide->dims[wide->rank - narrow->rank + i];
  if (fits) return SAMARA_OK;
  const struct smr_dims_text from = smr_dims_text(x->dims, x->rank);
  const struct smr_dims_text to = smr_dims_text(y->dims, y->rank);
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %s %s %s", job->op->name, from.text,
           sum ? "cannot be summed to" : "does not broadcast to", to.text);
}
