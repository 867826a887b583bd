// SPDX-License-Identifier: Apache-2.0
// matmul_dynamic: the definition bit for bit, and rows that are not ordinary.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { ROWS = 6, DEPTH = 33, COLUMNS = 20 };

// The operator's definition, step by step in float32.
static float expected(const float *x, const int8_t *w, size_t n, float scale, float bias) {
  float peak = 0;
  for (size_t k = 0; k < DEPTH; k++) {
    if (isnan(x[k]) || isinf(x[k])) return NAN;
    peak = fabsf(x[k]) > peak ? fabsf(x[k]) : peak;
  }
  if (peak == 0) return bias;
  const float inv = 127.0f / peak;
  int32_t acc = 0;
  for (size_t k = 0; k < DEPTH; k++) {
    const float p = x[k] * inv;
    acc += (int32_t)lrintf(p > 127 ? 127 : p < -127 ? -127 : p) * w[k * COLUMNS + n];
  }
  const float m = peak / 127.0f * scale;
  const float product = (float)acc * m;
  return product + bias;
}

SMR_TEST(rows) {
  static float x[ROWS * DEPTH];
  static int8_t w[DEPTH * COLUMNS];
  static float scales[COLUMNS], bias[COLUMNS], want[ROWS * COLUMNS];
  static int32_t zeros[COLUMNS];
  for (size_t i = 0; i < ROWS * DEPTH; i++) x[i] = (float)((int)(i * 7919 % 1001) - 500) / 77.0f;
  for (size_t i = 0; i < DEPTH * COLUMNS; i++) w[i] = (int8_t)((int)(i * 31 % 256) - 128);
  for (size_t i = 0; i < COLUMNS; i++) scales[i] = 0.01f + 0.001f * (float)i;
  for (size_t i = 0; i < COLUMNS; i++) bias[i] = (float)i - 8;
  memset(x + DEPTH, 0, DEPTH * sizeof *x);
  x[2 * DEPTH + 3] = NAN;
  x[3 * DEPTH + 32] = -INFINITY;
  for (size_t i = 0; i < DEPTH; i++) x[4 * DEPTH + i] *= 1e30f;
  for (size_t i = 0; i < ROWS * COLUMNS; i++)
    want[i] =
        expected(x + i / COLUMNS * DEPTH, w, i % COLUMNS, scales[i % COLUMNS], bias[i % COLUMNS]);
  const uint32_t isas[] = {SMR_ISA_NONE, UINT32_MAX};
  for (size_t i = 0; i < 2; i++) {
    struct op_test t;
    op_begin(&t, "matmul_dynamic");
    t.job.isa &= isas[i];
    op_in(&t, SAMARA_FLOAT32, 2, DIMS(ROWS, DEPTH), x);
    op_quant(&t, op_in(&t, SAMARA_QINT8, 2, DIMS(DEPTH, COLUMNS), w), COLUMNS, scales, zeros, 1);
    op_in(&t, SAMARA_FLOAT32, 1, DIMS(COLUMNS), bias);
    op_out(&t, SAMARA_FLOAT32, 2, DIMS(ROWS, COLUMNS));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
      const float *got = t.out[0].data;
      for (size_t j = 0; j < ROWS * COLUMNS; j++)
        CHECK(got[j] == want[j] || (isnan(got[j]) && isnan(want[j])));
    }
    op_end(&t);
  }
}

SMR_TEST(weights_must_be_quantized_by_column) {
  const float scales[3] = {1, 1, 1};
  const int32_t zeros[3] = {0, 0, 0};
  struct op_test t;
  op_begin(&t, "matmul_dynamic");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_quant(&t, op_in(&t, SAMARA_QINT8, 2, DIMS(3, 4), NULL), 3, scales, zeros, 0);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 4));
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "3 scales along axis 0");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(rows); RUN(weights_must_be_quantized_by_column))
