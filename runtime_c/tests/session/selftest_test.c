// SPDX-License-Identifier: Apache-2.0
// samara_model_selftest: passing and failing models, and its messages.
#include "base/fp.h"

#include "harness.h"

#include "base/fnv.h"
#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static const float input[] = {1, -2, 3};
static float wanted[] = {-1, 2, -3};
static const int64_t three = 3;

// main(x [n]) -> neg(x), dims of x as int64.
static struct literal *negation(struct smr_golden *golden, struct smr_golden_tensor *tensors) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  literal_constant(l, f, "golden_x", SAMARA_FLOAT32, input, 1, 3);
  literal_constant(l, f, "golden_y", SAMARA_FLOAT32, wanted, 1, 3);
  const uint32_t n = literal_symbol(f, "n", 0, 0, INT64_MAX);
  const uint32_t x = literal_input(f, literal_vector(f, "x", n));
  const uint32_t d = literal_value(f, "d", SAMARA_INT64, 1, literal_int(f, 1));
  const uint32_t y = literal_map(f, smr_op_find(SMR_CODE_NEG), "neg", LITERAL_LIST(x), "y", n);
  const uint32_t node =
      literal_node(f, smr_op_find(SMR_CODE_DIMS), "dims", LITERAL_NONE, LITERAL_LIST(d));
  literal_attr_dims(f, node, "values", 1, n);
  literal_attr(f, node, "dtype", (struct smr_attr){.i = SAMARA_INT64});
  literal_output(f, y, "y");
  literal_output(f, d, "d");
  tensors[0] = (struct smr_golden_tensor){.index = 0, .constant = 0, .dims = {3}, .rank = 1};
  tensors[1] = (struct smr_golden_tensor){
      .index = 0, .constant = 1, .dims = {3}, .abs_tol = 1e-6f, .rel_tol = 1e-6f, .rank = 1};
  tensors[2] = (struct smr_golden_tensor){.index = 1,
                                          .constant = -1,
                                          .digest = smr_fnv(SMR_FNV_START, &three, sizeof three),
                                          .dims = {1},
                                          .rank = 1};
  *golden = (struct smr_golden){
      .inputs = tensors, .outputs = tensors + 1, .input_count = 1, .output_count = 2};
  l->model.goldens = golden;
  l->model.golden_count = 1;
  return l;
}

SMR_TEST(golden_outputs_are_compared) {
  struct smr_golden golden;
  struct smr_golden_tensor tensors[3];
  struct literal *l = negation(&golden, tensors);
  const samara_model *model = literal_finish(l);
  samara_error error = {.text = ""};
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_OK);
  CHECK_STR(error.text, "");
  wanted[1] = 2.5f;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_SELFTEST_FAILED);
  CHECK_CONTAINS(error.text,
                 "function 'main', output 'y': element 1 is 2, expected 2.5, off by 0.5");
  tensors[1].abs_tol = 0.5f;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_OK);
  wanted[1] = NAN;
  CHECK_EQ_INT(samara_model_selftest(model, NULL), SAMARA_SELFTEST_FAILED);
  wanted[1] = 2;
  tensors[2].digest++;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_SELFTEST_FAILED);
  CHECK_CONTAINS(error.text, "output 'd': digest is ");
  tensors[2].digest--;
  tensors[1].dims[0] = 4;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_SELFTEST_FAILED);
  CHECK_CONTAINS(error.text, "its shape differs");
  literal_free(l);
}

SMR_TEST(a_file_without_golden_data_or_with_bad_says_so) {
  struct smr_golden golden;
  struct smr_golden_tensor tensors[3];
  struct literal *l = negation(&golden, tensors);
  const samara_model *model = literal_finish(l);
  samara_error error;
  tensors[0].index = 5;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_BAD_MODEL);
  tensors[0].index = 0;
  golden.function = 3;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_BAD_MODEL);
  l->model.golden_count = 0;
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_NOT_FOUND);
  CHECK_EQ_INT(samara_model_selftest(NULL, &error), SAMARA_BAD_ARGUMENT);
  literal_free(l);
}

SMR_TEST(selftest_survives_every_failing_allocation) {
  struct smr_golden golden;
  struct smr_golden_tensor tensors[3];
  struct literal *l = negation(&golden, tensors);
  (void)literal_finish(l);
  struct literal_memory memory;
  samara_status status = SAMARA_OUT_OF_MEMORY;
  size_t failures = 0;
  for (size_t k = 1; k < 100 && status != SAMARA_OK; k++) {
    literal_memory_init(&memory);
    memory.fail_at = k;
    l->model.allocator = memory.allocator;
    status = samara_model_selftest(&l->model, NULL);
    CHECK(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
    CHECK_EQ_INT(memory.live, 0);
    failures += status != SAMARA_OK;
  }
  CHECK_EQ_INT(status, SAMARA_OK);
  CHECK(failures >= 3);
  literal_free(l);
}

SMR_TEST_MAIN(RUN(golden_outputs_are_compared); RUN(a_file_without_golden_data_or_with_bad_says_so);
              RUN(selftest_survives_every_failing_allocation))
