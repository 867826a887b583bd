// SPDX-License-Identifier: Apache-2.0
// Boxes: decodes candidates by decreasing score and keeps those that overlap no better one.
#include "base/fp.h"

#include "media/answer_boxes.h"

#include "base/checked.h"
#include "media/answer_rank.h"
#include "media/answer_score.h"

#include <inttypes.h>
#include <math.h>

// A record with its tensors. `n` boxes.
struct answer_boxes_view {
  const struct smr_answer_boxes *record;
  const struct smr_answer_geometry *geometry;
  struct smr_answer_scoring scoring;
  struct smr_answer_rows box, points, anchors;
  size_t n, points_of_box;
};

// A box in pixels of the input.
struct answer_boxes_kept {
  float x0, y0, x1, y1, area;
  uint32_t class_index;
};

// ---- checks ----

static bool answer_boxes_anchored(const struct smr_answer_boxes *record) {
  return record->form == SMR_ANSWER_ANCHORS || record->form == SMR_ANSWER_SIDES;
}

samara_status smr_answer_boxes_check(const struct smr_answer_boxes *record, samara_error *error) {
  if (record->top < 1 || record->top > SMR_ANSWER_MOST_TOP)
    SMR_FAIL(error, BAD_ARGUMENT, "at most %" PRIu32 " boxes, expected 1 to 65535", record->top);
  if (record->point_step != 2 && record->point_step != 3)
    SMR_FAIL(error, BAD_ARGUMENT, "%" PRIu32 " numbers for a point of a box, expected 2 or 3",
             record->point_step);
  const bool rule = record->level_count > 0, output = record->anchors.count > 0;
  if (record->box.count == 0 || record->score.count == 0)
    SMR_FAIL(error, BAD_ARGUMENT, "a record of boxes must name outputs for boxes and for scores");
  if (answer_boxes_anchored(record) ? rule == output : rule || output)
    SMR_FAIL(
        error, BAD_ARGUMENT,
        "boxes from anchors need anchors by a rule or from an output, one of them; others need "
        "none");
  for (uint32_t i = 0; i < record->level_count; i++) {
    const struct smr_answer_level *level = &record->levels[i];
    if (level->sizes == NULL || level->stride < 1 || level->stride > SMR_ANSWER_MOST_SIZE ||
        level->count < 1 || level->count > SMR_ANSWER_MOST_TOP)
      SMR_FAIL(error, BAD_ARGUMENT,
               "anchors with a stride of %" PRIu32 " pixels and %" PRIu32
               " sizes, expected 1 to 16384 and 1 to 65535",
               level->stride, level->count);
  }
  return SAMARA_OK;
}

static uint32_t answer_boxes_cells(int32_t size, uint32_t stride) {
  return ((uint32_t)size + stride - 1) / stride;
}

// Number of anchors of the levels; SIZE_MAX on overflow.
static size_t answer_boxes_anchors_of(const struct smr_answer_boxes *record,
                                      const struct smr_answer_geometry *g) {
  size_t n = 0;
  for (uint32_t i = 0; i < record->level_count; i++) {
    const struct smr_answer_level *level = &record->levels[i];
    // No overflow: factors are at most 2^14, the count is below 2^16.
    const uint64_t cells = (uint64_t)answer_boxes_cells(g->tensor[0], level->stride) *
                           answer_boxes_cells(g->tensor[1], level->stride);
    const uint64_t anchors = cells * level->count;
    if (anchors > SIZE_MAX || !smr_add_size(n, (size_t)anchors, &n)) return SIZE_MAX;
  }
  return n;
}

static samara_status answer_boxes_counts(const struct answer_boxes_view *v, samara_error *error) {
  const struct smr_answer_boxes *record = v->record;
  const size_t n = v->n;
  size_t anchors = n;
  if (record->level_count > 0) anchors = answer_boxes_anchors_of(record, v->geometry);
  if (record->anchors.count > 0) anchors = v->anchors.rows;
  const bool objects = record->objectness.count == 0 || v->scoring.objectness.rows == n;
  const bool points = record->points.count == 0 || v->points.rows == n;
  if (v->scoring.score.rows != n || anchors != n || !objects || !points)
    SMR_FAIL(error, BAD_SHAPE,
             "%zu boxes, but %zu scores, %zu of objectness, %zu of points, %zu anchors; expected "
             "equal numbers (anchors by a rule depend on the input's %" PRId32 "x%" PRId32
             " pixels)",
             n, v->scoring.score.rows, v->scoring.objectness.rows, v->points.rows, anchors,
             v->geometry->tensor[0], v->geometry->tensor[1]);
  const size_t four = v->box.channels, anchor = v->anchors.channels;
  if (four != 4 || (record->anchors.count > 0 && anchor != 4) ||
      (record->objectness.count > 0 && v->scoring.objectness.channels != 1))
    SMR_FAIL(error, BAD_SHAPE,
             "boxes of %zu channels, anchors of %zu, objectness of %zu; expected 4, 4 and 1", four,
             anchor, v->scoring.objectness.channels);
  if (v->points.channels % record->point_step != 0)
    SMR_FAIL(error, BAD_SHAPE, "points of %zu channels, expected a multiple of %" PRIu32,
             v->points.channels, record->point_step);
  return SAMARA_OK;
}

