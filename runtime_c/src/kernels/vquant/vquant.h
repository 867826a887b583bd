// SPDX-License-Identifier: Apache-2.0
// Conversion between real and quantized elements: the contract.
//
// Parameters of element i are scales[i * step] and zero_points[i * step]: step 0 for one pair, 1
// for one per element of a row. Rounding is half to even, clamping comes before it; both are exact
// in every build (docs/reference/numerics.md).
#ifndef SMR_KERNELS_VQUANT_H
#define SMR_KERNELS_VQUANT_H

#include <stddef.h>
#include <stdint.h>

struct smr_vquant_params {
  const float *scales;
  const int32_t *zero_points;
  size_t step;
};

struct smr_vquant {
  const char *name;

  /// y[i] = round(clamp(x[i] / scale)) + zero_point in [-128, 127]; NaN gives the zero point.
  void (*quantize)(size_t n, const float *x, struct smr_vquant_params p, int8_t *y);

  /// y[i] = (x[i] - zero_point) * scale.
  void (*dequantize)(size_t n, const int8_t *x, struct smr_vquant_params p, float *y);

  /// y[i] = round(clamp(float(x[i] - zero_x) * (scale_x / scale_y))) + zero_y. `y` may be `x`.
  void (*requantize)(size_t n, const int8_t *x, struct smr_vquant_params from,
                     struct smr_vquant_params to, int8_t *y);
};

/// The best kernels among `isa`; all give the same bits.
const struct smr_vquant *smr_vquant_config(uint32_t isa);

#endif
