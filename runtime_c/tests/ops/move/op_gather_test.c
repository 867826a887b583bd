// SPDX-License-Identifier: Apache-2.0
// gather, gather_elements and gather_nd.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static const uint8_t dtypes[] = {SAMARA_FLOAT32, SAMARA_INT64, SAMARA_QINT8, SAMARA_FLOAT16};

// Runs, then compares element i of the output with element from[i] of the input.
static void expect_picked(struct op_test *t, const size_t *from, size_t n) {
  const size_t element = smr_dtype_bytes(t->in[0].dtype);
  unsigned char *x = (unsigned char *)t->in_data[0];
  for (size_t i = 0; i < t->in[0].size_bytes; i++) x[i] = (unsigned char)(i * 7 + 1);
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK) && CHECK_EQ_INT(t->out[0].size_bytes, n * element))
    for (size_t i = 0; i < n; i++)
      CHECK_MEM((const unsigned char *)t->out[0].data + i * element, x + from[i] * element,
                element);
  op_end(t);
}

static void begin(struct op_test *t, const char *op, uint8_t dtype, uint32_t rank,
                  const int64_t *dims, uint8_t index_dtype, uint32_t index_rank,
                  const int64_t *index_dims, const int64_t *values, uint32_t out_rank,
                  const int64_t *out_dims) {
  int32_t narrow[64];
  size_t n = 1;
  for (uint32_t i = 0; i < index_rank; i++) n *= (size_t)index_dims[i];
  for (size_t i = 0; i < n && index_dtype == SAMARA_INT32; i++) narrow[i] = (int32_t)values[i];
  op_begin(t, op);
  op_in(t, dtype, rank, dims, NULL);
  op_in(t, index_dtype, index_rank, index_dims,
        index_dtype == SAMARA_INT32 ? (const void *)narrow : (const void *)values);
  op_out(t, dtype, out_rank, out_dims);
}

SMR_TEST(gathers) {
  for (size_t d = 0; d < 4; d++) {
    const uint8_t index_dtype = d % 2 ? SAMARA_INT64 : SAMARA_INT32;
    struct op_test t;
    begin(&t, "gather", dtypes[d], 1, DIMS(7), index_dtype, 0, NULL, DIMS(-1), 0, NULL);
    expect_picked(&t, (const size_t[]){6}, 1);
    begin(&t, "gather", dtypes[d], 2, DIMS(3, 2), index_dtype, 2, DIMS(2, 2), DIMS(2, 0, -3, 1), 3,
          DIMS(2, 2, 2));
    expect_picked(&t, (const size_t[]){4, 5, 0, 1, 0, 1, 2, 3}, 8);
    begin(&t, "gather", dtypes[d], 3, DIMS(2, 3, 2), index_dtype, 1, DIMS(2), DIMS(2, -2), 3,
          DIMS(2, 2, 2));
    op_int(&t, "axis", -2);
    expect_picked(&t, (const size_t[]){4, 5, 2, 3, 10, 11, 8, 9}, 8);
    begin(&t, "gather", dtypes[d], 2, DIMS(0, 3), index_dtype, 2, DIMS(2, 0), NULL, 3,
          DIMS(2, 0, 3));
    expect_picked(&t, NULL, 0);
  }
}

SMR_TEST(gathers_large_tables) {
  enum { ROWS = 50, WIDE = 500, PICKS = 300 };
  static size_t from[PICKS * WIDE];
  int64_t picks[PICKS];
  for (int64_t i = 0; i < PICKS; i++) picks[i] = i * 17 % ROWS - (i % 3 ? ROWS : 0);
  for (size_t i = 0; i < PICKS * WIDE; i++)
    from[i] = (size_t)((int64_t)(i / WIDE) * 17 % ROWS) * WIDE + i % WIDE;
  struct op_test t;
  begin(&t, "gather", SAMARA_FLOAT32, 2, DIMS(ROWS, WIDE), SAMARA_INT64, 1, DIMS(PICKS), picks, 2,
        DIMS(PICKS, WIDE));
  expect_picked(&t, from, PICKS * WIDE);
  CHECK(t.tiles > 1);
}

