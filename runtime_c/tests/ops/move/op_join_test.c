// SPDX-License-Identifier: Apache-2.0
// concat and split.
#include "base/fp.h"

#include "ops/op_harness.h"

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

static void fill(struct op_test *t, uint32_t input, uint32_t seed) {
  unsigned char *data = (unsigned char *)t->in_data[input];
  for (size_t i = 0; i < t->in[input].size_bytes; i++) data[i] = (unsigned char)(i * seed + seed);
}

// concat, then split of its answer gives the parts back; every element is found where it belongs.
static void check_joined(uint8_t dtype, size_t outer, size_t inner, uint32_t count,
                         const int64_t *sizes) {
  const size_t element = smr_dtype_bytes(dtype);
  struct op_test joined, cut;
  int64_t total = 0;
  op_begin(&joined, "concat");
  for (uint32_t i = 0; i < count; i++) {
    op_in(&joined, dtype, 3, DIMS((int64_t)outer, sizes[i], (int64_t)inner), NULL);
    fill(&joined, i, 2 * i + 3);
    total += sizes[i];
  }
  op_out(&joined, dtype, 3, DIMS((int64_t)outer, total, (int64_t)inner));
  op_int(&joined, "axis", -2);
  if (CHECK_EQ_INT(op_run(&joined), SAMARA_OK)) {
    size_t offset = 0;
    for (uint32_t i = 0; i < count; i++) {
      const size_t block = (size_t)sizes[i] * inner * element;
      for (size_t o = 0; o < outer; o++)
        CHECK_MEM((const char *)joined.out[0].data + o * (size_t)total * inner * element + offset,
                  (const char *)joined.in_data[i] + o * block, block);
      offset += block;
    }
    op_begin(&cut, "split");
    op_in(&cut, dtype, 3, joined.out[0].dims, joined.out[0].data);
    for (uint32_t i = 0; i < count; i++)
      op_out(&cut, dtype, 3, DIMS((int64_t)outer, sizes[i], (int64_t)inner));
    op_int(&cut, "axis", 1);
    op_ints(&cut, "sizes", count, sizes);
    if (CHECK_EQ_INT(op_run(&cut), SAMARA_OK))
      for (uint32_t i = 0; i < count; i++)
        op_expect_bytes(&cut, i, joined.in_data[i], joined.in[i].size_bytes);
    op_end(&cut);
  }
  op_end(&joined);
}

SMR_TEST(parts_lie_side_by_side) {
  static const uint8_t dtypes[] = {SAMARA_FLOAT32, SAMARA_INT64, SAMARA_QINT8, SAMARA_FLOAT16};
  for (size_t d = 0; d < 4; d++) {
    check_joined(dtypes[d], 1, 1, 1, DIMS(7));
    check_joined(dtypes[d], 1, 1, 3, DIMS(1, 33, 0));
    check_joined(dtypes[d], 3, 1, 3, DIMS(0, 1, 2));
    check_joined(dtypes[d], 2, 17, 2, DIMS(3, 5));
    check_joined(dtypes[d], 5, 1, 4, DIMS(1, 1, 1, 1));
    check_joined(dtypes[d], 300, 7, 3, DIMS(11, 2, 31));
    check_joined(dtypes[d], 0, 3, 2, DIMS(2, 2));
    check_joined(dtypes[d], 4, 0, 2, DIMS(2, 2));
    check_joined(dtypes[d], 1, 9000, 3, DIMS(4, 5, 1));
  }
}

SMR_TEST(refuses_what_does_not_fit) {
  struct op_test t;
  op_begin(&t, "concat");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(3, 3), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 6));
  op_int(&t, "axis", 1);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  op_begin(&t, "split");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(5), NULL);
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  op_int(&t, "axis", 0);
  op_ints(&t, "sizes", 2, DIMS(2, 2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

// Files may lie: dtypes of inputs and outputs are compared before anything is copied.
SMR_TEST(refuses_mixed_dtypes) {
  struct op_test t;
  op_begin(&t, "concat");
  op_in(&t, SAMARA_INT8, 1, DIMS(2), NULL);
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_out(&t, SAMARA_INT8, 1, DIMS(4));
  op_int(&t, "axis", 0);
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
  op_begin(&t, "split");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_out(&t, SAMARA_INT8, 1, DIMS(2));
  op_int(&t, "axis", 0);
  op_ints(&t, "sizes", 1, DIMS(2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_SHAPE);
  op_end(&t);
}

SMR_TEST_MAIN(RUN(parts_lie_side_by_side); RUN(refuses_what_does_not_fit);
              RUN(refuses_mixed_dtypes))