static samara_status answer_boxes_open(const struct smr_answer_boxes *record,
                                       const struct smr_answer_outputs *outputs,
                                       const struct smr_answer_geometry *g,
                                       struct answer_boxes_view *v, samara_error *error) {
  const bool first = record->channels_first;
  SMR_TRY(smr_answer_geometry_check(g, error));
  SMR_TRY(smr_answer_boxes_check(record, error));
  v->record = record;
  v->geometry = g;
  v->scoring.activation = record->activation;
  v->scoring.root = record->root;
  SMR_TRY(smr_answer_rows_open(&record->box, outputs, first, "box", &v->box, error));
  SMR_TRY(smr_answer_rows_open(&record->score, outputs, first, "score", &v->scoring.score, error));
  SMR_TRY(smr_answer_rows_open(&record->objectness, outputs, first, "objectness",
                               &v->scoring.objectness, error));
  SMR_TRY(smr_answer_rows_open(&record->points, outputs, first, "points", &v->points, error));
  SMR_TRY(smr_answer_rows_open(&record->anchors, outputs, first, "anchors", &v->anchors, error));
  v->n = v->box.rows;
  SMR_TRY(answer_boxes_counts(v, error));
  v->points_of_box = v->points.channels / record->point_step;
  return SAMARA_OK;
}

static size_t answer_boxes_most(const struct answer_boxes_view *v) {
  return v->n < v->record->top ? v->n : v->record->top;
}

samara_status smr_answer_boxes_size(const struct smr_answer_boxes *record,
                                    const struct smr_answer_outputs *outputs,
                                    const struct smr_answer_geometry *geometry,
                                    struct smr_answer_boxes_size *size, samara_error *error) {
  struct answer_boxes_view v;
  size_t heap;
  SMR_TRY(answer_boxes_open(record, outputs, geometry, &v, error));
  const size_t most = answer_boxes_most(&v), kept = most * sizeof(struct answer_boxes_kept);
  if (!smr_mul_size(v.n, sizeof(struct smr_answer_ranked), &heap) ||
      !smr_add_size(heap, kept, &heap))
    SMR_FAIL(error, BAD_SHAPE, "%zu boxes, too many to sort", v.n);
  *size = (struct smr_answer_boxes_size){
      .boxes = most, .points = v.points_of_box, .scratch_bytes = heap};
  return SAMARA_OK;
}

// ---- decoding ----

// x and y of box `index`: channels `channel` and `channel` + 1.
static void answer_boxes_pair(const struct answer_boxes_view *v, const struct smr_answer_rows *rows,
                              size_t channel, size_t index, float pair[2]) {
  const bool yx = v->record->yx;
  smr_answer_rows_load(rows, rows->begin + channel, index, 1, &pair[yx]);
  smr_answer_rows_load(rows, rows->begin + channel + 1, index, 1, &pair[!yx]);
}

static void answer_boxes_pixels(const struct answer_boxes_view *v, float pair[2]) {
  if (!v->record->ratio) return;
  pair[0] *= (float)v->geometry->tensor[0];
  pair[1] *= (float)v->geometry->tensor[1];
}

