// SPDX-License-Identifier: Apache-2.0
// Plans the pass once for all pictures with the same layout.
#include "base/fp.h"

#include "media/image.h"

#include <string.h>

size_t smr_image_offset(const struct smr_image_axis_source *axis, uint32_t i, int plane) {
  const size_t at = (size_t)(axis->first + axis->step * (int32_t)i);
  return (plane == 0 ? at : at / 2) * axis->strides[plane];
}

// Offsets of tap `place` (0 or 1) of a pair in each plane.
static void plan_tap(const struct smr_image_source *source, const struct smr_image_plan *p,
                     size_t place, uint32_t pixel) {
  for (int plane = 0; plane < 3; plane++)
    if (p->offsets[plane] != NULL)
      p->offsets[plane][place] = (int32_t)smr_image_offset(&source->along, pixel, plane);
}

// Offsets and weights of the taps along a row. If no tap is single, the taps of a pair are in the
// order of the source.
static void plan_taps(const struct smr_image_source *source, struct smr_image_plan *p) {
  const struct smr_image_axis *axis = &p->along;
  const bool turns = p->adjacent && source->along.step < 0;
  for (uint32_t tap = 0; tap < axis->taps; tap += 2) {
    const bool two = tap + 1 < axis->taps;
    for (size_t d = 0; d < axis->count; d++) {
      const size_t at = tap / 2 * p->stride + d;
      const uint32_t pixel = axis->starts[d] + tap;
      const int16_t *w = axis->weights + d * axis->taps + tap, second = two ? w[1] : 0;
      plan_tap(source, p, 2 * at + turns, pixel);
      plan_tap(source, p, 2 * at + !turns, pixel + two);
      p->weights[at] = turns ? smr_image_pair(second, w[0]) : smr_image_pair(w[0], second);
    }
  }
  p->dense = p->adjacent && !turns && smr_image_pairs(&p->along) == 1;
  for (uint32_t d = 0; d < axis->count; d++)
    p->dense = p->dense && axis->starts[d] == axis->starts[0] + 2 * d;
}

static float plan_rint(float x) {
  const float shift = 12582912.0f;  // 1.5 * 2^23: the sum has no fraction, rounded half to even
  const float sum = x + shift;
  return sum - shift;
}

// Elements of integer tensors by value.
static void plan_table(struct smr_image_plan *p) {
  const samara_image_record *r = &p->record;
  const float zero = (float)r->quant_zero, low = r->dtype == SAMARA_INT8 ? -128.0f : 0.0f;
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
    const float mean = r->normalize ? r->mean[c] : 0.0f, scale = r->normalize ? r->scale[c] : 1.0f;
    for (int v = 0; v < 256; v++) {
      float y = ((float)v - mean) * scale;
      if (r->quant_scale != 0) {
        y = y / r->quant_scale;
        y = y < low - zero ? low - zero : y > low + 255 - zero ? low + 255 - zero : y;
        y = plan_rint(y) + zero;
      }
      p->table[c][v] = (uint8_t)(int32_t)y;
    }
  }
}

static void plan_elements(struct smr_image_plan *p) {
  const samara_image_record *r = &p->record;
  p->planar =
      smr_image_channels(&p->record) == 1 || r->layout == SAMARA_NCHW || r->layout == SAMARA_CHW;
  p->identity = r->dtype == SAMARA_UINT8 && r->quant_scale == 0;
  p->straight = SMR_HAS(image_to_float32) && !p->turned && p->planar &&
                r->dtype == SAMARA_FLOAT32 && smr_image_pairs(&p->over) == 1;
  if (smr_image_is_bytes(r)) {
    plan_table(p);
    return;
  }
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
    for (uint32_t i = 0; i < SMR_IMAGE_PERIOD; i++) {
      const uint32_t channel = p->planar || p->turned ? c : i % smr_image_channels(&p->record);
      p->mean[c][i] = r->normalize ? r->mean[channel] : 0.0f;
      p->scale[c][i] = r->normalize ? r->scale[channel] : 1.0f;
    }
  }
}

