// SPDX-License-Identifier: Apache-2.0
// Gathers patches of bytes.
#include "base/fp.h"

#include "ops/conv/qpatches.h"

#include "base/lean.h"
#include "simd/common.h"

#include <string.h>

enum {
  QPATCHES_WORD = 16,
  QPATCHES_SHORT = 256,
  QPATCHES_STRIP = SMR_LEAN(512, 128),  // bytes of a row that are padded together
};

// `count` pieces of word .. 2 * word bytes as two words that may overlap; `word` is a constant.
SMR_INLINE void qpatches_pairs(size_t word, size_t count, size_t n, const int8_t *from,
                               size_t from_step, int8_t *to, size_t to_step) {
  for (; count > 0; count--, from += from_step, to += to_step) {
    int8_t tail[QPATCHES_WORD];
    memcpy(tail, from + n - word, word);
    memcpy(to, from, word);
    memcpy(to + n - word, tail, word);
  }
}

// `count` pieces of n bytes. A call of memcpy for each short one would take longer than the
// product.
SMR_HOT static void qpatches_copy(size_t count, size_t n, const int8_t *from, size_t from_step,
                                  int8_t *to, size_t to_step) {
  if (n > QPATCHES_SHORT) {
    for (; count > 0; count--, from += from_step, to += to_step) smr_copy(to, from, n);
  } else if (n > 2 * QPATCHES_WORD) {
    for (; count > 0; count--, from += from_step, to += to_step) {
      for (size_t i = 0; i < n - QPATCHES_WORD; i += QPATCHES_WORD)
        memcpy(to + i, from + i, QPATCHES_WORD);
      memcpy(to + n - QPATCHES_WORD, from + n - QPATCHES_WORD, QPATCHES_WORD);
    }
  } else if (n >= QPATCHES_WORD) {
    qpatches_pairs(QPATCHES_WORD, count, n, from, from_step, to, to_step);
  } else if (n >= 8) {
    qpatches_pairs(8, count, n, from, from_step, to, to_step);
  } else if (n >= 4) {
    qpatches_pairs(4, count, n, from, from_step, to, to_step);
  } else if (n >= 2) {
    qpatches_pairs(2, count, n, from, from_step, to, to_step);
  } else if (n == 1) {
    for (; count > 0; count--, from += from_step, to += to_step) *to = *from;
  }
}

SMR_HOT static void qpatches_fill(size_t count, size_t n, int8_t value, int8_t *to,
                                  size_t to_step) {
  for (; count > 0; count--, to += to_step) smr_fill(to, value, n);
}

// Of `count` neighbouring output pixels, those [begin, end) whose taps at columns x0 + pixel *
// stride to `last` further on all lie inside.
struct qpatches_span {
  size_t begin, end;
};

SMR_HOT static struct qpatches_span qpatches_inside(const struct smr_window *w, int64_t x0,
                                                    int64_t last, size_t count) {
  const int64_t stride = w->stride[2], all = (int64_t)count, room = w->in[2] - x0 - last;
  int64_t begin = x0 < 0 ? (-x0 + stride - 1) / stride : 0;
  int64_t end = room > 0 ? (room + stride - 1) / stride : 0;
  if (begin > all) begin = all;
  if (end > all) end = all;
  if (end < begin) end = begin;
  return (struct qpatches_span){(size_t)begin, (size_t)end};
}

// One tap of `run` neighbouring output pixels, the first of which meets column x0; `row` is the row
// of x, or NULL in the padding.
SMR_HOT static void qpatches_tap(const struct smr_qpatches *p, const int8_t *row, int64_t x0,
                                 size_t run, int8_t *to) {
  const struct smr_window *w = p->window;
  const size_t group_bytes = (size_t)smr_window_taps(w) * p->channels, stride = p->row_stride;
  struct qpatches_span in = {0, 0};
  if (row != NULL) in = qpatches_inside(w, x0, 0, run);
  for (size_t g = 0; g < p->groups; g++, to += group_bytes) {
    qpatches_fill(in.begin, p->channels, p->zero, to, stride);
    qpatches_fill(run - in.end, p->channels, p->zero, to + in.end * stride, stride);
    if (in.begin >= in.end) continue;
    const size_t column = (size_t)(x0 + (int64_t)in.begin * w->stride[2]);
    qpatches_copy(in.end - in.begin, p->channels, row + column * p->pixel_stride + g * p->channels,
                  (size_t)w->stride[2] * p->pixel_stride, to + in.begin * stride, stride);
  }
}

// Columns [x, x + width) of a row without gaps between pixels, with what is in the padding.
SMR_HOT static void qpatches_padded(const struct smr_qpatches *p, const int8_t *row, int64_t x,
                                    size_t width, int8_t *to) {
  const int64_t room = p->window->in[2] - x, most = (int64_t)width;
  const int64_t first = x < 0 ? -x : 0, last = room < most ? room : most;
  smr_fill(to, p->zero, width * p->channels);
  if (row != NULL && first < last)
    smr_copy(to + (size_t)first * p->channels, row + (size_t)(x + first) * p->channels,
             (size_t)(last - first) * p->channels);
}

