// SPDX-License-Identifier: Apache-2.0
// qsoftmax, qlayer_norm and qrms_norm: wrong attributes.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

static const float scale[] = {0.05f}, soft_scale[] = {1.0f / 256};
static const int32_t zero[] = {3}, soft_zero[] = {-128};

static void begin_softmax(struct op_test *t, uint32_t rank, const int64_t *dims, const int8_t *x) {
  uint32_t table[256];
  for (int d = 0; d < 256; d++) table[d] = (uint32_t)rint(exp(-d * 0.05) * 16777216.0);
  op_begin(t, "qsoftmax");
  op_quant(t, op_in(t, SAMARA_QINT8, rank, dims, x), 1, scale, zero, -1);
  op_in(t, SAMARA_UINT32, 1, DIMS(256), table);
  op_quant(t, op_out(t, SAMARA_QINT8, rank, dims), 1, soft_scale, soft_zero, -1);
}

SMR_TEST(softmax_refuses_other_outputs_and_tables) {
  struct op_test t;
  begin_softmax(&t, 1, DIMS(4), NULL);
  op_quant(&t, &t.out[0], 1, scale, soft_zero, -1);
  op_finish(&t, SAMARA_BAD_SHAPE, "expected 1/256 and -128");

  begin_softmax(&t, 1, DIMS(4), NULL);
  t.in[1].dtype = SAMARA_INT32;
  op_finish(&t, SAMARA_BAD_SHAPE, "table cannot have dtype int32");

  begin_softmax(&t, 1, DIMS(4), NULL);
  t.in[1].dims[0] = 255;
  op_finish(&t, SAMARA_BAD_SHAPE, "table has dims [255]");
}

// Rows of `n` elements, the last two axes; scale and bias are in steps of the output.
static void begin_norm(struct op_test *t, const char *op, int64_t rows, int64_t n, const int8_t *x,
                       const float *by, const float *bias) {
  op_begin(t, op);
  op_quant(t, op_in(t, SAMARA_QINT8, 3, DIMS(rows, n / 2, 2), x), 1, scale, zero, -1);
  op_in(t, SAMARA_FLOAT32, 2, DIMS(n / 2, 2), by);
  if (bias != NULL) op_in(t, SAMARA_FLOAT32, 2, DIMS(n / 2, 2), bias);
  op_quant(t, op_out(t, SAMARA_QINT8, 3, DIMS(rows, n / 2, 2)), 1, scale, zero, -1);
  op_int(t, "axis", 1);
  op_f32(t, "eps", 0.5f);
  op_int(t, "zero_point", -7);
  op_int(t, "lo", -90);
}

SMR_TEST(norms_refuse_what_would_overflow) {
  struct op_test t;
  static const float none[4] = {0};
  for (int k = 0; k < 3; k++) {
    static const float eps[] = {0.0f, -1.0f, NAN};
    begin_norm(&t, "qlayer_norm", 2, 4, NULL, none, none);
    op_f32(&t, "eps", eps[k]);
    op_finish(&t, SAMARA_BAD_SHAPE, "expected a positive number");
  }
  begin_norm(&t, "qrms_norm", 0, (1 << 22) + 2, NULL, NULL, NULL);
  op_finish(&t, SAMARA_BAD_SHAPE, "rows of 4194306 elements");

  begin_norm(&t, "qlayer_norm", 2, 4, NULL, none, none);
  t.in[2].dtype = SAMARA_INT32;
  op_finish(&t, SAMARA_BAD_SHAPE, "bias cannot have dtype int32");
}

SMR_TEST_MAIN(RUN(softmax_refuses_other_outputs_and_tables); RUN(norms_refuse_what_would_overflow))
