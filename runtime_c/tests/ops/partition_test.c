// SPDX-License-Identifier: Apache-2.0
// Pieces for threads: none for one, none of too little work, so many at most.
#include "base/fp.h"

#include "ops/partition.h"

#include "harness.h"

SMR_TEST(follows_work_and_threads) {
  const double least = 1 << 16, large = 1 << 19;  // multiply-adds of a piece
  const struct {
    uint32_t threads;
    double work;
    size_t pieces;
  } cases[] = {
      {0, 1e12, 1},
      {1, 1e12, 1},
      {2, 0, 1},
      {2, 1.9 * least, 1},
      {2, 2.0 * least, 2},
      {2, 3.9 * least, 2},
      {2, 4.0 * least, 4},
      {2, 7.9 * large, 4},
      {2, 8.0 * large, 8},
      {8, 5.5 * least, 5},
      {2, 1e300, 2 * SMR_PIECES_PER_THREAD},
      {256, 1e300, 256 * SMR_PIECES_PER_THREAD},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct smr_job job = {.threads = cases[i].threads, .work = cases[i].work};
    CHECK_EQ_INT(smr_partition(&job), cases[i].pieces);
  }
}

SMR_TEST_MAIN(RUN(follows_work_and_threads))
