// SPDX-License-Identifier: Apache-2.0
// Places of extremes against a plain search: every length, ties, NaN, both ends, every ISA.
#include "base/fp.h"

#include "ops/reduce/arg_minmax.h"

#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_reduce/f32_reduce.h"
#include "kernels/kernel_data.h"

static size_t plain(const struct smr_arg_minmax *e, size_t n, size_t stride, const float *x) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++) {
    const float v = x[i * stride], b = x[best * stride];
    const bool better = b == b && (v != v || (e->smallest ? v < b : v > b));
    const bool equal = v == b || (v != v && b != b);
    if (better || (e->last && equal)) best = i;
  }
  return best;
}

// Values repeat, so that there are ties; NaNs where asked for.
static void fill(float *x, size_t n, uint32_t seed, bool nan) {
  uint32_t state = seed;
  for (size_t i = 0; i < n; i++) {
    const uint32_t r = kernel_random(&state);
    x[i] = nan && r % 37 == 0 ? NAN : (float)(r % 23) - 11.0f;
  }
}

static void check(const struct smr_arg_minmax *e, size_t n, size_t columns, bool nan) {
  float *x = kernel_alloc(n * columns * sizeof *x, 4);
  fill(x, n * columns, (uint32_t)(n * 131 + columns), nan);
  uint32_t index[256];
  smr_arg_minmax_columns(e, n, columns, columns, x, index);
  for (size_t j = 0; j < columns; j++) CHECK_EQ_INT(index[j], plain(e, n, columns, x + j));
  CHECK_EQ_INT(smr_arg_minmax_row(e, n * columns, x), plain(e, n * columns, 1, x));
  kernel_free(x, 4);
}

static void check_kernels(const struct smr_f32_reduce *kernels) {
  for (int how = 0; how < 8; how++) {
    const struct smr_arg_minmax e = {kernels, (how & 1) != 0, (how & 2) != 0};
    for (size_t n = 1; n <= 70; n += n < 18 ? 1 : 13) {
      check(&e, n, 1, (how & 4) != 0);
      check(&e, n, 3, (how & 4) != 0);
      check(&e, n, 33, (how & 4) != 0);
    }
    check(&e, 5, 256, (how & 4) != 0);
  }
}

SMR_TEST(places) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_kernels(smr_f32_reduce_config(isa));
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(equal_and_infinite) {
  const struct smr_arg_minmax first = {.kernels = smr_f32_reduce_config(SMR_ISA_NONE)};
  const struct smr_arg_minmax last = {first.kernels, false, true};
  const float lowest[3] = {-INFINITY, -INFINITY, -INFINITY}, zeros[3] = {-0.0f, 0.0f, -0.0f};
  CHECK_EQ_INT(smr_arg_minmax_row(&first, 3, lowest), 0);
  CHECK_EQ_INT(smr_arg_minmax_row(&last, 3, lowest), 2);
  CHECK_EQ_INT(smr_arg_minmax_row(&first, 3, zeros), 0);
  CHECK_EQ_INT(smr_arg_minmax_row(&last, 3, zeros), 2);
}

SMR_TEST_MAIN(RUN(places); RUN(equal_and_infinite))
