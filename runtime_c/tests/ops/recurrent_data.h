// SPDX-License-Identifier: Apache-2.0
// Nodes of lstm and gru with numbers that a script in another language makes as well.
#ifndef SMR_TESTS_RECURRENT_DATA_H
#define SMR_TESTS_RECURRENT_DATA_H

#include "op_harness.h"
#include "simd/half.h"

struct recurrent_case {
  const char *op;
  int64_t steps, batch, inputs, hidden;
  const char *direction;  // NULL: forward
  const int32_t *lengths;
  bool no_bias, states, peepholes, constants, half;
};

// Element i of operand k is ((7919 i + 104729 k) mod 201 - 100) / 100.
static inline void recurrent_operand(struct op_test *t, const struct recurrent_case *c, int64_t k,
                                     uint32_t rank, const int64_t *dims) {
  const uint8_t dtype = c->half ? SAMARA_FLOAT16 : SAMARA_FLOAT32;
  const bool weights = c->constants && (k == 2 || k == 3);
  struct smr_tensor *tensor =
      weights ? op_constant(t, dtype, rank, dims, NULL) : op_in(t, dtype, rank, dims, NULL);
  void *data = t->in_data[t->job.input_count - 1];
  for (size_t i = 0; i < tensor->size_bytes / smr_dtype_bytes(dtype); i++) {
    const float v = (float)(((int64_t)i * 7919 + k * 104729) % 201 - 100) / 100;
    if (c->half)
      ((uint16_t *)data)[i] = smr_f32_to_f16(v);
    else
      ((float *)data)[i] = v;
  }
}

static inline void recurrent_begin(struct op_test *t, const struct recurrent_case *c) {
  const bool lstm = strcmp(c->op, "lstm") == 0;
  const int64_t g = lstm ? 4 : 3, h = c->hidden;
  const int64_t d = c->direction != NULL && strcmp(c->direction, "bidirectional") == 0 ? 2 : 1;
  const uint8_t dtype = c->half ? SAMARA_FLOAT16 : SAMARA_FLOAT32;
  const int64_t state[3] = {d, c->batch, h};
  op_begin(t, c->op);
  recurrent_operand(t, c, 1, 3, (const int64_t[]){c->steps, c->batch, c->inputs});
  recurrent_operand(t, c, 2, 3, (const int64_t[]){d, g * h, c->inputs});
  recurrent_operand(t, c, 3, 3, (const int64_t[]){d, g * h, h});
  if (c->no_bias)
    op_absent(t);
  else
    recurrent_operand(t, c, 4, 2, (const int64_t[]){d, 2 * g * h});
  if (c->lengths != NULL)
    op_in(t, SAMARA_INT32, 1, &c->batch, c->lengths);
  else
    op_absent(t);
  for (int64_t k = 5; k < (lstm ? 7 : 6); k++) {
    if (c->states)
      recurrent_operand(t, c, k, 3, state);
    else
      op_absent(t);
  }
  if (c->peepholes) recurrent_operand(t, c, 7, 2, (const int64_t[]){d, 3 * h});
  op_out(t, dtype, 4, (const int64_t[]){c->steps, d, c->batch, h});
  op_out(t, dtype, 3, state);
  if (lstm) op_out(t, dtype, 3, state);
  op_int(t, "hidden", h);
  if (c->direction != NULL) op_enum(t, "direction", c->direction);
}

#endif
