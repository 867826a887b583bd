// SPDX-License-Identifier: Apache-2.0
// Between real and quantized elements, in portable C.
#include "base/fp.h"

#include "kernels/vquant/vquant.h"

// Adding and taking away 1.5 * 2^23 rounds a float of magnitude below 2^22 to an integer, half to
// even, in the default rounding mode. Clamped values are far below.
static const float vquant_magic = 12582912.0f;

// The quantized value of `p`, which is already in units of the output's scale. Comparisons are
// written so that NaN takes the last branch.
static inline int8_t vquant_rounded(float p, int32_t zero) {
  const float low = (float)(-128 - zero), high = (float)(127 - zero);
  if (p >= high) return 127;
  if (p <= low) return -128;
  if (!(p > low)) return (int8_t)zero;
  const float r = (p + vquant_magic) - vquant_magic;
  return (int8_t)((int32_t)r + zero);
}

void smr_vquant_quantize(size_t n, const float *x, struct smr_vquant_params p, int8_t *y) {
  for (size_t i = 0; i < n; i++)
    y[i] = vquant_rounded(x[i] / p.scales[i * p.step], p.zero_points[i * p.step]);
}

void smr_vquant_dequantize(size_t n, const int8_t *x, struct smr_vquant_params p, float *y) {
  for (size_t i = 0; i < n; i++)
    y[i] = (float)(x[i] - p.zero_points[i * p.step]) * p.scales[i * p.step];
}

void smr_vquant_requantize(size_t n, const int8_t *x, struct smr_vquant_params from,
                           struct smr_vquant_params to, int8_t *y) {
  for (size_t i = 0; i < n; i++) {
    const float m = from.scales[i * from.step] / to.scales[i * to.step];
    const float p = (float)(x[i] - from.zero_points[i * from.step]) * m;
    y[i] = vquant_rounded(p, to.zero_points[i * to.step]);
  }
}
