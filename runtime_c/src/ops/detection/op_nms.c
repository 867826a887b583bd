// SPDX-License-Identifier: Apache-2.0
// nms: selects, per class, the best boxes that do not overlap each other.
//
// Scores form a heap, so only the scores that are visited get sorted. Kept boxes are stored as one
// array per coordinate, and each candidate is compared with a block of them at a time.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"
#include "ops/table/funcs.h"

#include <inttypes.h>
#include <math.h>

enum { NMS_BLOCK = 16 };  // kept boxes that are compared at once

struct nms_item {
  float score;
  int32_t index;
};

struct nms_box {
  float low[2], high[2], area;
};

// Kept boxes. Unused entries of a block hold boxes that overlap nothing.
struct nms_block {
  float low[2][NMS_BLOCK], high[2][NMS_BLOCK], area[NMS_BLOCK];
};

struct nms_state {
  size_t boxes, classes, limit;
  bool center;
  size_t items_offset, blocks_offset;  // in thread scratch
};

static samara_status nms_check(const struct smr_job *job) {
  static const uint32_t dtypes[] = {SMR_DTYPE_F32, SMR_DTYPE_F32, SMR_DTYPE_I64, SMR_DTYPE_F32,
                                    SMR_DTYPE_F32};
  const int64_t limit = SMR_ATTR(job, nms, limit)->i, boxes = job->inputs[0]->dims[1];
  if (limit < 0 || limit > INT32_MAX || boxes > INT32_MAX)
    SMR_FAIL(job->error, BAD_SHAPE,
             "%s: limit is %" PRId64 " for %" PRId64 " boxes, expected 0 to 2147483647 for both",
             job->op->name, limit, boxes);
  for (uint32_t i = 0; i < job->input_count; i++)
    if (job->inputs[i] != NULL) SMR_TRY(smr_expect_dtype(job, job->inputs[i], "input", dtypes[i]));
  return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_I64);
}

static samara_status nms_prepare(struct smr_job *job) {
  struct nms_state *s = (struct nms_state *)job->state;
  const struct smr_tensor *scores = job->inputs[1];
  *s = (struct nms_state){.boxes = (size_t)scores->dims[2],
                          .classes = (size_t)scores->dims[1],
                          .limit = (size_t)SMR_ATTR(job, nms, limit)->i,
                          .center = SMR_ATTR(job, nms, center)->i != 0};
  job->kernel = "nms";
  job->tiles = smr_numel(job->outputs[0]) == 0 ? 0 : smr_extent(scores, 0, 2);
  const size_t most = s->limit < s->boxes ? s->limit : s->boxes;
  SMR_TRY(smr_thread_scratch_take(job, s->boxes, sizeof(struct nms_item), &s->items_offset));
  return smr_thread_scratch_take(job, most / NMS_BLOCK + 1, sizeof(struct nms_block),
                                 &s->blocks_offset);
}

// ---- best score first ----

static bool nms_before(const struct nms_item *a, const struct nms_item *b) {
  return a->score != b->score ? a->score > b->score : a->index < b->index;
}

// Move item i down in a heap of n items whose first is the best.
static void nms_sink(struct nms_item *heap, size_t n, size_t i) {
  const struct nms_item item = heap[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && nms_before(&heap[child + 1], &heap[child])) child++;
    if (!nms_before(&heap[child], &item)) break;
    heap[i] = heap[child];
  }
  heap[i] = item;
}

// The candidates of one class, as a heap. A NaN score is never above the threshold.
static size_t nms_candidates(const struct nms_state *s, const float *scores, const float *above,
                             struct nms_item *heap) {
  size_t n = 0;
  for (size_t i = 0; i < s->boxes; i++)
    if (above != NULL ? scores[i] > *above : scores[i] == scores[i])
      heap[n++] = (struct nms_item){scores[i], (int32_t)i};
  for (size_t i = n / 2; i-- > 0;) nms_sink(heap, n, i);
  return n;
}

// ---- boxes ----

static struct nms_box nms_box_at(const float *boxes, size_t index, bool center) {
  const float *b = boxes + 4 * index;
  struct nms_box box;
  if (center) {  // x, y, width, height
    const float half_width = b[2] / 2, half_height = b[3] / 2;
    box.low[0] = b[1] - half_height;
    box.low[1] = b[0] - half_width;
    box.high[0] = b[1] + half_height;
    box.high[1] = b[0] + half_width;
  } else {
    for (uint32_t i = 0; i < 2; i++) {
      box.low[i] = b[i] < b[i + 2] ? b[i] : b[i + 2];
      box.high[i] = b[i] < b[i + 2] ? b[i + 2] : b[i];
    }
  }
  box.area = (box.high[0] - box.low[0]) * (box.high[1] - box.low[1]);
  return box;
}

