// SPDX-License-Identifier: Apache-2.0
// qadd, qmul and qlookup: what files may say wrongly. Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"

static const float scale[] = {0.5f}, huge[] = {3e38f};
static const int32_t zero_a[] = {3}, zero_b[] = {-20};

// Inputs of the dims, the output of their broadcast; parameters are given.
static void begin(struct op_test *t, const char *op, uint32_t a_rank, const int64_t *a_dims,
                  const int8_t *a, uint32_t b_rank, const int64_t *b_dims, const int8_t *b) {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t rank = 0;
  op_begin(t, op);
  op_quant(t, op_in(t, SAMARA_QINT8, a_rank, a_dims, a), 1, scale, zero_a, -1);
  op_quant(t, op_in(t, SAMARA_QINT8, b_rank, b_dims, b), 1, scale, zero_b, -1);
  smr_broadcast_dims(dims, &rank, a_dims, a_rank);
  smr_broadcast_dims(dims, &rank, b_dims, b_rank);
  op_quant(t, op_out(t, SAMARA_QINT8, rank, dims), 1, scale, zero_a, -1);
}

static void refused_int(const char *op, const char *attr, int64_t value, const char *text) {
  struct op_test t;
  begin(&t, op, 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  op_int(&t, attr, value);
  op_finish(&t, SAMARA_BAD_SHAPE, text);
}

SMR_TEST(attributes_out_of_range_are_refused) {
  refused_int("qadd", "a_multiplier", (1 << 20) + 1, "more than 20 bits");
  refused_int("qadd", "b_multiplier", INT64_MIN, "more than 20 bits");
  refused_int("qadd", "shift", 127, "shift 127");
  refused_int("qadd", "shift", INT64_MIN, "expected -100 to 126");
  refused_int("qmul", "zero_point", 128, "zero point 128");
  refused_int("qmul", "lo", 128, "clamp from 128 to 127");
  refused_int("qadd", "hi", INT64_MAX, "clamp from");
}

SMR_TEST(wrong_tensors_are_refused) {
  static const float scales[] = {1, 2, 3, 4};
  static const int32_t zeros[] = {0, 0, 0, 0};
  struct op_test t;
  begin(&t, "qmul", 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  t.in[0].quant = NULL;
  op_finish(&t, SAMARA_BAD_SHAPE, "a has 0 quantization parameters");

  begin(&t, "qadd", 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  op_quant(&t, &t.in[1], 4, scales, zeros, 0);
  op_finish(&t, SAMARA_BAD_SHAPE, "b is quantized along axis 0");

  begin(&t, "qmul", 1, DIMS(4), NULL, 1, DIMS(4), NULL);
  op_quant(&t, &t.in[0], 1, huge, zeros, -1);
  op_quant(&t, &t.in[1], 1, huge, zeros, -1);
  op_finish(&t, SAMARA_BAD_SHAPE, "no float32 multiplier");

  op_begin(&t, "qlookup");
  op_quant(&t, op_in(&t, SAMARA_QINT8, 1, DIMS(4), NULL), 1, scale, zero_a, -1);
  op_in(&t, SAMARA_INT8, 1, DIMS(255), NULL);
  op_quant(&t, op_out(&t, SAMARA_QINT8, 1, DIMS(4)), 1, scale, zero_b, -1);
  op_finish(&t, SAMARA_BAD_SHAPE, "table has dims [255]");
}

SMR_TEST_MAIN(RUN(attributes_out_of_range_are_refused); RUN(wrong_tensors_are_refused))
