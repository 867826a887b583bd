// SPDX-License-Identifier: Apache-2.0
// mel_weights: numbers that have no place in the spectrum. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

static void mel_begin(struct op_test *t, int64_t length, int64_t rate, float low, float high,
                      int64_t bins, int64_t filters) {
  op_begin(t, "mel_weights");
  op_in(t, SAMARA_INT64, 0, NULL, &length);
  op_in(t, SAMARA_INT64, 0, NULL, &rate);
  op_in(t, SAMARA_FLOAT32, 0, NULL, &low);
  op_in(t, SAMARA_FLOAT32, 0, NULL, &high);
  op_out(t, SAMARA_FLOAT32, 2, DIMS(bins, filters));
  op_ints(t, "shape", 2, DIMS(bins, filters));
}

SMR_TEST(out_of_the_spectrum) {
  struct op_test t;
  mel_begin(&t, 16, 8192, 0, 20000, 9, 2);
  op_finish(&t, SAMARA_BAD_DATA, NULL);
  mel_begin(&t, 16, 0, 0, 4096, 9, 2);
  op_finish(&t, SAMARA_BAD_DATA, NULL);
  mel_begin(&t, 16, 8192, 4000, 100, 9, 2);
  op_finish(&t, SAMARA_BAD_DATA, NULL);
}

SMR_TEST_MAIN(RUN(out_of_the_spectrum))
