// SPDX-License-Identifier: Apache-2.0
// Products of integers and doubles: every width of a block, strides, what the sum starts from.
#include "base/fp.h"

#include "kernels/vmatmul/vmatmul.h"

#include <samara/samara.h>

#include "harness.h"

enum { ROWS = 3, DEPTH = 5, MOST = SMR_VMATMUL_COLUMNS };

SMR_TEST(every_width) {
  int64_t x[ROWS * DEPTH], w[DEPTH * MOST], start[MOST], more[ROWS * MOST], y[ROWS * MOST];
  for (int i = 0; i < ROWS * DEPTH; i++) x[i] = i * 7 - 20;
  for (int i = 0; i < DEPTH * MOST; i++) w[i] = i % 13 - 6;
  for (int i = 0; i < MOST; i++) start[i] = i;
  for (int i = 0; i < ROWS * MOST; i++) more[i] = 100 * i;
  for (size_t n = 1; n <= MOST; n++)
    for (int form = 0; form < 4; form++) {
      const bool turn_x = form & 1, turn_w = form & 2;
      const struct smr_vmatmul_args args = {.rows = ROWS,
                                            .k = DEPTH,
                                            .n = n,
                                            .x = x,
                                            .w = w,
                                            .start = start,
                                            .more = more,
                                            .y = y,
                                            .x_row = turn_x ? 1 : DEPTH,
                                            .x_step = turn_x ? ROWS : 1,
                                            .w_row = turn_w ? 1 : n,
                                            .w_step = turn_w ? DEPTH : 1,
                                            .y_row = MOST};
      for (size_t i = 0; i < ROWS * MOST; i++) y[i] = -1;
      smr_vmatmul_kernel(SAMARA_INT64)(&args);
      for (size_t r = 0; r < ROWS; r++)
        for (size_t j = 0; j < MOST; j++) {
          int64_t want = j < n ? start[j] + more[r * MOST + j] : -1;
          for (size_t i = 0; j < n && i < DEPTH; i++)
            want += x[r * args.x_row + i * args.x_step] * w[i * args.w_row + j * args.w_step];
          CHECK(y[r * MOST + j] == want);
        }
    }
}

SMR_TEST(wraps_and_doubles) {
  const uint32_t a[2] = {UINT32_MAX, 1}, b[2] = {UINT32_MAX, 5};
  uint32_t y;
  struct smr_vmatmul_args args = {
      .rows = 1, .k = 2, .n = 1, .x = a, .w = b, .y = &y, .x_step = 1, .w_row = 1, .w_step = 1};
  smr_vmatmul_kernel(SAMARA_UINT32)(&args);
  CHECK_EQ_INT(y, 6);
  const double c[2] = {0.5, 1e-300}, d[2] = {3, 1e300};
  double z;
  args.x = c;
  args.w = d;
  args.y = &z;
  smr_vmatmul_kernel(SAMARA_FLOAT64)(&args);
  CHECK(z == 2.5);
}

SMR_TEST(what_there_is) {
  CHECK(smr_vmatmul_kernel(SAMARA_FLOAT32) == NULL);
  CHECK(smr_vmatmul_kernel(SAMARA_INT8) == NULL);
  CHECK(smr_vmatmul_kernel(99) == NULL);
}

SMR_TEST_MAIN(RUN(every_width); RUN(wraps_and_doubles); RUN(what_there_is))
