// SPDX-License-Identifier: Apache-2.0
// Every kernel of int8 normalisation against its formula, element by element.
#include "base/fp.h"

#include "../kernel_data.h"
#include "harness.h"
#include "base/isa.h"
#include "kernels/i8_norm/i8_norm.h"

#include <math.h>

static const struct smr_i8_norm *kernels;

static int8_t expected(int64_t d, float v, const struct smr_i8_norm_args *args, size_t i) {
  const float root = sqrtf(v), inverse = 1.0f / root;
  const float scaled = (float)d * inverse;
  float p = scaled * args->scale[i];
  if (args->bias) p = p + args->bias[i];
  const double q = isnan(p) ? 0.0 : (double)p, lo = args->lo - args->zero_point;
  const double hi = args->hi - args->zero_point;
  return (int8_t)(rint(q < lo ? lo : q > hi ? hi : q) + args->zero_point);
}

static void expected_row(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                         int centred, int8_t *y) {
  const int64_t count = (int64_t)n;
  int64_t sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t d = centred ? x[i] : x[i] - args->x_zero;
    sum += d, squares += d * d;
  }
  const float length = (float)n, once = args->eps * length, twice = once * length;
  const float v = centred ? (float)(count * squares - sum * sum) + twice : (float)squares + once;
  for (size_t i = 0; i < n; i++)
    y[i] = expected(centred ? count * x[i] - sum : x[i] - args->x_zero, v, args, i);
}

static void check_row(size_t n, const int8_t *x, const struct smr_i8_norm_args *args) {
  int8_t *y = (int8_t *)kernel_alloc(n, 1), *want = (int8_t *)kernel_alloc(n, 1);
  expected_row(n, x, args, 1, want);
  kernels->centred_row(n, x, args, y);
  CHECK_MEM(y, want, n);
  expected_row(n, x, args, 0, want);
  kernels->plain_row(n, x, args, y);
  CHECK_MEM(y, want, n);
  memcpy(y, x, n);
  kernels->plain_row(n, y, args, y);  // in place
  CHECK_MEM(y, want, n);
  kernel_free(y, 1), kernel_free(want, 1);
}

SMR_TEST(rows_agree) {
  static const size_t lengths[] = {1, 2, 9, 16, 31, 33, 63, 64, 65, 100, 255, 257, 768};
  uint32_t state = 1;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const size_t n = lengths[k];
    float *scale = kernel_floats(n, &state), *bias = kernel_floats(n, &state);
    int8_t *x = (int8_t *)kernel_alloc(n, 1);
    for (size_t i = 0; i < n; i++) x[i] = (int8_t)(kernel_random(&state) & 0xff);
    for (size_t i = 0; i < n; i++) scale[i] *= 200.0f, bias[i] *= 90.0f;
    check_row(n, x, &(struct smr_i8_norm_args){scale, bias, 1e-2f, 11, 0, -128, 127});
    check_row(n, x, &(struct smr_i8_norm_args){scale, NULL, 400.0f, -128, -70, -100, 90});
    for (size_t i = 0; i < n; i += 3) scale[i] = i % 2 ? NAN : INFINITY, bias[i] = -INFINITY;
    check_row(n, x, &(struct smr_i8_norm_args){scale, bias, 1e-45f, 127, 127, -128, 127});
    memset(x, 5, n);  // no deviation
    check_row(n, x, &(struct smr_i8_norm_args){scale, bias, 1e-45f, 5, 3, -128, 127});
    check_row(n, x, &(struct smr_i8_norm_args){scale, bias, INFINITY, 5, 3, -128, 127});
    kernel_free(scale, 4), kernel_free(bias, 4), kernel_free(x, 1);
  }
}

// The sums of the longest row are as large as they get.
SMR_TEST(the_longest_row_agrees) {
  const size_t n = SMR_I8_NORM_MOST;
  float *scale = (float *)kernel_alloc(n * sizeof *scale, 4);
  int8_t *x = (int8_t *)kernel_alloc(n, 1);
  memset(x, -128, n);
  for (size_t i = 0; i < n; i++) scale[i] = (float)(i % 100);
  check_row(n, x, &(struct smr_i8_norm_args){scale, NULL, 1e-3f, 127, 0, -128, 127});
  for (size_t i = 0; i < n; i += 2) x[i] = 127;
  check_row(n, x, &(struct smr_i8_norm_args){scale, NULL, 1e-3f, 127, 0, -128, 127});
  kernel_free(scale, 4), kernel_free(x, 1);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
#define SMR_UKERNEL(isa, suffix, lanes)            \
  if (KERNEL_RUNS(isa, suffix)) {                  \
    kernels = smr_i8_norm_config(isa);             \
    CHECK_STR(kernels->name, "i8_norm__" #suffix); \
    RUN(rows_agree);                               \
    RUN(the_longest_row_agrees);                   \
  }
#include "kernels/int8.inc"
#undef SMR_UKERNEL
  return SMR_TEST_END();
}
