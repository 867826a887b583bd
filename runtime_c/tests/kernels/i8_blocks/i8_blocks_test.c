// SPDX-License-Identifier: Apache-2.0
// Products in blocks on every ISA this CPU has: the bits of their definition.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/i8_blocks/i8_blocks.h"
#include "simd/half.h"

#include <math.h>

enum { MOST_ROWS = 19 };

// One panel and rows of x, as numbers and as kernels read them.
struct product {
  smr_narrow_type type;
  size_t rows, block, blocks, stride;
  int32_t *q;  // [rows][16]
  uint8_t *panel;
  float *scales;
  uint16_t *half_scales, *zeros;
  int8_t *x;      // [MOST_ROWS][stride]
  int32_t *less;  // [MOST_ROWS][blocks]
  float row_scale[MOST_ROWS], bias[16];
};

static int32_t drawn(smr_narrow_type type, uint32_t *seed) {
  const uint32_t bits = kernel_random(seed) >> 8;
  if (type == SMR_NARROW_I8) return (int32_t)(bits & 255) - 128;
  return type == SMR_NARROW_I4 ? (int32_t)(bits & 15) - 8 : (int32_t)(bits & 15);
}

static void product_pack(struct product *p) {
  for (size_t r = 0; r < p->rows; r++) {
    for (size_t n = 0; n < 16; n++) {
      const uint32_t q = (uint32_t)p->q[r * 16 + n];
      if (p->type == SMR_NARROW_I8) {
        p->panel[r / 4 * 64 + n * 4 + r % 4] = (uint8_t)q;
        continue;
      }
      const size_t in = r % 32, at = (r / 32 * 4 + in % 16 / 4) * 64 + n * 4 + in % 4;
      const int shift = in < 16 ? 0 : 4;
      p->panel[at] = (uint8_t)((p->panel[at] & ~(15u << shift)) | (q & 15u) << shift);
    }
  }
}

// `extreme`: all weights and elements of x at the ends of their ranges, where int16 sums would
// overflow first.
static struct product product_make(smr_narrow_type type, size_t rows, size_t block, bool extreme,
                                   uint32_t seed) {
  struct product p = {.type = type, .rows = rows, .block = block};
  p.blocks = (rows + block - 1) / block;
  p.stride = (rows + SMR_I8_BLOCKS_ALIGN - 1) / SMR_I8_BLOCKS_ALIGN * SMR_I8_BLOCKS_ALIGN;
  const size_t panel_bytes = smr_narrow_panel_bytes(type, rows);
  p.q = (int32_t *)kernel_alloc(rows * 16 * sizeof *p.q, 4);
  p.panel = (uint8_t *)kernel_alloc(panel_bytes, 4);
  // Padding has any value.
  for (size_t i = 0; i < panel_bytes; i++) p.panel[i] = (uint8_t)kernel_random(&seed);
  p.scales = (float *)kernel_alloc(p.blocks * 16 * sizeof *p.scales, 4);
  p.half_scales = (uint16_t *)kernel_alloc(p.blocks * 16 * sizeof *p.half_scales, 2);
  p.zeros = (uint16_t *)kernel_alloc(p.blocks * 16 * sizeof *p.zeros, 2);
  for (size_t i = 0; i < rows * 16; i++) {
    p.q[i] = drawn(type, &seed);
    if (extreme) p.q[i] = type == SMR_NARROW_U4 ? 15 : type == SMR_NARROW_I4 ? 7 : -128;
    if (extreme && i % 16 == 3)
      p.q[i] = type == SMR_NARROW_I8 ? 127 : type == SMR_NARROW_I4 ? -8 : 0;
  }
  for (size_t i = 0; i < p.blocks * 16; i++) {
    p.half_scales[i] = smr_f32_to_f16(0.01f + 0.001f * (float)(i % 37));
    if (i % 11 == 5) p.half_scales[i] = 3;  // subnormal
    p.scales[i] = smr_f16_to_f32(p.half_scales[i]);
    p.zeros[i] =
        smr_f32_to_f16((float)(type == SMR_NARROW_U4 && i % 3 == 0 ? 255 : drawn(type, &seed)));
  }
  product_pack(&p);
  p.x = (int8_t *)kernel_alloc(MOST_ROWS * p.stride, 1);
  p.less = (int32_t *)kernel_alloc(MOST_ROWS * p.blocks * sizeof *p.less, 4);
  memset(p.x, 0, MOST_ROWS * p.stride);
  for (size_t i = 0; i < MOST_ROWS; i++) {
    int8_t *x = p.x + i * p.stride;
    for (size_t r = 0; r < rows; r++) {
      x[r] = (int8_t)((int32_t)(kernel_random(&seed) >> 8) % 255 - 127);
      if (extreme) x[r] = i % 3 == 0 ? 127 : i % 3 == 1 ? -127 : (r & 2) != 0 ? -127 : 127;
    }
    p.row_scale[i] = 0.003f + 0.01f * (float)i;
  }
  p.row_scale[MOST_ROWS - 1] = NAN;
  for (size_t n = 0; n < 16; n++) p.bias[n] = (float)n - 7.25f;
  return p;
}

