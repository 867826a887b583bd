// SPDX-License-Identifier: Apache-2.0
// Spreading one channel per group: when quads are chosen, and their borders against the definition.
#include "base/fp.h"

#include "ops/conv/conv_transpose.h"

#include "ops/conv/conv_grad_data.h"

// Whether conv_grad_input makes quads; its result is compared with the definition.
static bool makes_quads(const struct conv_grad_case *c, uint32_t isa) {
  const struct conv_grad_dims d = conv_grad_dims(c);
  const uint32_t rank = c->spatial + 2;
  const size_t n = linear_count(d.x, rank);
  float *dy = linear_floats(linear_count(d.y, rank), 23);
  float *w = linear_floats(linear_count(d.w, rank), 24);
  double *want = calloc(n + 1, sizeof *want);
  conv_grad_define(c, &d, dy, NULL, w, want, NULL);
  struct op_test t;
  op_begin(&t, "conv_grad_input");
  t.job.isa &= isa;
  linear_in(&t, SAMARA_FLOAT32, rank, d.y, dy);
  linear_in(&t, SAMARA_FLOAT32, rank, d.w, w);
  op_out(&t, SAMARA_FLOAT32, rank, d.x);
  conv_grad_attrs(&t, c);
  op_ints(&t, "size", c->spatial, c->in);
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  for (size_t i = 0; i < n; i++)
    if (!CHECK_NEAR(linear_out(&t, i), want[i], 4e-6)) break;
  const struct smr_conv_transpose *s = t.job.state;
  const bool quads = t.job.algorithm == &smr_conv_transpose_depthwise && s->quads;
  op_end(&t);
  free(dy), free(w), free(want);
  return quads;
}

static struct conv_grad_case case_of(int64_t channels, int64_t height, int64_t width, int64_t pad) {
  return (struct conv_grad_case){.spatial = 2,
                                 .n = 2,
                                 .c = channels,
                                 .o = channels,
                                 .groups = channels,
                                 .in = {height, width},
                                 .k = {3, 3},
                                 .stride = {2, 2},
                                 .dilation = {1, 1},
                                 .pad = {pad, pad, pad, pad}};
}

SMR_TEST(chosen_for_3x3_stride_2) {
  const uint32_t all = ~(uint32_t)0;
  struct conv_grad_case c = case_of(6, 9, 8, 1);
  CHECK(makes_quads(&c, all));
  c.stride[1] = 1;
  CHECK(!makes_quads(&c, all));
  c.stride[1] = 2, c.k[0] = 2;
  CHECK(!makes_quads(&c, all));
  c.k[0] = 3, c.dilation[0] = 2;
  CHECK(!makes_quads(&c, all));
}

// Every remainder of the extents, and pads that leave no quad inside, or whole quads outside.
SMR_TEST(borders) {
  for (int64_t pad = 0; pad <= 5; pad++)
    for (int64_t height = 3; height <= 7; height++)
      for (int64_t width = 3; width <= 8; width++) {
        const struct conv_grad_case c = case_of(5, height, width, pad);
        CHECK(makes_quads(&c, ~(uint32_t)0));
      }
  struct conv_grad_case c = case_of(3, 7, 6, 0);
  c.pad[0] = 2, c.pad[1] = 1, c.pad[2] = 0, c.pad[3] = 3;
  CHECK(makes_quads(&c, ~(uint32_t)0));
  c.in[0] = 1, c.pad[2] = 2;  // a single row, whose phase is not the first
  CHECK(makes_quads(&c, ~(uint32_t)0));
}

// Tiles of several rows, blocks and parts of vectors of channels, portable and not.
SMR_TEST(tiles) {
  static const int64_t channels[] = {2, 15, 16, 17, 48, 64, 70, 131};
  for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
    const struct conv_grad_case c = case_of(channels[i], 37, 11, 1);
    CHECK(makes_quads(&c, ~(uint32_t)0));
    CHECK(makes_quads(&c, SMR_ISA_NONE));
    CHECK(makes_quads(&c, SMR_ISA_AVX2));
  }
  // A row longer than what is done between two looks at the clock.
  const struct conv_grad_case wide = case_of(3, 5, 1100, 1);
  CHECK(makes_quads(&wide, ~(uint32_t)0));
}

SMR_TEST_MAIN(RUN(chosen_for_3x3_stride_2); RUN(borders); RUN(tiles))
