// SPDX-License-Identifier: Apache-2.0
// Masks: the class of each cell of an output, then the cell of each pixel of the picture.
#include "base/fp.h"

#include "media/answer_mask.h"

#include "base/checked.h"
#include "simd/common.h"

#include <inttypes.h>
#include <math.h>

enum { ANSWER_MASK_NONE = -1 };  // in tables: outside of the model's view

// An output as channels of cells. Cell (row, column) of channel c is element c * channel_step +
// (row * width + column) * cell_step.
struct answer_mask_view {
  const samara_tensor *tensor;
  size_t channels, height, width;
  size_t channel_step, cell_step;
  size_t element_bytes;
  bool numbers;  // elements are class numbers
};

static samara_status answer_mask_open(const struct smr_answer_mask *record,
                                      const struct smr_answer_outputs *outputs,
                                      struct answer_mask_view *v, samara_error *error) {
  size_t n;
  SMR_TRY(smr_answer_output(outputs, record->output, &v->tensor, &n, error));
  const samara_tensor *t = v->tensor;
  const bool flat = record->layout == SMR_ANSWER_NHW;
  const int32_t rank = flat ? 3 : 4, down = record->layout == SMR_ANSWER_NCHW ? 2 : 1;
  if (t->rank != rank || t->shape[0] != 1 || t->shape[down] > SMR_ANSWER_MOST_SIZE ||
      t->shape[down + 1] > SMR_ANSWER_MOST_SIZE)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32 " has rank %" PRId32
             ", expected a mask [1, height, width] or with channels as the record says, of up to "
             "16384 cells a side",
             record->output, t->rank);
  v->height = (size_t)t->shape[down];
  v->width = (size_t)t->shape[down + 1];
  v->channels = flat ? 1 : (size_t)t->shape[record->layout == SMR_ANSWER_NCHW ? 1 : 3];
  v->channel_step = record->layout == SMR_ANSWER_NCHW ? v->height * v->width : 1;
  v->cell_step = record->layout == SMR_ANSWER_NHWC ? v->channels : 1;
  v->numbers = flat && !record->limited;
  const bool floats = t->dtype == SAMARA_FLOAT32 || t->dtype == SAMARA_FLOAT16;
  if (v->numbers && floats)
    SMR_FAIL(error, BAD_SHAPE,
             "output %" PRIu32 " has floats, expected integers: class numbers, or a threshold",
             record->output);
  if ((record->limited && v->channels != 1) || v->channels > UINT16_MAX)
    SMR_FAIL(error, BAD_SHAPE, "output %" PRIu32 " has %zu channels, expected %s", record->output,
             v->channels, record->limited ? "one, for a threshold" : "up to 65535");
  const bool narrow =
      v->numbers ? t->dtype != SAMARA_INT32 && t->dtype != SAMARA_INT64 : v->channels <= UINT8_MAX;
  v->element_bytes = narrow ? 1 : 2;
  return SAMARA_OK;
}

// Layout of the scratch: widest elements first.
struct answer_mask_scratch {
  int32_t *across, *down;  // per column and row of the rectangle: its term of the cell index
  uint16_t *cells;
};

static size_t answer_mask_scratch_bytes(const struct smr_answer_geometry *g,
                                        const struct answer_mask_view *v) {
  // No overflow: sides are at most 16384, so at most 2^29 + 2^17 bytes.
  const size_t words = (size_t)g->crop[2] + (size_t)g->crop[3];
  return words * 4 + v->height * v->width * sizeof(uint16_t);
}

samara_status smr_answer_mask_size(const struct smr_answer_mask *record,
                                   const struct smr_answer_outputs *outputs,
                                   const struct smr_answer_geometry *geometry,
                                   struct smr_answer_mask_size *size, samara_error *error) {
  struct answer_mask_view v;
  SMR_TRY(smr_answer_geometry_check(geometry, error));
  SMR_TRY(answer_mask_open(record, outputs, &v, error));
  size->element_bytes = v.element_bytes;
  size->classes_bytes = (size_t)geometry->width * (size_t)geometry->height * v.element_bytes;
  size->scratch_bytes = answer_mask_scratch_bytes(geometry, &v);
  return SAMARA_OK;
}

