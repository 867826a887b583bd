// SPDX-License-Identifier: Apache-2.0
// Nodes of attention and attention_grad over repeatable numbers.
#ifndef SMR_TESTS_ATTENTION_DATA_H
#define SMR_TESTS_ATTENTION_DATA_H

#include "ops/op_harness.h"
#include "simd/half.h"

/// q, dq [b, h, s, d], k, dk [b, h, t, d], v, dv [b, h, t, dv], dy, y [b, h, s, dv]; rows before
/// heads if `turned`.
struct attention_case {
  size_t b, h, s, t, d, dv;
  bool turned, causal;
};

static inline void attention_operand(struct op_test *t, const struct attention_case *c, size_t rows,
                                     size_t n, bool output) {
  const int64_t b = (int64_t)c->b, h = (int64_t)c->h, r = (int64_t)rows;
  const int64_t dims[4] = {b, c->turned ? r : h, c->turned ? h : r, (int64_t)n};
  if (output)
    op_out(t, SAMARA_FLOAT32, 4, dims);
  else
    op_in(t, SAMARA_FLOAT32, 4, dims, NULL);
}

/// Begin the node with inputs in [-1, 1).
static inline void attention_begin(struct op_test *t, bool grad, const struct attention_case *c,
                                   float scale) {
  op_begin(t, grad ? "attention_grad" : "attention");
  for (int output = 0; output <= grad; output++) {
    attention_operand(t, c, c->s, c->d, output);
    attention_operand(t, c, c->t, c->d, output);
    attention_operand(t, c, c->t, c->dv, output);
    if (!output) attention_operand(t, c, c->s, c->dv, !grad);
  }
  op_f32(t, "scale", scale);
  op_int(t, "causal", c->causal);
  op_enum(t, "layout", c->turned ? "bshd" : "bhsd");
  for (uint32_t i = 0; i < t->job.input_count; i++)
    for (size_t k = 0; k < t->in[i].size_bytes / sizeof(float); k++)
      ((float *)t->in_data[i])[k] = (float)((k * 7919 + (i + 1) * 104729) % 2003) / 1001.5f - 1.0f;
}

/// Float16 results are the float32 results of the same inputs, rounded once.
static inline void attention_rounds_once(bool grad) {
  enum { S = 5, T = 18, D = 7, DV = 9 };
  uint16_t half[T * DV];
  struct op_test wide, narrow;
  const struct attention_case c = {1, 1, S, T, D, DV, false, true};
  attention_begin(&wide, grad, &c, 0.5f);
  op_begin(&narrow, wide.job.op->name);
  for (uint32_t i = 0; i < wide.job.input_count; i++) {
    float *x = (float *)wide.in_data[i];
    for (size_t j = 0; j < wide.in[i].size_bytes / sizeof(float); j++) {
      half[j] = smr_f32_to_f16(x[j]);
      x[j] = smr_f16_to_f32(half[j]);
    }
    op_in(&narrow, SAMARA_FLOAT16, 4, wide.in[i].dims, half);
  }
  for (uint32_t i = 0; i < wide.job.output_count; i++)
    op_out(&narrow, SAMARA_FLOAT16, 4, wide.out[i].dims);
  op_f32(&narrow, "scale", 0.5f);
  op_int(&narrow, "causal", 1);
  if (CHECK_EQ_INT(op_run(&wide), SAMARA_OK) && CHECK_EQ_INT(op_run(&narrow), SAMARA_OK))
    for (uint32_t o = 0; o < wide.job.output_count; o++)
      for (size_t i = 0; i < wide.out[o].size_bytes / sizeof(float); i++)
        CHECK_EQ_INT(((const uint16_t *)narrow.out[o].data)[i],
                     smr_f32_to_f16(((const float *)wide.out[o].data)[i]));
  op_end(&wide);
  op_end(&narrow);
}

#endif
