// SPDX-License-Identifier: Apache-2.0
// Deadlines inside operators: where the clock is read, and how often.
#include "base/fp.h"

#include "base/os.h"
#include "ops/deadline.h"
#include "ops/matmul/linear_data.h"

// A deadline long past, or an hour away.
static struct smr_deadline deadline(bool past) {
  const uint64_t hour = UINT64_C(3600) * 1000 * 1000 * 1000;
  return (struct smr_deadline){.start_ns = smr_os_now_ns() - (past ? 2000 : 0),
                               .limit_ns = past ? 1000 : hour};
}

SMR_TEST(a_deadline_is_told) {
  samara_error error = {.status = SAMARA_OK};
  struct smr_deadline d = deadline(true);
  CHECK_EQ_INT(smr_in_time(&d, &error), SAMARA_LIMIT);
  CHECK_CONTAINS(error.text, "the deadline of 1 us has passed");
  d = deadline(false);
  CHECK_EQ_INT(smr_in_time(&d, &error), SAMARA_OK);
  d = (struct smr_deadline){.start_ns = 1};
  CHECK_EQ_INT(smr_in_time(&d, &error), SAMARA_OK);  // none
}

SMR_TEST(steps_look_at_the_clock_when_they_are_many) {
  samara_error error = {.status = SAMARA_OK};
  struct smr_job job = {.error = &error, .deadline = deadline(true)};
  struct smr_deadline_watch watch = {.job = &job};
  for (size_t i = 1; i < SMR_DEADLINE_WORK / 1024; i++)
    CHECK_EQ_INT(smr_deadline_step(&watch, 1024), SAMARA_OK);
  CHECK_EQ_INT(smr_deadline_step(&watch, 1024), SAMARA_LIMIT);
  CHECK_EQ_INT(smr_deadline_step(&watch, 1), SAMARA_OK);  // counts again
  CHECK_EQ_INT(smr_deadline_step(&watch, SIZE_MAX), SAMARA_LIMIT);
  job.deadline = deadline(false);
  CHECK_EQ_INT(smr_deadline_step(&watch, SIZE_MAX), SAMARA_OK);
  job.deadline.limit_ns = 0;
  for (size_t i = 0; i < 3; i++) CHECK_EQ_INT(smr_deadline_step(&watch, SIZE_MAX), SAMARA_OK);
}

enum { DEADLINE_TILES = 1000 };
static size_t deadline_calls, deadline_next;

static samara_status count_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  (void)job, (void)thread_scratch;
  CHECK_EQ_INT(begin, deadline_next);
  CHECK(end > begin && end <= DEADLINE_TILES);
  deadline_next = end;
  deadline_calls++;
  return SAMARA_OK;
}

static samara_status refuse_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  (void)begin, (void)end, (void)thread_scratch;
  deadline_calls++;
  SMR_FAIL(job->error, BAD_DATA, "refused");
}

SMR_TEST(a_range_runs_piece_by_piece) {
  samara_error error = {.status = SAMARA_OK};
  struct smr_job job = {.error = &error};
  deadline_calls = deadline_next = 0;
  CHECK_EQ_INT(smr_deadline_run(&job, 0, DEADLINE_TILES, NULL, count_run), SAMARA_OK);
  CHECK_EQ_INT(deadline_calls, 1);  // no deadline, no pieces
  job.deadline = deadline(false);
  deadline_calls = deadline_next = 0;
  CHECK_EQ_INT(smr_deadline_run(&job, 0, DEADLINE_TILES, NULL, count_run), SAMARA_OK);
  CHECK_EQ_INT(deadline_next, DEADLINE_TILES);
  CHECK(deadline_calls > 1);
  deadline_calls = 0;
  CHECK_EQ_INT(smr_deadline_run(&job, 0, DEADLINE_TILES, NULL, refuse_run), SAMARA_BAD_DATA);
  CHECK_EQ_INT(deadline_calls, 1);
  job.deadline = deadline(true);
  deadline_calls = deadline_next = 0;
  CHECK_EQ_INT(smr_deadline_run(&job, 0, DEADLINE_TILES, NULL, count_run), SAMARA_LIMIT);
  CHECK_EQ_INT(deadline_calls, 0);
}

