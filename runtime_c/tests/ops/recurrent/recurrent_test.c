// SPDX-License-Identifier: Apache-2.0
// What lstm and gru share: packed weights, batches, lengths, float16, refusals.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const char *const ops[2] = {"lstm", "gru"};
static const char *const directions[3] = {"forward", "reverse", "bidirectional"};

// Weights packed once per model give the bits of weights packed while running.
SMR_TEST(constants_give_the_same_bits) {
  for (int o = 0; o < 2; o++)
    for (int64_t hidden = 15; hidden <= 33; hidden += 9)
      for (int half = 0; half < 2; half++) {
        struct recurrent_case c = {ops[o],         4,           3, 21, hidden, "bidirectional",
                                   .states = true, .half = half};
        struct op_test computed, constant;
        recurrent_begin(&computed, &c);
        c.constants = true;
        recurrent_begin(&constant, &c);
        if (CHECK_EQ_INT(op_run(&computed), SAMARA_OK) &&
            CHECK_EQ_INT(op_run(&constant), SAMARA_OK)) {
          CHECK_EQ_INT(constant.job.derived[0].input, 1);
          CHECK_EQ_INT(constant.job.derived[1].input, 2);
          CHECK(constant.job.scratch_bytes < computed.job.scratch_bytes);
          for (uint32_t i = 0; i < computed.job.output_count; i++)
            op_expect_bytes(&constant, i, computed.out[i].data, computed.out[i].size_bytes);
        }
        op_end(&computed);
        op_end(&constant);
      }
}

// A row alone has the answer that it has among others, and cut short the answer of fewer steps.
SMR_TEST(batches_and_lengths) {
  enum { T = 5, N = 3, I = 7, H = 19 };
  for (int o = 0; o < 2; o++)
    for (int d = 0; d < 2; d++) {
      const int32_t lengths[N] = {5, 2, 9};  // beyond the end is the end
      const struct recurrent_case many = {ops[o], T, N, I, H, directions[d], .lengths = lengths};
      struct op_test t;
      recurrent_begin(&t, &many);
      REQUIRE(CHECK_EQ_INT(op_run(&t), SAMARA_OK));
      for (int64_t n = 0; n < N; n++) {
        const int64_t steps = lengths[n] < T ? lengths[n] : T;
        const struct recurrent_case one = {ops[o], steps, 1, I, H, .direction = directions[d]};
        struct op_test alone;
        recurrent_begin(&alone, &one);
        for (int64_t s = 0; s < steps; s++)
          memcpy((float *)alone.in_data[0] + s * I, (float *)t.in_data[0] + (s * N + n) * I,
                 I * sizeof(float));
        if (CHECK_EQ_INT(op_run(&alone), SAMARA_OK)) {
          const float *y = (const float *)t.out[0].data, *h = (const float *)t.out[1].data;
          for (int64_t s = 0; s < T; s++)
            for (int64_t j = 0; j < H; j++)
              CHECK_NEAR(y[(s * N + n) * H + j],
                         s < steps ? ((const float *)alone.out[0].data)[s * H + j] : 0, 1e-6);
          for (int64_t j = 0; j < H; j++)
            CHECK_NEAR(h[n * H + j], ((const float *)alone.out[1].data)[j], 1e-6);
        }
        op_end(&alone);
      }
      op_end(&t);
    }
}

// An input product that is worth it is cut into tiles, and gives what the small ones give.
SMR_TEST(shared_products) {
  enum { T = 40, N = 16, I = 96, H = 33 };
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case many = {ops[o], T, N, I, H, .direction = "bidirectional"};
    const struct recurrent_case one = {ops[o], T, 1, I, H, .direction = "bidirectional"};
    struct op_test t, alone;
    recurrent_begin(&t, &many);
    recurrent_begin(&alone, &one);
    for (size_t s = 0; s < T; s++)
      memcpy((float *)alone.in_data[0] + s * I, (float *)t.in_data[0] + (s * N + 3) * I,
             I * sizeof(float));
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK) && CHECK_EQ_INT(op_run(&alone), SAMARA_OK)) {
      CHECK_EQ_INT(alone.tiles, 2);
      CHECK(t.tiles > 6);
      const float *y = (const float *)t.out[0].data, *want = (const float *)alone.out[0].data;
      for (size_t i = 0; i < 2 * T; i++)
        for (size_t j = 0; j < H; j++) CHECK_NEAR(y[(i * N + 3) * H + j], want[i * H + j], 5e-6);
    }
    op_end(&t);
    op_end(&alone);
  }
}

// No step leaves the states as they were given.
SMR_TEST(no_steps_and_no_batch) {
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case none = {ops[o], 0, 2, 3, 4, "bidirectional", .states = true};
    struct op_test t;
    recurrent_begin(&t, &none);
    if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
      op_expect_bytes(&t, 1, t.in_data[5], t.in[5].size_bytes);
      if (o == 0) op_expect_bytes(&t, 2, t.in_data[6], t.in[6].size_bytes);
    }
    op_end(&t);
    const struct recurrent_case nobody = {ops[o], 3, 0, 3, 4, .states = true};
    recurrent_begin(&t, &nobody);
    CHECK_EQ_INT(op_run(&t), SAMARA_OK);
    CHECK_EQ_INT(t.tiles, 0);
    op_end(&t);
    const struct recurrent_case blind = {ops[o], 3, 2, 0, 4, .constants = true};
    recurrent_begin(&t, &blind);
    CHECK_EQ_INT(op_run(&t), SAMARA_OK);
    op_end(&t);
  }
}

// Within what 11 bits of operands and results allow.
SMR_TEST(halves) {
  for (int o = 0; o < 2; o++) {
    struct recurrent_case c = {ops[o], 4, 2, 5, 17, "bidirectional", .states = true};
    struct op_test wide, half;
    recurrent_begin(&wide, &c);
    c.half = true;
    recurrent_begin(&half, &c);
    if (CHECK_EQ_INT(op_run(&wide), SAMARA_OK) && CHECK_EQ_INT(op_run(&half), SAMARA_OK))
      for (uint32_t i = 0; i < wide.job.output_count; i++)
        for (size_t j = 0; j < wide.out[i].size_bytes / sizeof(float); j++)
          CHECK_NEAR(smr_f16_to_f32(((const uint16_t *)half.out[i].data)[j]),
                     ((const float *)wide.out[i].data)[j], 3e-3);
    op_end(&wide);
    op_end(&half);
  }
}

SMR_TEST(refuses) {
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case c = {ops[o], 3, 2, 3, 4, .states = true};
    struct op_test t;
    recurrent_begin(&t, &c);
    op_int(&t, "hidden", 5);
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
    recurrent_begin(&t, &c);
    t.in[2].dtype = SAMARA_FLOAT16;
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
    recurrent_begin(&t, &c);
    t.out[1].dtype = SAMARA_FLOAT16;
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
    recurrent_begin(&t, &c);
    op_f32(&t, "clip", NAN);
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
    recurrent_begin(&t, &c);
    op_int(&t, "direction", 3);
    CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
    op_end(&t);
  }
}

SMR_TEST_MAIN(RUN(constants_give_the_same_bits); RUN(batches_and_lengths); RUN(shared_products);
              RUN(no_steps_and_no_batch); RUN(halves); RUN(refuses))
