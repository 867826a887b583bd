// SPDX-License-Identifier: Apache-2.0
// Every kernel of int8 softmax against its formula, element by element.
#include "base/fp.h"

#include "../kernel_data.h"
#include "harness.h"
#include "base/isa.h"
#include "kernels/i8_softmax/i8_softmax.h"

#include <math.h>

static const struct smr_i8_softmax *kernels;

static int8_t *bytes(size_t n, uint32_t *state) {
  int8_t *p = (int8_t *)kernel_alloc(n, 1);
  for (size_t i = 0; i < n; i++) p[i] = (int8_t)(kernel_random(state) & 0xff);
  return p;
}

// Group of n elements, `stride` apart.
static void expected(size_t n, size_t stride, const int8_t *x, const uint32_t *table, int8_t *y) {
  int top = -128;
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) top = x[i * stride] > top ? x[i * stride] : top;
  for (size_t i = 0; i < n; i++) sum += table[top - x[i * stride]];
  const uint64_t factor = (UINT64_C(1) << 55) / (sum == 0 ? 1 : sum);
  for (size_t i = 0; i < n; i++) {
    const uint64_t y64 = (table[top - x[i * stride]] * factor + (UINT64_C(1) << 46)) >> 47;
    y[i * stride] = (int8_t)((int)(y64 > 255 ? 255 : y64) - 128);
  }
}

enum { TABLES = 6 };

// Exponentials as exporters write them, and what a file may hold instead.
static void make_table(int which, uint32_t *state, uint32_t *table) {
  static const double scales[] = {0.05, 0.9, 0.0001};
  for (int d = 0; d < 256; d++) {
    if (which < 3)
      table[d] = (uint32_t)rint(exp(-d * scales[which]) * 16777216.0);
    else
      table[d] = which == 3 ? 0 : which == 4 ? UINT32_MAX : kernel_random(state) >> (d % 25);
  }
}

SMR_TEST(rows_agree) {
  static const size_t lengths[] = {1,  2,  7,   15,  16,  31,  33,  63,  64,
                                   65, 70, 128, 255, 256, 257, 511, 1000};
  uint32_t state = 1, table[256];
  for (int t = 0; t < TABLES; t++) {
    make_table(t, &state, table);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
      const size_t n = lengths[k];
      int8_t *x = bytes(n, &state), *y = (int8_t *)kernel_alloc(n, 1), *want = bytes(n, &state);
      for (size_t i = 0; k % 2 && i < n; i++) x[i] = (int8_t)(x[i] / 16);
      expected(n, 1, x, table, want);
      kernels->row(n, x, table, y);
      CHECK_MEM(y, want, n);
      kernels->row(n, x, table, x);  // in place
      CHECK_MEM(x, want, n);
      kernel_free(x, 1), kernel_free(y, 1), kernel_free(want, 1);
    }
  }
}

SMR_TEST(columns_agree) {
  static const size_t shapes[][3] = {
      {1, 1, 1}, {5, 3, 3}, {3, 33, 40}, {17, 256, 256}, {300, 2, 9}};
  uint32_t state = 2, table[256];
  for (int t = 0; t < TABLES; t++) {
    make_table(t, &state, table);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
      const size_t rows = shapes[k][0], columns = shapes[k][1], stride = shapes[k][2];
      const size_t n = (rows - 1) * stride + columns;
      int8_t *x = bytes(n, &state), *y = bytes(n, &state), *want = (int8_t *)kernel_alloc(n, 1);
      memcpy(want, y, n);  // what lies between rows stays
      for (size_t j = 0; j < columns; j++) expected(rows, stride, x + j, table, want + j);
      kernels->columns(rows, columns, stride, x, table, y);
      CHECK_MEM(y, want, n);
      kernels->columns(rows, columns, stride, x, table, x);
      for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++) CHECK_EQ_INT(x[i * stride + j], want[i * stride + j]);
      kernel_free(x, 1), kernel_free(y, 1), kernel_free(want, 1);
    }
  }
}

// A sum of probabilities is 1 as far as rounding lets it.
SMR_TEST(results_are_probabilities) {
  uint32_t state = 3, table[256];
  make_table(0, &state, table);
  int8_t x[64], y[64];
  for (int i = 0; i < 64; i++) x[i] = (int8_t)(i - 20);
  kernels->row(64, x, table, y);
  double total = 0, sum = 0;
  for (int i = 0; i < 64; i++) sum += exp(0.05 * (i - 63));
  for (int i = 0; i < 64; i++) {
    CHECK_NEAR((y[i] + 128) / 256.0, exp(0.05 * (i - 63)) / sum, 0.5001 / 256);
    total += (y[i] + 128) / 256.0;
  }
  CHECK_NEAR(total, 1.0, 32.0 / 256);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
#define SMR_UKERNEL(isa, suffix, lanes)               \
  if (KERNEL_RUNS(isa, suffix)) {                     \
    kernels = smr_i8_softmax_config(isa);             \
    CHECK_STR(kernels->name, "i8_softmax__" #suffix); \
    RUN(rows_agree);                                  \
    RUN(columns_agree);                               \
    RUN(results_are_probabilities);                   \
  }
#include "kernels/i8_softmax/kernels.inc"
#undef SMR_UKERNEL
  return SMR_TEST_END();
}
