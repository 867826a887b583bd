// SPDX-License-Identifier: Apache-2.0
// attention: against sums in double precision over all shapes of block, mask and layout.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// q [b, h, s, d], k [b, h, t, d], v [b, h, t, dv]; rows before heads where `turned`.
struct attention_case {
  size_t b, h, s, t, d, dv;
  bool turned, causal;
  uint32_t mask_rank;  // 0 and mask[0] == 0: no mask
  int64_t mask[4];     // dims
};

// Element of a tensor [b, h, rows, n] or [b, rows, h, n].
static size_t at(const struct attention_case *c, size_t rows, size_t n, size_t b, size_t h,
                 size_t row, size_t i) {
  return ((b * (c->turned ? rows : c->h) + (c->turned ? row : h)) * (c->turned ? c->h : rows) +
          (c->turned ? h : row)) *
             n +
         i;
}

// The mask's element, by numpy's rules.
static double mask_at(const struct attention_case *c, const float *mask, size_t b, size_t h,
                      size_t row, size_t key) {
  const size_t index[4] = {b, h, row, key};
  size_t offset = 0;
  for (uint32_t i = 0; i < c->mask_rank; i++) {
    const size_t n = (size_t)c->mask[i];
    offset = offset * n + (n == 1 ? 0 : index[4 - c->mask_rank + i]);
  }
  return (double)mask[offset];
}

static void expected_row(const struct attention_case *c, const float *q, const float *k,
                         const float *v, const float *mask, double scale, size_t b, size_t h,
                         size_t row, double *weights, double *y) {
  double largest = -(double)INFINITY, sum = 0;
  for (size_t j = 0; j < c->t; j++) {
    double dot = 0;
    for (size_t i = 0; i < c->d; i++)
      dot += (double)q[at(c, c->s, c->d, b, h, row, i)] * (double)k[at(c, c->t, c->d, b, h, j, i)];
    weights[j] = scale * dot + (mask != NULL ? mask_at(c, mask, b, h, row, j) : 0);
    if (c->causal && j > row) weights[j] = -(double)INFINITY;
    if (weights[j] > largest) largest = weights[j];
  }
  for (size_t j = 0; j < c->t; j++) sum += weights[j] = exp(weights[j] - largest);
  for (size_t i = 0; i < c->dv; i++) {
    y[i] = 0;
    for (size_t j = 0; j < c->t; j++)
      y[i] += weights[j] / sum * (double)v[at(c, c->t, c->dv, b, h, j, i)];
  }
}

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

static void check_case_on(const struct attention_case *c, uint32_t isa) {
  const float scale = 0.75f;
  struct op_test t;
  begin(&t, c, scale);
  t.job.isa = isa;
  if (!CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    op_end(&t);
    return;
  }
  const float *mask = t.job.input_count > 3 ? (const float *)t.in_data[3] : NULL;
  const float *got = (const float *)t.out[0].data;
  double *weights = malloc((c->t + c->dv + 1) * sizeof *weights), *y = weights + c->t;
  for (size_t b = 0; b < c->b; b++) {
    for (size_t h = 0; h < c->h; h++) {
      for (size_t row = 0; row < c->s; row++) {
        expected_row(c, (const float *)t.in_data[0], (const float *)t.in_data[1],
                     (const float *)t.in_data[2], mask, (double)scale, b, h, row, weights, y);
        for (size_t i = 0; i < c->dv; i++)
          CHECK_NEAR(got[at(c, c->s, c->dv, b, h, row, i)], c->t > 0 ? y[i] : 0, 3e-6);
      }
    }
  }
  free(weights);
  op_end(&t);
}

static void check_case(const struct attention_case *c) {
  check_case_on(c, smr_cpu_isa());
  check_case_on(c, smr_cpu_isa() & SMR_ISA_AVX2);
  check_case_on(c, 0);
}

SMR_TEST(sizes) {
  static const size_t rows[] = {1, 2, 15, 16, 17, 47, 48, 49, 97}, keys[] = {0, 1, 16, 17, 63};
  static const size_t sizes[] = {0, 1, 5, 16, 33};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++)
      check_case(&(struct attention_case){1,
                                          2,
                                          rows[i],
                                          keys[j],
                                          sizes[(i + j) % 5],
                                          sizes[(i + 2 * j) % 5 ? (i + 2 * j) % 5 : 1],
                                          (i + j) % 2,
                                          (i + j) % 3 == 0,
                                          0,
                                          {0}});
  check_case(&(struct attention_case){2, 2, 19, 1023, 8, 17, true, false, 0, {0}});
  check_case(&(struct attention_case){1, 1, 33, 2000, 4, 5, false, true, 0, {0}});
}

SMR_TEST(masks) {
  static const struct {
    uint32_t rank;
    int64_t dims[4];
  } masks[] = {{4, {2, 3, 50, 20}},
               {4, {2, 1, 1, 20}},
               {4, {1, 3, 50, 1}},
               {3, {3, 1, 20}},
               {3, {1, 50, 20}},
               {2, {50, 20}},
               {2, {50, 1}},
               {2, {1, 1}},
               {1, {20}},
               {1, {1}},
               {0, {1}}};
  for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    for (int form = 0; form < 4; form++) {
      struct attention_case c = {2, 3, 50, 20, 6, 7, form % 2, form / 2, masks[i].rank, {0}};
      memcpy(c.mask, masks[i].dims, sizeof c.mask);
      check_case(&c);
    }
  }
}

SMR_TEST(hidden_rows_are_nan_and_others_are_not) {
  enum { S = 5, T = 19, DV = 3 };
  const struct attention_case c = {1, 1, S, T, 4, DV, false, false, 2, {S, T}};
  struct op_test t;
  begin(&t, &c, 1.0f);
  float *mask = (float *)t.in_data[3];
  for (size_t i = 0; i < S * T; i++) mask[i] = i / T == 2 || i % T > 9 ? -INFINITY : 0.0f;
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < S * DV; i++)
      CHECK(isnan(((const float *)t.out[0].data)[i]) == (i / DV == 2));
  op_end(&t);
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

SMR_TEST_MAIN(RUN(sizes); RUN(masks); RUN(hidden_rows_are_nan_and_others_are_not);
              RUN(float16_rounds_once))
