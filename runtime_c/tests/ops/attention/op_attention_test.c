// SPDX-License-Identifier: Apache-2.0
// attention in float16: sums are those of float32, rounded once.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#include <math.h>

// q [b, h, s, d], k [b, h, t, d], v [b, h, t, dv]; rows before heads where `turned`.
struct attention_case {
  size_t b, h, s, t, d, dv;
  bool turned, causal;
  uint32_t mask_rank;  // 0 and mask[0] == 0: no mask
  int64_t mask[4];     // dims
};

static void fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) x[i] = (float)((i * 7919 + seed * 104729) % 2003) / 1001.5f - 1.0f;
}

static void begin(struct op_test *t, const struct attention_case *c, float scale) {
  const bool turned = c->turned;
  const int64_t b = (int64_t)c->b, h = (int64_t)c->h, s = (int64_t)c->s, n = (int64_t)c->t;
  op_begin(t, "attention");
  op_in(t, SAMARA_FLOAT32, 4, DIMS(b, turned ? s : h, turned ? h : s, (int64_t)c->d), NULL);
  op_in(t, SAMARA_FLOAT32, 4, DIMS(b, turned ? n : h, turned ? h : n, (int64_t)c->d), NULL);
  op_in(t, SAMARA_FLOAT32, 4, DIMS(b, turned ? n : h, turned ? h : n, (int64_t)c->dv), NULL);
  if (c->mask_rank > 0 || c->mask[0] != 0) op_in(t, SAMARA_FLOAT32, c->mask_rank, c->mask, NULL);
  op_out(t, SAMARA_FLOAT32, 4, DIMS(b, turned ? s : h, turned ? h : s, (int64_t)c->dv));
  op_f32(t, "scale", scale);
  op_int(t, "causal", c->causal);
  op_enum(t, "layout", turned ? "bshd" : "bhsd");
  for (uint32_t i = 0; i < t->job.input_count; i++)
    fill((float *)t->in_data[i], t->in[i].size_bytes / sizeof(float), i + 1);
}

SMR_TEST(float16_rounds_once) {
  enum { S = 5, T = 18, D = 7, DV = 9 };
  uint16_t half[T * DV];
  struct op_test wide, narrow;
  const struct attention_case c = {1, 1, S, T, D, DV, false, true, 0, {0}};
  begin(&wide, &c, 0.5f);
  op_begin(&narrow, "attention");
  for (uint32_t i = 0; i < 3; i++) {
    float *x = (float *)wide.in_data[i];
    for (size_t j = 0; j < wide.in[i].size_bytes / sizeof(float); j++) {
      half[j] = smr_f32_to_f16(x[j]);
      x[j] = smr_f16_to_f32(half[j]);
    }
    op_in(&narrow, SAMARA_FLOAT16, 4, wide.in[i].dims, half);
  }
  op_out(&narrow, SAMARA_FLOAT16, 4, wide.out[0].dims);
  op_f32(&narrow, "scale", 0.5f);
  op_int(&narrow, "causal", 1);
  if (CHECK_EQ_INT(op_run(&wide), SAMARA_OK) && CHECK_EQ_INT(op_run(&narrow), SAMARA_OK))
    for (size_t i = 0; i < S * DV; i++)
      CHECK_EQ_INT(((const uint16_t *)narrow.out[0].data)[i],
                   smr_f32_to_f16(((const float *)wide.out[0].data)[i]));
  op_end(&wide);
  op_end(&narrow);
}

SMR_TEST_MAIN(RUN(float16_rounds_once))
