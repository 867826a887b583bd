// SPDX-License-Identifier: Apache-2.0
// The largest 8-bit integer under a window.
#include "base/fp.h"

#include "../kernel_data.h"
#include "harness.h"
#include "kernels/x8_pool/x8_pool.h"

static void check_both(size_t channels) {
  enum { PIXELS = 2 * 3 * 2 };
  uint32_t seed = (uint32_t)channels;
  unsigned char *x = (unsigned char *)kernel_alloc(PIXELS * channels, 1);
  for (size_t i = 0; i < PIXELS * channels; i++) x[i] = (unsigned char)kernel_random(&seed);
  const struct smr_pool_window w = {x, {2, 3, 2}, {6 * channels, 2 * channels, channels}};
  int8_t *s = (int8_t *)kernel_alloc(channels, 1);
  uint8_t *u = (uint8_t *)kernel_alloc(channels, 1);
  smr_s8_pool_max(channels, &w, s);
  smr_u8_pool_max(channels, &w, u);
  for (size_t c = 0; c < channels; c++) {
    int largest = -128, unsigned_largest = 0;
    for (size_t p = 0; p < PIXELS; p++) {
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
  for (size_t channels = 1; channels <= 70; channels++) check_both(channels);
}

SMR_TEST_MAIN(RUN(finds_the_largest))
