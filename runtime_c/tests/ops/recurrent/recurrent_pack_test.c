// SPDX-License-Identifier: Apache-2.0
// Packed weights of lstm and gru.
#include "base/fp.h"

#include <stdlib.h>

#include "ops/recurrent/recurrent_data.h"

static const char *const ops[2] = {"lstm", "gru"};

// Weights packed once per model give the bits of weights packed while running.
SMR_TEST(constants_give_the_same_bits) {
  for (int o = 0; o < 2; o++)
    for (int64_t hidden = 15; hidden <= 33; hidden += 9)
      for (int half = 0; half < 2; half++) {
        struct recurrent_case c = {ops[o],         4,           3, 21, hidden, "bidirectional",
                                   .states = true, .half = half};
        struct op_test computed, constant;
        recurrent_begin(&computed, &c);
        c.constants = true;
        recurrent_begin(&constant, &c);
        if (CHECK_EQ_INT(op_run(&computed), SAMARA_OK) &&
            CHECK_EQ_INT(op_run(&constant), SAMARA_OK)) {
          CHECK_EQ_INT(constant.job.derived[0].input, 1);
          CHECK_EQ_INT(constant.job.derived[1].input, 2);
          CHECK(constant.job.scratch_bytes < computed.job.scratch_bytes);
          for (uint32_t i = 0; i < computed.job.output_count; i++)
            op_expect_bytes(&constant, i, computed.out[i].data, computed.out[i].size_bytes);
        }
        op_end(&computed);
        op_end(&constant);
      }
}

struct widened_case {
  const char *op;
  int64_t steps, batch, inputs, hidden;
  bool shifted;           // zero points, and a scale per row of the gates
  bool w_bytes, r_bytes;  // what stays bytes
};

// Bytes that products of floats dequantize, or the same weights in float32.
static void widened_begin(struct op_test *t, const struct widened_case *c, bool quantized,
                          bool constant, float *scales, int32_t *zeros, void *const data[2]) {
  const int64_t gates = strcmp(c->op, "lstm") == 0 ? 4 : 3, wide = gates * c->hidden;
  const struct recurrent_case floats = {.op = c->op};
  op_begin(t, c->op);
  recurrent_operand(t, &floats, 1, 3, DIMS(c->steps, c->batch, c->inputs));
  for (int64_t i = 0; i < wide; i++) {
    scales[i] = c->shifted ? 0.001f + 0.0001f * (float)(i % 7) : 0.002f;
    zeros[i] = c->shifted ? (int32_t)(i % 5) - 2 : 0;
  }
  for (int j = 0; j < 2; j++) {
    const int64_t k = j == 0 ? c->inputs : c->hidden;
    for (int64_t i = 0; i < wide * k; i++) {
      const int32_t q = (int32_t)(i * 61 % 251) - 125;
      if (quantized)
        ((int8_t *)data[j])[i] = (int8_t)q;
      else
        ((float *)data[j])[i] = (float)(q - zeros[i / k]) * scales[i / k];
    }
    const uint8_t dtype = quantized ? SAMARA_QINT8 : SAMARA_FLOAT32;
    struct smr_tensor *w = constant ? op_constant(t, dtype, 3, DIMS(1, wide, k), data[j])
                                    : op_in(t, dtype, 3, DIMS(1, wide, k), data[j]);
    if (quantized)
      op_quant(t, w, c->shifted ? (uint32_t)wide : 1, scales, zeros, c->shifted ? 1 : -1);
  }
  recurrent_operand(t, &floats, 4, 2, DIMS(1, 2 * wide));
  op_out(t, SAMARA_FLOAT32, 4, DIMS(c->steps, 1, c->batch, c->hidden));
  op_out(t, SAMARA_FLOAT32, 3, DIMS(1, c->batch, c->hidden));
  if (gates == 4) op_out(t, SAMARA_FLOAT32, 3, DIMS(1, c->batch, c->hidden));
  op_int(t, "hidden", c->hidden);
  if (quantized) op_int(t, "dynamic", 0);
}

// Quantized weights give the bits of the floats that they mean, and stay bytes where that is
// faster.
static void check_widened(const struct widened_case *c, uint32_t isa, bool constant) {
  const size_t most = (size_t)(4 * c->hidden * (c->hidden > c->inputs ? c->hidden : c->inputs));
  float *scales = calloc((size_t)c->hidden * 4, sizeof *scales);
  int32_t *zeros = calloc((size_t)c->hidden * 4, sizeof *zeros);
  void *data[2] = {calloc(most, sizeof(float)), calloc(most, sizeof(float))};
  struct op_test real, bytes;
  widened_begin(&real, c, false, constant, scales, zeros, data);
  real.job.isa &= isa;
  const bool ran = CHECK_EQ_INT(op_run(&real), SAMARA_OK);
  widened_begin(&bytes, c, true, constant, scales, zeros, data);
  bytes.job.isa &= isa;
  if (ran && CHECK_EQ_INT(op_run(&bytes), SAMARA_OK)) {
    for (uint32_t i = 0; i < real.job.output_count; i++)
      op_expect_bytes(&bytes, i, real.out[i].data, real.out[i].size_bytes);
    for (int j = 0; constant && j < 2; j++) {
      const size_t size = bytes.job.derived[j].size_bytes, whole = real.job.derived[j].size_bytes;
      if (j == 0 ? c->w_bytes : c->r_bytes)
        CHECK(size < whole / 2);
      else
        CHECK_EQ_INT(size, whole);
    }
  }
  op_end(&real);
  op_end(&bytes);
  free(scales);
  free(zeros);
  free(data[0]);
  free(data[1]);
}

SMR_TEST(bytes_give_the_bits_of_floats) {
  static const struct widened_case cases[] = {
      {"lstm", 33, 2, 21, 18, true, true, false}, {"gru", 70, 1, 21, 18, false, true, false},
      {"lstm", 2, 64, 19, 33, true, true, true},  {"gru", 2, 65, 19, 33, false, true, true},
      {"lstm", 3, 1, 5, 256, true, false, true},  {"gru", 1, 1, 400, 300, false, true, true},
      {"lstm", 3, 2, 5, 33, false, false, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int constant = 0; constant < 2; constant++) {
      check_widened(&cases[i], UINT32_MAX, constant);
      check_widened(&cases[i], SMR_ISA_NONE, constant);
    }
}

SMR_TEST_MAIN(RUN(constants_give_the_same_bits); RUN(bytes_give_the_bits_of_floats))