static void product_free(struct product *p) {
  kernel_free(p->q, 4);
  kernel_free(p->panel, 4);
  kernel_free(p->scales, 4);
  kernel_free(p->half_scales, 2);
  kernel_free(p->zeros, 2);
  kernel_free(p->x, 1);
  kernel_free(p->less, 4);
}

static float expected(const struct product *p, size_t i, size_t n, bool shifted, bool biased,
                      float lo, float hi) {
  float acc = 0.0f;
  for (size_t b = 0; b < p->blocks; b++) {
    const int32_t zero = shifted ? (int32_t)smr_f16_to_f32(p->zeros[b * 16 + n]) : 0;
    int32_t sum = 0;
    for (size_t r = b * p->block; r < p->rows && r < (b + 1) * p->block; r++)
      sum += p->x[i * p->stride + r] * (p->q[r * 16 + n] - zero);
    const float product = (float)sum * p->scales[b * 16 + n];
    acc = acc + product;
  }
  float y = acc * p->row_scale[i];
  if (biased) y = y + p->bias[n];
  y = lo > y ? lo : y;
  return hi < y ? hi : y;
}

static void check_product(const struct smr_i8_blocks_config *k, const struct product *p,
                          bool shifted, bool half, size_t rows, size_t columns) {
  const bool biased = rows % 2 != 0;
  const float lo = columns == 16 ? -INFINITY : -4.0f, hi = columns == 16 ? INFINITY : 5.0f;
  const size_t out_stride = columns + 3;
  for (size_t i = 0; i < MOST_ROWS; i++)
    smr_i8_blocks_less(p->rows, p->block, p->x + i * p->stride, shifted ? 1 : k->shift[p->type],
                       p->less + i * p->blocks);
  float *out = (float *)kernel_alloc(rows * out_stride * sizeof *out, 4);
  for (size_t i = 0; i < rows * out_stride; i++) out[i] = 77.0f;
  const struct smr_i8_blocks_call call = {
      .panel = {.w = p->panel,
                .rows = p->rows,
                .block = p->block,
                .scales = half ? (const void *)p->half_scales : (const void *)p->scales,
                .zeros = shifted ? p->zeros : NULL,
                .scales_are_f16 = half},
      .type = p->type,
      .x = p->x + (MOST_ROWS - rows) * p->stride,
      .x_stride = p->stride,
      .x_less = p->less + (MOST_ROWS - rows) * p->blocks,
      .less_stride = p->blocks,
      .shift = k->shift[p->type],
      .row_scale = p->row_scale + (MOST_ROWS - rows),
      .bias = biased ? p->bias : NULL,
      .lo = lo,
      .hi = hi,
      .out = out,
      .out_stride = out_stride,
      .columns = columns,
  };
  k->rows[p->type == SMR_NARROW_I8](&call, rows);
  for (size_t i = 0; i < rows; i++) {
    for (size_t n = 0; n < out_stride; n++) {
      const float got = out[i * out_stride + n];
      if (n >= columns) {
        CHECK(got == 77.0f);
        continue;
      }
      const float want = expected(p, MOST_ROWS - rows + i, n, shifted, biased, lo, hi);
      CHECK(isnan(want) ? isnan(got) : memcmp(&want, &got, sizeof want) == 0);
    }
  }
  kernel_free(out, 4);
}

