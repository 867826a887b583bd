// SPDX-License-Identifier: Apache-2.0
// pad: known answers, and every mode against a look-up by coordinates.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void begin(struct op_test *t, uint8_t dtype, uint32_t rank, const int64_t *dims,
                  const int64_t *pads, const char *mode, const void *data) {
  int64_t out[SAMARA_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) out[i] = dims[i] + pads[i] + pads[rank + i];
  op_begin(t, "pad");
  op_in(t, dtype, rank, dims, data);
  op_out(t, dtype, rank, out);
  op_ints(t, "pads", 2 * rank, pads);
  op_enum(t, "mode", mode);
}

static void expect_ints(struct op_test *t, const int32_t *values, size_t n) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) op_expect_bytes(t, 0, values, n * sizeof *values);
  op_end(t);
}

// Answers of numpy.pad on [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]].
SMR_TEST(answers_like_numpy) {
  int32_t x[12];
  for (int32_t i = 0; i < 12; i++) x[i] = i;
  struct op_test t;
  begin(&t, SAMARA_INT32, 2, DIMS(3, 4), DIMS(1, 2, 0, 1), "reflect", x);
  expect_ints(&t, (const int32_t[]){6, 5, 4, 5, 6, 7, 6, 2,  1, 0, 1, 2,  3,  2,
                                    6, 5, 4, 5, 6, 7, 6, 10, 9, 8, 9, 10, 11, 10},
              28);
  begin(&t, SAMARA_INT32, 2, DIMS(3, 4), DIMS(0, 1, 2, 1), "edge", x);
  expect_ints(&t, (const int32_t[]){0,  0,  1,  2, 3, 3, 4,  4,  5,  6, 7, 7, 8,  8,  9,
                                    10, 11, 11, 8, 8, 9, 10, 11, 11, 8, 8, 9, 10, 11, 11},
              30);
  begin(&t, SAMARA_INT32, 2, DIMS(3, 4), DIMS(1, 5, 0, 1), "wrap", x);
  expect_ints(
      &t, (const int32_t[]){11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 3,  0, 1, 2,  3,  0, 1, 2,  3,  0,
                            7,  4, 5, 6,  7,  4, 5, 6,  7,  4, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8},
      40);
  // Cropped first, then padded.
  begin(&t, SAMARA_INT32, 2, DIMS(3, 4), DIMS(-1, 2, 1, -2), "constant", x);
  op_in(&t, SAMARA_INT32, 0, NULL, (const int32_t[]){9});
  expect_ints(&t, (const int32_t[]){9, 9, 4, 5, 9, 9, 8, 9, 9, 9, 9, 9}, 12);
  begin(&t, SAMARA_INT32, 2, DIMS(3, 4), DIMS(-1, 1, 1, -2), "reflect", x);
  expect_ints(&t, (const int32_t[]){5, 4, 5, 9, 8, 9, 5, 4, 5}, 9);
}

// Where coordinate c of an axis comes from, or -1.
static int64_t came_from(const char *mode, int64_t dim, int64_t before, int64_t after, int64_t c) {
  const int64_t low = before < 0 ? -before : 0, high = dim - (after < 0 ? -after : 0);
  const int64_t kept = high - low;
  int64_t at = c - (before > 0 ? before : 0);
  if (at >= 0 && at < kept) return at + low;
  if (strcmp(mode, "constant") == 0) return -1;
  if (strcmp(mode, "edge") == 0) return at < 0 ? low : high - 1;
  while (at < 0 || at >= kept) {
    if (strcmp(mode, "wrap") == 0)
      at += at < 0 ? kept : -kept;
    else
      at = at < 0 ? -at : 2 * (kept - 1) - at;
  }
  return at + low;
}

