// SPDX-License-Identifier: Apache-2.0
// Walking over broadcast operands.
#include "base/fp.h"

#include "ops/pointwise/elementwise.h"

#include "harness.h"

static struct smr_tensor tensor(uint32_t rank, const int64_t *dims) {
  struct smr_tensor t = {.rank = (uint8_t)rank};
  for (uint32_t i = 0; i < rank; i++) t.dims[i] = dims[i];
  return t;
}

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

SMR_TEST(axes_merge) {
  const struct smr_tensor y = tensor(4, DIMS(2, 3, 4, 5));
  struct smr_broadcast b;
  smr_broadcast_make(&b, &y, (const struct smr_tensor *[]){&y, &y}, 2);
  CHECK_EQ_INT(b.rank, 1);
  CHECK_EQ_INT(b.dims[0], 120);
  CHECK_EQ_INT(smr_broadcast_step(&b, 0), 1);
  const struct smr_tensor row = tensor(1, DIMS(5)), column = tensor(3, DIMS(3, 4, 1));
  smr_broadcast_make(&b, &y, (const struct smr_tensor *[]){&y, &row}, 2);
  CHECK_EQ_INT(b.rank, 2);
  CHECK_EQ_INT(b.dims[0], 24);
  CHECK_EQ_INT(b.strides[1][0], 0);
  smr_broadcast_make(&b, &y, (const struct smr_tensor *[]){&y, &column}, 2);
  CHECK_EQ_INT(b.rank, 3);  // 2, 3 * 4, 5
  CHECK_EQ_INT(b.dims[1], 12);
  CHECK_EQ_INT(smr_broadcast_step(&b, 1), 0);
  const struct smr_tensor scalar = tensor(0, NULL);
  smr_broadcast_make(&b, &scalar, (const struct smr_tensor *[]){&scalar}, 1);
  CHECK_EQ_INT(b.rank, 1);
  CHECK_EQ_INT(b.dims[0], 1);
}

// From every begin to every end, the offsets of each element agree with their definition.
SMR_TEST(every_range) {
  const struct smr_tensor y = tensor(3, DIMS(2, 3, 4));
  const struct smr_tensor a = tensor(3, DIMS(2, 1, 4)), c = tensor(2, DIMS(3, 1));
  struct smr_broadcast b;
  smr_broadcast_make(&b, &y, (const struct smr_tensor *[]){&y, &a, &c}, 3);
  for (size_t begin = 0; begin <= 24; begin++)
    for (size_t end = begin; end <= 24; end++)
      for (size_t most = 1; most <= 5; most += 2) {
        struct smr_broadcast_cursor cursor;
        smr_broadcast_start(&b, &cursor, begin, end);
        size_t at[SMR_BROADCAST_OPERANDS], n, i = begin;
        while ((n = smr_broadcast_next(&b, &cursor, most, at)) > 0) {
          CHECK(n <= most);
          for (size_t j = 0; j < n; j++, i++) {
            CHECK_EQ_INT(at[0] + j, i);
            CHECK_EQ_INT(at[1] + j * smr_broadcast_step(&b, 1), i / 12 * 4 + i % 4);
            CHECK_EQ_INT(at[2] + j * smr_broadcast_step(&b, 2), i / 4 % 3);
          }
        }
        CHECK_EQ_INT(i, end);
      }
}

SMR_TEST(grains) {
  CHECK_EQ_INT(smr_grain_tiles(0), 0);
  CHECK_EQ_INT(smr_grain_tiles(1), 1);
  CHECK_EQ_INT(smr_grain_tiles(SMR_GRAIN), 1);
  CHECK_EQ_INT(smr_grain_tiles(SMR_GRAIN + 1), 2);
  CHECK_EQ_INT(smr_grain_end(SMR_GRAIN + 1, 1), SMR_GRAIN);
  CHECK_EQ_INT(smr_grain_end(SMR_GRAIN + 1, 2), SMR_GRAIN + 1);
  CHECK_EQ_INT(smr_grain_end(SMR_GRAIN, 1), SMR_GRAIN);
}

SMR_TEST_MAIN(RUN(axes_merge); RUN(every_range); RUN(grains))