// ---- cells ----

// Process a row in blocks of cells, all channels per block.
static void answer_mask_argmax_row(const struct answer_mask_view *v, size_t first,
                                   uint16_t *cells) {
  float x[SMR_ANSWER_BLOCK], best[SMR_ANSWER_BLOCK];
  int32_t channels[SMR_ANSWER_BLOCK];
  for (size_t at = 0; at < v->width; at += SMR_ANSWER_BLOCK) {
    const size_t n = v->width - at < SMR_ANSWER_BLOCK ? v->width - at : SMR_ANSWER_BLOCK;
    for (size_t i = 0; i < n; i++) {
      best[i] = -INFINITY;
      channels[i] = 0;
    }
    for (size_t c = 0; c < v->channels; c++) {
      smr_answer_load(v->tensor, (first + at) * v->cell_step + c * v->channel_step, v->cell_step, n,
                      x);
      smr_answer_larger(n, x, (int32_t)c, best, channels);
    }
    for (size_t i = 0; i < n; i++) cells[at + i] = (uint16_t)channels[i];
  }
}

static void answer_mask_limit_row(const struct smr_answer_mask *record,
                                  const struct answer_mask_view *v, size_t first, uint16_t *cells) {
  float x[SMR_ANSWER_BLOCK];
  for (size_t at = 0; at < v->width; at += SMR_ANSWER_BLOCK) {
    const size_t n = v->width - at < SMR_ANSWER_BLOCK ? v->width - at : SMR_ANSWER_BLOCK;
    smr_answer_load(v->tensor, first + at, 1, n, x);
    for (size_t i = 0; i < n; i++) {
      const float score = record->sigmoid ? smr_answer_sigmoid(x[i]) : x[i];
      cells[at + i] = score > record->threshold;
    }
  }
}

static samara_status answer_mask_number_row(const struct answer_mask_view *v, size_t first,
                                            uint16_t *cells, samara_error *error) {
  const int64_t unseen = v->element_bytes == 1 ? UINT8_MAX : UINT16_MAX;
  for (size_t i = 0; i < v->width; i++) {
    const int64_t number = smr_answer_integer(v->tensor, first + i);
    if (number < 0 || number >= unseen)
      SMR_FAIL(error, BAD_DATA,
               "class %" PRId64 " in element %zu of a mask, expected 0 to %" PRId64, number,
               first + i, unseen - 1);
    cells[i] = (uint16_t)number;
  }
  return SAMARA_OK;
}

static samara_status answer_mask_cells(const struct smr_answer_mask *record,
                                       const struct answer_mask_view *v,
                                       const struct answer_mask_scratch *s, samara_error *error) {
  for (size_t y = 0; y < v->height; y++) {
    const size_t first = y * v->width;
    uint16_t *cells = s->cells + first;
    if (v->numbers)
      SMR_TRY(answer_mask_number_row(v, first, cells, error));
    else if (record->limited)
      answer_mask_limit_row(record, v, first, cells);
    else
      answer_mask_argmax_row(v, first, cells);
  }
  return SAMARA_OK;
}

// ---- pixels ----

// The cell of oriented pixel `at` on one axis, or ANSWER_MASK_NONE.
static int32_t answer_mask_cell(const struct smr_answer_geometry *g, uint32_t axis, int32_t at,
                                int32_t cells) {
  int32_t oriented[2];
  smr_answer_geometry_oriented(g, oriented);
  const int64_t size = oriented[axis];
  // Each product is below 2^30, the next below 2^45.
  const int64_t doubled = (2 * (int64_t)at + 1) * g->resized[axis] + 2 * size * g->offset[axis];
  if (doubled < 0) return ANSWER_MASK_NONE;
  const int64_t cell = doubled * cells / (2 * size * g->tensor[axis]);
  return cell < cells ? (int32_t)cell : ANSWER_MASK_NONE;
}

