// SPDX-License-Identifier: Apache-2.0
// The quantization loops over the vocabulary, four vectors of lanes at a time. Rows with parameters
// per element are left to portable C, which vquant.c compiles separately.
#if VF > 1
#include "simd/bytes.h"

#define VQUANT_BLOCK (4 * VF)

// NaN counts as 0.
SMR_INLINE N(vf) N(vquant_number)(N(vf) p) { return N(select)(N(eq)(p, p), p, N(set1)(0.0f)); }

static void N(vquant_quantize)(size_t n, const float *x, struct smr_vquant_params p, int8_t *y) {
  if (SMR_HAS(vquant_axis) && p.step) {
    smr_vquant_quantize_scalar(n, x, p, y);
    return;
  }
  const float one = n > 0 ? p.scales[0] : 1.0f;
  const N(vf) scale = N(set1)(one);
  const struct N(i8_limits) limits = N(i8_limits)(-128, 127, n > 0 ? p.zero_points[0] : 0);
  for (size_t i = 0; i < n; i += VQUANT_BLOCK) {
    const size_t some = n - i < VQUANT_BLOCK ? n - i : VQUANT_BLOCK;
    const float *from = x + i;
    float last[VQUANT_BLOCK];
    if (some < VQUANT_BLOCK) {  // zeroing in every pass would cost more than the pass
      memset(last, 0, sizeof last);
      from = memcpy(last, from, some * sizeof *last);
    }
    N(vf) v[4];
    SMR_UNROLL for (size_t k = 0; k < 4; k++) {
      v[k] = N(vquant_number)(N(div)(N(load)(from + k * VF), scale));
    }
    N(store_i8)(y + i, v, &limits, some);
  }
}

static void N(vquant_dequantize)(size_t n, const int8_t *x, struct smr_vquant_params p, float *y) {
  if (SMR_HAS(vquant_axis) && p.step) {
    smr_vquant_dequantize_scalar(n, x, p, y);
    return;
  }
  const N(vf) scale = N(set1)(n > 0 ? p.scales[0] : 1.0f);
  const N(vi) zero = N(iset1)(n > 0 ? p.zero_points[0] : 0);
  for (size_t i = 0; i < n; i += VQUANT_BLOCK) {
    const size_t some = n - i < VQUANT_BLOCK ? n - i : VQUANT_BLOCK;
    float last[VQUANT_BLOCK], *to = some < VQUANT_BLOCK ? last : y + i;
    N(vi) v[4];
    N(load_i8_some)(x + i, some, v);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) {
      N(store)(to + k * VF, N(mul)(N(to_float)(N(isub)(v[k], zero)), scale));
    }
    if (some < VQUANT_BLOCK) memcpy(y + i, last, some * sizeof *last);
  }
}

static void N(vquant_requantize)(size_t n, const int8_t *x, struct smr_vquant_params from,
                                 struct smr_vquant_params to, int8_t *y) {
  if (SMR_HAS(vquant_axis) && (from.step || to.step)) {
    smr_vquant_requantize_scalar(n, x, from, to, y);
    return;
  }
  if (n == 0) return;
  const float ratio = from.scales[0] / to.scales[0];
  const N(vf) multiplier = N(set1)(ratio);
  const N(vi) zero = N(iset1)(from.zero_points[0]);
  const struct N(i8_limits) limits = N(i8_limits)(-128, 127, to.zero_points[0]);
  for (size_t i = 0; i < n; i += VQUANT_BLOCK) {
    const size_t some = n - i < VQUANT_BLOCK ? n - i : VQUANT_BLOCK;
    N(vi) v[4];
    N(vf) p[4];
    N(load_i8_some)(x + i, some, v);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) {
      p[k] = N(vquant_number)(N(mul)(N(to_float)(N(isub)(v[k], zero)), multiplier));
    }
    N(store_i8)(y + i, p, &limits, some);
  }
}
#undef VQUANT_BLOCK
#endif
