// SPDX-License-Identifier: Apache-2.0
// When convolutions use Winograd, what that needs, and room for symbolic dims. Results:
// test_tiles.py.
#include "base/fp.h"

#include "harness.h"
#include "ops/conv/conv.h"
#include "ops/op_harness.h"

struct shape {
  int64_t batch, h, w, c, n, kernel, stride, dilation, groups;
};

static const struct shape usual = {1, 56, 56, 64, 64, 3, 1, 1, 1};

// A node with padding of 1, not prepared.
static void begin(struct op_test *t, const struct shape *s) {
  const int64_t extent = (s->kernel - 1) * s->dilation;
  const int64_t out_h = (s->h + 2 - extent - 1) / s->stride + 1;
  const int64_t out_w = (s->w + 2 - extent - 1) / s->stride + 1;
  op_begin(t, "conv");
  op_in(t, SAMARA_FLOAT32, 4, DIMS(s->batch, s->h, s->w, s->c), NULL);
  op_constant(t, SAMARA_FLOAT32, 4, DIMS(s->n, s->kernel, s->kernel, s->c / s->groups), NULL);
  op_out(t, SAMARA_FLOAT32, 4, DIMS(s->batch, out_h, out_w, s->n));
  op_ints(t, "strides", 2, DIMS(s->stride, s->stride));
  op_ints(t, "dilations", 2, DIMS(s->dilation, s->dilation));
  op_ints(t, "pads", 4, DIMS(1, 1, 1, 1));
  op_int(t, "groups", s->groups);
  op_test_show(t, false);
}

static bool fits(struct op_test *t) {
  return CHECK_EQ_INT(t->job.op->funcs->algorithms->begin(&t->job), SAMARA_OK) &&
         smr_conv_winograd_fits(&t->job);
}

static bool shape_fits(struct shape s) {
  struct op_test t;
  begin(&t, &s);
  const bool found = fits(&t);
  op_end(&t);
  return found;
}

SMR_TEST(windows_that_fit) {
  struct shape s = usual;
  CHECK(shape_fits(s));
  s.kernel = 5;
  CHECK(!shape_fits(s));
  s = usual, s.stride = 2;
  CHECK(!shape_fits(s));
  s = usual, s.dilation = 2;
  CHECK(!shape_fits(s));
  s = usual, s.groups = 2;
  CHECK(!shape_fits(s));
}

SMR_TEST(types_and_sessions_that_fit) {
  struct op_test t;
  begin(&t, &usual);
  t.job.strict = true;
  CHECK(!fits(&t));
  t.job.strict = false;
  t.in[1].constant = -1;
  CHECK(!fits(&t));
  t.in[1].constant = 1;
  t.in[1].dtype = SAMARA_FLOAT16;
  CHECK(!fits(&t));
  t.in[1].dtype = SAMARA_QINT8;
  CHECK(!fits(&t));
  t.in[1].dtype = SAMARA_FLOAT32;
  CHECK(fits(&t));
  t.in[0].dtype = SAMARA_FLOAT16;
  CHECK(!fits(&t));
  op_end(&t);
}

// With symbolic dims, weights are transformed only if there are enough channels for any size.
SMR_TEST(few_channels_with_open_dims) {
  struct shape s = usual;
  s.c = 15;
  struct op_test t;
  begin(&t, &s);
  CHECK(fits(&t));
  t.job.dims_vary = true;
  CHECK(!fits(&t));
  op_end(&t);
}

static samara_status prepare(struct op_test *t, struct smr_parts *parts) {
  t->job.parts = parts;
  for (int i = 0; i < SMR_MAX_DERIVED; i++) t->job.derived[i].input = -1;
  return smr_op_prepare(&t->job);
}

// Sessions with strict accuracy need the path without transforms.
SMR_TEST(needs) {
  struct op_test t;
  begin(&t, &usual);
  struct smr_parts parts = {{0}};
  CHECK_EQ_INT(prepare(&t, &parts), SAMARA_OK);
  CHECK_CONTAINS(t.job.kernel, "f32_winograd_f43");
  static const size_t needed[] = {SMR_PART_conv_winograd, SMR_PART_f32_winograd_f43,
                                  SMR_PART_f32_gemm, SMR_PART_conv_indirect,
                                  SMR_PART_f32_gemm_indirect};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    CHECK(smr_parts_have(&parts, needed[i]));
  CHECK(!smr_parts_have(&parts, SMR_PART_f32_winograd_f23));
  CHECK(!smr_parts_have(&parts, SMR_PART_f32_gemv));
  CHECK_EQ_INT(t.job.derived[0].input, 1);
  CHECK_EQ_INT(t.job.derived[0].size_bytes, 36 * 64 * 64 * sizeof(float));
  CHECK_EQ_INT(t.job.derived[1].input, -1);
  op_end(&t);

  begin(&t, &usual);
  t.job.strict = true;
  struct smr_parts strict = {{0}};
  CHECK_EQ_INT(prepare(&t, &strict), SAMARA_OK);
  CHECK_CONTAINS(t.job.kernel, "gemm");
  CHECK(!smr_parts_have(&strict, SMR_PART_conv_winograd));
  op_end(&t);
}

// The room of the largest dims is enough for all smaller ones, whatever they choose. All use the
// same copies of weights.
SMR_TEST(room_where_dims_vary) {
  enum { MOST = 40 };
  static const int64_t channels[] = {16, 64, 160};
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    size_t least = 0;
    int kinds = 0;
    for (int64_t size = 1; size <= MOST; size++) {
      const struct shape s = {1, size, size, channels[i], channels[i], 3, 1, 1, 1};
      struct op_test t;
      begin(&t, &s);
      t.job.dims_vary = true;
      struct smr_parts parts = {{0}};
      CHECK_EQ_INT(prepare(&t, &parts), SAMARA_OK);
      const size_t bytes = t.job.scratch_bytes + t.job.thread_scratch_bytes;
      CHECK(bytes >= least);
      least = bytes;
      kinds |= strstr(t.job.kernel, "winograd") != NULL ? 1 : 2;
      CHECK(smr_parts_have(&parts, SMR_PART_f32_winograd_f43));
      CHECK(smr_parts_have(&parts, SMR_PART_conv_indirect));
      int copies = 0;
      while (copies < SMR_MAX_DERIVED && t.job.derived[copies].input >= 0) copies++;
      CHECK_EQ_INT(copies, 2);
      op_end(&t);
    }
    CHECK_EQ_INT(kinds, 3);
  }
}

SMR_TEST_MAIN(RUN(windows_that_fit); RUN(types_and_sessions_that_fit);
              RUN(few_channels_with_open_dims); RUN(needs); RUN(room_where_dims_vary))
