// SPDX-License-Identifier: Apache-2.0
// Reads the needed samples of a picture as 8 bits per channel of the record.
#include "base/fp.h"

#include "media/image.h"

#include <string.h>

enum { READ_TAPS = 2 * SMR_IMAGE_BLOCK };

// Prefetch the samples of taps at .. at + n in row `next` of a plane, if they are dense enough to
// need most cache lines.
static void read_ahead(const struct smr_image_run *run, int plane, uint32_t next, size_t at,
                       size_t n) {
  enum { LINE = 64 };  // bytes of a cache line on most CPUs
  const struct smr_image_source *s = run->source;
  const int32_t *offsets = run->plan->offsets[plane] + at;
  const int32_t first = offsets[0], last = offsets[n - 1];
  const uint8_t *base = s->planes[plane] + smr_image_offset(&s->over, next, plane);
  const int32_t begin = first < last ? first : last;
  const size_t span = (size_t)((first < last ? last : first) - begin);
  for (size_t byte = 0; span <= LINE * n && byte <= span; byte += LINE)
    __builtin_prefetch(base + begin + byte);
}

// Samples of one byte; taps at .. at + n of plane 0.
static void read_plane(const struct smr_image_run *run, uint32_t row, uint32_t next, size_t at,
                       size_t n, uint8_t *x) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  const uint8_t *base = s->planes[0] + smr_image_offset(&s->over, row, 0);
  const int32_t *offsets = p->offsets[0] + at;
  if (next != row) read_ahead(run, 0, next, at, n);
  if (p->adjacent && s->along.strides[0] == 1)
    for (size_t i = 0; i < n; i += 2) memcpy(x + i, base + offsets[i], 2);
  else
    for (size_t i = 0; i < n; i++) x[i] = base[offsets[i]];
}

// U and V interleaved in one plane; `base` is the first of the two.
static void read_turns(const struct smr_image_run *run, const uint8_t *base, size_t at, size_t n,
                       uint16_t *pairs) {
  const struct smr_image_plan *p = run->plan;
  const size_t *strides = run->source->along.strides;
  const int32_t *offsets = p->offsets[1] + at, *pixels = p->offsets[0] + at;
  if (p->adjacent && strides[0] == 1 && strides[1] == 2) {
    // The offset in the plane of Y is the index of the pixel.
    for (size_t i = 0; i < n; i += 2) {
      const int32_t pixel = pixels[i];
      memcpy(&pairs[i], base + (pixel & ~1), sizeof *pairs);
      memcpy(&pairs[i + 1], base + ((pixel + 1) & ~1), sizeof *pairs);
    }
    return;
  }
  for (size_t i = 0; i < n; i++) memcpy(&pairs[i], base + offsets[i], sizeof *pairs);
}

// Read pairs of U and V; V is in the low byte if *v_first.
static void read_chroma(const struct smr_image_run *run, uint32_t row, size_t at, size_t n,
                        uint16_t *pairs, bool *v_first) {
  const struct smr_image_source *s = run->source;
  const uint8_t *u = s->planes[1] + smr_image_offset(&s->over, row, 1);
  const uint8_t *v = s->planes[2] + smr_image_offset(&s->over, row, 2);
  const int32_t *us = run->plan->offsets[1] + at, *vs = run->plan->offsets[2] + at;
  const bool same =
      s->along.strides[1] == s->along.strides[2] && s->over.strides[1] == s->over.strides[2];
  *v_first = same && u == v + 1;
  if (SMR_IMAGE_HAS_TURNS && (!SMR_HAS(image_from_i420) || *v_first || (same && v == u + 1)))
    read_turns(run, *v_first ? v : u, at, n, pairs);
  else
    for (size_t i = 0; i < n; i++) pairs[i] = (uint16_t)(u[us[i]] | v[vs[i]] << 8);
}

