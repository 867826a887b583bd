// SPDX-License-Identifier: Apache-2.0
// Weights of 8 and 4 bits on every ISA this CPU has, against their definition.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_narrow/f32_narrow.h"
#include "simd/half.h"

// Weights as numbers, and the panel that holds them.
struct weights {
  smr_narrow_type type;
  size_t rows, block, blocks, panel_bytes;
  int32_t *q;  // [rows][16]
  uint8_t *panel;
  float *scales;
  uint16_t *half_scales, *zeros;
};

static int32_t drawn(smr_narrow_type type, uint32_t *seed) {
  const uint32_t bits = kernel_random(seed) >> 8;
  if (type == SMR_NARROW_I8) return (int32_t)(bits & 255) - 128;
  return type == SMR_NARROW_I4 ? (int32_t)(bits & 15) - 8 : (int32_t)(bits & 15);
}

static void weights_pack(struct weights *w) {
  for (size_t r = 0; r < w->rows; r++) {
    for (size_t n = 0; n < 16; n++) {
      const uint32_t q = (uint32_t)w->q[r * 16 + n];
      if (w->type == SMR_NARROW_I8) {
        w->panel[r / 4 * 64 + n * 4 + r % 4] = (uint8_t)q;
        continue;
      }
      const size_t in = r % 32, at = (r / 32 * 4 + in % 16 / 4) * 64 + n * 4 + in % 4;
      w->panel[at] = (uint8_t)(w->panel[at] | (q & 15u) << (in < 16 ? 0 : 4));
    }
  }
}

static struct weights weights_make(smr_narrow_type type, size_t rows, size_t block, uint32_t seed) {
  struct weights w = {.type = type, .rows = rows, .block = block};
  w.blocks = (rows + block - 1) / block;
  w.panel_bytes = smr_narrow_panel_bytes(type, rows);
  w.q = (int32_t *)kernel_alloc(rows * 16 * sizeof *w.q, 4);
  w.panel = (uint8_t *)kernel_alloc(w.panel_bytes, 4);
  memset(w.panel, 0xa5, w.panel_bytes);
  memset(w.panel, 0, smr_narrow_stored_rows(type, rows) * (type == SMR_NARROW_I8 ? 16 : 8));
  w.scales = (float *)kernel_alloc(w.blocks * 16 * sizeof *w.scales, 4);
  w.half_scales = (uint16_t *)kernel_alloc(w.blocks * 16 * sizeof *w.half_scales, 2);
  w.zeros = (uint16_t *)kernel_alloc(w.blocks * 16 * sizeof *w.zeros, 2);
  for (size_t i = 0; i < rows * 16; i++) w.q[i] = drawn(type, &seed);
  for (size_t i = 0; i < w.blocks * 16; i++) {
    w.half_scales[i] = smr_f32_to_f16(0.01f + 0.001f * (float)(i % 37));
    w.scales[i] = smr_f16_to_f32(w.half_scales[i]);
    w.zeros[i] = smr_f32_to_f16((float)drawn(type, &seed));
  }
  weights_pack(&w);
  return w;
}

static void weights_free(struct weights *w) {
  kernel_free(w->q, 4);
  kernel_free(w->panel, 4);
  kernel_free(w->scales, 4);
  kernel_free(w->half_scales, 2);
  kernel_free(w->zeros, 2);
}

static float value(const struct weights *w, size_t r, size_t n, bool shifted) {
  const size_t at = r / w->block * 16 + n;
  const float zero = shifted ? smr_f16_to_f32(w->zeros[at]) : 0.0f;
  return ((float)w->q[r * 16 + n] - zero) * w->scales[at];
}

static void check_panel(const struct smr_f32_narrow_config *k, const struct weights *w,
                        bool shifted, bool half) {
  const struct smr_f32_narrow_panel panel = {
      .w = w->panel,
      .rows = w->rows,
      .block = w->block,
      .scales = half ? (const void *)w->half_scales : (const void *)w->scales,
      .zeros = shifted ? w->zeros : NULL,
      .scales_are_f16 = half,
  };
  // From the start, from the middle of a group, one row.
  const size_t firsts[] = {0, w->rows / 3, w->rows - 1};
  for (size_t f = 0; f < 3; f++) {
    const size_t first = firsts[f], count = f == 1 ? (w->rows - first + 1) / 2 : w->rows - first;
    float *out = (float *)kernel_alloc(count * 16 * sizeof *out, 4);
    k->expand[w->type](&panel, first, count, out);
    for (size_t i = 0; i < count * 16; i++)
      CHECK(out[i] == value(w, first + i / 16, i % 16, shifted));
    kernel_free(out, 4);
  }
  uint32_t seed = (uint32_t)w->rows;
  float *a = kernel_floats(w->rows, &seed), sums[16];
  for (size_t n = 0; n < 16; n++) sums[n] = (float)n;
  k->row[w->type](&panel, a, sums);
  for (size_t n = 0; n < 16; n++) {
    double sum = (double)n, size = 1;
    for (size_t r = 0; r < w->rows; r++) {
      const double term = (double)a[r] * (double)value(w, r, n, shifted);
      sum += term;
      size += fabs(term);
    }
    CHECK_NEAR(sums[n], sum, size * 1e-6);
  }
  kernel_free(a, 4);
}

static void check_kernels(const struct smr_f32_narrow_config *k) {
  static const size_t rows[] = {1, 3, 4, 15, 16, 17, 31, 32, 33, 63, 64, 100, 257};
  static const size_t blocks[] = {16, 32, 64, 256};
  for (int type = 0; type < 3; type++)
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
      for (size_t b = 0; b < 4; b++) {
        struct weights w =
            weights_make((smr_narrow_type)type, rows[r], blocks[b], 7u + (uint32_t)r);
        for (int form = 0; form < 4; form++) check_panel(k, &w, form & 1, form >> 1);
        weights_free(&w);
      }
}

SMR_TEST(values_and_sums) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_f32_narrow_config(bit));
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(stored_sizes) {
  CHECK(smr_narrow_stored_rows(SMR_NARROW_I8, 5) == 8);
  CHECK(smr_narrow_stored_rows(SMR_NARROW_U4, 33) == 64);
  CHECK(smr_narrow_panel_bytes(SMR_NARROW_I8, 5) == 128);
  CHECK(smr_narrow_panel_bytes(SMR_NARROW_I4, 32) == 256);
}

SMR_TEST_MAIN(RUN(values_and_sums); RUN(stored_sizes))
