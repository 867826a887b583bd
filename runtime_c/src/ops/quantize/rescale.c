// SPDX-License-Identifier: Apache-2.0
// Parameters of operators that map one int8 tensor to another.
#include "base/fp.h"

#include "ops/quantize/rescale.h"

#include "ops/check/check.h"

#include <float.h>

samara_status smr_rescale_check(const struct smr_job *job,
                                const struct smr_attrs_int8_output *attrs) {
  SMR_TRY(smr_expect_q8(job, job->inputs[0], "input"));
  SMR_TRY(smr_expect_q8_output(job, attrs));
  if (!(smr_rescale_read(job, attrs).ratio <= FLT_MAX))
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: scales %g of the input and %g of the output have no float32 multiplier",
             job->op->name, smr_g(job->inputs[0]->quant->scales[0]), smr_g(attrs->scale.f));
  return SAMARA_OK;
}

struct smr_rescale smr_rescale_read(const struct smr_job *job,
                                    const struct smr_attrs_int8_output *attrs) {
  const struct smr_quant *x = job->inputs[0]->quant;
  return (struct smr_rescale){.ratio = x->scales[0] / attrs->scale.f,
                              .x_zero = x->zero_points[0],
                              .zero = (int32_t)attrs->zero_point.i,
                              .lo = (int32_t)attrs->lo.i,
                              .hi = (int32_t)attrs->hi.i};
}
