// SPDX-License-Identifier: Apache-2.0
// attention_grad: keys that no row sees, rows without elements, float16 that is rounded once.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#include <math.h>

// q, dq [b, h, s, d], k, dk [b, h, t, d], v, dv [b, h, t, dv], dy [b, h, s, dv]; rows before heads
// where `turned`.
struct attention_case {
  size_t b, h, s, t, d, dv;
  bool turned, causal;
  uint32_t mask_rank;  // 0: no mask
  int64_t mask[4];     // dims
};

static void fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) x[i] = (float)((i * 7919 + seed * 104729) % 2003) / 1001.5f - 1.0f;
}

static void operand(struct op_test *t, const struct attention_case *c, size_t rows, size_t n,
                    bool output) {
  const int64_t b = (int64_t)c->b, h = (int64_t)c->h, r = (int64_t)rows;
  const int64_t dims[4] = {b, c->turned ? r : h, c->turned ? h : r, (int64_t)n};
  if (output)
    op_out(t, SAMARA_FLOAT32, 4, dims);
  else
    op_in(t, SAMARA_FLOAT32, 4, dims, NULL);
}

static void begin(struct op_test *t, const struct attention_case *c, float scale) {
  op_begin(t, "attention_grad");
  for (int output = 0; output < 2; output++) {
    operand(t, c, c->s, c->d, output);
    operand(t, c, c->t, c->d, output);
    operand(t, c, c->t, c->dv, output);
    if (!output) operand(t, c, c->s, c->dv, false);
  }
  if (c->mask_rank > 0) op_in(t, SAMARA_FLOAT32, c->mask_rank, c->mask, NULL);
  op_f32(t, "scale", scale);
  op_int(t, "causal", c->causal);
  op_enum(t, "layout", c->turned ? "bshd" : "bhsd");
  for (uint32_t i = 0; i < t->job.input_count; i++)
    fill((float *)t->in_data[i], t->in[i].size_bytes / sizeof(float), i + 1);
}

// A value that no row sees may have any bits.
SMR_TEST(unseen_keys_are_not_looked_at) {
  const struct attention_case c = {1, 1, 4, 9, 3, 5, false, true, 0, {0}};
  struct op_test t;
  begin(&t, &c, 1.0f);
  for (size_t i = 4 * c.d; i < c.t * c.d; i++) ((float *)t.in_data[1])[i] = NAN;
  for (size_t i = 4 * c.dv; i < c.t * c.dv; i++) ((float *)t.in_data[2])[i] = INFINITY;
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    for (size_t i = 0; i < c.t * c.d; i++) {
      const float dk = ((const float *)t.out[1].data)[i];
      CHECK(i < 4 * c.d ? isfinite(dk) : dk == 0);
    }
    for (size_t i = 0; i < c.t * c.dv; i++) CHECK(isfinite(((const float *)t.out[2].data)[i]));
  }
  op_end(&t);
}

// The largest number of rows, without elements: no loop may run over the rows.
SMR_TEST(rows_without_elements) {
  const size_t many = SIZE_MAX >> 8;
  const struct attention_case cases[] = {{1, 1, many, 0, 0, 0, false, false, 0, {0}},
                                         {1, 1, many, 3, 0, 0, true, false, 0, {0}},
                                         {1, many, 0, 0, 3, 4, false, true, 0, {0}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct op_test t;
    begin(&t, &cases[i], 1.0f);
    CHECK_EQ_INT(op_run(&t), SAMARA_OK);
    CHECK_EQ_INT(t.job.tiles, 0);
    op_end(&t);
  }
}

SMR_TEST(float16_rounds_once) {
  enum { S = 5, T = 18, D = 7, DV = 9 };
  uint16_t half[T * DV];
  struct op_test wide, narrow;
  const struct attention_case c = {1, 1, S, T, D, DV, false, true, 0, {0}};
  begin(&wide, &c, 0.5f);
  op_begin(&narrow, "attention_grad");
  for (uint32_t i = 0; i < 4; i++) {
    float *x = (float *)wide.in_data[i];
    for (size_t j = 0; j < wide.in[i].size_bytes / sizeof(float); j++) {
      half[j] = smr_f32_to_f16(x[j]);
      x[j] = smr_f16_to_f32(half[j]);
    }
    op_in(&narrow, SAMARA_FLOAT16, 4, wide.in[i].dims, half);
  }
  for (uint32_t i = 0; i < 3; i++) op_out(&narrow, SAMARA_FLOAT16, 4, wide.out[i].dims);
  op_f32(&narrow, "scale", 0.5f);
  op_int(&narrow, "causal", 1);
  if (CHECK_EQ_INT(op_run(&wide), SAMARA_OK) && CHECK_EQ_INT(op_run(&narrow), SAMARA_OK))
    for (uint32_t o = 0; o < 3; o++)
      for (size_t i = 0; i < wide.out[o].size_bytes / sizeof(float); i++)
        CHECK_EQ_INT(((const uint16_t *)narrow.out[o].data)[i],
                     smr_f32_to_f16(((const float *)wide.out[o].data)[i]));
  op_end(&wide);
  op_end(&narrow);
}

SMR_TEST_MAIN(RUN(unseen_keys_are_not_looked_at); RUN(rows_without_elements);
              RUN(float16_rounds_once))
