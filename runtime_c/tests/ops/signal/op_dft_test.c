// SPDX-License-Identifier: Apache-2.0
// dft: known spectra, round trips of all kinds of lengths, tiles.
#include "base/fp.h"

#include "ops/op_harness.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

SMR_TEST(known_spectra) {
  struct op_test t;
  op_begin(&t, "dft");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(4, 1), (const float[]){1, 2, 3, 4});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(4, 2));
  op_int(&t, "length", 4);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){10, 0, -2, 2, -2, 0, -2, -2}, 8, 1e-6);
  op_end(&t);
  // One side of it back again; the imaginary parts of the ends do not count.
  op_begin(&t, "dft");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(3, 2), (const float[]){10, 9, -2, 2, -2, -9});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(4, 1));
  op_int(&t, "length", 4);
  op_int(&t, "inverse", 1);
  op_int(&t, "onesided", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){1, 2, 3, 4}, 4, 1e-6);
  op_end(&t);
}

// Along the middle axis of [batch, n, 3, 2], forth and back; 37 and 1009 go by a chirp.
static void round_trip(int64_t batch, int64_t n) {
  const size_t count = (size_t)(batch * n * 6);
  float *x = malloc(count * sizeof *x);
  if (x == NULL) abort();
  for (size_t i = 0; i < count; i++) x[i] = (float)(i * 7919 % 1013) * 0.002f - 1.0f;
  struct op_test forth, back;
  op_begin(&forth, "dft");
  op_in(&forth, SAMARA_FLOAT32, 4, DIMS(batch, n, 3, 2), x);
  op_out(&forth, SAMARA_FLOAT32, 4, DIMS(batch, n, 3, 2));
  op_int(&forth, "axis", 1);
  op_int(&forth, "length", n);
  if (CHECK_EQ_INT(op_run(&forth), SAMARA_OK)) {
    op_begin(&back, "dft");
    op_in(&back, SAMARA_FLOAT32, 4, DIMS(batch, n, 3, 2), forth.out[0].data);
    op_out(&back, SAMARA_FLOAT32, 4, DIMS(batch, n, 3, 2));
    op_int(&back, "axis", 1);
    op_int(&back, "length", n);
    op_int(&back, "inverse", 1);
    if (CHECK_EQ_INT(op_run(&back), SAMARA_OK)) op_expect_f32(&back, 0, x, count, 2e-6);
    op_end(&back);
  }
  op_end(&forth);
  free(x);
}

SMR_TEST(round_trips) {
  static const int64_t lengths[] = {1, 2, 9, 16, 30, 37, 49, 74, 400, 1009, 4096};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) round_trip(3, lengths[i]);
  round_trip(40, 12);
}

SMR_TEST(cut_and_filled) {
  struct op_test t;
  op_begin(&t, "dft");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(3, 1), (const float[]){1, 2, 100});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 2));
  op_int(&t, "length", 2);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){3, 0, -1, 0}, 4, 1e-6);
  op_end(&t);
  op_begin(&t, "dft");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(1, 1), (const float[]){5});
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 2));
  op_int(&t, "length", 3);
  op_int(&t, "onesided", 1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_f32(&t, 0, (const float[]){5, 0, 5, 0}, 4, 1e-6);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(known_spectra); RUN(round_trips); RUN(cut_and_filled))
