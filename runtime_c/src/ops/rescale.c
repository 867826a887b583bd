// SPDX-License-Identifier: Apache-2.0
// Parameters of operators from one int8 tensor to another.
#include "base/fp.h"

#include "ops/rescale.h"

#include "ops/check.h"

#include <float.h>
#include <inttypes.h>

samara_status smr_rescale_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_dtype(job, x, "input", SMR_DTYPE_QS8));
  SMR_TRY(smr_expect_dtype(job, y, "output", SMR_DTYPE_QS8));
  SMR_TRY(smr_expect_quant(job, x, "input"));
  if (x->quant->axis != -1)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: the input is quantized along axis %" PRId32 ", expected one scale and zero point",
             job->op->name, x->quant->axis);
  const float scale = smr_op_attr(job, "scale")->f;
  const int64_t zero = smr_op_attr_int(job, "zero_point");
  const int64_t lo = smr_op_attr_int(job, "lo"), hi = smr_op_attr_int(job, "hi");
  const bool scale_fits = scale >= FLT_MIN && scale <= FLT_MAX;
  if (!scale_fits || zero < -128 || zero > 127)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: the output has scale %g and zero point %" PRId64,
             job->op->name, (double)scale, zero);
  if (lo < -128 || hi > 127 || lo > hi)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: clamp from %" PRId64 " to %" PRId64 ", expected -128 <= lo <= hi <= 127",
             job->op->name, lo, hi);
  if (!(smr_rescale_read(job).ratio <= FLT_MAX))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: scales %g of the input and %g of the output have no float32 multiplier",
             job->op->name, (double)x->quant->scales[0], (double)scale);
  return SAMARA_OK;
}

struct smr_rescale smr_rescale_read(const struct smr_job *job) {
  const struct smr_quant *x = job->inputs[0]->quant;
  return (struct smr_rescale){.ratio = x->scales[0] / smr_op_attr(job, "scale")->f,
                              .x_zero = x->zero_points[0],
                              .zero = (int32_t)smr_op_attr_int(job, "zero_point"),
                              .lo = (int32_t)smr_op_attr_int(job, "lo"),
                              .hi = (int32_t)smr_op_attr_int(job, "hi")};
}
