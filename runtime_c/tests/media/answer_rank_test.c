// SPDX-License-Identifier: Apache-2.0
// Tests heaps of scores with ties.
#include "base/fp.h"

#include "media/answer_rank.h"

#include "harness.h"
#include "media/answer_data.h"

static void check_order(size_t n, bool worst_first, uint32_t *seed) {
  struct smr_answer_ranked items[40];
  for (uint32_t i = 0; i < n; i++)
    items[i] = (struct smr_answer_ranked){(float)answer_below(4, seed), i, 0};
  smr_answer_heap(items, n, worst_first);
  struct smr_answer_ranked last = items[0];
  for (size_t left = n; left > 1; left--) {
    items[0] = items[left - 1];
    smr_answer_sink(items, left - 1, 0, worst_first);
    if (!CHECK(smr_answer_better(&last, &items[0]) != worst_first)) return;
    last = items[0];
  }
}

SMR_TEST(best_come_first) {
  uint32_t seed = 1;
  for (size_t n = 1; n <= 40; n++) {
    check_order(n, false, &seed);
    check_order(n, true, &seed);
  }
  const struct smr_answer_ranked a = {1, 3, 0}, b = {1, 4, 0}, zero = {0.0f, 5, 0},
                                 minus = {-0.0f, 6, 0};
  CHECK(smr_answer_better(&a, &b) && !smr_answer_better(&b, &a));
  CHECK(smr_answer_better(&zero, &minus) && !smr_answer_better(&minus, &zero));
}

SMR_TEST_MAIN(RUN(best_come_first))
