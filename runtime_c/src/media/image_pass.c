// SPDX-License-Identifier: Apache-2.0
// The pass over a picture. It reads the source row by row for every rotation. The arithmetic sums
// along rows of the oriented picture first. In a turned picture these are columns of the source:
// every tap along a source row is then first summed over rows, and along the row last.
#include "base/fp.h"

#include "media/image.h"

#include <string.h>

#include "base/parts.h"

static size_t pass_block(size_t at, size_t n) {
  return n - at < SMR_IMAGE_BLOCK ? n - at : SMR_IMAGE_BLOCK;
}

// ---- weights over rows, which are the same for all pixels of a line ----

// Weights of taps 2 pair and 2 pair + 1 of line `d`, repeated as kernels read them.
static const int32_t *pass_weights(const struct smr_image_axis *axis, uint32_t d, uint32_t pair,
                                   int32_t room[SMR_IMAGE_STEP]) {
  const int16_t *w = axis->weights + (size_t)d * axis->taps + 2 * (size_t)pair;
  const int16_t second = 2 * pair + 1 < axis->taps ? w[1] : 0;
  for (int i = 0; i < SMR_IMAGE_STEP; i++) room[i] = smr_image_pair(w[0], second);
  return room;
}

// The row to prefetch for the line after `d` instead of `row`, if rows are skipped between them:
// CPUs prefetch consecutive rows themselves. Else `row`.
static uint32_t pass_next(const struct smr_image_axis *over, uint32_t d, uint32_t row) {
  if (d + 1 >= over->count || over->starts[d + 1] <= over->starts[d] + over->taps) return row;
  return row + over->starts[d + 1] - over->starts[d];
}

// ---- a thread's scratch ----

struct pass_thread {
  const int32_t **picked;  // the taps down a column
  uint32_t *held;          // source row in each slot
  uint8_t *kept;           // sums of rows, or their taps if the picture is turned
  int32_t *sums;           // sums over rows that are not cached
  int16_t *column;         // column of a turned picture
  uint8_t *values;         // a line of the tensor, by channel
  void *room;              // scratch for its elements
  size_t stride;           // of values
};

static void *pass_take(uint8_t **at, size_t bytes) {
  void *taken = *at;
  *at += (bytes + 7) / 8 * 8;
  return taken;
}

static struct pass_thread pass_thread(const struct smr_image_plan *p, size_t thread) {
  struct pass_thread t = {.stride = smr_image_room(p->turned ? p->sizes.height : p->sizes.width)};
  uint8_t *at = p->scratch + thread * p->thread_bytes;
  const size_t row = p->stride * smr_image_channels(&p->record),
               taps = row * 2 * smr_image_pairs(&p->along);
  t.picked = pass_take(&at, (p->slots + 1) * sizeof *t.picked);
  t.held = pass_take(&at, p->slots * sizeof *t.held);
  t.kept = pass_take(&at, p->slots * (p->turned ? taps : row * sizeof(int32_t)));
  t.sums = pass_take(&at, (p->turned ? taps : row) * sizeof *t.sums);
  if (p->turned) t.column = pass_take(&at, taps * sizeof *t.column);
  t.values = pass_take(&at, 3 * t.stride);
  t.room = at;
  for (size_t i = 0; i < p->slots; i++) t.held[i] = UINT32_MAX;
  return t;
}

// ---- upright pictures ----

