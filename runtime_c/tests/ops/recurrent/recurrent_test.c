// SPDX-License-Identifier: Apache-2.0
// What lstm and gru share: products cut into tiles, no steps, refusals.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/recurrent/recurrent_data.h"

static const char *const ops[2] = {"lstm", "gru"};

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
    op_finish(&t, SAMARA_OK, NULL);
  }
}

SMR_TEST(refuses) {
  for (int o = 0; o < 2; o++) {
    const struct recurrent_case c = {ops[o], 3, 2, 3, 4, .states = true};
    struct op_test t;
    recurrent_begin(&t, &c);
    op_int(&t, "hidden", 5);
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    recurrent_begin(&t, &c);
    t.in[2].dtype = SAMARA_FLOAT16;
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    recurrent_begin(&t, &c);
    t.out[1].dtype = SAMARA_FLOAT16;
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    recurrent_begin(&t, &c);
    op_f32(&t, "clip", NAN);
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
    recurrent_begin(&t, &c);
    op_int(&t, "direction", 3);
    op_finish(&t, SAMARA_BAD_SHAPE, NULL);
  }
}

SMR_TEST_MAIN(RUN(shared_products); RUN(no_steps_and_no_batch); RUN(refuses))