static void check_pads(uint8_t dtype, uint32_t rank, const int64_t *dims, const int64_t *pads,
                       const char *mode) {
  const size_t element = smr_dtype_bytes(dtype);
  struct op_test t;
  begin(&t, dtype, rank, dims, pads, mode, NULL);
  const unsigned char fill[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  op_in(&t, dtype, 0, NULL, fill);
  unsigned char *x = (unsigned char *)t.in_data[0];
  for (size_t i = 0; i < t.in[0].size_bytes; i++) x[i] = (unsigned char)(i * 31 + 9);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) {
    const unsigned char *y = (const unsigned char *)t.out[0].data;
    for (size_t i = 0; i < t.out[0].size_bytes / element; i++) {
      size_t rest = i, at = 0, stride = 1;
      bool inside = true;
      for (uint32_t a = rank; a-- > 0;) {
        const int64_t from = came_from(mode, dims[a], pads[a], pads[rank + a],
                                       (int64_t)(rest % (size_t)t.out[0].dims[a]));
        rest /= (size_t)t.out[0].dims[a];
        inside = inside && from >= 0;
        if (inside) at += (size_t)from * stride;
        stride *= (size_t)dims[a];
      }
      CHECK_MEM(y + i * element, inside ? x + at * element : fill, element);
    }
  }
  op_end(&t);
}

SMR_TEST(moves_every_element) {
  static const uint8_t dtypes[] = {SAMARA_FLOAT32, SAMARA_INT64, SAMARA_BOOL, SAMARA_FLOAT16};
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  for (int d = 0; d < 4; d++)
    for (int m = 0; m < 4; m++) {
      check_pads(dtypes[d], 0, NULL, NULL, modes[m]);
      check_pads(dtypes[d], 1, DIMS(7), DIMS(3, 6), modes[m]);
      check_pads(dtypes[d], 1, DIMS(7), DIMS(-3, 2), modes[m]);
      check_pads(dtypes[d], 1, DIMS(9), DIMS(-4, -5), modes[m]);
      check_pads(dtypes[d], 4, DIMS(2, 5, 4, 3), DIMS(0, 2, 1, 0, 0, 1, 3, 0), modes[m]);
      check_pads(dtypes[d], 4, DIMS(3, 3, 4, 3), DIMS(1, -1, 2, 0, 2, 1, -1, 2), modes[m]);
      check_pads(dtypes[d], 3, DIMS(1, 16, 17), DIMS(0, 4, 5, 0, 15, 16), modes[m]);
      check_pads(dtypes[d], 2, DIMS(60, 200), DIMS(30, 0, 30, 0), modes[m]);
      check_pads(dtypes[d], 2, DIMS(4, 0), DIMS(2, 0, 1, 0), modes[m]);
    }
  check_pads(SAMARA_INT32, 2, DIMS(0, 3), DIMS(2, 1, 0, 1), "constant");
  check_pads(SAMARA_INT32, 2, DIMS(2, 3), DIMS(2, -1, 0, -2), "constant");
}

SMR_TEST(zero_of_quantized_tensors) {
  struct op_test t;
  begin(&t, SAMARA_QINT8, 1, DIMS(2), DIMS(1, 2), "constant", (const int8_t[]){5, 6});
  op_quant(&t, &t.in[0], 1, (const float[]){0.5f}, (const int32_t[]){-3}, -1);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    op_expect_bytes(&t, 0, (const int8_t[]){-3, 5, 6, -3, -3}, 5);
  op_end(&t);
}

SMR_TEST(refuses) {
  struct op_test t;
  begin(&t, SAMARA_INT32, 1, DIMS(3), DIMS(3, 0), "reflect", NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_INT32, 1, DIMS(0), DIMS(1, 0), "edge", NULL);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  begin(&t, SAMARA_INT32, 1, DIMS(2), DIMS(-1, -1), "wrap", NULL);  // leaves nothing, asks nothing
  CHECK_EQ_INT(op_run(&t), SAMARA_OK);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(answers_like_numpy); RUN(moves_every_element); RUN(zero_of_quantized_tensors);
              RUN(refuses))
