// SPDX-License-Identifier: Apache-2.0
// Check class of resize.
#include "base/fp.h"

#include "ops/check.h"

#include <inttypes.h>

// Input [N, spatial (1 to 3), C]; `sizes` are the output's spatial dims. An output pixel needs an
// input to come from. `scales`, where present, has one entry per spatial axis.
samara_status smr_check_resize(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_rank(job, x, "input", 3, 5));
  const uint32_t spatial = x->rank - 2u;
  const int64_t *sizes, *scales;
  SMR_TRY(smr_expect_ints(job, "sizes", spatial, 0, INT32_MAX, &sizes));
  if (smr_op_attr(job, "scales")->count != 0)
    SMR_TRY(smr_expect_ints(job, "scales", spatial, INT64_MIN, INT64_MAX, &scales));
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (uint32_t i = 0; i < spatial; i++) {
    if (x->dims[i + 1] > INT32_MAX || (x->dims[i + 1] == 0 && sizes[i] != 0))
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: spatial axis %u of extent %" PRId64 " cannot become %" PRId64, job->op->name,
               (unsigned)i, x->dims[i + 1], sizes[i]);
    dims[i + 1] = sizes[i];
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}
