// SPDX-License-Identifier: Apache-2.0
// The largest 8-bit integer under a window.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/i8_pool/i8_pool.h"

static void check_both(const struct smr_i8_pool *config, size_t channels, size_t taps) {
  enum { PIXELS = 2 * 3 * 7 };
  uint32_t seed = (uint32_t)channels;
  unsigned char *x = (unsigned char *)kernel_alloc(PIXELS * channels, 1);
  for (size_t i = 0; i < PIXELS * channels; i++) x[i] = (unsigned char)kernel_random(&seed);
  const struct smr_pool_window w = {x, {2, 3, taps}, {21 * channels, 7 * channels, channels}};
  int8_t *s = (int8_t *)kernel_alloc(channels, 1);
  uint8_t *u = (uint8_t *)kernel_alloc(channels, 1);
  config->max_s8(channels, &w, s);
  config->max_u8(channels, &w, u);
  for (size_t c = 0; c < channels; c++) {
    int largest = -128, unsigned_largest = 0;
    for (size_t p = 0; p < PIXELS; p++) {
      if (p % 7 >= taps) continue;
      const int v = (int8_t)x[p * channels + c];
      largest = v > largest ? v : largest;
      unsigned_largest =
          x[p * channels + c] > unsigned_largest ? x[p * channels + c] : unsigned_largest;
    }
    CHECK_EQ_INT(s[c], largest);
    CHECK_EQ_INT(u[c], unsigned_largest);
  }
  kernel_free(x, 1);
  kernel_free(s, 1);
  kernel_free(u, 1);
}

SMR_TEST(finds_the_largest) {
  const uint32_t have = smr_cpu_isa();
#define SMR_UKERNEL(isa, suffix, lanes)                    \
  if ((have & (isa)) == (isa))                             \
    for (size_t channels = 1; channels <= 131; channels++) \
      check_both(smr_i8_pool_config(isa), channels, 1 + channels % 7);
#include "kernels/i8_pool/kernels.inc"
#undef SMR_UKERNEL
}

SMR_TEST(names_its_kernel) { CHECK_STR(smr_i8_pool_config(0)->name, "i8_pool__scalar"); }

SMR_TEST_MAIN(RUN(finds_the_largest); RUN(names_its_kernel))
