// SPDX-License-Identifier: Apache-2.0
// Launches of lstm and gru against the CPU.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

struct recurrent_case {
  int64_t steps, batch, inputs, hidden, direction;
  bool bias, lengths, states, peepholes, option;
  float clip;
};

static const struct recurrent_case recurrent_cases[] = {
    {1, 1, 1, 1, 0, false, false, false, false, false, 0},
    {1, 1, 32, 16, 0, true, false, true, false, false, 0},
    {1, 1, 20, 17, 0, true, false, true, true, true, 0},
    {5, 1, 7, 33, 0, true, false, true, false, false, 0},
    {4, 3, 16, 19, 1, true, true, true, true, false, 0.5f},
    {3, 2, 18, 5, 2, true, true, false, true, true, 0.25f},
    {6, 2, 3, 16, 2, false, true, true, false, true, 0},
    {2, 1, 9, 8, 1, true, false, false, false, true, 0},
    {0, 2, 3, 4, 2, true, false, true, false, false, 0},
    {0, 2, 3, 4, 0, false, false, false, false, false, 0},
    {2, 0, 3, 4, 0, true, false, true, false, false, 0},
};

static void weights(struct one_tensor *t) { one_fill(t, -0.4f, 0.4f); }

static void recurrent(bool lstm, const struct recurrent_case *c, samara_dtype dx, samara_dtype dw) {
  const int64_t d = c->direction == 2 ? 2 : 1, gates = (lstm ? 4 : 3) * c->hidden;
  one_begin(lstm ? "lstm" : "gru");
  one_input(dx, DIMS(c->steps, c->batch, c->inputs));
  weights(one_input(dw, DIMS(d, gates, c->inputs)));
  weights(one_input(dw, DIMS(d, gates, c->hidden)));
  if (c->bias)
    one_input(dx, DIMS(d, 2 * gates));
  else
    one_absent();
  if (c->lengths) {
    struct one_tensor *lengths = one_input(SAMARA_INT32, DIMS(c->batch));
    for (int64_t i = 0; i < c->batch; i++)
      ((int32_t *)lengths->data)[i] = (int32_t)(i == 1 ? c->steps : c->steps - 2 + 9 * (i == 2));
  } else {
    one_absent();
  }
  for (int i = 0; i < (lstm ? 2 : 1); i++) {
    if (c->states)
      one_input(dx, DIMS(d, c->batch, c->hidden));
    else
      one_absent();
  }
  if (lstm && c->peepholes) one_input(dx, DIMS(d, 3 * c->hidden));
  one_output(dx, DIMS(c->steps, d, c->batch, c->hidden));
  for (int i = 0; i < (lstm ? 2 : 1); i++) one_output(dx, DIMS(d, c->batch, c->hidden));
  one_int("hidden", c->hidden);
  one_int("direction", c->direction);
  one_number("clip", c->clip);
  one_int(lstm ? "input_forget" : "linear_before_reset", c->option);
  one_check(dx == F16 ? 2e-3 : 1e-5);
}

SMR_TEST(lstm) {
  for (size_t i = 0; i < sizeof recurrent_cases / sizeof *recurrent_cases; i++) {
    recurrent(true, &recurrent_cases[i], F32, F32);
    recurrent(true, &recurrent_cases[i], F32, F16);
    recurrent(true, &recurrent_cases[i], F16, F16);
  }
}

SMR_TEST(gru) {
  for (size_t i = 0; i < sizeof recurrent_cases / sizeof *recurrent_cases; i++) {
    recurrent(false, &recurrent_cases[i], F32, F32);
    recurrent(false, &recurrent_cases[i], F32, F16);
    recurrent(false, &recurrent_cases[i], F16, F16);
  }
}

static void refused(int64_t steps, samara_dtype dw, const char *why) {
  one_begin("gru");
  one_input(F32, DIMS(steps, 1, 2));
  one_input(dw, DIMS(1, 3, 2));
  one_input(dw, DIMS(1, 3, 1));
  one_output(F32, DIMS(steps, 1, 1, 1));
  one_int("hidden", 1);
  one_refused(why);
}

SMR_TEST(refusals) {
  refused(4097, F32, "4096 steps");
  refused(3, SAMARA_QINT8, "quantized weights");
  // The number of steps is symbolic: launches are refused once it is known.
  one_begin("gru");
  one_input(F32, DIMS(4097, 1, 2));
  one_input(F32, DIMS(1, 3, 2));
  one_input(F32, DIMS(1, 3, 1));
  one_output(F32, DIMS(4097, 1, 1, 1));
  one_int("hidden", 1);
  const samara_allocator allocator = {one_allocate, one_release, NULL};
  const struct smr_cl_features features = {.cpu = true};
  struct smr_cl_launches list = {.allocator = &allocator};
  struct smr_cl_node node;
  one_build(&node, &features);
  smr_cl_row("gru")->lower(&node, &list);
  CHECK_EQ_INT(list.count, 0);
  CHECK_CONTAINS(list.refusal, "4096 steps");
  smr_cl_launches_free(&list);
  one_unbuild();
  one_free();
}

SMR_TEST(scratch) {
  const samara_allocator allocator = {one_allocate, one_release, NULL};
  struct smr_cl_launches list = {.allocator = &allocator};
  int memory;
  smr_cl_begin_node(&list);
  struct smr_cl_place a = smr_cl_scratch(&list, 1), b = smr_cl_scratch(&list, 65);
  CHECK(a.memory != NULL && a.memory == b.memory);
  CHECK_EQ_INT(a.offset_bytes, 0);
  CHECK_EQ_INT(b.offset_bytes, 64);
  CHECK_EQ_INT(list.scratch_bytes, 192);
  struct smr_cl_launch *launch = smr_cl_add(&list, 0, SMR_CL_raster_4);
  launch->buffers[0] = b;
  launch->buffers[5].memory = &list;
  // The next node has the same memory.
  smr_cl_begin_node(&list);
  a = smr_cl_scratch(&list, 64);
  CHECK_EQ_INT(a.offset_bytes, 0);
  CHECK_EQ_INT(list.scratch_bytes, 192);
  smr_cl_bind_scratch(&list, &memory);
  CHECK(list.launches[0].buffers[0].memory == &memory);
  CHECK_EQ_INT(list.launches[0].buffers[0].offset_bytes, 64);
  CHECK(list.launches[0].buffers[5].memory == &list);
  CHECK(list.launches[0].buffers[1].memory == NULL);
  CHECK(!list.failed);
  (void)smr_cl_scratch(&list, UINT64_MAX);
  CHECK(list.failed);
  smr_cl_launches_free(&list);
  CHECK_EQ_INT(list.scratch_bytes, 0);
}

SMR_TEST_MAIN(RUN(scratch); RUN(refusals); RUN(lstm); RUN(gru))
