// SPDX-License-Identifier: Apache-2.0
// Reads the samples of a picture that count, as 8 bits in each channel of the record.
#include "base/fp.h"

#include "media/image.h"

#include <string.h>

enum { READ_TAPS = 2 * SMR_IMAGE_BLOCK };

static void read_bytes(size_t n, const uint8_t *base, const int32_t *offsets, uint8_t *x) {
  for (size_t i = 0; i < n; i++) x[i] = base[offsets[i]];
}

// Two samples that lie beside each other.
static void read_pairs(size_t n, const uint8_t *base, const int32_t *offsets, uint16_t *pairs) {
  for (size_t i = 0; i < n; i++) memcpy(&pairs[i], base + offsets[i], sizeof *pairs);
}

// Pairs of U and V, U in the low byte; `at` of the offsets on.
static void read_chroma(const struct smr_image_run *run, uint32_t row, size_t at, size_t n,
                        uint16_t *pairs) {
  const struct smr_image_source *s = run->source;
  const uint8_t *u = s->planes[1] + smr_image_offset(&s->over, row, 1);
  const uint8_t *v = s->planes[2] + smr_image_offset(&s->over, row, 2);
  const int32_t *us = run->plan->offsets[1] + at, *vs = run->plan->offsets[2] + at;
  const bool same =
      s->along.strides[1] == s->along.strides[2] && s->over.strides[1] == s->over.strides[2];
  if (same && v == u + 1) {
    read_pairs(n, u, us, pairs);
  } else if (same && u == v + 1) {
    read_pairs(n, v, us, pairs);
    for (size_t i = 0; i < n; i++) pairs[i] = (uint16_t)(pairs[i] << 8 | pairs[i] >> 8);
  } else {
    for (size_t i = 0; i < n; i++) pairs[i] = (uint16_t)(u[us[i]] | v[vs[i]] << 8);
  }
}

// R, G, B of YUV, or its brightness.
static void read_yuv(const struct smr_image_run *run, uint32_t row, size_t at, size_t n,
                     uint8_t *const x[3]) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  const uint8_t *luma = s->planes[0] + smr_image_offset(&s->over, row, 0);
  if (p->channels == 1) {
    read_bytes(n, luma, p->offsets[0] + at, x[0]);
    p->rows->brightness(n, &s->colour, x[0]);
    return;
  }
  uint8_t y[READ_TAPS] = {0};
  uint16_t uv[READ_TAPS] = {0};
  read_bytes(n, luma, p->offsets[0] + at, y);
  read_chroma(run, row, at, n, uv);
  p->rows->colour(n, y, uv, &s->colour, x[0], x[1], x[2]);
}

static void read_packed(const struct smr_image_run *run, uint32_t row, size_t at, size_t n,
                        uint8_t *const x[3]) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  const uint8_t *base = s->planes[0] + smr_image_offset(&s->over, row, 0);
  const int32_t *offsets = p->offsets[0] + at;
  if (s->kind == SMR_IMAGE_FOUR) {
    uint32_t pixels[READ_TAPS] = {0};
    if (p->adjacent && s->along.strides[0] == sizeof *pixels)
      for (size_t i = 0; i < n; i += 2) memcpy(&pixels[i], base + offsets[i], 2 * sizeof *pixels);
    else
      for (size_t i = 0; i < n; i++) memcpy(&pixels[i], base + offsets[i], sizeof *pixels);
    const uint32_t shifts[3] = {8 * s->at[0], 8 * s->at[1], 8 * s->at[2]};
    p->rows->split(n, pixels, shifts, x[0], x[1], x[2]);
  } else {
    for (int c = 0; c < 3; c++) read_bytes(n, base + s->at[c], offsets, x[c]);
  }
  if (p->channels == 1) p->rows->luma(n, x[0], x[1], x[2]);
}

void smr_image_read(const struct smr_image_run *run, uint32_t row, uint32_t pair, size_t at,
                    size_t n, uint8_t *const x[3]) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  const bool bgr = p->record.colour == SAMARA_COLOUR_BGR;
  uint8_t *const rgb[3] = {x[bgr ? 2 : 0], x[1], x[bgr ? 0 : 2]};
  const size_t first = 2 * (pair * p->stride + at), taps = 2 * n;
  if (s->kind == SMR_IMAGE_YUV) {
    read_yuv(run, row, first, taps, rgb);
  } else if (s->kind == SMR_IMAGE_ONE) {
    const uint8_t *base = s->planes[0] + smr_image_offset(&s->over, row, 0);
    read_bytes(taps, base, p->offsets[0] + first, x[0]);
    for (uint32_t c = 1; c < p->channels; c++) memcpy(x[c], x[0], taps);
  } else {
    read_packed(run, row, first, taps, rgb);
  }
}
