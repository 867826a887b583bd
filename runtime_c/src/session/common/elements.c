// SPDX-License-Identifier: Apache-2.0
// Elements of float tensors of any type.
#include "base/fp.h"

#include "session/common/elements.h"

#include <samara/samara.h>

#include <string.h>

#include "simd/half.h"

bool smr_is_float(uint8_t dtype) {
  return dtype == SAMARA_FLOAT32 || dtype == SAMARA_FLOAT16 || dtype == SAMARA_FLOAT64 ||
         dtype == SAMARA_BFLOAT16;
}

double smr_float_at(const void *data, uint8_t dtype, size_t i) {
  if (dtype == SAMARA_FLOAT64) {
    double wide;
    memcpy(&wide, (const uint8_t *)data + 8 * i, sizeof wide);
    return wide;
  }
  if (dtype != SAMARA_FLOAT32) {
    uint16_t half;
    memcpy(&half, (const uint8_t *)data + 2 * i, sizeof half);
    return (double)(dtype == SAMARA_FLOAT16 ? smr_f16_to_f32(half) : smr_bf16_to_f32(half));
  }
  float value;
  memcpy(&value, (const uint8_t *)data + 4 * i, sizeof value);
  return (double)value;
}
