// SPDX-License-Identifier: Apache-2.0
// Elements of float tensors.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara.h>

#include "session/common/elements.h"

SMR_TEST(the_four_types_are_floats) {
  static const uint8_t floats[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_FLOAT64, SAMARA_BFLOAT16};
  for (uint8_t dtype = 0; dtype < 20; dtype++) {
    bool is_float = false;
    for (size_t i = 0; i < sizeof floats; i++) is_float = is_float || floats[i] == dtype;
    CHECK_EQ_INT(smr_is_float(dtype), is_float);
  }
}

SMR_TEST(elements_are_read_as_their_type_says) {
  static const float f32[] = {1.5f, -0.25f};
  static const double f64[] = {1e300, -0.1};
  static const uint16_t f16[] = {0x3c00, 0xc100, 0x7c00};   // 1, -2.5, infinity
  static const uint16_t bf16[] = {0x3f80, 0xc020, 0x0080};  // 1, -2.5, 2^-126
  CHECK_NEAR(smr_float_at(f32, SAMARA_FLOAT32, 0), 1.5, 0);
  CHECK_NEAR(smr_float_at(f32, SAMARA_FLOAT32, 1), -0.25, 0);
  CHECK_NEAR(smr_float_at(f64, SAMARA_FLOAT64, 0), 1e300, 0);
  CHECK_NEAR(smr_float_at(f64, SAMARA_FLOAT64, 1), -0.1, 0);
  CHECK_NEAR(smr_float_at(f16, SAMARA_FLOAT16, 0), 1, 0);
  CHECK_NEAR(smr_float_at(f16, SAMARA_FLOAT16, 1), -2.5, 0);
  CHECK(isinf(smr_float_at(f16, SAMARA_FLOAT16, 2)));
  CHECK_NEAR(smr_float_at(bf16, SAMARA_BFLOAT16, 0), 1, 0);
  CHECK_NEAR(smr_float_at(bf16, SAMARA_BFLOAT16, 1), -2.5, 0);
  CHECK_NEAR(smr_float_at(bf16, SAMARA_BFLOAT16, 2), ldexp(1, -126), 0);
}

SMR_TEST_MAIN(RUN(the_four_types_are_floats); RUN(elements_are_read_as_their_type_says))