SMR_TEST(gathers_elements) {
  for (size_t d = 0; d < 4; d++) {
    const uint8_t index_dtype = d % 2 ? SAMARA_INT64 : SAMARA_INT32;
    struct op_test t;
    begin(&t, "gather_elements", dtypes[d], 2, DIMS(3, 4), index_dtype, 2, DIMS(2, 3),
          DIMS(0, 1, -1, 2, 0, 1), 2, DIMS(2, 3));
    expect_picked(&t, (const size_t[]){0, 5, 10, 8, 1, 6}, 6);
    begin(&t, "gather_elements", dtypes[d], 2, DIMS(3, 4), index_dtype, 2, DIMS(3, 2),
          DIMS(0, 3, -4, 1, 2, 2), 2, DIMS(3, 2));
    op_int(&t, "axis", 1);
    expect_picked(&t, (const size_t[]){0, 3, 4, 5, 10, 10}, 6);
    begin(&t, "gather_elements", dtypes[d], 3, DIMS(2, 3, 4), index_dtype, 3, DIMS(2, 2, 2),
          DIMS(2, 0, 1, -1, 0, 0, -3, 2), 3, DIMS(2, 2, 2));
    op_int(&t, "axis", 1);
    expect_picked(&t, (const size_t[]){8, 1, 4, 9, 12, 13, 12, 21}, 8);
    begin(&t, "gather_elements", dtypes[d], 1, DIMS(7), index_dtype, 1, DIMS(3), DIMS(3, -7, 6), 1,
          DIMS(3));
    expect_picked(&t, (const size_t[]){3, 0, 6}, 3);
  }
}

SMR_TEST(gathers_nd) {
  for (size_t d = 0; d < 4; d++) {
    const uint8_t index_dtype = d % 2 ? SAMARA_INT64 : SAMARA_INT32;
    struct op_test t;
    begin(&t, "gather_nd", dtypes[d], 2, DIMS(3, 4), index_dtype, 2, DIMS(3, 2),
          DIMS(0, 1, 2, -1, 1, 0), 1, DIMS(3));
    expect_picked(&t, (const size_t[]){1, 11, 4}, 3);
    begin(&t, "gather_nd", dtypes[d], 2, DIMS(3, 3), index_dtype, 2, DIMS(2, 1), DIMS(2, 0), 2,
          DIMS(2, 3));
    expect_picked(&t, (const size_t[]){6, 7, 8, 0, 1, 2}, 6);
    begin(&t, "gather_nd", dtypes[d], 3, DIMS(2, 3, 2), index_dtype, 3, DIMS(2, 2, 1),
          DIMS(1, 0, 2, -3), 3, DIMS(2, 2, 2));
    op_int(&t, "batch_dims", 1);
    expect_picked(&t, (const size_t[]){2, 3, 0, 1, 10, 11, 6, 7}, 8);
    begin(&t, "gather_nd", dtypes[d], 2, DIMS(2, 2), index_dtype, 2, DIMS(2, 0), NULL, 3,
          DIMS(2, 2, 2));
    expect_picked(&t, (const size_t[]){0, 1, 2, 3, 0, 1, 2, 3}, 8);
  }
}

SMR_TEST(index_values_are_checked) {
  struct op_test t;
  begin(&t, "gather", SAMARA_FLOAT32, 1, DIMS(7), SAMARA_INT64, 1, DIMS(3), DIMS(0, 7, 1), 1,
        DIMS(3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_STR(t.error.text, "gather: index 7 at position 1 is out of range, expected -7 to 6");
  op_end(&t);
  begin(&t, "gather_elements", SAMARA_FLOAT32, 2, DIMS(2, 2), SAMARA_INT32, 2, DIMS(1, 2),
        DIMS(1, -3), 2, DIMS(1, 2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_STR(t.error.text,
            "gather_elements: index -3 at position 1 is out of range, expected -2 to 1");
  op_end(&t);
  begin(&t, "gather_nd", SAMARA_FLOAT32, 2, DIMS(2, 3), SAMARA_INT64, 2, DIMS(1, 2),
        DIMS(1, INT64_MIN), 1, DIMS(1));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_CONTAINS(t.error.text, "at position 1 is out of range, expected -3 to 2");
  op_end(&t);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, "gather", SAMARA_FLOAT32, 1, DIMS(7), SAMARA_FLOAT32, 1, DIMS(3), NULL, 1, DIMS(3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, "gather", SAMARA_FLOAT32, 1, DIMS(7), SAMARA_INT64, 1, DIMS(3), DIMS(0, 0, 0), 1,
        DIMS(3));
  t.out[0].dtype = SAMARA_INT8;
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, "gather_nd", SAMARA_FLOAT32, 1, DIMS(7), SAMARA_INT64, 1, DIMS(2), DIMS(0, 0), 0, NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(gathers); RUN(gathers_large_tables); RUN(gathers_elements); RUN(gathers_nd);
              RUN(index_values_are_checked); RUN(refuses))
