// SPDX-License-Identifier: Apache-2.0
// Points: the largest cell of each heat map, or coordinates, mapped to the picture.
#include "base/fp.h"

#include "media/answer_keypoints.h"

#include <inttypes.h>
#include <math.h>

// A map's cell (row, column) is element first + (row * width + column) * step.
struct answer_keypoints_map {
  const samara_tensor *tensor;
  size_t first, step, height, width;
};

static samara_status answer_keypoints_maps(const struct smr_answer_keypoints *record,
                                           const samara_tensor *t, size_t *count,
                                           struct answer_keypoints_map *map, samara_error *error) {
  const int32_t down = record->channels_last ? 1 : 2;
  if (t->rank != 4 || t->shape[0] != 1 || t->shape[down] > SMR_ANSWER_MOST_SIZE ||
      t->shape[down + 1] > SMR_ANSWER_MOST_SIZE)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32 " has rank %" PRId32
             ", expected heat maps [1, points, height, width] or with points last, of up to 16384 "
             "cells a side",
             record->output, t->rank);
  *count = (size_t)t->shape[record->channels_last ? 3 : 1];
  *map = (struct answer_keypoints_map){.tensor = t,
                                       .step = record->channels_last ? *count : 1,
                                       .height = (size_t)t->shape[down],
                                       .width = (size_t)t->shape[down + 1]};
  return SAMARA_OK;
}

static samara_status answer_keypoints_open(const struct smr_answer_keypoints *record,
                                           const struct smr_answer_outputs *outputs, size_t *count,
                                           struct answer_keypoints_map *map, samara_error *error) {
  const samara_tensor *t;
  size_t n;
  SMR_TRY(smr_answer_output(outputs, record->output, &t, &n, error));
  if (record->heatmaps) return answer_keypoints_maps(record, t, count, map, error);
  if (record->step != 2 && record->step != 3)
    SMR_FAIL(error, BAD_ARGUMENT, "%" PRIu32 " numbers for a point, expected 2 or 3", record->step);
  if (n % record->step != 0)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32 " has %zu elements, expected %" PRIu32 " for each point",
             record->output, n, record->step);
  *map = (struct answer_keypoints_map){.tensor = t};
  *count = n / record->step;
  return SAMARA_OK;
}

samara_status smr_answer_keypoints_count(const struct smr_answer_keypoints *record,
                                         const struct smr_answer_outputs *outputs, size_t *count,
                                         samara_error *error) {
  struct answer_keypoints_map map;
  return answer_keypoints_open(record, outputs, count, &map, error);
}

// ---- heat maps ----

static float answer_keypoints_at(const struct answer_keypoints_map *map, size_t row,
                                 size_t column) {
  float x;
  smr_answer_load(map->tensor, map->first + (row * map->width + column) * map->step, 1, 1, &x);
  return x;
}

static float answer_keypoints_offset(enum smr_answer_refine refine, float left, float c,
                                     float right) {
  if (refine == SMR_ANSWER_QUARTER) return right > left ? 0.25f : left > right ? -0.25f : 0.0f;
  const float bend = (left - c) + (right - c);
  if (!(bend < 0)) return 0.0f;
  const float offset = ((left - right) * 0.5f) / bend;
  if (isnan(offset)) return 0.0f;
  return offset < -0.5f ? -0.5f : offset > 0.5f ? 0.5f : offset;
}

// Value and index of the largest cell; NaN if all cells are NaN.
static float answer_keypoints_largest(const struct answer_keypoints_map *map, size_t *place) {
  const size_t n = map->height * map->width;
  float x[SMR_ANSWER_BLOCK], best = NAN;
  *place = 0;
  for (size_t at = 0; at < n; at += SMR_ANSWER_BLOCK) {
    const size_t m = n - at < SMR_ANSWER_BLOCK ? n - at : SMR_ANSWER_BLOCK;
    smr_answer_load(map->tensor, map->first + at * map->step, map->step, m, x);
    for (size_t i = 0; i < m; i++)
      if (x[i] > best || (isnan(best) && !isnan(x[i]))) {
        best = x[i];
        *place = at + i;
      }
  }
  return best;
}

static struct smr_answer_point answer_keypoints_peak(const struct smr_answer_keypoints *record,
                                                     const struct answer_keypoints_map *map,
                                                     const struct smr_answer_geometry *g) {
  size_t place;
  const float best = answer_keypoints_largest(map, &place);
  const size_t i = place % map->width, j = place / map->width;
  float dx = 0, dy = 0;
  if (record->refine != SMR_ANSWER_CELL && !isnan(best)) {
    if (i > 0 && i + 1 < map->width)
      dx = answer_keypoints_offset(record->refine, answer_keypoints_at(map, j, i - 1), best,
                                   answer_keypoints_at(map, j, i + 1));
    if (j > 0 && j + 1 < map->height)
      dy = answer_keypoints_offset(record->refine, answer_keypoints_at(map, j - 1, i), best,
                                   answer_keypoints_at(map, j + 1, i));
  }
  const float x = ((float)i + 0.5f) + dx, y = ((float)j + 0.5f) + dy;
  return (struct smr_answer_point){.x = x * ((float)g->tensor[0] / (float)map->width),
                                   .y = y * ((float)g->tensor[1] / (float)map->height),
                                   .score = record->sigmoid ? smr_answer_sigmoid(best) : best};
}

// ---- coordinates ----

static struct smr_answer_point answer_keypoints_given(const struct smr_answer_keypoints *record,
                                                      const samara_tensor *t, size_t index,
                                                      const struct smr_answer_geometry *g) {
  float x[3] = {0, 0, 1};
  smr_answer_load(t, index * record->step, 1, record->step, x);
  struct smr_answer_point p = {.x = x[record->yx], .y = x[!record->yx], .score = x[2]};
  if (record->ratio) {
    p.x *= (float)g->tensor[0];
    p.y *= (float)g->tensor[1];
  }
  return p;
}

samara_status smr_answer_keypoints(const struct smr_answer_keypoints *record,
                                   const struct smr_answer_outputs *outputs,
                                   const struct smr_answer_geometry *geometry,
                                   struct smr_answer_point *points, size_t room,
                                   samara_error *error) {
  struct answer_keypoints_map map;
  size_t count;
  SMR_TRY(smr_answer_geometry_check(geometry, error));
  SMR_TRY(answer_keypoints_open(record, outputs, &count, &map, error));
  if (room < count)
    SMR_FAIL(error, BAD_ARGUMENT, "room for %zu points, the output has %zu", room, count);
  for (size_t i = 0; i < count; i++) {
    map.first = record->channels_last ? i : i * map.height * map.width;
    const struct smr_answer_point p = record->heatmaps
                                          ? answer_keypoints_peak(record, &map, geometry)
                                          : answer_keypoints_given(record, map.tensor, i, geometry);
    float at[2] = {p.x, p.y};
    smr_answer_geometry_back(geometry, at);
    const bool right = isfinite(at[0]) && isfinite(at[1]) && !isnan(p.score);
    points[i] = right ? (struct smr_answer_point){at[0], at[1], p.score}
                      : (struct smr_answer_point){0, 0, 0};
  }
  return SAMARA_OK;
}
