// SPDX-License-Identifier: Apache-2.0
// attention_grad: against sums in double precision over all shapes of block, mask and layout.
#include "base/fp.h"

#include "ops/op_harness.h"
#include "simd/half.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

// q, dq [b, h, s, d], k, dk [b, h, t, d], v, dv [b, h, t, dv], dy [b, h, s, dv]; rows before heads
// where `turned`.
struct attention_case {
  size_t b, h, s, t, d, dv;
  bool turned, causal;
  uint32_t mask_rank;  // 0: no mask
  int64_t mask[4];     // dims
};

static size_t row_at(const struct attention_case *c, size_t rows, size_t b, size_t h, size_t row) {
  return (b * (c->turned ? rows : c->h) + (c->turned ? row : h)) * (c->turned ? c->h : rows) +
         (c->turned ? h : row);
}

static double mask_at(const struct attention_case *c, const float *mask, size_t b, size_t h,
                      size_t row, size_t key) {
  const size_t index[4] = {b, h, row, key};
  size_t offset = 0;
  if (mask == NULL) return 0;
  for (uint32_t i = 0; i < c->mask_rank; i++) {
    const size_t n = (size_t)c->mask[i];
    offset = offset * n + (n == 1 ? 0 : index[4 - c->mask_rank + i]);
  }
  return (double)mask[offset];
}

static double dot(const float *a, const float *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
  return sum;
}

// What the gradients of a head are made of; `sums` holds dk [t][d], then dv [t][dv].
struct head {
  const float *q, *k, *v, *dy, *mask;
  size_t b, h;
  double scale;
};

static void expected_row(const struct attention_case *c, const struct head *x, size_t row,
                         double *weights, double *dq, double *sums) {
  const float *q = x->q + row_at(c, c->s, x->b, x->h, row) * c->d;
  const float *dy = x->dy + row_at(c, c->s, x->b, x->h, row) * c->dv;
  const size_t seen = c->causal && row + 1 < c->t ? row + 1 : c->t;
  double largest = -(double)INFINITY, sum = 0, mean = 0;
  double *slopes = weights + c->t;
  for (size_t j = 0; j < seen; j++) {
    const size_t at = row_at(c, c->t, x->b, x->h, j);
    weights[j] =
        x->scale * dot(q, x->k + at * c->d, c->d) + mask_at(c, x->mask, x->b, x->h, row, j);
    slopes[j] = dot(dy, x->v + at * c->dv, c->dv);
    if (weights[j] > largest) largest = weights[j];
  }
  for (size_t j = 0; j < seen; j++) sum += weights[j] = exp(weights[j] - largest);
  for (size_t j = 0; j < seen; j++) weights[j] /= sum;
  for (size_t j = 0; j < seen; j++) mean += weights[j] * slopes[j];
  memset(dq, 0, c->d * sizeof *dq);
  for (size_t j = 0; j < seen; j++) {
    const double slope = x->scale * weights[j] * (slopes[j] - mean);
    const float *k = x->k + row_at(c, c->t, x->b, x->h, j) * c->d;
    for (size_t i = 0; i < c->d; i++) {
      dq[i] += slope * (double)k[i];
      sums[j * c->d + i] += slope * (double)q[i];
    }
    for (size_t i = 0; i < c->dv; i++)
      sums[c->t * c->d + j * c->dv + i] += weights[j] * (double)dy[i];
  }
}

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

static void check_head(const struct attention_case *c, const struct op_test *t, size_t b, size_t h,
                       double scale) {
  const struct head x = {.q = (const float *)t->in_data[0],
                         .k = (const float *)t->in_data[1],
                         .v = (const float *)t->in_data[2],
                         .dy = (const float *)t->in_data[3],
                         .mask = c->mask_rank > 0 ? (const float *)t->in_data[4] : NULL,
                         .b = b,
                         .h = h,
                         .scale = scale};
  double *weights = malloc((2 * c->t + c->d + 1) * sizeof *weights), *dq = weights + 2 * c->t;
  double *sums = calloc(c->t * (c->d + c->dv) + 1, sizeof *sums);
  for (size_t row = 0; row < c->s; row++) {
    expected_row(c, &x, row, weights, dq, sums);
    const float *got = (const float *)t->out[0].data + row_at(c, c->s, b, h, row) * c->d;
    for (size_t i = 0; i < c->d; i++) CHECK_NEAR(got[i], dq[i], 6e-6);
  }
  for (size_t j = 0; j < c->t; j++) {
    const size_t at = row_at(c, c->t, b, h, j);
    const float *dk = (const float *)t->out[1].data + at * c->d;
    const float *dv = (const float *)t->out[2].data + at * c->dv;
    for (size_t i = 0; i < c->d; i++) CHECK_NEAR(dk[i], sums[j * c->d + i], 1e-5);
    for (size_t i = 0; i < c->dv; i++) CHECK_NEAR(dv[i], sums[c->t * c->d + j * c->dv + i], 1e-5);
  }
  free(weights);
  free(sums);
}

static void check_case_on(const struct attention_case *c, uint32_t isa) {
  const float scale = 0.75f;
  struct op_test t;
  begin(&t, c, scale);
  t.job.isa = isa;
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < c->b * c->h; i++) check_head(c, &t, i / c->h, i % c->h, (double)scale);
  op_end(&t);
}

static void check_case(const struct attention_case *c) {
  check_case_on(c, smr_cpu_isa());
  check_case_on(c, smr_cpu_isa() & SMR_ISA_AVX2);
  check_case_on(c, 0);
}

SMR_TEST(sizes) {
  static const size_t rows[] = {0, 1, 15, 16, 17, 63, 64, 65, 130}, keys[] = {0, 1, 16, 17, 63};
  static const size_t sizes[] = {0, 1, 5, 16, 33};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++)
      check_case(&(struct attention_case){1,
                                          2,
                                          rows[i],
                                          keys[j],
                                          sizes[(i + j) % 5],
                                          sizes[(i + 2 * j) % 5],
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
  } masks[] = {{4, {2, 3, 70, 20}}, {4, {2, 1, 1, 20}}, {3, {1, 70, 20}}, {2, {70, 1}}, {1, {1}}};
  for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    for (int form = 0; form < 4; form++) {
      struct attention_case c = {2, 3, 70, 20, 6, 7, form % 2, form / 2, masks[i].rank, {0}};
      memcpy(c.mask, masks[i].dims, sizeof c.mask);
      check_case(&c);
    }
  }
}

// A value that no row sees may be anything.
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

// As many rows as dims can say, none of which has elements: there is nothing to walk over.
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

SMR_TEST_MAIN(RUN(sizes); RUN(masks); RUN(unseen_keys_are_not_looked_at);
              RUN(rows_without_elements); RUN(float16_rounds_once))
