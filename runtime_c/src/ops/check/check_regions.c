// SPDX-License-Identifier: Apache-2.0
// Check classes of operators over regions of images.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

// x [N, H, W, C] with no empty spatial axis, regions [R, columns]; the output is [R, size, C].
static samara_status check_regions(const struct smr_job *job, const struct smr_attr *sizes,
                                   int64_t columns) {
  const struct smr_tensor *x = job->inputs[0], *regions = job->inputs[1];
  SMR_TRY(smr_expect_rank(job, x, "x", 4, 4));
  SMR_TRY(smr_expect_rank(job, regions, "regions", 2, 2));
  const int64_t dims[2] = {regions->dims[0], columns};
  SMR_TRY(smr_expect_dims(job, regions, "regions", dims, 2));
  for (uint32_t i = 1; i < 3; i++)
    if (x->dims[i] < 1 || x->dims[i] > INT32_MAX)
      SMR_FAIL(job->error, BAD_SHAPE, "%s: spatial axis %u of x has extent %" PRId64, job->op->name,
               (unsigned)i - 1, x->dims[i]);
  const int64_t *size;
  SMR_TRY(smr_expect_ints(job, sizes, 2, 0, INT32_MAX, &size));
  const int64_t out[4] = {regions->dims[0], size[0], size[1], x->dims[3]};
  return smr_expect_dims(job, job->outputs[0], "output", out, 4);
}

// Inputs x, regions (four numbers), images [R].
samara_status smr_check_roi_align(const struct smr_job *job) {
  SMR_TRY(check_regions(job, SMR_ATTR(job, roi_align, size), 4));
  return smr_expect_dims(job, job->inputs[2], "images", job->inputs[1]->dims, 1);
}

// Inputs x, regions (the image and four numbers).
samara_status smr_check_roi_pool(const struct smr_job *job) {
  return check_regions(job, SMR_ATTR(job, roi_pool, size), 5);
}

// Boxes [N, B, 4], scores [N, C, B], scalars; output [N, C, limit]. Boxes are counted in 31 bits.
samara_status smr_check_nms(const struct smr_job *job) {
  const struct smr_tensor *boxes = job->inputs[0], *scores = job->inputs[1];
  SMR_TRY(smr_expect_rank(job, boxes, "boxes", 3, 3));
  SMR_TRY(smr_expect_rank(job, scores, "scores", 3, 3));
  const int64_t limit = SMR_ATTR(job, nms, limit)->i;
  const int64_t box_dims[3] = {boxes->dims[0], boxes->dims[1], 4};
  const int64_t score_dims[3] = {boxes->dims[0], scores->dims[1], boxes->dims[1]};
  SMR_TRY(smr_expect_dims(job, boxes, "boxes", box_dims, 3));
  SMR_TRY(smr_expect_dims(job, scores, "scores", score_dims, 3));
  for (uint32_t i = 2; i < 5; i++)
    if (smr_optional_input(job, i) != NULL)
      SMR_TRY(smr_expect_rank(job, job->inputs[i], "a scalar", 0, 0));
  if (limit < 0 || limit > INT32_MAX || boxes->dims[1] > INT32_MAX)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: limit %" PRId64 " of %" PRId64 " boxes", job->op->name,
             limit, boxes->dims[1]);
  const int64_t out[3] = {scores->dims[0], scores->dims[1], limit};
  return smr_expect_dims(job, job->outputs[0], "output", out, 3);
}
