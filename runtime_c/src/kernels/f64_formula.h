// SPDX-License-Identifier: Apache-2.0
// Helpers of float64 formulas besides the C library (functions.inc).
#ifndef SMR_KERNELS_F64_FORMULA_H
#define SMR_KERNELS_F64_FORMULA_H

#include "simd/common.h"

#include <math.h>

// NaN passes through.
SMR_INLINE double smr_f64_clamp(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

SMR_INLINE double smr_f64_sigmoid(double x) { return 1 / (1 + exp(-x)); }

#endif