// Sum along row `row` of the source into h + c * stride for channel c.
static void pass_sum_row(const struct smr_image_run *run, uint32_t row, uint32_t next, int32_t *h) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_rows *rows = p->rows;
  const size_t width = p->along.count;
  uint8_t taps[3][2 * SMR_IMAGE_BLOCK];
  uint8_t *const x[3] = {taps[0], taps[1], taps[2]};
  if (smr_image_pairs(&p->along) > 1)
    memset(h, 0, p->stride * smr_image_channels(&p->record) * sizeof *h);
  for (size_t at = 0; at < width; at += SMR_IMAGE_BLOCK) {
    const size_t n = pass_block(at, width);
    for (uint32_t pair = 0; pair < smr_image_pairs(&p->along); pair++) {
      const int32_t *w = p->weights + pair * p->stride + at;
      smr_image_read(run, row, next, pair, at, n, x);
      for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
        if (smr_image_pairs(&p->along) == 1)
          rows->along(n, x[c], w, h + c * p->stride + at);
        else
          rows->along_add(n, x[c], w, h + c * p->stride + at);
      }
    }
  }
  if (smr_image_pairs(&p->along) > 1)
    rows->along_end(p->stride * smr_image_channels(&p->record), h);
}

// The same for pixels of four bytes in pairs, without separating channels.
static void pass_sum_fours(const struct smr_image_run *run, uint32_t row, uint32_t next,
                           int32_t *h) {
  const struct smr_image_plan *p = run->plan;
  const bool swapped = run->source->at[0] != (p->record.colour == SAMARA_COLOUR_BGR ? 2 : 0);
  uint8_t room[4 * 2 * SMR_IMAGE_BLOCK];
  for (size_t at = 0; at < p->along.count; at += SMR_IMAGE_BLOCK) {
    const size_t n = pass_block(at, p->along.count);
    int32_t *const first = h + at, *const last = first + 2 * p->stride;
    int32_t *const sums[3] = {swapped ? last : first, first + p->stride, swapped ? first : last};
    const uint8_t *pixels = smr_image_fours(run, row, next, 2 * at, 2 * n, room);
    p->rows->along_four(n, pixels, p->weights + at, sums);
  }
}

// Point at the taps down the columns for new row `d`, first channel.
static void pass_pick_rows(const struct smr_image_run *run, const struct pass_thread *t,
                           uint32_t d) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_axis *over = &p->over;
  for (uint32_t k = 0; k < over->taps; k++) {
    const uint32_t row = over->starts[d] + k;
    const size_t slot = row % p->slots;
    int32_t *sums = (int32_t *)(void *)t->kept + slot * p->stride * smr_image_channels(&p->record);
    t->picked[k] = sums;
    if (t->held[slot] == row || over->weights[(size_t)d * over->taps + k] == 0) continue;
    const uint32_t next = pass_next(over, d, row);
    if (SMR_IMAGE_HAS_FOUR && p->fours)
      pass_sum_fours(run, row, next, sums);
    else
      pass_sum_row(run, row, next, sums);
    t->held[slot] = row;
  }
  t->picked[over->taps] = t->picked[over->taps - 1];
}

// The same if there are too many rows to cache: one row at a time.
static void pass_row_apart(const struct smr_image_run *run, const struct pass_thread *t, uint32_t d,
                           uint8_t *values) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_axis *over = &p->over;
  int32_t *row = (int32_t *)(void *)t->kept;
  int32_t room[SMR_IMAGE_STEP];
  memset(t->sums, 0, p->stride * smr_image_channels(&p->record) * sizeof *t->sums);
  for (uint32_t k = 0; k < over->taps; k++) {
    const int16_t weight = over->weights[(size_t)d * over->taps + k];
    if (weight == 0) continue;
    for (int i = 0; i < SMR_IMAGE_STEP; i++) room[i] = smr_image_pair(weight, 0);
    pass_sum_row(run, over->starts[d] + k, over->starts[d] + k, row);
    p->rows->down_add(p->stride * smr_image_channels(&p->record), row, row, room, t->sums);
  }
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++)
    p->rows->down_end(p->along.count, t->sums + c * p->stride, values + c * t->stride);
}

