// SPDX-License-Identifier: Apache-2.0
// The check class of resize and its gradient.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

samara_status smr_check_resize(const struct smr_job *job) {
  const bool grad = smr_has_form(job, SMR_FORM_GRAD);
  const struct smr_attr *size =
      grad ? SMR_ATTR(job, resize_grad, size) : SMR_ATTR(job, resize, sizes);
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_rank(job, x, "input", 3, 5));
  const uint32_t spatial = x->rank - 2u;
  const int64_t *sizes, *scales;
  SMR_TRY(smr_expect_ints(job, size, spatial, 0, INT32_MAX, &sizes));
  if (SMR_ATTR(job, resize, scales)->count != 0)
    SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, resize, scales), spatial, INT64_MIN, INT64_MAX,
                            &scales));
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (uint32_t i = 0; i < spatial; i++) {
    const int64_t from = grad ? sizes[i] : x->dims[i + 1];
    const int64_t to = grad ? x->dims[i + 1] : sizes[i];
    if (x->dims[i + 1] > INT32_MAX || (from == 0 && to != 0))
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: spatial axis %u of extent %" PRId64 " cannot become %" PRId64, job->op->name,
               (unsigned)i, from, to);
    dims[i + 1] = sizes[i];
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}
