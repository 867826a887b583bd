// SPDX-License-Identifier: Apache-2.0
// Pools by any other norm, with the C library's pow.
#include "base/fp.h"

#include "kernels/f32_pool/f32_pool.h"
#include "simd/half.h"

#include <math.h>

static float f32_pool_power_at(const struct smr_pool_window *window, size_t c, double p, int half) {
  double sum = 0;
  for (size_t i = 0; i < window->n[0]; i++)
    for (size_t j = 0; j < window->n[1]; j++)
      for (size_t k = 0; k < window->n[2]; k++) {
        const size_t at = i * window->stride[0] + j * window->stride[1] + k * window->stride[2] + c;
        const float x = half ? smr_f16_to_f32(((const uint16_t *)window->x)[at])
                             : ((const float *)window->x)[at];
        sum += pow(fabs((double)x), p);
      }
  return (float)pow(sum, 1.0 / p);
}

static void f32_pool_power(size_t channels, const struct smr_pool_window *window, float divisor,
                           void *y) {
  for (size_t c = 0; c < channels; c++)
    ((float *)y)[c] = f32_pool_power_at(window, c, (double)divisor, 0);
}

static void f32_pool_power_f16(size_t channels, const struct smr_pool_window *window, float divisor,
                               void *y) {
  for (size_t c = 0; c < channels; c++)
    ((uint16_t *)y)[c] = smr_f32_to_f16(f32_pool_power_at(window, c, (double)divisor, 1));
}

const smr_f32_pool_ukernel smr_f32_pool_libm[SMR_POOL_TYPES] = {f32_pool_power, f32_pool_power_f16};
