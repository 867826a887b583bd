// SPDX-License-Identifier: Apache-2.0
// From 8 bits per channel to the elements of a tensor: step 6 of docs/guides/preprocessing.md.
#include "base/fp.h"

#include "media/image.h"

#include <string.h>

#include "simd/half.h"

static void elements_half(const struct smr_image_plan *p, size_t n, const uint8_t *values,
                          uint32_t c, uint16_t *out) {
  float block[SMR_IMAGE_PERIOD];
  for (size_t at = 0; at < n; at += SMR_IMAGE_PERIOD) {
    const size_t m = n - at < SMR_IMAGE_PERIOD ? n - at : SMR_IMAGE_PERIOD;
    p->rows->scale(m, values + at, p->mean[c], p->scale[c], block);
    for (size_t i = 0; i < m; i++) out[at + i] = smr_f32_to_f16(block[i]);
  }
}

// Convert n elements of channel c; floats use mean and scale [c].
static void elements_of(const struct smr_image_plan *p, size_t n, const uint8_t *values, uint32_t c,
                        void *out) {
  uint8_t *bytes = out;
  if (!smr_image_is_bytes(&p->record)) {
    if (smr_image_is_single(&p->record))
      p->rows->scale(n, values, p->mean[c], p->scale[c], out);
    else
      elements_half(p, n, values, c, out);
  } else if (p->identity) {
    memcpy(bytes, values, n);
  } else {
    for (size_t i = 0; i < n; i++) bytes[i] = p->table[c][values[i]];
  }
}

// Scatter n elements with stride `step`.
static void elements_spread(size_t size, size_t n, const uint8_t *from, size_t step, uint8_t *to) {
  if (size == 1) {
    for (size_t i = 0; i < n; i++) to[i * step] = from[i];
  } else if (size == 2) {
    for (size_t i = 0; i < n; i++) memcpy(to + i * step * 2, from + i * 2, 2);
  } else {
    for (size_t i = 0; i < n; i++) memcpy(to + i * step * 4, from + i * 4, 4);
  }
}

// Scatter n pixels of three bytes with stride `step`.
static void elements_turns(const struct smr_image_plan *p, size_t n, const uint8_t *values,
                           size_t stride, size_t step, uint8_t *to) {
  const uint8_t *second = values + stride, *third = second + stride;
  for (size_t i = 0; i < n; i++, to += 3 * step) {
    to[0] = p->table[0][values[i]];
    to[1] = p->table[1][second[i]];
    to[2] = p->table[2][third[i]];
  }
}

// Index of element (c, y, x) of the tensor.
static size_t elements_at(const struct smr_image_plan *p, size_t c, size_t y, size_t x) {
  const size_t width = p->sizes.width, height = p->sizes.height;
  return p->planar ? (c * height + y) * width + x : (y * width + x) * 3 + c;
}

void smr_image_emit(const struct smr_image_run *run, size_t line, const uint8_t *values,
                    size_t stride, void *room) {
  const struct smr_image_plan *p = run->plan;
  const size_t size = smr_image_element_bytes(&p->record), width = p->sizes.width;
  const size_t n = p->turned ? p->sizes.height : width, x = p->turned ? line : 0;
  const size_t y = p->turned ? 0 : line;
  if (!p->planar && size == 1) {
    elements_turns(p, n, values, stride, p->turned ? width : 1, run->out + elements_at(p, 0, y, x));
    return;
  }
  if (!p->planar && !p->turned) {
    // Interleave bytes first, because they are smaller than floats.
    uint8_t *turns = room;
    for (uint32_t c = 0; c < 3; c++) elements_spread(1, n, values + c * stride, 3, turns + c);
    elements_of(p, 3 * n, turns, 0, run->out + elements_at(p, 0, y, 0) * size);
    return;
  }
  const size_t step = (p->turned ? width : 1) * (p->planar ? 1 : 3);
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++) {
    uint8_t *out = run->out + elements_at(p, c, y, x) * size;
    elements_of(p, n, values + c * stride, c, step == 1 ? (void *)out : room);
    if (step != 1) elements_spread(size, n, room, step, out);
  }
}
