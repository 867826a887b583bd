// SPDX-License-Identifier: Apache-2.0
// Pool gradients of every ISA this CPU has, against their definition tap by tap.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_pool_grad/f32_pool_grad.h"

enum { DEPTH = 2, HEIGHT = 3, WIDTH = 2, TAPS = DEPTH * HEIGHT * WIDTH };

// A window whose taps lie two pixels apart along rows; it ends exactly where the buffer does.
static struct smr_pool_grad_window window_of(size_t channels, size_t *floats) {
  struct smr_pool_grad_window w = {.n = {DEPTH, HEIGHT, WIDTH},
                                   .stride = {HEIGHT * 4 * channels, 4 * channels, 2 * channels},
                                   .end = {DEPTH, HEIGHT, WIDTH}};
  *floats =
      (DEPTH - 1) * w.stride[0] + (HEIGHT - 1) * w.stride[1] + (WIDTH - 1) * w.stride[2] + channels;
  return w;
}

static size_t tap_at(const struct smr_pool_grad_window *w, size_t tap) {
  return tap / (HEIGHT * WIDTH) * w->stride[0] + tap / WIDTH % HEIGHT * w->stride[1] +
         tap % WIDTH * w->stride[2];
}

static int32_t largest_tap(const struct smr_pool_grad_window *w, size_t c) {
  int32_t best = 0;
  for (size_t tap = 1; tap < TAPS; tap++) {
    const float v = w->x[tap_at(w, tap) + c], top = w->x[tap_at(w, (size_t)best) + c];
    if (v > top || v != v) best = (int32_t)tap;
  }
  return best;
}

static bool in_box(const struct smr_pool_grad_window *w, size_t tap) {
  const size_t at[3] = {tap / (HEIGHT * WIDTH), tap / WIDTH % HEIGHT, tap % WIDTH};
  bool in = true;
  for (int a = 0; a < 3; a++) in = in && at[a] >= w->begin[a] && at[a] < w->end[a];
  return in;
}

static void check_table(const struct smr_f32_pool_grad *table, size_t channels) {
  uint32_t seed = (uint32_t)channels;
  size_t n;
  struct smr_pool_grad_window w = window_of(channels, &n);
  float *x = kernel_floats(n, &seed), *dy = kernel_floats(channels, &seed);
  // Ties and NaNs.
  for (size_t i = 0; i < n; i++) {
    x[i] = (float)(int32_t)(kernel_random(&seed) % 5);
    if (kernel_random(&seed) % 19 == 0) x[i] = NAN;
  }
  w.x = x;
  int32_t *taps = kernel_alloc(channels * sizeof *taps, 4);
  table->where(channels, &w, taps);
  for (size_t c = 0; c < channels; c++) CHECK_EQ_INT(taps[c], largest_tap(&w, c));
  for (int part = 0; part < 2; part++) {
    if (part) w.begin[1] = 1, w.end[0] = 1;
    float *dx = kernel_floats(n, &seed), *before = kernel_floats(n, &seed);
    memcpy(before, dx, n * sizeof *dx);
    w.dx = dx;
    table->pick(channels, &w, dy, taps);
    for (size_t tap = 0; tap < TAPS; tap++)
      for (size_t c = 0; c < channels; c++) {
        const size_t at = tap_at(&w, tap) + c;
        const bool hit = in_box(&w, tap) && taps[c] == (int32_t)tap;
        CHECK(dx[at] == before[at] + (hit ? dy[c] : 0.0f));
      }
    memcpy(dx, before, n * sizeof *dx);
    table->spread(channels, &w, dy, 0.3f);
    for (size_t tap = 0; tap < TAPS; tap++)
      for (size_t c = 0; c < channels; c++) {
        const size_t at = tap_at(&w, tap) + c;
        const float more = dy[c] * 0.3f;
        CHECK(dx[at] == before[at] + (in_box(&w, tap) ? more : 0.0f));
      }
    kernel_free(dx, 4), kernel_free(before, 4);
  }
  kernel_free(taps, 4), kernel_free(x, 4), kernel_free(dy, 4);
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes)                                \
  if (KERNEL_RUNS(bit, suffix))                                        \
    for (size_t channels = 1; channels <= 3 * (lanes) + 3; channels++) \
      check_table(smr_f32_pool_grad_config(bit), channels);
#include "kernels/training.inc"
#undef SMR_UKERNEL
  CHECK_STR(smr_f32_pool_grad_config(SMR_ISA_NONE)->name, "f32_pool_grad__scalar");
}

SMR_TEST_MAIN(RUN(every_table))