// Run the first tile (or the prologue) after its deadline: the operator must stop inside it. Every
// case is far less than a second of work, so that an operator that ignores the clock fails and does
// not hang.
static void expect_stop(struct op_test *t) {
  if (CHECK_EQ_INT(op_test_plan(t), SAMARA_OK)) {
    for (uint32_t i = 0; i < t->job.output_count; i++)
      t->out_data[i] = op_test_alloc(op_test_bytes(&t->out[i]), 64);
    op_test_show(t, true);
    t->job.scratch = op_test_alloc(t->job.scratch_bytes, 64);
    t->job.deadline = deadline(true);
    samara_status status = SAMARA_OK;
    if (t->job.op->flags & SMR_OP_SERIAL_PROLOGUE) status = op_test_tiles(t, 0, 0);
    if (status == SAMARA_OK) status = op_test_tiles(t, 0, 1);
    if (!CHECK_EQ_INT(status, SAMARA_LIMIT)) fprintf(stderr, "  %s\n", t->job.op->name);
    CHECK_CONTAINS(t->error.text, "deadline");
    free(t->job.scratch);
  }
  op_end(t);
}

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t rank, const int64_t *x,
                  const int64_t *w, const int64_t *y) {
  op_begin(t, op);
  op_in(t, dtype, rank, x, NULL);
  if (w != NULL) op_in(t, dtype, rank, w, NULL);
  op_out(t, dtype, rank, y);
}

static void window(struct op_test *t, uint32_t spatial, const int64_t *pads) {
  const int64_t ones[3] = {1, 1, 1};
  op_ints(t, "strides", spatial, ones);
  op_ints(t, "dilations", spatial, ones);
  op_ints(t, "pads", 2 * spatial, pads);
}

SMR_TEST(windows_stop_inside_a_row) {
  struct op_test t;
  begin(&t, "max_pool", SAMARA_FLOAT32, 3, DIMS(1, 3000, 1), NULL, DIMS(1, 3001, 1));
  op_ints(&t, "kernel", 1, DIMS(3000));
  window(&t, 1, DIMS(1500, 1500));
  expect_stop(&t);
  begin(&t, "conv", SAMARA_FLOAT32, 5, DIMS(1, 1, 1, 1500, 2), DIMS(2, 1, 1, 1000, 1),
        DIMS(1, 1, 1, 1500, 2));
  op_int(&t, "groups", 2);
  window(&t, 3, DIMS(0, 0, 500, 0, 0, 499));
  expect_stop(&t);
  begin(&t, "conv_transpose", SAMARA_FLOAT32, 3, DIMS(1, 1000, 16), DIMS(16, 64, 16),
        DIMS(1, 2062, 16));
  window(&t, 1, DIMS(0, 0));
  op_ints(&t, "strides", 1, DIMS(2));
  op_ints(&t, "output_padding", 1, DIMS(0));
  expect_stop(&t);
}

SMR_TEST(products_stop_inside_a_tile) {
  struct op_test t;
  begin(&t, "matmul", SAMARA_FLOAT32, 3, DIMS(2, 200, 100), DIMS(2, 100, 200), DIMS(2, 200, 200));
  expect_stop(&t);
  for (int lstm = 0; lstm < 2; lstm++) {
    const int64_t gates = lstm ? 4 : 3;
    begin(&t, lstm ? "lstm" : "gru", SAMARA_FLOAT32, 3, DIMS(100, 4, 8), DIMS(1, gates * 64, 8),
          DIMS(1, 4, 64));
    op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, gates * 64, 64), NULL);
    t.job.output_count = 0;
    op_out(&t, SAMARA_FLOAT32, 4, DIMS(100, 1, 4, 64));
    op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 4, 64));
    if (lstm) op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 4, 64));
    op_int(&t, "hidden", 64);
    expect_stop(&t);
  }
}

