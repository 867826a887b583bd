// SPDX-License-Identifier: Apache-2.0
// Outer products of every ISA this CPU has, against sums in double over the same pixels.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_outer/f32_outer.h"

enum { GUARD = 3 };  // floats beside the result that nothing may touch

// Steps of one side: `width` floats at each pixel, with gaps everywhere. The last pixel ends where
// the buffer does.
struct side {
  size_t step, row, plane, size;
};

static struct side side_of(const struct smr_f32_outer_walk *w, size_t width, size_t gap) {
  struct side s;
  s.step = width + gap;
  s.row = w->pixels * s.step + gap;
  s.plane = w->rows * s.row + 2 * gap;
  s.size = (w->planes - 1) * s.plane + (w->rows - 1) * s.row + (w->pixels - 1) * s.step + width;
  return s;
}

static void set_sides(struct smr_f32_outer_walk *w, struct side a, struct side b) {
  w->a_step = a.step, w->a_row = a.row, w->a_plane = a.plane;
  w->b_step = b.step, w->b_row = b.row, w->b_plane = b.plane;
}

static double product_sum(const struct smr_f32_outer_walk *w, size_t i, size_t j) {
  double sum = 0;
  for (size_t plane = 0; plane < w->planes; plane++)
    for (size_t row = 0; row < w->rows; row++)
      for (size_t p = 0; p < w->pixels; p++)
        sum += (double)w->a[plane * w->a_plane + row * w->a_row + p * w->a_step + i] *
               (double)w->b[plane * w->b_plane + row * w->b_row + p * w->b_step + j];
  return sum;
}

// Everything beside the [rows][columns] of the result is as it was.
static void check_beside(const float *out, size_t rows, size_t columns, size_t stride) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = columns; j < stride; j++) CHECK(out[i * stride + j] == 1.0f);
}

static void check_tile(smr_f32_outer_ukernel ukernel, size_t height, size_t width,
                       struct smr_f32_outer_walk w, size_t gap) {
  uint32_t seed = (uint32_t)(height * 97 + width);
  const struct side a = side_of(&w, height, gap), b = side_of(&w, width, gap);
  set_sides(&w, a, b);
  float *pa = kernel_floats(a.size, &seed), *pb = kernel_floats(b.size, &seed);
  w.a = pa, w.b = pb;
  w.out_stride = width + GUARD;
  float *out = kernel_alloc(height * w.out_stride * sizeof *out, 4);
  for (size_t i = 0; i < height * w.out_stride; i++) out[i] = 1.0f;
  w.out = out;
  ukernel(height, width, &w);
  const double pixels = (double)(w.planes * w.rows * w.pixels);
  for (size_t i = 0; i < height; i++)
    for (size_t j = 0; j < width; j++)
      CHECK_NEAR(out[i * w.out_stride + j], 1 + product_sum(&w, i, j), 2e-7 * (pixels + 2));
  check_beside(out, height, width, w.out_stride);
  // Merging steps keeps the order of pixels, and so the bits.
  float *again = kernel_alloc(height * w.out_stride * sizeof *out, 4);
  for (size_t i = 0; i < height * w.out_stride; i++) again[i] = 1.0f;
  smr_f32_outer_merge(&w);
  w.out = again;
  ukernel(height, width, &w);
  CHECK_MEM(again, out, height * w.out_stride * sizeof *out);
  kernel_free(again, 4), kernel_free(out, 4), kernel_free(pa, 4), kernel_free(pb, 4);
}

static void check_diagonal(smr_f32_outer_diagonal_ukernel diagonal, size_t taps, size_t channels,
                           struct smr_f32_outer_walk w) {
  uint32_t seed = (uint32_t)(taps * 31 + channels);
  const size_t b_tap = channels + 1;
  const struct side a = side_of(&w, channels, 1), b = side_of(&w, taps * b_tap - 1, 2);
  set_sides(&w, a, b);
  float *pa = kernel_floats(a.size, &seed), *pb = kernel_floats(b.size, &seed);
  w.a = pa, w.b = pb;
  w.out_stride = channels + GUARD;
  float *out = kernel_alloc(taps * w.out_stride * sizeof *out, 4);
  for (size_t i = 0; i < taps * w.out_stride; i++) out[i] = 1.0f;
  w.out = out;
  diagonal(taps, channels, b_tap, &w);
  for (size_t t = 0; t < taps; t++)
    for (size_t c = 0; c < channels; c++) {
      struct smr_f32_outer_walk at = w;
      at.b = pb + t * b_tap;
      CHECK_NEAR(out[t * w.out_stride + c], 1 + product_sum(&at, c, c), 1e-5);
    }
  check_beside(out, taps, channels, w.out_stride);
  kernel_free(out, 4), kernel_free(pa, 4), kernel_free(pb, 4);
}

static const struct smr_f32_outer_walk walks[] = {
    {.planes = 1, .rows = 1, .pixels = 1}, {.planes = 1, .rows = 1, .pixels = 9},
    {.planes = 1, .rows = 5, .pixels = 1}, {.planes = 3, .rows = 1, .pixels = 4},
    {.planes = 2, .rows = 3, .pixels = 5}, {.planes = 4, .rows = 1, .pixels = 1},
    {.planes = 2, .rows = 3, .pixels = 0},
};

static void check_config(const struct smr_f32_outer_config *config) {
  for (size_t k = 0; k < sizeof walks / sizeof walks[0]; k++) {
    if (walks[k].pixels == 0) continue;
    for (size_t height = 1; height <= config->tall; height++)
      for (size_t width = 1; width <= (height > config->mr ? config->narrow : config->nr); width++)
        check_tile(config->ukernel, height, width, walks[k], (height + width) % 2 * 3);
    for (size_t taps = 1; taps <= 8; taps++)
      for (size_t channels = 1; channels <= 37; channels += channels < 18 ? 1 : 5)
        check_diagonal(config->diagonal, taps, channels, walks[k]);
  }
}

SMR_TEST(every_kernel) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_config(smr_f32_outer_config((bit)));
#include "kernels/training.inc"
#undef SMR_UKERNEL
}

SMR_TEST(merging) {
  // Dense on both sides: one run.
  struct smr_f32_outer_walk w = {.planes = 2, .rows = 3, .pixels = 4};
  set_sides(&w, (struct side){5, 20, 60, 0}, (struct side){7, 28, 84, 0});
  smr_f32_outer_merge(&w);
  CHECK(w.planes == 1 && w.rows == 1 && w.pixels == 24 && w.a_step == 5 && w.b_step == 7);
  // Rows apart on one side: planes cannot merge either.
  w = (struct smr_f32_outer_walk){.planes = 2, .rows = 3, .pixels = 4};
  set_sides(&w, (struct side){5, 20, 60, 0}, (struct side){7, 30, 90, 0});
  smr_f32_outer_merge(&w);
  CHECK(w.planes == 2 && w.rows == 3 && w.pixels == 4);
  // Columns: rows take the place of pixels, planes that of rows.
  w = (struct smr_f32_outer_walk){.planes = 2, .rows = 3, .pixels = 1};
  set_sides(&w, (struct side){5, 20, 70, 0}, (struct side){7, 28, 84, 0});
  smr_f32_outer_merge(&w);
  CHECK(w.planes == 1 && w.rows == 2 && w.pixels == 3 && w.a_step == 20 && w.b_row == 84);
}

SMR_TEST_MAIN(RUN(every_kernel); RUN(merging))
