// SPDX-License-Identifier: Apache-2.0
// softmax kernels: every table against double, in place, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_softmax/f32_softmax.h"
#include "kernels/kernel_data.h"

#include "harness.h"

static void check_group(const float *x, const float *y, size_t n, size_t stride, int log_of) {
  double best = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) best = fmax(best, (double)x[i * stride]);
  for (size_t i = 0; i < n; i++) sum += exp((double)x[i * stride] - best);
  for (size_t i = 0; i < n; i++) {
    const double shifted = (double)x[i * stride] - best;
    const double want = log_of ? shifted - log(sum) : exp(shifted) / sum;
    CHECK_NEAR(y[i * stride], want, log_of ? 1e-6 * (1 + fabs(want)) : 1e-6 * want + 1e-30);
  }
}

static void check_table(const struct smr_f32_softmax *table, size_t lanes) {
  for (int log_of = 0; log_of < 2; log_of++) {
    for (size_t n = 1; n <= 3 * lanes + 1; n++) {
      uint32_t state = (uint32_t)n;
      float *x = kernel_floats(n, &state), *y = kernel_alloc(n * sizeof *y, 4);
      for (size_t i = 0; i < n; i++) x[i] *= 20;
      table->row[log_of](n, x, y);
      check_group(x, y, n, 1, log_of);
      table->row[log_of](n, x, x);
      CHECK_MEM(x, y, n * sizeof *y);
      kernel_free(x, 4), kernel_free(y, 4);
    }
    for (size_t columns = 1; columns <= 3 * lanes + 1; columns++) {
      enum { ROWS = 5 };
      uint32_t state = (uint32_t)columns;
      const size_t stride = columns + 3, count = (ROWS - 1) * stride + columns;
      float *x = kernel_floats(count, &state), *y = kernel_alloc(count * sizeof *y, 4);
      memcpy(y, x, count * sizeof *y);
      table->columns[log_of](ROWS, columns, stride, x, y);
      for (size_t j = 0; j < columns; j++) check_group(x + j, y + j, ROWS, stride, log_of);
      table->columns[log_of](ROWS, columns, stride, x, x);
      CHECK_MEM(x, y, count * sizeof *y);  // between the groups nothing was touched
      kernel_free(x, 4), kernel_free(y, 4);
    }
  }
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(smr_f32_softmax_config(isa), lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(tables))
