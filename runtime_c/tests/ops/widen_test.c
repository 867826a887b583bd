// SPDX-License-Identifier: Apache-2.0
// float16 through float32 functions: copies, prologue, strides, states.
#include "base/fp.h"

#include "ops/widen.h"

#include "ops/op_harness.h"
#include "simd/half.h"

struct fake_state {
  size_t prepared;
};

// y = 2 x, ints y2 = number of prologues seen; state and scratch must be the operator's own.
static samara_status fake_prepare(struct smr_job *job) {
  struct fake_state *s = job->state;
  CHECK_EQ_INT(job->inputs[0]->dtype, SAMARA_FLOAT32);
  CHECK_EQ_INT(job->outputs[0]->dtype, SAMARA_FLOAT32);
  CHECK_EQ_INT(job->inputs[0]->pixel_stride, 3);
  CHECK_EQ_INT(job->inputs[0]->constant, -1);
  s->prepared = 77;
  job->tiles = 2;
  job->scratch_bytes = 16;
  job->thread_scratch_bytes = 8;
  job->kernel = "fake";
  return SAMARA_OK;
}

static samara_status fake_run(const struct smr_job *job, size_t begin, size_t end, void *thread) {
  const struct fake_state *s = job->state;
  CHECK_EQ_INT(s->prepared, 77);
  memset(job->scratch, 1, 16);
  memset(thread, 2, 8);
  for (size_t tile = begin; tile < end; tile++)
    for (size_t i = 0; i < 3; i++)
      ((float *)job->outputs[0]->data)[tile * 3 + i] =
          2 * ((const float *)job->inputs[0]->data)[tile * 3 + i];
  return SAMARA_OK;
}

SMR_WIDENED_OP(fake, NULL, fake_prepare, fake_run, sizeof(struct fake_state))

// A job of the operator; any other one's row will do.
static void fake_begin(struct op_test *t, struct smr_op *op) {
  op_begin(t, "neg");
  free(t->job.state);
  t->job.state = op_test_alloc(smr_op_fake_funcs.state_bytes, 16);
  *op = *t->job.op;
  op->funcs = &smr_op_fake_funcs;
  t->job.op = op;
}

SMR_TEST(converts_there_and_back) {
  struct op_test t;
  struct smr_op op;
  fake_begin(&t, &op);
  uint16_t x[2 * 5];
  for (int i = 0; i < 10; i++) x[i] = smr_f32_to_f16((float)i * 0.5f);
  struct smr_tensor *in = op_in(&t, SAMARA_FLOAT16, 2, (int64_t[]){2, 5}, x);
  in->dims[1] = 3;  // pixels of 3 channels, 5 apart
  struct smr_tensor *out = op_out(&t, SAMARA_FLOAT16, 2, (int64_t[]){2, 3});
  CHECK(smr_widen_needed(&t.job));
  REQUIRE(smr_op_prepare(&t.job) == SAMARA_OK);
  CHECK_EQ_INT(t.job.tiles, 1);
  CHECK_EQ_INT(t.job.scratch_bytes, 64 + 64 + 16);
  CHECK_EQ_INT(t.job.thread_scratch_bytes, 8);
  CHECK_STR(t.job.kernel, "fake");
  in->data = t.in_data[0];
  out->data = t.out_data[0] = op_test_alloc(12, 64);
  t.job.scratch = op_test_alloc(t.job.scratch_bytes, 64);
  void *thread = op_test_alloc(8, 64);
  CHECK_EQ_INT(t.job.run(&t.job, 0, 1, thread), SAMARA_OK);
  for (int i = 0; i < 6; i++)
    CHECK_NEAR(smr_f16_to_f32(((const uint16_t *)out->data)[i]), (i / 3 * 5 + i % 3) * 1.0, 0);
  free(thread);
  free(t.job.scratch);
  op_end(&t);
}

SMR_TEST(float32_passes_through) {
  struct op_test t;
  struct smr_op op;
  fake_begin(&t, &op);
  const float x[6] = {1, 2, 3, 4, 5, 6}, want[6] = {2, 4, 6, 8, 10, 12};
  struct smr_tensor *in = op_in(&t, SAMARA_FLOAT32, 2, (int64_t[]){2, 3}, x);
  struct smr_tensor *out = op_out(&t, SAMARA_FLOAT32, 2, (int64_t[]){2, 3});
  CHECK(!smr_widen_needed(&t.job));
  REQUIRE(smr_op_prepare(&t.job) == SAMARA_OK);
  CHECK_EQ_INT(t.job.tiles, 2);
  CHECK(t.job.run == fake_run);
  in->data = t.in_data[0];
  out->data = t.out_data[0] = op_test_alloc(24, 64);
  t.job.scratch = op_test_alloc(16, 64);
  void *thread = op_test_alloc(8, 64);
  CHECK_EQ_INT(t.job.run(&t.job, 1, 2, thread), SAMARA_OK);
  CHECK_EQ_INT(t.job.run(&t.job, 0, 1, thread), SAMARA_OK);
  op_expect_f32(&t, 0, want, 6, 0);
  free(thread);
  free(t.job.scratch);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(converts_there_and_back); RUN(float32_passes_through))
