// SPDX-License-Identifier: Apache-2.0
// The check class of the Fourier transform.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

enum { DFT_MAX_LENGTH = 1 << 25 };  // its scratch fits 32-bit memory

samara_status smr_check_dft(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  const int64_t length = SMR_ATTR(job, dft, length)->i;
  const bool inverse = SMR_ATTR(job, dft, inverse)->i != 0;
  const bool onesided = SMR_ATTR(job, dft, onesided)->i != 0;
  SMR_TRY(smr_expect_rank(job, x, "input", 2, SAMARA_MAX_RANK));
  const uint32_t last = x->rank - 1u;
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, dft, axis)->i, x->rank, &axis));
  if (axis == last || (x->dims[last] != 1 && x->dims[last] != 2))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: axis %u of %s is no axis of real or complex numbers, expected one before a last "
             "axis of 1 or 2",
             job->op->name, (unsigned)axis, smr_dims_text(x->dims, x->rank).text);
  if (length < 1 || length > DFT_MAX_LENGTH)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: length is %" PRId64 ", expected 1 to %d", job->op->name,
             length, DFT_MAX_LENGTH);
  int64_t dims[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < last; i++) dims[i] = x->dims[i];
  dims[axis] = onesided && !inverse ? length / 2 + 1 : length;
  dims[last] = onesided && inverse ? 1 : 2;
  return smr_expect_dims(job, job->outputs[0], "output", dims, x->rank);
}
