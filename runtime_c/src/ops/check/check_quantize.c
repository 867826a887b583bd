// SPDX-License-Identifier: Apache-2.0
// Check class of operators between real and quantized tensors.
#include "base/fp.h"

#include "ops/check/check.h"

#include <float.h>
#include <inttypes.h>

samara_status smr_expect_quant(const struct smr_job *job, const struct smr_tensor *t,
                               const char *what) {
  // For models, the reader has checked this already.
  if (!SMR_HAS(eager) || t->dtype != SAMARA_QINT8) return SAMARA_OK;
  const struct smr_quant *q = t->quant;
  const int64_t count = q == NULL ? 0 : (int64_t)q->count;
  const bool per_tensor = q != NULL && q->axis == -1;
  const bool fits = per_tensor || (q != NULL && q->axis >= 0 && q->axis < (int32_t)t->rank);
  if (!fits || count != (per_tensor ? 1 : t->dims[q->axis]))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: %s has %" PRId64
             " quantization parameters, expected one, or one per index of its axis",
             job->op->name, what, count);
  for (uint32_t i = 0; i < q->count; i++) {
    const bool scale_fits = q->scales[i] >= FLT_MIN && q->scales[i] <= FLT_MAX;
    if (!scale_fits || q->zero_points[i] < -128 || q->zero_points[i] > 127)
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: %s has scale %g and zero point %" PRId32
               " at index %u, expected a scale from 2^-126 and a zero point from -128 to 127",
               job->op->name, what, smr_g(q->scales[i]), q->zero_points[i], (unsigned)i);
  }
  return SAMARA_OK;
}

samara_status smr_check_quantize(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_dims(job, y, "output", x->dims, x->rank));
  SMR_TRY(smr_expect_quant(job, x, "input"));
  return smr_expect_quant(job, y, "output");
}
