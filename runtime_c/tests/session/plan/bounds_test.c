// SPDX-License-Identifier: Apache-2.0
// Upper bounds of dims and bytes, against every value that the expressions can take.
#include "base/fp.h"

#include "harness.h"

#include "session/model_literal.h"
#include "session/plan/plan.h"

static const enum smr_expr_op binary_ops[] = {
    SMR_EXPR_ADD, SMR_EXPR_SUB, SMR_EXPR_MUL, SMR_EXPR_FLOORDIV, SMR_EXPR_CEILDIV,
    SMR_EXPR_MOD, SMR_EXPR_MIN, SMR_EXPR_MAX, SMR_EXPR_EQ,       SMR_EXPR_LT};

// A frame with two inputs [n] and [m] and the expressions of `f`, by hand.
struct bounds_frame {
  struct smr_frame frame;
  int64_t exprs[LITERAL_EXPRS], lo[LITERAL_EXPRS], hi[LITERAL_EXPRS];
  int64_t dims[2][SAMARA_MAX_RANK], input_lo[2][SAMARA_MAX_RANK], input_hi[2][SAMARA_MAX_RANK];
};

static void bounds_init(struct bounds_frame *b, const struct literal_function *f) {
  memset(b, 0, sizeof *b);
  b->frame.function = &f->f;
  b->frame.exprs = b->exprs;
  b->frame.lo = b->lo;
  b->frame.hi = b->hi;
  b->frame.input_dims = b->dims;
  b->frame.input_lo = b->input_lo;
  b->frame.input_hi = b->input_hi;
}

SMR_TEST(bounds_hold_for_every_value_of_random_expressions) {
  uint32_t state = 1;
  for (int graph = 0; graph < 400; graph++) {
    struct literal *l = literal_new();
    struct literal_function *f = literal_add(l, "main", true);
    const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
    const uint32_t m = literal_symbol(f, "m", 1, 0, INT64_MAX);
    literal_input(f, literal_vector(f, "x", n));
    literal_input(f, literal_vector(f, "y", m));
    literal_int(f, 3);
    for (int i = 0; i < 12; i++) {
      state = state * 1664525u + 1013904223u;
      const int32_t count = (int32_t)f->f.expr_count;
      literal_expr(f, binary_ops[(state >> 8) % 10], (int32_t)(state >> 12) % count,
                   (int32_t)((state >> 18) % (uint32_t)count), 0, 0);
      if (f->exprs[count].a < 0) f->exprs[count].a = 0;
    }
    (void)literal_finish(l);
    struct bounds_frame b;
    bounds_init(&b, f);
    b.input_lo[0][0] = 1;
    b.input_hi[0][0] = 6;
    b.input_lo[1][0] = 0;
    b.input_hi[1][0] = 5;
    smr_frame_bounds(&b.frame, 0);
    bool hold = true;
    for (int64_t vn = 1; vn <= 6; vn++) {
      for (int64_t vm = 0; vm <= 5; vm++) {
        bool known[LITERAL_EXPRS] = {true, true};
        b.exprs[n] = vn;
        b.exprs[m] = vm;
        for (uint32_t e = 2; e < f->f.expr_count; e++) {
          const char *why;
          const struct smr_expr *x = &f->exprs[e];
          known[e] = x->op == SMR_EXPR_CONST || (known[x->a] && known[x->b]);
          known[e] = known[e] && smr_expr_evaluate(f->exprs, e, b.exprs, &b.exprs[e], &why);
          if (known[e]) hold = hold && b.exprs[e] >= b.lo[e] && b.exprs[e] <= b.hi[e];
        }
      }
    }
    CHECK(hold);
    literal_free(l);
  }
}

SMR_TEST(reads_and_born_dims_take_their_bounds) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_value(f, "x", SAMARA_INT64, 1, n));
  const uint32_t flag = literal_input(f, literal_value(f, "flag", SAMARA_BOOL, 1, n));
  const uint32_t free_read = literal_expr(f, SMR_EXPR_READ, (int32_t)x, 0, -1, 0);
  const uint32_t bound_read = literal_expr(f, SMR_EXPR_READ, (int32_t)x, 1, (int32_t)n, 0);
  const uint32_t bool_read = literal_expr(f, SMR_EXPR_READ, (int32_t)flag, 0, -1, 0);
  const uint32_t v = literal_value(f, "v", SAMARA_FLOAT32, 2, bound_read, n);
  const uint32_t w = literal_value(f, "w", SAMARA_FLOAT32, 2, free_read, n);
  const uint32_t z = literal_value(f, "z", SAMARA_FLOAT32, 2, free_read, literal_int(f, 0));
  const uint32_t u = literal_value(f, "u", SAMARA_UINT8, 1, bool_read);
  struct bounds_frame b;
  bounds_init(&b, f);
  f->f.expr_stage = f->expr_stage;
  b.input_lo[0][0] = b.input_hi[0][0] = 7;
  smr_frame_bounds(&b.frame, 0);
  CHECK_EQ_INT(smr_value_dim_bound(&b.frame, v, 0), 7);
  CHECK_EQ_INT(smr_value_bytes_bound(&b.frame, v), 7 * 7 * 4);
  CHECK_EQ_INT(smr_value_dim_bound(&b.frame, w, 0), SMR_UNBOUNDED_DIM);
  CHECK(smr_value_bytes_bound(&b.frame, w) == SMR_UNBOUNDED_BYTES);
  CHECK_EQ_INT(smr_value_bytes_bound(&b.frame, z), 0);
  CHECK_EQ_INT(smr_value_bytes_bound(&b.frame, u), 1);
  b.exprs[n] = 3;
  smr_frame_bounds(&b.frame, 0);
  CHECK_EQ_INT(smr_value_dim_bound(&b.frame, v, 0), 7);
  literal_free(l);
}

SMR_TEST(a_product_that_does_not_fit_has_no_bound) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t big = literal_int(f, INT64_C(1) << 40);
  const uint32_t v = literal_value(f, "v", SAMARA_FLOAT32, 2, big, big);
  struct bounds_frame b;
  bounds_init(&b, f);
  smr_frame_bounds(&b.frame, 0);
  CHECK_EQ_INT(smr_value_dim_bound(&b.frame, v, 1), INT64_C(1) << 40);
  CHECK(smr_value_bytes_bound(&b.frame, v) == SMR_UNBOUNDED_BYTES);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(bounds_hold_for_every_value_of_random_expressions);
              RUN(reads_and_born_dims_take_their_bounds);
              RUN(a_product_that_does_not_fit_has_no_bound))
