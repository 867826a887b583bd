// SPDX-License-Identifier: Apache-2.0
// What lstm_grad, gru_grad and the training twins share: no steps, absent gradients, refusals.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const char *const plain[2] = {"lstm", "gru"}, *const twins[2] = {"lstm_train", "gru_train"};
static const char *const directions[3] = {"forward", "reverse", "bidirectional"};

// The outputs that a twin shares with its operator, first states before the first step, and nothing
// kept beyond a length.
SMR_TEST(twins_compute_the_same) {
  enum { T = 4, N = 3, H = 19 };
  const int32_t lengths[N] = {4, 0, 2};
  for (int o = 0; o < 2; o++)
    for (int half = 0; half < 2; half++) {
      struct recurrent_case c = {
          plain[o], T, N, 5, H, directions[2], .states = true, .half = half, .lengths = lengths};
      struct op_test want, got;
      recurrent_begin(&want, &c);
      c.op = twins[o];
      recurrent_begin(&got, &c);
      if (CHECK_EQ_INT(op_run(&want), SAMARA_OK) && CHECK_EQ_INT(op_run(&got), SAMARA_OK)) {
        const uint32_t shared = want.job.output_count;
        for (uint32_t i = 0; i < shared; i++)
          op_expect_bytes(&got, i, want.out[i].data, want.out[i].size_bytes);
        const size_t bytes = got.out[1].size_bytes / 2;  // of the states of a direction
        const char *before = (const char *)got.out[shared + 1].data;
        CHECK_MEM(before, (const char *)got.in_data[5], bytes);
        CHECK_MEM(before + (2 * T - 1) * bytes, (const char *)got.in_data[5] + bytes, bytes);
        const size_t row = bytes / N * 4, entry = got.out[shared].size_bytes / 2 / T / row;
        CHECK_EQ_INT(entry, N);
        const char *gates = (const char *)got.out[shared].data;
        for (size_t t = 0; t < T; t++)
          for (size_t i = 0; i < row; i++) CHECK_EQ_INT(gates[(t * N + 1) * row + i], 0);
      }
      op_end(&want);
      op_end(&got);
    }
}

// Without steps the first states are the last ones.
SMR_TEST(no_steps_and_no_batch) {
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case none = {twins[o], 0, 2, 3, 4, .direction = "bidirectional"};
    struct op_test train, grad;
    recurrent_begin(&train, &none);
    REQUIRE(CHECK_EQ_INT(op_run(&train), SAMARA_OK));
    recurrent_grad_begin(&grad, &none, &train);
    if (CHECK_EQ_INT(op_run(&grad), SAMARA_OK)) {
      op_expect_bytes(&grad, o == 0 ? 1 : 2, grad.in_data[5], grad.in[5].size_bytes);
      if (o == 0) op_expect_bytes(&grad, 2, grad.in_data[6], grad.in[6].size_bytes);
    }
    op_end(&train);
    op_end(&grad);
    const struct recurrent_case nobody = {twins[o], 3, 0, 3, 4, .states = false};
    recurrent_begin(&train, &nobody);
    REQUIRE(CHECK_EQ_INT(op_run(&train), SAMARA_OK));
    recurrent_grad_begin(&grad, &nobody, &train);
    CHECK_EQ_INT(op_run(&grad), SAMARA_OK);
    CHECK_EQ_INT(grad.tiles, 0);
    op_end(&train);
    op_end(&grad);
  }
}

// An absent gradient is one of zeros.
SMR_TEST(absent_gradients) {
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case c = {twins[o], 3, 2, 3, 17, .states = false};
    struct op_test train, zeros, absent;
    recurrent_begin(&train, &c);
    REQUIRE(CHECK_EQ_INT(op_run(&train), SAMARA_OK));
    recurrent_grad_begin(&zeros, &c, &train);
    recurrent_grad_begin(&absent, &c, &train);
    for (uint32_t i = 5; i < zeros.job.input_count; i++) {
      memset(zeros.in_data[i], 0, zeros.in[i].size_bytes);
      absent.in_list[i] = NULL;
    }
    if (CHECK_EQ_INT(op_run(&zeros), SAMARA_OK) && CHECK_EQ_INT(op_run(&absent), SAMARA_OK))
      for (uint32_t i = 0; i < zeros.job.output_count; i++)
        op_expect_bytes(&absent, i, zeros.out[i].data, zeros.out[i].size_bytes);
    op_end(&train);
    op_end(&zeros);
    op_end(&absent);
  }
}

SMR_TEST(refuses) {
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case c = {twins[o], 3, 2, 3, 4, .states = false};
    struct op_test train, t;
    recurrent_begin(&train, &c);
    REQUIRE(CHECK_EQ_INT(op_run(&train), SAMARA_OK));
    recurrent_grad_begin(&t, &c, &train);
    t.in[2].dtype = SAMARA_FLOAT16;
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    recurrent_grad_begin(&t, &c, &train);
    t.out[1].dtype = SAMARA_FLOAT16;
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    recurrent_grad_begin(&t, &c, &train);
    op_f32(&t, "clip", -1);
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    op_end(&train);
  }
}

SMR_TEST_MAIN(RUN(twins_compute_the_same); RUN(no_steps_and_no_batch); RUN(absent_gradients);
              RUN(refuses))
