// SPDX-License-Identifier: Apache-2.0
// Gradients of normalised rows: every table against double, in place, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm_grad/f32_norm_grad.h"
#include "kernels/kernel_data.h"

#include "harness.h"

#include <math.h>

#define EPS 1e-2f

struct row {
  size_t n;
  float *dy, *x, *scale, *dscale, *dbias;
};

static void check_values(const struct row *row, const float *scale, int centred, const float *dx) {
  const size_t n = row->n;
  double mean = 0, variance = 0, plain = 0, product = 0;
  for (size_t i = 0; centred && i < n; i++) mean += (double)row->x[i] / (double)n;
  for (size_t i = 0; i < n; i++) variance += pow((double)row->x[i] - mean, 2) / (double)n;
  const double r = 1 / sqrt(variance + (double)EPS);
  for (size_t i = 0; i < n; i++) {
    const double h = (double)row->dy[i] * (scale != NULL ? (double)scale[i] : 1);
    plain += centred ? h / (double)n : 0;
    product += h * ((double)row->x[i] - mean) * r / (double)n;
  }
  for (size_t i = 0; i < n; i++) {
    const double unit = ((double)row->x[i] - mean) * r;
    const double h = (double)row->dy[i] * (scale != NULL ? (double)scale[i] : 1);
    CHECK_NEAR(dx[i], r * (h - plain - unit * product), 1e-5);
    CHECK_NEAR(row->dscale[i], 1 + (double)row->dy[i] * unit, 4e-6);
    CHECK_NEAR(row->dbias[i], 2 + (double)row->dy[i], 1e-6);
  }
}

static void check_row(const struct smr_f32_norm_grad *table, size_t n, int centred, int scaled) {
  uint32_t state = (uint32_t)n;
  struct row row = {.n = n};
  row.dy = kernel_floats(n, &state), row.x = kernel_floats(n, &state);
  row.scale = kernel_floats(n, &state);
  row.dscale = kernel_floats(n, &state), row.dbias = kernel_floats(n, &state);
  for (size_t i = 0; i < n; i++) row.dscale[i] = 1, row.dbias[i] = 2;
  const smr_f32_norm_grad_row kernel = centred ? table->centred_row : table->plain_row;
  const float *scale = scaled ? row.scale : NULL;
  float *dx = kernel_alloc(n * sizeof *dx, 4), *copy = kernel_alloc(n * sizeof *copy, 4);
  kernel(n, row.dy, row.x, scale, EPS, dx, row.dscale, row.dbias);
  check_values(&row, scale, centred, dx);
  // Without sums, and in place of either operand.
  memcpy(copy, row.dy, n * sizeof *copy);
  kernel(n, copy, row.x, scale, EPS, copy, NULL, NULL);
  CHECK_MEM(copy, dx, n * sizeof *copy);
  memcpy(copy, row.x, n * sizeof *copy);
  kernel(n, row.dy, copy, scale, EPS, copy, NULL, NULL);
  CHECK_MEM(copy, dx, n * sizeof *copy);
  kernel_free(row.dy, 4), kernel_free(row.x, 4), kernel_free(row.scale, 4);
  kernel_free(row.dscale, 4), kernel_free(row.dbias, 4), kernel_free(dx, 4), kernel_free(copy, 4);
}

static void check_table(const struct smr_f32_norm_grad *table, size_t lanes) {
  for (int form = 0; form < 4; form++) {
    for (size_t n = 1; n <= 3 * lanes + 1; n++) check_row(table, n, form & 1, form & 2);
    check_row(table, 9001, form & 1, form & 2);
  }
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(smr_f32_norm_grad_config(isa), lanes);
#include "kernels/training.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(tables))