// x, y, width and height of anchor `index`.
static void answer_boxes_anchor(const struct answer_boxes_view *v, size_t index, float a[4]) {
  const struct smr_answer_boxes *record = v->record;
  if (record->level_count == 0) {
    for (size_t c = 0; c < 4; c += 2) {
      answer_boxes_pair(v, &v->anchors, c, index, a + c);
      answer_boxes_pixels(v, a + c);
    }
    return;
  }
  const struct smr_answer_level *level = record->levels;
  for (;; level++) {
    const size_t columns = answer_boxes_cells(v->geometry->tensor[0], level->stride);
    const size_t rows = answer_boxes_cells(v->geometry->tensor[1], level->stride);
    const size_t anchors = columns * rows * level->count;
    if (index >= anchors) {
      index -= anchors;
      continue;
    }
    const size_t cell = index / level->count;
    const float *size = level->sizes + 2 * (index % level->count);
    const float shift = record->corner ? 0.0f : 0.5f, stride = (float)level->stride;
    a[0] = ((float)(cell % columns) + shift) * stride;
    a[1] = ((float)(cell / columns) + shift) * stride;
    a[2] = size[0];
    a[3] = size[1];
    return;
  }
}

// Decode one axis from its two numbers of the box and the anchor's point and size.
static void answer_boxes_axis(const struct smr_answer_boxes *record, uint32_t axis, float low,
                              float high, const float a[4], float ends[2]) {
  const float at = a[axis], size = a[axis + 2];
  float middle = low, length = high;
  switch (record->form) {
    case SMR_ANSWER_CORNERS:
      ends[0] = low;
      ends[1] = high;
      return;
    case SMR_ANSWER_SIDES:
      ends[0] = at - low * size;
      ends[1] = at + high * size;
      return;
    case SMR_ANSWER_ANCHORS:
      middle = at + (low * record->variances[axis]) * size;
      length = size * smr_answer_exp(high * record->variances[axis + 2]);
      break;
    case SMR_ANSWER_CENTER:
      break;
  }
  const float half = length * 0.5f;
  ends[0] = middle - half;
  ends[1] = middle + half;
}

// False if the box has no area or is not finite.
static bool answer_boxes_decode(const struct answer_boxes_view *v,
                                const struct smr_answer_ranked *item,
                                struct answer_boxes_kept *box) {
  float first[2], second[2], anchor[4] = {0}, x[2], y[2];
  answer_boxes_pair(v, &v->box, 0, item->index, first);
  answer_boxes_pair(v, &v->box, 2, item->index, second);
  if (answer_boxes_anchored(v->record)) {
    answer_boxes_anchor(v, item->index, anchor);
  } else {
    answer_boxes_pixels(v, first);
    answer_boxes_pixels(v, second);
  }
  answer_boxes_axis(v->record, 0, first[0], second[0], anchor, x);
  answer_boxes_axis(v->record, 1, first[1], second[1], anchor, y);
  *box = (struct answer_boxes_kept){.x0 = x[0],
                                    .y0 = y[0],
                                    .x1 = x[1],
                                    .y1 = y[1],
                                    .area = (x[1] - x[0]) * (y[1] - y[0]),
                                    .class_index = item->class_index};
  return isfinite(x[0]) && isfinite(x[1]) && isfinite(y[0]) && isfinite(y[1]) && x[0] < x[1] &&
         y[0] < y[1];
}

static void answer_boxes_points(const struct answer_boxes_view *v, size_t index, float *points) {
  const struct smr_answer_boxes *record = v->record;
  float anchor[4];
  if (answer_boxes_anchored(record)) answer_boxes_anchor(v, index, anchor);
  for (size_t i = 0; i < v->points_of_box; i++, points += 2) {
    answer_boxes_pair(v, &v->points, i * record->point_step, index, points);
    if (answer_boxes_anchored(record)) {
      for (uint32_t k = 0; k < 2; k++)
        points[k] = anchor[k] + (points[k] * record->variances[k]) * anchor[k + 2];
    } else {
      answer_boxes_pixels(v, points);
    }
    smr_answer_geometry_back(v->geometry, points);
    if (!isfinite(points[0]) || !isfinite(points[1])) points[0] = points[1] = 0;
  }
}

// ---- which are kept ----

static bool answer_boxes_meet(const struct answer_boxes_kept *kept,
                              const struct answer_boxes_kept *box, float iou) {
  const float w =
      (kept->x1 < box->x1 ? kept->x1 : box->x1) - (kept->x0 > box->x0 ? kept->x0 : box->x0);
  const float h =
      (kept->y1 < box->y1 ? kept->y1 : box->y1) - (kept->y0 > box->y0 ? kept->y0 : box->y0);
  const float both = w * h, all = (kept->area + box->area) - both;
  return w > 0 && h > 0 && both / all > iou;
}

