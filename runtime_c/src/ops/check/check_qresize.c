// SPDX-License-Identifier: Apache-2.0
// Check class of qresize.
#include "base/fp.h"

#include "ops/check/check.h"

// Input [N, spatial (1 or 2), C], taps [out, 3] of int32 per spatial axis; the output has their
// extents. What taps say is looked at while running.
samara_status smr_check_qresize(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_rank(job, x, "input", 3, 4));
  const uint32_t spatial = x->rank - 2u;
  if ((smr_optional_input(job, 2) != NULL) != (spatial == 2))
    SMR_FAIL(job->error, BAD_SHAPE, "%s: %u spatial axes need as many tensors of taps",
             job->op->name, (unsigned)spatial);
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (uint32_t i = 1; i <= spatial; i++) {
    const struct smr_tensor *taps = job->inputs[i];
    const char *what = i == 1 ? "taps_0" : "taps_1";
    SMR_TRY(smr_expect_dtype(job, taps, what, SMR_DTYPE_I32));
    SMR_TRY(smr_expect_rank(job, taps, what, 2, 2));
    const int64_t expected[2] = {taps->dims[0], 3};
    SMR_TRY(smr_expect_dims(job, taps, what, expected, 2));
    dims[i] = taps->dims[0];
  }
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}