// Compute new row `d` of the picture.
static void pass_row(const struct smr_image_run *run, const struct pass_thread *t, uint32_t d,
                     uint8_t *values) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_rows *rows = p->rows;
  int32_t room[SMR_IMAGE_STEP];
  pass_pick_rows(run, t, d);
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
    const size_t from = c * p->stride;
    uint8_t *y = values + c * t->stride;
    if (smr_image_pairs(&p->over) == 1) {
      const int32_t *w = pass_weights(&p->over, d, 0, room);
      rows->down(p->along.count, t->picked[0] + from, t->picked[1] + from, w, y);
      continue;
    }
    for (size_t at = 0; at < p->along.count; at += SMR_IMAGE_BLOCK) {
      const size_t n = pass_block(at, p->along.count);
      int32_t sums[SMR_IMAGE_BLOCK] = {0};
      for (uint32_t pair = 0; pair < smr_image_pairs(&p->over); pair++)
        rows->down_add(n, t->picked[2 * pair] + from + at, t->picked[2 * pair + 1] + from + at,
                       pass_weights(&p->over, d, pair, room), sums);
      rows->down_end(n, sums, y + at);
    }
  }
}

// The same directly into row `line` of the tensor, including the letterbox on both sides.
static void pass_row_straight(const struct smr_image_run *run, const struct pass_thread *t,
                              size_t line) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_sizes *s = &p->sizes;
  const uint32_t d = (uint32_t)(line - s->top);
  const size_t left = s->left, n = p->along.count, right = s->width - left - n;
  int32_t room[SMR_IMAGE_STEP];
  const int32_t *w = pass_weights(&p->over, d, 0, room);
  pass_pick_rows(run, t, d);
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
    const int32_t *a = t->picked[0] + c * p->stride, *b = t->picked[1] + c * p->stride;
    float *out = (float *)(void *)run->out + (c * (size_t)s->height + line) * s->width;
    p->rows->down_scale(n, a, b, w, p->mean[c], p->scale[c], out + left);
    memset(t->values, p->record.fill[c], left > right ? left : right);
    p->rows->scale(left, t->values, p->mean[c], p->scale[c], out);
    p->rows->scale(right, t->values, p->mean[c], p->scale[c], out + left + n);
  }
}

// ---- turned pictures ----

// Read all taps along row `row` of the source, by channel.
static void pass_read_row(const struct smr_image_run *run, uint32_t row, uint32_t next,
                          uint8_t *taps) {
  const struct smr_image_plan *p = run->plan;
  const size_t channel = 2 * p->stride * smr_image_pairs(&p->along);
  const bool coloured = smr_image_channels(&p->record) > 1;
  uint8_t spare[2][2 * SMR_IMAGE_BLOCK];
  for (uint32_t pair = 0; pair < smr_image_pairs(&p->along); pair++) {
    for (size_t at = 0; at < p->along.count; at += SMR_IMAGE_BLOCK) {
      uint8_t *first = taps + 2 * (pair * p->stride + at);
      uint8_t *const x[3] = {first, coloured ? first + channel : spare[0],
                             coloured ? first + 2 * channel : spare[1]};
      smr_image_read(run, row, next, pair, at, pass_block(at, p->along.count), x);
    }
  }
}

// The taps of row `row` for line `d`, cached until another row needs the slot.
static const uint8_t *pass_kept(const struct smr_image_run *run, const struct pass_thread *t,
                                uint32_t d, uint32_t row) {
  const struct smr_image_plan *p = run->plan;
  const size_t slot = row % p->slots;
  uint8_t *taps =
      t->kept + slot * 2 * p->stride * smr_image_pairs(&p->along) * smr_image_channels(&p->record);
  if (t->held[slot] != row) pass_read_row(run, row, pass_next(&p->over, d, row), taps);
  t->held[slot] = row;
  return taps;
}

