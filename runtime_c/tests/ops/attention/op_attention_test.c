// SPDX-License-Identifier: Apache-2.0
// attention in float16: sums are those of float32, rounded once.
// Results: tests/ops/test_tiles.py.
#include "base/fp.h"

#include "ops/attention/attention_data.h"

SMR_TEST(float16_rounds_once) { attention_rounds_once(false); }

SMR_TEST_MAIN(RUN(float16_rounds_once))
