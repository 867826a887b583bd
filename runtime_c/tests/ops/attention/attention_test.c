// SPDX-License-Identifier: Apache-2.0
// Common parts of attention and its gradient: memory that does not hold all scores, and sizes.
#include "base/fp.h"

#include "ops/attention/attention.h"
#include "ops/op_harness.h"

// An operator over one head of rows [n, width], planned only.
static void plan_begin(struct op_test *t, const char *op, int64_t rows, int64_t keys, int64_t d,
                       int64_t dv) {
  const int64_t *dims[] = {DIMS(rows, d), DIMS(keys, d), DIMS(keys, dv), DIMS(rows, dv)};
  const bool back = strcmp(op, "attention_grad") == 0;
  op_begin(t, op);
  t->job.input_count = back ? 4 : 3;
  for (uint32_t i = 0; i < t->job.input_count; i++) {
    op_test_tensor(&t->in[i], SAMARA_FLOAT32, 2, dims[i], "input");
    t->in_list[i] = &t->in[i];
  }
  if (!back) op_out(t, SAMARA_FLOAT32, 2, dims[3]);
  for (uint32_t i = 0; back && i < 3; i++) op_out(t, SAMARA_FLOAT32, 2, dims[i]);
}

static const char *const ops[2] = {"attention", "attention_grad"};

SMR_TEST(all_scores_never_exist) {
  for (int o = 0; o < 2; o++) {
    struct op_test t;
    plan_begin(&t, ops[o], 4000, 4000, 8, 8);
    if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_OK)) {
      CHECK_EQ_INT(t.job.scratch_bytes, 0);
      CHECK(o == 1 || t.job.tiles >= 64);
      CHECK(t.job.thread_scratch_bytes < 3 << 20);  // all scores are 64 MB
    }
    op_end(&t);
  }
}

SMR_TEST(sizes_beyond_memory_are_refused) {
  for (int o = 0; o < 2; o++) {
    struct op_test t;
    plan_begin(&t, ops[o], 1, 1, INT64_C(1) << 58, 1);
    if (CHECK_EQ_INT(op_test_plan(&t), SAMARA_LIMIT)) CHECK_CONTAINS(t.error.text, "too large");
    op_end(&t);
  }
}

static void check_seen(const struct smr_attention *all, size_t row, size_t begin, size_t end) {
  const struct smr_attention_span seen = smr_attention_seen(all, row);
  CHECK_EQ_INT(seen.begin, begin);
  CHECK_EQ_INT(seen.end, end);
}

static void check_keys(const struct smr_attention *all, size_t first, size_t rows, size_t origin,
                       size_t begin, size_t end) {
  const struct smr_attention_span keys = smr_attention_keys(all, first, rows, origin);
  CHECK_EQ_INT(keys.begin, begin);
  CHECK_EQ_INT(keys.end, end);
}

SMR_TEST(keys_that_are_seen) {
  struct smr_attention all = {.t = 10, .window = SIZE_MAX};
  check_keys(&all, 2, 3, 0, 0, 10);
  check_seen(&all, 2, 0, 10);
  all.causal = true;
  check_keys(&all, 2, 3, 0, 0, 5);
  check_keys(&all, 8, 8, 0, 0, 10);
  check_seen(&all, 2, 0, 3);
  check_seen(&all, 12, 0, 10);
  all.window = 2;
  check_seen(&all, 0, 0, 1);
  check_seen(&all, 2, 1, 3);
  check_seen(&all, 11, 10, 10);
  all.behind = 4;
  check_seen(&all, 3, 0, 0);
  check_seen(&all, 4, 0, 1);
  check_seen(&all, 8, 3, 5);
  all = (struct smr_attention){.t = 100, .window = 20, .causal = true, .ahead = 90};
  check_seen(&all, 9, 80, 100);
  // Where panels are packed from key 65 on, a block begins at one of them.
  check_keys(&all, 7, 2, 65, 65, 99);
  check_keys(&all, 9, 1, 61, 77, 100);
}

SMR_TEST_MAIN(RUN(all_scores_never_exist); RUN(sizes_beyond_memory_are_refused);
              RUN(keys_that_are_seen))