// Sum every tap over rows of the source for new column `d`, into t->column.
static void pass_sum_rows(const struct smr_image_run *run, const struct pass_thread *t,
                          uint32_t d) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_axis *over = &p->over;
  const size_t n = 2 * p->stride * smr_image_pairs(&p->along) * smr_image_channels(&p->record);
  const int16_t *weights = over->weights + (size_t)d * over->taps;
  const uint32_t row = over->starts[d];
  int32_t room[SMR_IMAGE_STEP];
  if (smr_image_pairs(over) == 1) {
    const bool two = over->taps == 2 && weights[1] != 0;
    const uint8_t *a = pass_kept(run, t, d, weights[0] != 0 ? row : row + 1);
    const uint8_t *b = two && weights[0] != 0 ? pass_kept(run, t, d, row + 1) : a;
    p->rows->over(n, a, b, pass_weights(over, d, 0, room), t->column);
    return;
  }
  // One row at a time: there may be too many to cache.
  memset(t->sums, 0, n * sizeof *t->sums);
  for (uint32_t k = 0; k < over->taps; k++) {
    if (weights[k] == 0) continue;
    const uint8_t *taps = pass_kept(run, t, d, row + k);
    for (int i = 0; i < SMR_IMAGE_STEP; i++) room[i] = smr_image_pair(weights[k], 0);
    p->rows->over_add(n, taps, taps, room, t->sums);
  }
  p->rows->over_end(n, t->sums, t->column);
}

// Compute new column `d` of the picture.
static void pass_column(const struct smr_image_run *run, const struct pass_thread *t, uint32_t d,
                        uint8_t *values) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_rows *rows = p->rows;
  pass_sum_rows(run, t, d);
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
    const int16_t *x = t->column + c * 2 * p->stride * smr_image_pairs(&p->along);
    uint8_t *y = values + c * t->stride;
    if (smr_image_pairs(&p->along) == 1) {
      rows->fold(p->along.count, x, p->weights, y);
      continue;
    }
    memset(t->sums, 0, p->stride * sizeof *t->sums);
    for (uint32_t pair = 0; pair < smr_image_pairs(&p->along); pair++)
      rows->fold_add(p->along.count, x + 2 * pair * p->stride, p->weights + pair * p->stride,
                     t->sums);
    rows->down_end(p->along.count, t->sums, y);
  }
}

// ---- both ----

// Compute lines of the tensor, including the letterbox.
static void pass_lines(void *context, size_t begin, size_t end, size_t thread) {
  const struct smr_image_run *run = context;
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_sizes *s = &p->sizes;
  const struct pass_thread t = pass_thread(p, thread);
  const size_t first = p->turned ? s->left : s->top, lines = p->over.count;
  const size_t left = p->turned ? s->top : s->left, length = p->turned ? s->height : s->width;
  const size_t last = end * SMR_IMAGE_LINES < p->lines ? end * SMR_IMAGE_LINES : p->lines;
  for (size_t line = begin * SMR_IMAGE_LINES; line < last; line++) {
    const bool inside = line >= first && line - first < lines;
    if (SMR_HAS(image_to_float32) && inside && p->straight) {
      pass_row_straight(run, &t, line);
      continue;
    }
    if (inside && p->turned) pass_column(run, &t, (uint32_t)(line - first), t.values + left);
    if (inside && !p->turned && (!SMR_IMAGE_HAS_MORE || p->slots == p->over.taps))
      pass_row(run, &t, (uint32_t)(line - first), t.values + left);
    if (SMR_IMAGE_HAS_MORE && inside && !p->turned && p->slots < p->over.taps)
      pass_row_apart(run, &t, (uint32_t)(line - first), t.values + left);
    for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
      uint8_t *values = t.values + c * t.stride;
      const size_t before = inside ? left : length, after = inside ? left + p->along.count : length;
      memset(values, p->record.fill[c], before);
      memset(values + after, p->record.fill[c], length - after);
    }
    smr_image_emit(run, line, t.values, t.stride, t.room);
  }
}

void smr_image_run(const struct smr_image_plan *plan, const struct smr_image_source *source,
                   samara_pool *pool, void *out) {
  struct smr_image_run run = {.plan = plan, .source = source, .out = out};
  if (SMR_HAS(threads) && pool != NULL)
    smr_pool_run(pool, plan->tiles, pass_lines, &run);
  else
    pass_lines(&run, 0, plan->tiles, 0);
}