// Convert YUV to R, G, B, or to gray.
static void read_yuv(const struct smr_image_run *run, uint32_t row, uint32_t next, size_t at,
                     size_t n, uint8_t *const x[3]) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  if (smr_image_channels(&p->record) == 1) {
    read_plane(run, row, next, at, n, x[0]);
    p->rows->brightness(n, &s->colour, x[0]);
    return;
  }
  uint8_t y[READ_TAPS];
  uint16_t uv[READ_TAPS];
  bool v_first;
  read_plane(run, row, next, at, n, y);
  read_chroma(run, row, at, n, uv, &v_first);
  for (int plane = 1; plane < 3 && next != row; plane++) read_ahead(run, plane, next, at, n);
  p->rows->colour(n, y, uv, v_first, &s->colour, x[0], x[1], x[2]);
}

const uint8_t *smr_image_fours(const struct smr_image_run *run, uint32_t row, uint32_t next,
                               size_t at, size_t n, uint8_t room[4 * READ_TAPS]) {
  enum { BYTES = 4 };
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  const uint8_t *base = s->planes[0] + smr_image_offset(&s->over, row, 0);
  const int32_t *offsets = p->offsets[0] + at;
  if (next != row) read_ahead(run, 0, next, at, n);
  if (p->adjacent && s->along.strides[0] == BYTES) {
    if (p->dense && n % (2 * SMR_IMAGE_STEP) == 0) return base + offsets[0];
    for (size_t i = 0; i < n; i += 2) memcpy(room + BYTES * i, base + offsets[i], 2 * BYTES);
  } else {
    for (size_t i = 0; i < n; i++) memcpy(room + BYTES * i, base + offsets[i], BYTES);
  }
  return room;
}

static void read_packed(const struct smr_image_run *run, uint32_t row, uint32_t next, size_t at,
                        size_t n, uint8_t *const x[3]) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  if (SMR_IMAGE_HAS_FOUR && s->kind == SMR_IMAGE_FOUR) {
    uint8_t room[4 * READ_TAPS];
    const uint32_t shifts[3] = {8 * s->at[0], 8 * s->at[1], 8 * s->at[2]};
    p->rows->split(n, smr_image_fours(run, row, next, at, n, room), shifts, x[0], x[1], x[2]);
  } else if (SMR_IMAGE_HAS_THREE) {
    const uint8_t *base = s->planes[0] + smr_image_offset(&s->over, row, 0);
    const int32_t *offsets = p->offsets[0] + at;
    if (next != row) read_ahead(run, 0, next, at, n);
    for (int c = 0; c < 3; c++)
      for (size_t i = 0; i < n; i++) x[c][i] = base[offsets[i] + (int32_t)s->at[c]];
  }
  if (smr_image_channels(&p->record) == 1) p->rows->luma(n, x[0], x[1], x[2]);
}

void smr_image_read(const struct smr_image_run *run, uint32_t row, uint32_t next, uint32_t pair,
                    size_t at, size_t n, uint8_t *const x[3]) {
  const struct smr_image_plan *p = run->plan;
  const struct smr_image_source *s = run->source;
  const bool bgr = p->record.colour == SAMARA_COLOUR_BGR;
  uint8_t *const rgb[3] = {x[bgr ? 2 : 0], x[1], x[bgr ? 0 : 2]};
  const size_t first = 2 * (pair * p->stride + at), taps = 2 * n;
  if (SMR_IMAGE_HAS_YUV && s->kind == SMR_IMAGE_YUV) {
    read_yuv(run, row, next, first, taps, rgb);
  } else if (SMR_HAS(image_from_gray) && s->kind == SMR_IMAGE_ONE) {
    read_plane(run, row, next, first, taps, x[0]);
    for (uint32_t c = 1; c < smr_image_channels(&p->record); c++) memcpy(x[c], x[0], taps);
  } else if (SMR_IMAGE_HAS_THREE || SMR_IMAGE_HAS_FOUR) {
    read_packed(run, row, next, first, taps, rgb);
  }
}
