// SPDX-License-Identifier: Apache-2.0
// The attributes that define the sampling of resize.
#include "base/fp.h"

#include "ops/resample/resize_attrs.h"

#include "ops/table/attrs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// The attributes of resize and resize_grad have the same indices up to exclude_outside.

static const struct smr_attr *resize_roi(const struct smr_job *job) {
  return job->op->code == SMR_CODE_RESIZE ? SMR_ATTR(job, resize, roi)
                                          : SMR_ATTR(job, resize_grad, roi);
}

static const struct smr_attr *resize_antialias(const struct smr_job *job) {
  return job->op->code == SMR_CODE_RESIZE ? SMR_ATTR(job, resize, antialias)
                                          : SMR_ATTR(job, resize_grad, antialias);
}

static float resize_scale_attr(const struct smr_job *job, uint32_t axis) {
  const struct smr_attr *scales = SMR_ATTR(job, resize, scales);
  if (scales->count == 0 || scales->ints[axis] == 0) return 0;
  const uint32_t bits = (uint32_t)scales->ints[axis];
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return scale;
}

samara_status smr_resize_check_attrs(const struct smr_job *job) {
  const char *name = job->op->name;
  const int64_t mode = SMR_ATTR(job, resize, mode)->i, spatial = job->inputs[0]->rank - 2;
  const int64_t coordinate = SMR_ATTR(job, resize, coordinate)->i;
  const int64_t rounding = SMR_ATTR(job, resize, nearest)->i;
  const struct smr_attr *roi = resize_roi(job), *scales = SMR_ATTR(job, resize, scales);
  if (mode < 0 || mode > SMR_RESIZE_CUBIC || coordinate < 0 ||
      coordinate > SMR_RESIZE_TF_CROP_AND_RESIZE || rounding < 0 || rounding > SMR_RESIZE_CEIL)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: mode %" PRId64 ", coordinate %" PRId64 " or nearest %" PRId64 " is unknown", name,
             mode, coordinate, rounding);
  for (uint32_t i = 0; i < scales->count; i++) {
    const float scale = resize_scale_attr(job, i);
    if (scales->ints[i] < 0 || scales->ints[i] > UINT32_MAX ||
        !(scale > 0 || scales->ints[i] == 0) || isinf(scale))
      SMR_FAIL(job->error, BAD_SHAPE, "%s: scale %u is %g, expected a positive number", name,
               (unsigned)i, smr_g(scale));
  }
  if (coordinate != SMR_RESIZE_TF_CROP_AND_RESIZE) return SAMARA_OK;
  if (roi->count != 2 * spatial)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: roi has %u elements, expected %" PRId64, name,
             (unsigned)roi->count, 2 * spatial);
  for (uint32_t i = 0; i < roi->count; i++)
    if (!isfinite(roi->floats[i]))
      SMR_FAIL(job->error, BAD_SHAPE, "%s: roi[%u] is %g, expected a finite number", name,
               (unsigned)i, smr_g(roi->floats[i]));
  return SAMARA_OK;
}

void smr_resize_spec_absent(const struct smr_job *job, struct smr_resize_spec *spec) {
  *spec = (struct smr_resize_spec){
      .mode = (enum smr_resize_mode)SMR_ATTR(job, resize, mode)->i,
      .coordinate = (enum smr_resize_coordinate)SMR_ATTR(job, resize, coordinate)->i,
      .rounding = (enum smr_resize_rounding)SMR_ATTR(job, resize, nearest)->i,
      .in = 1,
      .out = 1,
      .scale = 1,
      .cubic_a = (double)SMR_ATTR(job, resize, cubic_a)->f,
      .exclude_outside = SMR_ATTR(job, resize, exclude_outside)->i != 0,
      .antialias = resize_antialias(job)->i != 0};
}

void smr_resize_spec(const struct smr_job *job, uint32_t axis, int64_t in, int64_t out,
                     struct smr_resize_spec *spec) {
  smr_resize_spec_absent(job, spec);
  spec->in = in;
  spec->out = out;
  const float scale = resize_scale_attr(job, axis);
  spec->scale = scale != 0 ? (double)scale : (double)out / (double)in;
  if (spec->coordinate != SMR_RESIZE_TF_CROP_AND_RESIZE) return;
  const float *roi = resize_roi(job)->floats;
  spec->begin = (double)roi[axis];
  spec->end = (double)roi[job->inputs[0]->rank - 2u + axis];
}
