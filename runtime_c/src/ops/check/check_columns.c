// SPDX-License-Identifier: Apache-2.0
// Check classes of operators that gather windows (deform_columns) or add them up (fold).
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

enum { COLUMNS_AXES = 3 };

// Window positions along the axes: floor((size + pads - extent) / stride) + 1.
static samara_status check_columns_out(const struct smr_job *job,
                                       const struct smr_attrs_window *attrs, uint32_t axes,
                                       const int64_t *sizes, const int64_t *kernel, int64_t *out) {
  const int64_t *strides, *dilations, *pads;
  SMR_TRY(smr_expect_ints(job, &attrs->strides, axes, 1, INT32_MAX, &strides));
  SMR_TRY(smr_expect_ints(job, &attrs->dilations, axes, 1, INT32_MAX, &dilations));
  SMR_TRY(smr_expect_ints(job, &attrs->pads, 2 * axes, 0, INT32_MAX, &pads));
  for (uint32_t i = 0; i < axes; i++) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX || kernel[i] < 1 || kernel[i] > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: a window of %" PRId64 " over %" PRId64
               " elements of spatial axis %u, expected a window from 1 and an axis from 0 to "
               "2147483647 elements",
               job->op->name, kernel[i], sizes[i], (unsigned)i);
    const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t padded = sizes[i] + pads[i] + pads[axes + i];
    if (extent > padded || padded > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE,
               "%s: a window of extent %" PRId64 " does not fit %" PRId64 " padded elements",
               job->op->name, extent, padded);
    out[i] = (padded - extent) / strides[i] + 1;
  }
  return SAMARA_OK;
}

samara_status smr_check_deform_columns(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *mask = smr_optional_input(job, 2);
  SMR_TRY(smr_expect_rank(job, x, "x", 4, 4));
  const int64_t *kernel, channels = x->dims[3];
  int64_t dims[4] = {x->dims[0]};
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, deform_columns, kernel), 2, 1, INT16_MAX, &kernel));
  SMR_TRY(check_columns_out(job, SMR_ATTR_GROUP(job, deform_columns, window), 2, x->dims + 1,
                            kernel, dims + 1));
  const int64_t groups = SMR_ATTR(job, deform_columns, groups)->i, taps = kernel[0] * kernel[1];
  const int64_t offset_groups = SMR_ATTR(job, deform_columns, offset_groups)->i;
  if (groups < 1 || offset_groups < 1 || groups > INT32_MAX || offset_groups > INT32_MAX ||
      channels > INT32_MAX || channels % groups != 0 || channels % offset_groups != 0)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: %" PRId64 " channels do not divide into %" PRId64 " groups and %" PRId64
             " offset groups",
             job->op->name, channels, groups, offset_groups);
  dims[3] = offset_groups * taps * 2;
  SMR_TRY(smr_expect_dims(job, job->inputs[1], "offset", dims, 4));
  dims[3] = offset_groups * taps;
  if (mask != NULL) SMR_TRY(smr_expect_dims(job, mask, "mask", dims, 4));
  dims[3] = channels * taps;
  return smr_expect_dims(job, job->outputs[0], "output", dims, 4);
}

samara_status smr_check_fold(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0];
  SMR_TRY(smr_expect_rank(job, x, "x", 4, 2 + 2 * COLUMNS_AXES));
  if (x->rank % 2 != 0)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: x has rank %u, expected 4, 6 or 8", job->op->name,
             (unsigned)x->rank);
  const uint32_t axes = (x->rank - 2u) / 2;
  const int64_t *size;
  int64_t dims[SAMARA_MAX_RANK];
  SMR_TRY(smr_expect_ints(job, SMR_ATTR(job, fold, size), axes, 0, INT32_MAX, &size));
  for (uint32_t i = 0; i < 2 + axes; i++) dims[i] = x->dims[i];
  SMR_TRY(check_columns_out(job, SMR_ATTR_GROUP(job, fold, window), axes, size, x->dims + 2,
                            dims + 2 + axes));
  SMR_TRY(smr_expect_dims(job, x, "x", dims, x->rank));
  for (uint32_t i = 0; i < axes; i++) dims[2 + i] = size[i];
  return smr_expect_dims(job, job->outputs[0], "output", dims, 2 + axes);
}
