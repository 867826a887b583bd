// SPDX-License-Identifier: Apache-2.0
// How weight gradients are partitioned: by sizes alone.
#include "base/fp.h"

#include "ops/conv/weight_grad.h"

#include "base/isa.h"
#include "harness.h"

static struct smr_weight_grad weight_grad_of(int64_t batch, int64_t height, int64_t width,
                                             int64_t kernel, size_t groups, size_t a_channels,
                                             size_t b_channels) {
  struct smr_weight_grad s = {.groups = groups, .a_channels = a_channels, .b_channels = b_channels};
  s.window = (struct smr_window){.spatial = 2,
                                 .in = {1, height, width},
                                 .out = {1, height, width},
                                 .kernel = {1, kernel, kernel},
                                 .stride = {1, 1, 1},
                                 .dilation = {1, 1, 1},
                                 .pad_begin = {0, kernel / 2, kernel / 2},
                                 .pad_end = {0, kernel / 2, kernel / 2},
                                 .batch = batch};
  return s;
}

static struct smr_job prepared(struct smr_weight_grad *s) {
  struct smr_job job = {.isa = smr_cpu_isa()};
  CHECK_EQ_INT(smr_weight_grad_prepare(&job, s), SAMARA_OK);
  return job;
}

SMR_TEST(kinds) {
  struct smr_weight_grad s = weight_grad_of(1, 8, 8, 3, 1, 16, 16);
  prepared(&s);
  CHECK_EQ_INT(s.kind, SMR_WEIGHT_GRAD_PLAIN);
  CHECK_EQ_INT(s.joined, 3);
  CHECK_EQ_INT(s.segments, 3);
  s = weight_grad_of(1, 8, 8, 3, 1, 64, 1);  // three columns would fill little of a vector
  prepared(&s);
  CHECK_EQ_INT(s.kind, SMR_WEIGHT_GRAD_TURNED);
  s = weight_grad_of(1, 8, 8, 3, 20, 1, 1);
  prepared(&s);
  CHECK_EQ_INT(s.kind, SMR_WEIGHT_GRAD_DIAGONAL);
  s = weight_grad_of(1, 8, 8, 3, 2, 8, 8);  // the taps of a group do not lie together
  prepared(&s);
  CHECK_EQ_INT(s.joined, 1);
  CHECK_EQ_INT(s.segments, 18);
}

SMR_TEST(little_work_stays_whole) {
  struct smr_weight_grad s = weight_grad_of(1, 4, 4, 3, 1, 16, 16);
  const struct smr_job job = prepared(&s);
  CHECK_EQ_INT(job.tiles, 1);
  CHECK_EQ_INT(job.scratch_bytes, 0);
  CHECK_EQ_INT(job.barriers[0], 0);
}

SMR_TEST(long_sums_are_cut_into_parts) {
  struct smr_weight_grad s = weight_grad_of(32, 32, 32, 3, 1, 16, 16);
  const struct smr_job job = prepared(&s);
  CHECK(s.parts > 8);
  CHECK(s.parts <= s.chunks);
  CHECK_EQ_INT(job.barriers[0], s.parts * s.slices);
  CHECK(job.scratch_bytes >= s.parts * s.partial_floats * sizeof(float));
}

SMR_TEST(large_results_are_cut_into_slices) {
  struct smr_weight_grad s = weight_grad_of(8, 14, 14, 3, 1, 256, 256);
  const struct smr_job job = prepared(&s);
  CHECK_EQ_INT(s.parts, 1);
  CHECK(s.slices > 8);
  CHECK(s.packs);
  CHECK_EQ_INT(job.tiles, s.slices);  // the result is summed in place
  CHECK(job.thread_scratch_bytes > 0);
}

SMR_TEST(empty) {
  struct smr_weight_grad s = weight_grad_of(2, 8, 8, 3, 1, 0, 16);
  CHECK_EQ_INT(prepared(&s).tiles, 0);
  // No pixels: nothing is summed, but the result must be cleared.
  s = weight_grad_of(0, 8, 8, 3, 1, 2, 3);
  struct smr_job job = prepared(&s);
  float out[54];
  for (int i = 0; i < 54; i++) out[i] = 7;
  float none[1] = {0};
  CHECK_EQ_INT(smr_weight_grad_run(&job, &s, none, none, out, 0, job.tiles, NULL), SAMARA_OK);
  for (int i = 0; i < 54; i++) CHECK(out[i] == 0);
}

SMR_TEST_MAIN(RUN(kinds); RUN(little_work_stays_whole); RUN(long_sums_are_cut_into_parts);
              RUN(large_results_are_cut_into_slices); RUN(empty))