static void check_kernels(const struct smr_i8_blocks_config *k) {
  static const size_t depths[] = {1, 4, 15, 16, 17, 31, 32, 33, 63, 64, 100, 257};
  static const size_t blocks[] = {16, 32, 64, 256};
  static const size_t rows[] = {1, 2, 3, 4, 5, 8, 9, MOST_ROWS};
  for (int type = 0; type < 3; type++)
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
      for (size_t b = 0; b < 4; b++)
        for (int extreme = 0; extreme < 2; extreme++) {
          struct product p = product_make((smr_narrow_type)type, depths[d], blocks[b], extreme != 0,
                                          7u + (uint32_t)d);
          for (int form = 0; form < 4; form++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
              check_product(k, &p, form & 1, form >> 1, rows[r], (d + r) % 3 == 0 ? 5 + d : 16);
          product_free(&p);
        }
}

SMR_TEST(bits) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_kernels(smr_i8_blocks_config(bit));
#include "kernels/i8_blocks/kernels.inc"
#undef SMR_UKERNEL
}

// One scale per column: the scale of the row is multiplied with it first, and a sum that rounds to
// -0 stays -0.
static void check_whole(const struct smr_i8_blocks_config *k, size_t rows) {
  struct product p = product_make(SMR_NARROW_I8, rows, (size_t)1 << 30, false, 3);
  p.scales[1] = 1e-45f;
  p.scales[2] = 1e-39f;
  float out[2 * 16];
  int32_t less[MOST_ROWS];
  for (size_t i = 0; i < 2; i++)
    smr_i8_blocks_less(rows, rows, p.x + i * p.stride, k->shift[SMR_NARROW_I8], &less[i]);
  const struct smr_i8_blocks_call call = {
      .panel = {.w = p.panel, .rows = rows, .block = rows, .scales = p.scales},
      .type = SMR_NARROW_I8,
      .x = p.x,
      .x_stride = p.stride,
      .x_less = less,
      .less_stride = 1,
      .shift = k->shift[SMR_NARROW_I8],
      .row_scale = p.row_scale,
      .whole = 1,
      .lo = -INFINITY,
      .hi = INFINITY,
      .out = out,
      .out_stride = 16,
      .columns = 16,
  };
  k->rows[1](&call, 2);
  for (size_t i = 0; i < 2; i++)
    for (size_t n = 0; n < 16; n++) {
      int32_t sum = 0;
      for (size_t r = 0; r < rows; r++) sum += p.x[i * p.stride + r] * p.q[r * 16 + n];
      const float scale = p.row_scale[i] * p.scales[n], want = (float)sum * scale;
      CHECK(memcmp(&want, &out[i * 16 + n], sizeof want) == 0);
    }
  product_free(&p);
}

SMR_TEST(scale_per_column) {
#define SMR_UKERNEL(bit, suffix, lanes)           \
  if (KERNEL_RUNS(bit, suffix)) {                 \
    check_whole(smr_i8_blocks_config(bit), 37);   \
    check_whole(smr_i8_blocks_config(bit), 1);    \
    check_whole(smr_i8_blocks_config(bit), 4096); \
  }
#include "kernels/i8_blocks/kernels.inc"
#undef SMR_UKERNEL
}

SMR_TEST(sums_of_blocks) {
  int8_t x[70];
  int32_t less[5] = {9, 9, 9, 9, 9};
  for (int i = 0; i < 70; i++) x[i] = (int8_t)(i - 40);
  smr_i8_blocks_less(70, 32, x, 2, less);
  CHECK(less[0] == 1568 && less[1] == -480 && less[2] == -318 && less[3] == 9);
  smr_i8_blocks_less(0, 32, x, 2, less);
  CHECK(less[0] == 1568);
}

SMR_TEST_MAIN(RUN(bits); RUN(scale_per_column); RUN(sums_of_blocks))