// Whether the box overlaps a box of the block by more than the threshold.
static bool nms_meets(const struct nms_block *block, const struct nms_box *box, float threshold) {
  uint32_t hits[NMS_BLOCK];
  for (size_t i = 0; i < NMS_BLOCK; i++) {
    const float top = block->low[0][i] > box->low[0] ? block->low[0][i] : box->low[0];
    const float left = block->low[1][i] > box->low[1] ? block->low[1][i] : box->low[1];
    const float bottom = block->high[0][i] < box->high[0] ? block->high[0][i] : box->high[0];
    const float right = block->high[1][i] < box->high[1] ? block->high[1][i] : box->high[1];
    const float height = bottom - top, width = right - left, both = height * width;
    const float all = box->area + block->area[i] - both;
    hits[i] = (uint32_t)(height > 0) & (uint32_t)(width > 0) & (uint32_t)(both > 0) &
              (uint32_t)(all > 0) & (uint32_t)(both / all > threshold);
  }
  uint32_t hit = 0;
  for (size_t i = 0; i < NMS_BLOCK; i++) hit |= hits[i];
  return hit != 0;
}

static void nms_keep(struct nms_block *blocks, size_t at, const struct nms_box *box) {
  struct nms_block *block = &blocks[at / NMS_BLOCK];
  const size_t i = at % NMS_BLOCK;
  if (i == 0)
    for (size_t k = 0; k < NMS_BLOCK; k++)
      for (uint32_t axis = 0; axis < 2; axis++) {
        block->low[axis][k] = INFINITY;
        block->high[axis][k] = -INFINITY;
        block->area[k] = 0;
      }
  for (uint32_t axis = 0; axis < 2; axis++) {
    block->low[axis][i] = box->low[axis];
    block->high[axis][i] = box->high[axis];
  }
  block->area[i] = box->area;
}

// ---- running ----

// A scalar input; it may be only 4-aligned.
static float nms_scalar(const struct smr_job *job, uint32_t index, float otherwise) {
  const struct smr_tensor *t = smr_optional_input(job, index);
  return t != NULL ? *(const float *)t->data : otherwise;
}

static samara_status nms_class(struct smr_deadline_watch *watch, size_t tile, size_t most,
                               char *thread_scratch) {
  const struct smr_job *job = watch->job;
  const struct nms_state *s = (const struct nms_state *)job->state;
  const float *boxes = (const float *)job->inputs[0]->data + tile / s->classes * s->boxes * 4;
  const float *scores = (const float *)job->inputs[1]->data + tile * s->boxes;
  const struct smr_tensor *score = smr_optional_input(job, 4);
  const float threshold = nms_scalar(job, 3, 0.0f);
  int64_t *y = (int64_t *)job->outputs[0]->data + tile * s->limit;
  struct nms_item *heap = (struct nms_item *)(void *)(thread_scratch + s->items_offset);
  struct nms_block *blocks = (struct nms_block *)(void *)(thread_scratch + s->blocks_offset);
  for (size_t i = 0; i < s->limit; i++) y[i] = -1;
  size_t n = nms_candidates(s, scores, score != NULL ? score->data : NULL, heap);
  size_t kept = 0, solid = 0;  // `solid` boxes have an area; only they can overlap others
  for (; n > 0 && kept < most; n--) {
    const struct nms_item best = heap[0];
    const struct nms_box box = nms_box_at(boxes, (size_t)best.index, s->center);
    heap[0] = heap[n - 1];
    if (n > 1) nms_sink(heap, n - 1, 0);
    SMR_TRY(smr_deadline_step(watch, solid + NMS_BLOCK));
    bool meets = false;
    if (box.area > 0)
      for (size_t b = 0; b * NMS_BLOCK < solid && !meets; b++)
        meets = nms_meets(&blocks[b], &box, threshold);
    if (meets) continue;
    y[kept++] = best.index;
    if (box.area > 0) nms_keep(blocks, solid++, &box);
  }
  return SAMARA_OK;
}

static samara_status nms_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  const struct nms_state *s = (const struct nms_state *)job->state;
  const struct smr_tensor *count = smr_optional_input(job, 2);
  size_t most = s->limit;
  if (count != NULL) {
    const int64_t given = smr_index_at(count, 0);
    if (given < (int64_t)most) most = given > 0 ? (size_t)given : 0;
  }
  struct smr_deadline_watch watch = {.job = job};
  for (size_t tile = begin; tile < end; tile++)
    SMR_TRY(nms_class(&watch, tile, most, thread_scratch));
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_nms_funcs = {.check = nms_check,
                                              .prepare = nms_prepare,
                                              .run = nms_run,
                                              .state_bytes = sizeof(struct nms_state)};
