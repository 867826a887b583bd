// SPDX-License-Identifier: Apache-2.0
// Check classes of grid_sample and its gradient.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

// x [N, spatial (2 or 3), C] with no empty spatial axis, grid [N, as many axes, one coordinate per
// axis]; the samples have the dims of grid with C for the coordinates.
static samara_status check_grid(const struct smr_job *job, const struct smr_tensor *x,
                                const struct smr_tensor *grid, const struct smr_tensor *samples) {
  SMR_TRY(smr_expect_rank(job, x, "x", 4, 5));
  SMR_TRY(smr_expect_rank(job, grid, "grid", x->rank, x->rank));
  const uint32_t last = x->rank - 1u;
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < last; i++) dims[i] = grid->dims[i];
  dims[0] = x->dims[0];
  dims[last] = x->rank - 2;
  SMR_TRY(smr_expect_dims(job, grid, "grid", dims, grid->rank));
  for (uint32_t i = 1; i < last; i++)
    if (x->dims[i] < 1 || x->dims[i] > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: spatial axis %u of x has extent %" PRId64, job->op->name,
               (unsigned)i - 1, x->dims[i]);
  dims[last] = x->dims[last];
  return smr_expect_dims(job, samples, "the samples", dims, x->rank);
}

// Inputs x, grid; output the samples.
samara_status smr_check_grid_sample(const struct smr_job *job) {
  return check_grid(job, job->inputs[0], job->inputs[1], job->outputs[0]);
}

// Inputs the gradient of the samples, x, grid; outputs with the dims of x and grid.
samara_status smr_check_grid_sample_grad(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[1], *grid = job->inputs[2];
  SMR_TRY(check_grid(job, x, grid, job->inputs[0]));
  SMR_TRY(smr_expect_dims(job, job->outputs[0], "the gradient of x", x->dims, x->rank));
  return smr_expect_dims(job, job->outputs[1], "the gradient of grid", grid->dims, grid->rank);
}