// Compute the term of each column and row of the rectangle in the index of a cell. With a quarter
// turn, columns of the picture are rows of the input.
static void answer_mask_tables(const struct smr_answer_geometry *g,
                               const struct answer_mask_view *v, int32_t *across, int32_t *down) {
  const bool turned = (g->quarters & 1) != 0;
  for (uint32_t axis = 0; axis < 2; axis++) {  // of the oriented picture
    const bool columns = (axis == 0) != turned;
    int32_t *table = columns ? across : down;
    const int32_t n = g->crop[columns ? 2 : 3];
    // Clockwise turns by 90 and 180 degrees reverse u, those by 180 and 270 reverse v.
    bool reversed = axis == 0 ? g->quarters == 1 || g->quarters == 2 : g->quarters >= 2;
    if (axis == 0 && g->mirror) reversed = !reversed;
    const int32_t cells = (int32_t)(axis == 0 ? v->width : v->height);
    for (int32_t i = 0; i < n; i++) {
      const int32_t cell = answer_mask_cell(g, axis, reversed ? n - 1 - i : i, cells);
      const int32_t step = axis == 0 ? 1 : (int32_t)v->width;
      table[i] = cell == ANSWER_MASK_NONE ? ANSWER_MASK_NONE : cell * step;
    }
  }
}

// One row of the rectangle; its cells begin at `cells`.
static void answer_mask_pixel_row(const uint16_t *cells, const int32_t *across, int32_t n,
                                  size_t element_bytes, void *row) {
  uint8_t *narrow = (uint8_t *)row;
  uint16_t *wide = (uint16_t *)row;
  if (element_bytes == 1) {
    for (int32_t x = 0; x < n; x++)
      if (across[x] != ANSWER_MASK_NONE) narrow[x] = (uint8_t)cells[across[x]];
  } else {
    for (int32_t x = 0; x < n; x++)
      if (across[x] != ANSWER_MASK_NONE) wide[x] = cells[across[x]];
  }
}

static void answer_mask_pixels(const struct smr_answer_geometry *g,
                               const struct answer_mask_view *v,
                               const struct answer_mask_scratch *s, void *classes) {
  const size_t width = (size_t)g->width, bytes = v->element_bytes;
  memset(classes, 0xff, width * (size_t)g->height * bytes);  // unseen
  char *row = (char *)classes + ((size_t)g->crop[1] * width + (size_t)g->crop[0]) * bytes;
  for (int32_t y = 0; y < g->crop[3]; y++, row += width * bytes) {
    if (s->down[y] == ANSWER_MASK_NONE) continue;
    if (y > 0 && s->down[y] == s->down[y - 1])  // the same cells as the row above
      memcpy(row, row - width * bytes, (size_t)g->crop[2] * bytes);
    else
      answer_mask_pixel_row(s->cells + s->down[y], s->across, g->crop[2], bytes, row);
  }
}

samara_status smr_answer_mask(const struct smr_answer_mask *record,
                              const struct smr_answer_outputs *outputs,
                              const struct smr_answer_geometry *geometry, void *scratch,
                              size_t scratch_bytes, void *classes, size_t classes_bytes,
                              samara_error *error) {
  struct smr_answer_mask_size size;
  struct answer_mask_view v;
  SMR_TRY(smr_answer_mask_size(record, outputs, geometry, &size, error));
  SMR_TRY(answer_mask_open(record, outputs, &v, error));
  if (scratch == NULL || classes == NULL || (uintptr_t)scratch % 8 != 0 ||
      (uintptr_t)classes % size.element_bytes != 0 || scratch_bytes < size.scratch_bytes ||
      classes_bytes < size.classes_bytes)
    SMR_FAIL(error, BAD_ARGUMENT,
             "a mask in %zu bytes with %zu of scratch, expected %zu and %zu, aligned to 8 bytes",
             classes_bytes, scratch_bytes, size.classes_bytes, size.scratch_bytes);
  struct answer_mask_scratch s;
  s.across = (int32_t *)scratch;
  s.down = s.across + geometry->crop[2];
  s.cells = (uint16_t *)(void *)(s.down + geometry->crop[3]);
  SMR_TRY(answer_mask_cells(record, &v, &s, error));
  answer_mask_tables(geometry, &v, s.across, s.down);
  answer_mask_pixels(geometry, &v, &s, classes);
  return SAMARA_OK;
}
