// SPDX-License-Identifier: Apache-2.0
// Checks of operators on int8 tensors with one scale.
#include "base/fp.h"

#include "ops/check/check.h"

#include <float.h>
#include <inttypes.h>

samara_status smr_expect_q8(const struct smr_job *job, const struct smr_tensor *t,
                            const char *what) {
  SMR_TRY(smr_expect_dtype(job, t, what, SMR_DTYPE_QS8));
  SMR_TRY(smr_expect_quant(job, t, what));
  if (t->quant->axis != -1)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: %s is quantized along axis %" PRId32 ", expected one scale and zero point",
             job->op->name, what, t->quant->axis);
  return SAMARA_OK;
}

samara_status smr_expect_q8_quant(const struct smr_job *job, float scale, int64_t zero) {
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_QS8));
  const bool scale_fits = scale >= FLT_MIN && scale <= FLT_MAX;
  if (!scale_fits || zero < -128 || zero > 127)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: the output has scale %g and zero point %" PRId64
             ", expected a scale from 2^-126 and a zero point from -128 to 127",
             job->op->name, smr_g(scale), zero);
  return SAMARA_OK;
}

samara_status smr_expect_q8_output(const struct smr_job *job,
                                   const struct smr_attrs_int8_output *attrs) {
  const int64_t lo = attrs->lo.i, hi = attrs->hi.i;
  SMR_TRY(smr_expect_q8_quant(job, attrs->scale.f, attrs->zero_point.i));
  if (lo < -128 || hi > 127 || lo > hi)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: clamp from %" PRId64 " to %" PRId64 ", expected -128 <= lo <= hi <= 127",
             job->op->name, lo, hi);
  return SAMARA_OK;
}