SMR_TEST(resize_stops_in_its_tables_and_rows) {
  struct op_test t;
  begin(&t, "resize", SAMARA_FLOAT32, 3, DIMS(1, 4, 1), NULL, DIMS(1, 16, 1));
  const float tiny = 1e-5f;
  uint32_t bits;
  memcpy(&bits, &tiny, sizeof bits);
  op_ints(&t, "sizes", 1, DIMS(16));
  op_ints(&t, "scales", 1, DIMS(bits));
  op_enum(&t, "mode", "linear");
  op_int(&t, "antialias", 1);
  expect_stop(&t);  // a filter of 200,000 elements for each of 16
  begin(&t, "resize", SAMARA_FLOAT32, 4, DIMS(1, 16384, 1, 64), NULL, DIMS(1, 64, 1, 64));
  op_ints(&t, "sizes", 2, DIMS(64, 1));
  op_enum(&t, "mode", "cubic");
  op_int(&t, "antialias", 1);
  expect_stop(&t);  // a tile of rows, each blended of 1024
}

SMR_TEST(float16_stops_inside_its_one_tile) {
  struct op_test t;
  begin(&t, "softmax", SAMARA_FLOAT16, 2, DIMS(64, 1024), NULL, DIMS(64, 1024));
  op_int(&t, "axis", -1);
  expect_stop(&t);
  begin(&t, "conv", SAMARA_FLOAT16, 3, DIMS(1, 100, 16), DIMS(16, 3, 1), DIMS(1, 98, 16));
  op_int(&t, "groups", 16);
  window(&t, 1, DIMS(0, 0));
  expect_stop(&t);
}

SMR_TEST(concat_stops_among_empty_parts) {
  struct op_test t;
  op_begin(&t, "concat");
  op_in(&t, SAMARA_UINT8, 3, DIMS(1 << 17, 1, 1), NULL);
  for (int i = 1; i < OP_TEST_TENSORS; i++) op_in(&t, SAMARA_UINT8, 3, DIMS(1 << 17, 0, 1), NULL);
  op_out(&t, SAMARA_UINT8, 3, DIMS(1 << 17, 1, 1));
  op_int(&t, "axis", 1);
  REQUIRE(op_test_plan(&t) == SAMARA_OK);
  t.out_data[0] = op_test_alloc(1 << 17, 64);
  op_test_show(&t, true);
  t.job.deadline = deadline(true);
  CHECK_EQ_INT(op_test_tiles(&t, 0, t.job.tiles), SAMARA_LIMIT);
  op_end(&t);
}

// Nothing is computed with no hidden units, however many steps there are.
SMR_TEST(steps_without_units_are_no_work) {
  struct op_test t;
  const int64_t many = INT64_C(1) << 40;
  begin(&t, "gru", SAMARA_FLOAT32, 3, DIMS(many, 1, 0), DIMS(1, 0, 0), DIMS(1, 1, 0));
  op_in(&t, SAMARA_FLOAT32, 3, DIMS(1, 0, 0), NULL);
  t.job.output_count = 0;
  op_out(&t, SAMARA_FLOAT32, 4, DIMS(many, 1, 1, 0));
  op_out(&t, SAMARA_FLOAT32, 3, DIMS(1, 1, 0));
  op_int(&t, "hidden", 0);
  if (op_test_plan(&t) == SAMARA_OK) CHECK_EQ_INT(t.job.tiles, 0);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(a_deadline_is_told); RUN(steps_look_at_the_clock_when_they_are_many);
              RUN(a_range_runs_piece_by_piece); RUN(windows_stop_inside_a_row);
              RUN(products_stop_inside_a_tile); RUN(resize_stops_in_its_tables_and_rows);
              RUN(float16_stops_inside_its_one_tile); RUN(concat_stops_among_empty_parts);
              RUN(steps_without_units_are_no_work))
