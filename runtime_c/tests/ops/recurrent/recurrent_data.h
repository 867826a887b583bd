// SPDX-License-Identifier: Apache-2.0
// Nodes of lstm and gru, their training twins and gradients.
#ifndef SMR_TESTS_RECURRENT_DATA_H
#define SMR_TESTS_RECURRENT_DATA_H

#include "ops/op_harness.h"
#include "simd/half.h"

struct recurrent_case {
  const char *op;
  int64_t steps, batch, inputs, hidden;
  const char *direction;  // NULL: forward
  const int32_t *lengths;
  bool states, constants, half;
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
  const bool lstm = strncmp(c->op, "lstm", 4) == 0, train = strstr(c->op, "_train") != NULL;
  const int64_t g = lstm ? 4 : 3, h = c->hidden;
  const int64_t d = c->direction != NULL && strcmp(c->direction, "bidirectional") == 0 ? 2 : 1;
  const uint8_t dtype = c->half ? SAMARA_FLOAT16 : SAMARA_FLOAT32;
  const int64_t state[3] = {d, c->batch, h};
  op_begin(t, c->op);
  recurrent_operand(t, c, 1, 3, (const int64_t[]){c->steps, c->batch, c->inputs});
  recurrent_operand(t, c, 2, 3, (const int64_t[]){d, g * h, c->inputs});
  recurrent_operand(t, c, 3, 3, (const int64_t[]){d, g * h, h});
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
  op_out(t, dtype, 4, (const int64_t[]){c->steps, d, c->batch, h});
  op_out(t, dtype, 3, state);
  if (lstm) op_out(t, dtype, 3, state);
  if (train) op_out(t, dtype, 4, (const int64_t[]){d, c->steps, c->batch, 4 * h});
  for (int i = 0; train && i < (lstm ? 2 : 1); i++)
    op_out(t, dtype, 4, (const int64_t[]){d, c->steps, c->batch, h});
  op_int(t, "hidden", h);
  if (c->direction != NULL) op_enum(t, "direction", c->direction);
}

/// The gradient of `train`, which has been run; attributes other than these are left to the caller.
/// All outputs but what is kept have gradients.
static inline void recurrent_grad_begin(struct op_test *t, const struct recurrent_case *c,
                                        const struct op_test *train) {
  const bool lstm = train->job.output_count == 6;
  const struct smr_tensor *gates = &train->out[lstm ? 3 : 2], *before = &train->out[lstm ? 5 : 3];
  const struct smr_tensor *r = &train->in[2], *y = &train->out[0], *h = &train->out[1];
  op_begin(t, lstm ? "lstm_grad" : "gru_grad");
  op_in(t, gates->dtype, 4, gates->dims, gates->data);
  op_in(t, before->dtype, 4, before->dims, before->data);
  op_in(t, r->dtype, 3, r->dims, train->in_data[2]);
  if (c->lengths != NULL)
    op_in(t, SAMARA_INT32, 1, &c->batch, c->lengths);
  else
    op_absent(t);
  recurrent_operand(t, c, 8, 4, y->dims);
  recurrent_operand(t, c, 9, 3, h->dims);
  if (lstm) recurrent_operand(t, c, 10, 3, h->dims);
  const int64_t inner[4] = {gates->dims[0], gates->dims[1], gates->dims[2], 3 * c->hidden};
  op_out(t, gates->dtype, 4, lstm ? gates->dims : inner);
  if (!lstm) op_out(t, gates->dtype, 4, inner);
  op_out(t, gates->dtype, 3, h->dims);
  if (lstm) op_out(t, gates->dtype, 3, h->dims);
  op_int(t, "hidden", c->hidden);
  if (c->direction != NULL) op_enum(t, "direction", c->direction);
}

#endif
