// SPDX-License-Identifier: Apache-2.0
// lstm and gru with quantized weights: near what the same weights give in float32, and the same
// bits whether they are constants or not.
#include "base/fp.h"

#include "ops/op_harness.h"

enum { STEPS = 5, BATCH = 2, INPUTS = 7, HIDDEN = 18, MOST = 4 * HIDDEN * HIDDEN };

// Runs it with weights as bytes, or with their real values; y goes to `out`.
static void run(const char *op, bool quantized, bool constant, bool per_row, uint32_t isa,
                float *out) {
  static float x[STEPS * BATCH * INPUTS], real[2][MOST], bias[8 * HIDDEN], scales[4 * HIDDEN];
  static int8_t bytes[2][MOST];
  static int32_t zeros[4 * HIDDEN];
  const int64_t gates = strcmp(op, "lstm") == 0 ? 4 : 3, wide = gates * HIDDEN;
  for (size_t i = 0; i < STEPS * BATCH * INPUTS; i++) x[i] = (float)((int)(i * 37 % 41) - 20) / 20;
  for (size_t i = 0; i < 8 * HIDDEN; i++) bias[i] = (float)((int)(i * 13 % 21) - 10) / 40;
  for (size_t i = 0; i < 4 * HIDDEN; i++) {
    scales[i] = per_row ? 0.001f + 0.0001f * (float)(i % 7) : 0.002f;
    zeros[i] = per_row ? (int32_t)(i % 5) - 2 : 9;
  }
  struct op_test t;
  op_begin(&t, op);
  t.job.isa &= isa;
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(STEPS, BATCH, INPUTS), x);
  for (int j = 0; j < 2; j++) {
    const int64_t k = j == 0 ? INPUTS : HIDDEN;
    for (int64_t i = 0; i < wide * k; i++) {
      const int64_t row = per_row ? i / k : 0;
      bytes[j][i] = (int8_t)((int)(i * 61 % 256) - 128);
      real[j][i] = (float)(bytes[j][i] - zeros[row]) * scales[row];
    }
    const void *data = quantized ? (const void *)bytes[j] : (const void *)real[j];
    const uint8_t dtype = quantized ? SAMARA_QINT8 : SAMARA_FLOAT32;
    struct smr_tensor *w = constant ? op_constant(&t, dtype, 3, DIMS(1, wide, k), data)
                                    : op_in(&t, dtype, 3, DIMS(1, wide, k), data);
    if (quantized && per_row)
      op_quant(&t, w, (uint32_t)wide, scales, zeros, 1);
    else if (quantized)
      op_quant(&t, w, 1, scales, zeros, -1);
  }
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(1, 2 * wide), bias);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(STEPS, 1, BATCH, HIDDEN));
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, BATCH, HIDDEN));
  if (gates == 4) op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, BATCH, HIDDEN));
  op_int(&t, "hidden", HIDDEN);
  memset(out, 0, STEPS * BATCH * HIDDEN * sizeof *out);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    memcpy(out, t.out[0].data, STEPS * BATCH * HIDDEN * sizeof *out);
  op_end(&t);
}

static void check(const char *op, bool per_row) {
  enum { ALL = STEPS * BATCH * HIDDEN };
  static float real[ALL], bytes[ALL], again[ALL], portable[ALL];
  run(op, false, true, per_row, UINT32_MAX, real);
  run(op, true, true, per_row, UINT32_MAX, bytes);
  run(op, true, false, per_row, UINT32_MAX, again);
  run(op, true, true, per_row, SMR_ISA_NONE, portable);
  CHECK_MEM(again, bytes, sizeof bytes);
  size_t differ = 0;
  for (size_t i = 0; i < ALL; i++) {
    CHECK_NEAR(bytes[i], real[i], 0.02);
    CHECK_NEAR(portable[i], bytes[i], 0.002);
    differ += bytes[i] != real[i];
  }
  CHECK(differ > 0);  // integers were used
}

SMR_TEST(near_the_float_weights) {
  check("lstm", true);
  check("lstm", false);
  check("gru", true);
  check("gru", false);
}

SMR_TEST(what_is_refused) {
  static const float scales[HIDDEN] = {1};
  static const int32_t zeros[HIDDEN];
  struct op_test t;
  op_begin(&t, "gru");
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 4), NULL);
  op_quant(&t, op_in(&t, SAMARA_QINT8, 3, DIMS(1, 6, 4), NULL), 4, scales, zeros, 2);
  op_quant(&t, op_in(&t, SAMARA_QINT8, 3, DIMS(1, 6, 2), NULL), 1, scales, zeros, -1);
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(1, 1, 1, 2));
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 2));
  op_int(&t, "hidden", 2);
  CHECK_EQ_INT(smr_op_check(&t.job), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(t.error.text, "w is quantized along axis 2");
  op_end(&t);
}

SMR_TEST_MAIN(RUN(near_the_float_weights); RUN(what_is_refused))
