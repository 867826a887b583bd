// SPDX-License-Identifier: Apache-2.0
// Cutting work along an axis: every group once, in any split.
#include "base/fp.h"

#include "ops/axis.h"

#include "harness.h"

#include <stdlib.h>

static void cover(int64_t outer, int64_t n, int64_t inner, size_t pieces) {
  const struct smr_tensor t = {.rank = 3, .dims = {outer, n, inner}};
  const struct smr_axis axis = smr_axis_of(&t, 1);
  const size_t groups = (size_t)(outer * inner), tiles = smr_axis_tiles(&axis);
  unsigned char *seen = calloc(groups + 1, 1);
  for (size_t p = 0; p < pieces; p++) {
    const size_t begin = tiles * p / pieces, end = tiles * (p + 1) / pieces;
    struct smr_axis_walk walk = smr_axis_start(&axis, begin, end);
    struct smr_axis_span span;
    while (begin < end && smr_axis_next(&axis, &walk, &span)) {
      for (size_t j = 0; j < span.count; j++) {
        seen[span.group + j]++;
        const size_t group = span.group + j;
        CHECK_EQ_INT(span.offset + j,
                     group / (size_t)inner * (size_t)(n * inner) + group % (size_t)inner);
      }
      CHECK_EQ_INT(span.group / (size_t)inner, (span.group + span.count - 1) / (size_t)inner);
    }
  }
  for (size_t i = 0; i < groups; i++) CHECK_EQ_INT(seen[i], n ? 1 : 0);
  free(seen);
}

SMR_TEST(covers) {
  static const int64_t sizes[][3] = {{1, 1, 1},    {7, 3, 1},      {2, 5000, 3}, {3, 10, 1000},
                                     {9000, 2, 1}, {4, 20000, 40}, {0, 3, 2},    {3, 0, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (size_t pieces = 1; pieces <= 5; pieces++)
      cover(sizes[i][0], sizes[i][1], sizes[i][2], pieces);
}

SMR_TEST(negative_axis) {
  const struct smr_tensor t = {.rank = 3, .dims = {2, 3, 4}};
  const struct smr_axis axis = smr_axis_of(&t, -1);
  CHECK_EQ_INT(axis.outer, 6);
  CHECK_EQ_INT(axis.n, 4);
  CHECK_EQ_INT(axis.inner, 1);
}

SMR_TEST_MAIN(RUN(covers); RUN(negative_axis))
