// SPDX-License-Identifier: Apache-2.0
// Gathered patches against their definition.
#include "base/fp.h"

#include "ops/conv/qpatches.h"

#include "harness.h"

#include <stdlib.h>

enum { ZERO = -3, UNTOUCHED = 77 };

// Byte `byte` of the row of output pixel `pixel`.
static int8_t expected(const struct smr_qpatches *p, size_t pixel, size_t byte) {
  const struct smr_window *w = p->window;
  const size_t taps = (size_t)(w->kernel[0] * w->kernel[1] * w->kernel[2]);
  const size_t group = byte / (taps * p->channels), c = byte % p->channels;
  size_t tap = byte / p->channels % taps, rest = pixel, place = 0, step = 1;
  for (size_t i = SMR_MAX_SPATIAL; i-- > 0;) {
    const int64_t o = (int64_t)(rest % (size_t)w->out[i]),
                  t = (int64_t)(tap % (size_t)w->kernel[i]);
    const int64_t at = o * w->stride[i] + t * w->dilation[i] - w->pad_begin[i];
    rest /= (size_t)w->out[i];
    tap /= (size_t)w->kernel[i];
    if (at < 0 || at >= w->in[i]) return ZERO;
    place += (size_t)at * step;
    step *= (size_t)w->in[i];
  }
  return p->x[(rest * step + place) * p->pixel_stride + group * p->channels + c];
}

static void run_case(const struct smr_window *w, size_t groups, size_t channels, size_t gap) {
  const size_t pixel = groups * channels + gap;
  const size_t in = (size_t)(w->batch * w->in[0] * w->in[1] * w->in[2]);
  const size_t pixels = (size_t)(w->batch * w->out[0] * w->out[1] * w->out[2]);
  const size_t bytes = groups * channels * (size_t)(w->kernel[0] * w->kernel[1] * w->kernel[2]);
  const size_t x_bytes = in * pixel - gap, stride = bytes + 5;
  int8_t *x = malloc(x_bytes), *rows = malloc(pixels * stride);
  for (size_t i = 0; i < x_bytes; i++) x[i] = (int8_t)(i * 37 % 251);
  const struct smr_qpatches p = {.window = w,
                                 .x = x,
                                 .pixel_stride = pixel,
                                 .groups = groups,
                                 .channels = channels,
                                 .zero = ZERO,
                                 .row_stride = stride};
  const struct smr_job job = {.name = "no deadline"};
  struct smr_deadline_watch watch = {.job = &job};
  for (size_t first = 0; first < pixels; first += 3) {
    const size_t count = first % 2 ? pixels - first : 1;
    memset(rows, UNTOUCHED, pixels * stride);
    CHECK_EQ_INT(smr_qpatches_gather(&watch, &p, first, count, rows), SAMARA_OK);
    for (size_t i = 0; i < count * stride; i++) {
      const int want =
          i % stride < bytes ? expected(&p, first + i / stride, i % stride) : UNTOUCHED;
      if (!CHECK_EQ_INT(rows[i], want)) break;
    }
  }
  free(x), free(rows);
}

SMR_TEST(against_the_definition) {
  static const struct smr_window windows[] = {
      {.in = {1, 6, 9},
       .out = {1, 4, 5},
       .kernel = {1, 3, 3},
       .stride = {1, 2, 2},
       .dilation = {1, 1, 1},
       .pad_begin = {0, 1, 1},
       .batch = 2},
      {.in = {2, 3, 5},
       .out = {2, 3, 6},
       .kernel = {2, 1, 3},
       .stride = {1, 1, 1},
       .dilation = {1, 1, 2},
       .pad_begin = {1, 0, 3},
       .batch = 1},
      {.in = {1, 1, 2},
       .out = {1, 1, 7},
       .kernel = {1, 1, 4},
       .stride = {1, 1, 1},
       .dilation = {1, 1, 1},
       .pad_begin = {0, 0, 4},
       .batch = 3},
  };
  // Rows of taps of every length that is copied in a way of its own.
  static const size_t channels[] = {1, 2, 3, 5, 7, 11, 33, 90};
  for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++) {
      run_case(&windows[i], 1, channels[c], 0);
      run_case(&windows[i], 1, channels[c], 2);
      run_case(&windows[i], 2, channels[c], 0);
    }
}

SMR_TEST_MAIN(RUN(against_the_definition))
