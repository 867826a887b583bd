// SPDX-License-Identifier: Apache-2.0
// Choice between two elements: every size and step.
#include "base/fp.h"

#include "kernels/vwhere/vwhere.h"

#include "harness.h"

SMR_TEST(sizes_and_steps) {
  const uint8_t c[5] = {1, 0, 2, 0, 1};
  static const size_t sizes[] = {1, 2, 4, 8};
  for (int s = 0; s < 4; s++) {
    unsigned char a[40], b[40], y[40], want[40];
    for (int i = 0; i < 40; i++) a[i] = (unsigned char)i, b[i] = (unsigned char)(100 + i);
    for (size_t steps = 0; steps < 8; steps++) {
      const size_t c_step = steps & 1, a_step = steps >> 1 & 1, b_step = steps >> 2;
      for (size_t i = 0; i < 5; i++)
        memcpy(want + i * sizes[s],
               c[i * c_step] ? a + i * a_step * sizes[s] : b + i * b_step * sizes[s], sizes[s]);
      // Aligned copies for the wider elements.
      uint64_t aligned[3][5];
      memcpy(aligned[0], a, 5 * sizes[s]);
      memcpy(aligned[1], b, 5 * sizes[s]);
      smr_vwhere_kernel(sizes[s])(5, c, c_step, aligned[0], a_step, aligned[1], b_step, aligned[2]);
      memcpy(y, aligned[2], 5 * sizes[s]);
      CHECK_MEM(y, want, 5 * sizes[s]);
    }
  }
  CHECK(smr_vwhere_kernel(3) == NULL);
  CHECK(smr_vwhere_kernel(0) == NULL);
}

SMR_TEST_MAIN(RUN(sizes_and_steps))