static bool answer_boxes_free(const struct smr_answer_boxes *record,
                              const struct answer_boxes_kept *kept, size_t n,
                              const struct answer_boxes_kept *box) {
  for (size_t i = 0; i < n; i++)
    if ((record->agnostic || kept[i].class_index == box->class_index) &&
        answer_boxes_meet(&kept[i], box, record->iou))
      return false;
  return true;
}

static size_t answer_boxes_candidates(const struct answer_boxes_view *v,
                                      struct smr_answer_ranked *heap) {
  float scores[SMR_ANSWER_BLOCK];
  int32_t classes[SMR_ANSWER_BLOCK];
  size_t held = 0;
  for (size_t at = 0; at < v->n; at += SMR_ANSWER_BLOCK) {
    const size_t m = v->n - at < SMR_ANSWER_BLOCK ? v->n - at : SMR_ANSWER_BLOCK;
    smr_answer_scores(&v->scoring, at, m, scores, classes);
    for (size_t i = 0; i < m; i++)
      if (scores[i] > v->record->threshold)
        heap[held++] =
            (struct smr_answer_ranked){scores[i], (uint32_t)(at + i), (uint32_t)classes[i]};
  }
  smr_answer_heap(heap, held, false);
  return held;
}

static float answer_boxes_clip(float x, int32_t size) {
  const float end = (float)size;
  x = x > 0 ? x : 0;
  return x < end ? x : end;
}

// False if the box is outside of the picture.
static bool answer_boxes_place(const struct smr_answer_geometry *g,
                               const struct answer_boxes_kept *kept, float score,
                               struct smr_answer_box *box) {
  float a[2] = {kept->x0, kept->y0}, b[2] = {kept->x1, kept->y1};
  smr_answer_geometry_back(g, a);
  smr_answer_geometry_back(g, b);
  for (uint32_t k = 0; k < 2; k++) {
    const float low = a[k] < b[k] ? a[k] : b[k], high = a[k] < b[k] ? b[k] : a[k];
    a[k] = answer_boxes_clip(low, k == 0 ? g->width : g->height);
    b[k] = answer_boxes_clip(high, k == 0 ? g->width : g->height);
  }
  *box = (struct smr_answer_box){a[0], a[1], b[0], b[1], score, kept->class_index};
  return a[0] < b[0] && a[1] < b[1];
}

static size_t answer_boxes_keep(const struct answer_boxes_view *v, struct smr_answer_ranked *heap,
                                struct answer_boxes_kept *kept, struct smr_answer_box *boxes,
                                float *points) {
  const size_t most = answer_boxes_most(v);
  size_t held = 0, written = 0;
  for (size_t n = answer_boxes_candidates(v, heap); n > 0 && held < most; n--) {
    const struct smr_answer_ranked best = heap[0];
    heap[0] = heap[n - 1];
    if (n > 1) smr_answer_sink(heap, n - 1, 0, false);
    struct answer_boxes_kept *box = &kept[held];
    if (!answer_boxes_decode(v, &best, box) || !answer_boxes_free(v->record, kept, held, box))
      continue;
    held++;
    if (!answer_boxes_place(v->geometry, box, best.score, &boxes[written])) continue;
    if (points != NULL) answer_boxes_points(v, best.index, points + written * v->points_of_box * 2);
    written++;
  }
  return written;
}

samara_status smr_answer_boxes(const struct smr_answer_boxes *record,
                               const struct smr_answer_outputs *outputs,
                               const struct smr_answer_geometry *geometry, void *scratch,
                               size_t scratch_bytes, struct smr_answer_box *boxes, float *points,
                               size_t room, size_t *count, samara_error *error) {
  struct smr_answer_boxes_size size;
  struct answer_boxes_view v;
  SMR_TRY(smr_answer_boxes_size(record, outputs, geometry, &size, error));
  SMR_TRY(answer_boxes_open(record, outputs, geometry, &v, error));
  if (scratch == NULL || (uintptr_t)scratch % 8 != 0 || scratch_bytes < size.scratch_bytes ||
      boxes == NULL || room < size.boxes)
    SMR_FAIL(
        error, BAD_ARGUMENT,
        "room for %zu boxes and %zu bytes of scratch, expected %zu and %zu, aligned to 8 bytes",
        room, scratch_bytes, size.boxes, size.scratch_bytes);
  struct answer_boxes_kept *kept = (struct answer_boxes_kept *)scratch;
  struct smr_answer_ranked *heap = (struct smr_answer_ranked *)(void *)(kept + size.boxes);
  *count = answer_boxes_keep(&v, heap, kept, boxes, points);
  return SAMARA_OK;
}
