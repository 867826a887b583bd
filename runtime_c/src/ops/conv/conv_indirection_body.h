// SPDX-License-Identifier: Apache-2.0
// Indirection of one element type; see conv_indirection.c.
//
// The including file defines CONV_POINTS_TYPE (the element), CONV_POINTS_NAME and CONV_POINTS_PHASE
// (the functions), CONV_POINTS_TAP and CONV_POINTS_PHASE_TAP (local functions).

// One tap of neighbouring pixels of an output row. `out` belongs to the first; the next pixels
// follow `taps` entries apart. They read input row `row` (NULL: padding) from column x0 on.
static void CONV_POINTS_TAP(const struct smr_window *w, const CONV_POINTS_TYPE *row,
                            size_t pixel_stride, const CONV_POINTS_TYPE *zero, int64_t x0,
                            size_t count, size_t taps, const CONV_POINTS_TYPE **out) {
  const int64_t stride = w->stride[2], all = (int64_t)count;
  int64_t begin = x0 < 0 ? (-x0 + stride - 1) / stride : 0;
  int64_t end = x0 < w->in[2] ? (w->in[2] - x0 + stride - 1) / stride : 0;
  if (row == NULL || begin > all) begin = all;
  if (end > all) end = all;
  if (end < begin) end = begin;
  size_t i = 0;
  for (; i < (size_t)begin; i++) out[i * taps] = zero;
  if (begin < end) {
    const size_t step = (size_t)stride * pixel_stride;
    const CONV_POINTS_TYPE *p = row + (size_t)(x0 + begin * stride) * pixel_stride;
    out[i * taps] = p;
    for (i++; i < (size_t)end; i++) out[i * taps] = p += step;
  }
  for (; i < count; i++) out[i * taps] = zero;
}

void CONV_POINTS_NAME(const struct smr_window *w, const CONV_POINTS_TYPE *x, size_t pixel_stride,
                      const CONV_POINTS_TYPE *zero, size_t first, size_t count,
                      const CONV_POINTS_TYPE **out) {
  // Position of the first pixel: n, z, y, x.
  size_t at[4], rest = first;
  for (size_t i = 3; i > 0; i--) {
    at[i] = rest % (size_t)w->out[i - 1];
    rest /= (size_t)w->out[i - 1];
  }
  at[0] = rest;
  const size_t taps = (size_t)smr_window_taps(w), row_stride = (size_t)w->in[2] * pixel_stride;
  while (count > 0) {
    const size_t left = (size_t)w->out[2] - at[3], run = left < count ? left : count;
    const int64_t z0 = (int64_t)at[1] * w->stride[0] - w->pad_begin[0];
    const int64_t y0 = (int64_t)at[2] * w->stride[1] - w->pad_begin[1];
    const int64_t x0 = (int64_t)at[3] * w->stride[2] - w->pad_begin[2];
    const CONV_POINTS_TYPE **tap = out;
    for (int64_t kz = 0; kz < w->kernel[0]; kz++) {
      const int64_t z = z0 + kz * w->dilation[0];
      for (int64_t ky = 0; ky < w->kernel[1]; ky++) {
        const int64_t y = y0 + ky * w->dilation[1];
        const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
        const size_t line =
            inside ? (at[0] * (size_t)w->in[0] + (size_t)z) * (size_t)w->in[1] + (size_t)y : 0;
        const CONV_POINTS_TYPE *row = inside ? x + line * row_stride : NULL;
        for (int64_t kx = 0; kx < w->kernel[2]; kx++)
          CONV_POINTS_TAP(w, row, pixel_stride, zero, x0 + kx * w->dilation[2], run, taps, tap++);
      }
    }
    out += run * taps;
    count -= run;
    at[3] += run;
    size_t i = 3;
    while (i > 0 && at[i] == (size_t)w->out[i - 1]) {
      at[i--] = 0;
      at[i]++;
    }
  }
}

// One tap of `pixels` neighbouring pixels of a phase. The first reads column x0 of `row` (NULL:
// padding); pixel i lies inside if 0 <= x0 + i < width.
static void CONV_POINTS_PHASE_TAP(const struct smr_window *w, const CONV_POINTS_TYPE *row,
                                  size_t pixel_stride, const CONV_POINTS_TYPE *zero, int64_t x0,
                                  size_t pixels, size_t taps, const CONV_POINTS_TYPE **at) {
  int64_t begin = x0 < 0 ? -x0 : 0, end = w->in[2] - x0;
  if (row == NULL || begin > (int64_t)pixels) begin = (int64_t)pixels;
  if (end > (int64_t)pixels) end = (int64_t)pixels;
  if (end < begin) end = begin;
  size_t i = 0;
  for (; i < (size_t)begin; i++, at += taps) *at = zero;
  for (; i < (size_t)end; i++, at += taps) *at = row + (size_t)(x0 + (int64_t)i) * pixel_stride;
  for (; i < pixels; i++, at += taps) *at = zero;
}

void CONV_POINTS_PHASE(const struct smr_conv_phases *s, const struct smr_conv_phases_box *box,
                       const CONV_POINTS_TYPE *image, size_t pixel_stride,
                       const CONV_POINTS_TYPE *zero, const int64_t *out, size_t pixels,
                       const CONV_POINTS_TYPE **pointers) {
  const struct smr_window *w = &s->window;
  for (size_t jz = 0; jz < box->count[0]; jz++) {
    const int64_t z = smr_conv_phases_meets(s, box, 0, out[0], jz);
    for (size_t jy = 0; jy < box->count[1]; jy++) {
      const int64_t y = smr_conv_phases_meets(s, box, 1, out[1], jy);
      const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
      const CONV_POINTS_TYPE *row =
          inside ? image + (size_t)((z * w->in[1] + y) * w->in[2]) * pixel_stride : NULL;
      for (size_t jx = 0; jx < box->count[2]; jx++)
        CONV_POINTS_PHASE_TAP(w, row, pixel_stride, zero,
                              smr_conv_phases_meets(s, box, 2, out[2], jx), pixels, box->taps,
                              pointers++);
    }
  }
}

#undef CONV_POINTS_TYPE
#undef CONV_POINTS_NAME
#undef CONV_POINTS_TAP
#undef CONV_POINTS_PHASE
#undef CONV_POINTS_PHASE_TAP