static void plan_axes(const samara_image_record *r, const struct smr_image_sizes *s,
                      struct smr_bump *bump, struct smr_image_plan *p) {
  const samara_image_filter filter = r->filter != 0 ? r->filter : SAMARA_BILINEAR;
  struct smr_image_axis x, y;
  smr_image_axis(filter, r->antialias, s->old_width, s->new_width, s->from_x, s->inner_width, bump,
                 &x);
  smr_image_axis(filter, r->antialias, s->old_height, s->new_height, s->from_y, s->inner_height,
                 bump, &y);
  p->along = p->turned ? y : x, p->over = p->turned ? x : y;
}

// Scratch of a thread in the order used by image_pass.c; each part is rounded up to 8.
static size_t plan_thread_bytes(const struct smr_image_plan *p) {
  enum { PARTS = 7, ROUNDING = 8, LARGEST_ELEMENT = 4 };
  const size_t width = p->sizes.width, height = p->sizes.height;
  const size_t room = smr_image_room(p->turned ? height : width) * 3;
  const size_t row = p->stride * smr_image_channels(&p->record),
               taps = row * 2 * smr_image_pairs(&p->along);
  size_t bytes = (p->slots + 1) * sizeof(int32_t *) + p->slots * sizeof(uint32_t);
  bytes += room * (1 + LARGEST_ELEMENT) + p->slots * (p->turned ? taps : row * sizeof(int32_t));
  bytes += p->turned ? taps * (sizeof(int32_t) + sizeof(int16_t)) : row * sizeof(int32_t);
  return (bytes + PARTS * ROUNDING + 63) / 64 * 64;
}

void smr_image_plan(const samara_image_record *record, const struct smr_image_sizes *sizes,
                    const struct smr_image_source *source, uint32_t isa, size_t threads,
                    struct smr_bump *bump, struct smr_image_plan *out) {
  struct smr_image_plan p = {.record = *record,
                             .sizes = *sizes,
                             .kind = source->kind,
                             .turned = source->turned,
                             .rows = smr_image_rows_config(isa)};
  plan_axes(record, sizes, bump, &p);
  p.stride = ((size_t)p.along.count + SMR_IMAGE_STEP - 1) / SMR_IMAGE_STEP * SMR_IMAGE_STEP;
  // With more rows than this, rows are not cached.
  const uint32_t most = p.turned ? 2 : SMR_IMAGE_SLOTS;
  p.slots = p.over.taps <= most ? p.over.taps : 1;
  p.adjacent = p.along.taps % 2 == 0;
  p.fours = SMR_IMAGE_HAS_FOUR && p.kind == SMR_IMAGE_FOUR && !p.turned &&
            smr_image_channels(record) == 3 && smr_image_pairs(&p.along) == 1;
  p.lines = p.turned ? sizes->width : sizes->height;
  p.tiles = (p.lines + SMR_IMAGE_LINES - 1) / SMR_IMAGE_LINES;
  const size_t pairs = p.stride * smr_image_pairs(&p.along);
  p.weights = smr_bump_take(bump, pairs, sizeof *p.weights);
  const uint32_t planes =
      SMR_IMAGE_HAS_YUV && source->kind == SMR_IMAGE_YUV && smr_image_channels(record) > 1 ? 3 : 1;
  for (uint32_t plane = 0; plane < planes; plane++)
    p.offsets[plane] = smr_bump_take(bump, 2 * pairs, sizeof *p.offsets[plane]);
  p.thread_bytes = plan_thread_bytes(&p);
  p.scratch = smr_bump_take(bump, threads, p.thread_bytes);
  if (bump->base != NULL) {
    memset(p.scratch, 0, threads * p.thread_bytes);  // taps with weight 0 may be read before they
                                                     // are written
    memset(p.weights, 0, pairs * sizeof *p.weights);
    plan_taps(source, &p);
  }
  plan_elements(&p);
  *out = p;
}