// All taps of a row, which lie side by side, for pixels [begin, end) of a run that may meet
// padding. What several of them overlap on is padded once.
SMR_HOT static void qpatches_edge(const struct smr_qpatches *p, const int8_t *row, int64_t x0,
                                  size_t begin, size_t end, int8_t *to) {
  const struct smr_window *w = p->window;
  const size_t kernel = (size_t)w->kernel[2], stride = (size_t)w->stride[2];
  const size_t all = kernel * p->channels, step = row == NULL ? 0 : stride * p->channels;
  int8_t strip[QPATCHES_STRIP];
  size_t most = 1;  // pixels of a strip
  if (step == 0)
    most = SIZE_MAX;
  else if (all <= QPATCHES_STRIP)
    most = (QPATCHES_STRIP - all) / step + 1;
  to += begin * p->row_stride;
  for (size_t n; begin < end; begin += n, to += n * p->row_stride) {
    const int64_t x = x0 + (int64_t)(begin * stride);
    if (all > QPATCHES_STRIP) {
      n = 1;
      qpatches_padded(p, row, x, kernel, to);
      continue;
    }
    n = end - begin < most ? end - begin : most;
    qpatches_padded(p, row, x, row == NULL ? kernel : (n - 1) * stride + kernel, strip);
    qpatches_copy(n, all, strip, step, to, p->row_stride);
  }
}

// A row of taps of `run` neighbouring output pixels. Where the bytes of all its taps lie side by
// side, they are copied as one.
SMR_HOT static void qpatches_line(const struct smr_qpatches *p, const int8_t *row, int64_t x0,
                                  size_t run, int8_t *to) {
  const struct smr_window *w = p->window;
  const int64_t kernel = w->kernel[2], step = w->dilation[2];
  if (p->groups != 1 || p->pixel_stride != p->channels || step != 1) {
    for (int64_t kx = 0; kx < kernel; kx++, to += p->channels)
      qpatches_tap(p, row, x0 + kx * step, run, to);
    return;
  }
  struct qpatches_span whole = {0, 0};
  if (row != NULL) whole = qpatches_inside(w, x0, kernel - 1, run);
  qpatches_edge(p, row, x0, 0, whole.begin, to);
  qpatches_edge(p, row, x0, whole.end, run, to);
  if (whole.begin >= whole.end) return;
  const size_t column = (size_t)(x0 + (int64_t)whole.begin * w->stride[2]);
  qpatches_copy(whole.end - whole.begin, (size_t)kernel * p->channels,
                row + column * p->pixel_stride, (size_t)w->stride[2] * p->pixel_stride,
                to + whole.begin * p->row_stride, p->row_stride);
}

samara_status smr_qpatches_gather(struct smr_deadline_watch *watch, const struct smr_qpatches *p,
                                  size_t first, size_t count, int8_t *rows) {
  const struct smr_window *w = p->window;
  // Position of the first pixel: n, z, y, x.
  size_t at[4], rest = first;
  for (size_t i = 3; i > 0; i--) {
    at[i] = rest % (size_t)w->out[i - 1];
    rest /= (size_t)w->out[i - 1];
  }
  at[0] = rest;
  const size_t line_bytes = (size_t)w->in[2] * p->pixel_stride;
  const size_t taps_bytes = (size_t)w->kernel[2] * p->channels;
  while (count > 0) {
    const size_t left = (size_t)w->out[2] - at[3], run = left < count ? left : count;
    const int64_t z0 = (int64_t)at[1] * w->stride[0] - w->pad_begin[0];
    const int64_t y0 = (int64_t)at[2] * w->stride[1] - w->pad_begin[1];
    const int64_t x0 = (int64_t)at[3] * w->stride[2] - w->pad_begin[2];
    int8_t *to = rows;
    for (int64_t kz = 0; kz < w->kernel[0]; kz++) {
      const int64_t z = z0 + kz * w->dilation[0];
      for (int64_t ky = 0; ky < w->kernel[1]; ky++, to += taps_bytes) {
        const int64_t y = y0 + ky * w->dilation[1];
        const bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
        const size_t line =
            inside ? (at[0] * (size_t)w->in[0] + (size_t)z) * (size_t)w->in[1] + (size_t)y : 0;
        SMR_TRY(smr_deadline_step(watch, run * taps_bytes * p->groups / 8));
        qpatches_line(p, inside ? p->x + line * line_bytes : NULL, x0, run, to);
      }
    }
    rows += run * p->row_stride;
    count -= run;
    at[3] += run;
    size_t i = 3;
    while (i > 0 && at[i] == (size_t)w->out[i - 1]) {
      at[i--] = 0;
      at[i]++;
    }
  }
  return SAMARA_OK;
}
