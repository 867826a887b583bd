// SPDX-License-Identifier: Apache-2.0
// Conversion between real and quantized elements in portable C.

#define VQUANT_BLOCK 256

// The quantized value of `p`, in units of the output's scale; NaN counts as 0. A second loop
// converts int32 to int8, so that compilers vectorize both.
SMR_INLINE int32_t N(vquant_rounded)(float p, int32_t zero) {
  return smr_rounded(p, (float)(-128 - zero), (float)(127 - zero), zero);
}

SMR_INLINE void N(vquant_narrow)(size_t n, const int32_t *block, int8_t *y) {
  for (size_t i = 0; i < n; i++) y[i] = (int8_t)block[i];
}

// Calls `steps` with the constant 0 or 1 for `step`.
#define VQUANT_BY_STEP(steps, step, ...) \
  do {                                   \
    if (SMR_HAS(vquant_axis) && (step))  \
      steps(__VA_ARGS__, 1);             \
    else                                 \
      steps(__VA_ARGS__, 0);             \
  } while (0)

SMR_INLINE void N(vquant_quantize_steps)(size_t n, const float *x, const float *scales,
                                         const int32_t *zeros, int8_t *y, size_t step) {
  int32_t block[VQUANT_BLOCK];
  for (size_t i = 0; i < n; i += VQUANT_BLOCK) {
    const size_t count = n - i < VQUANT_BLOCK ? n - i : VQUANT_BLOCK;
    for (size_t j = 0; j < count; j++)
      block[j] = N(vquant_rounded)(x[i + j] / scales[(i + j) * step], zeros[(i + j) * step]);
    N(vquant_narrow)(count, block, y + i);
  }
}

SMR_VECTORIZED static void N(vquant_quantize)(size_t n, const float *x, struct smr_vquant_params p,
                                              int8_t *y) {
  VQUANT_BY_STEP(N(vquant_quantize_steps), p.step, n, x, p.scales, p.zero_points, y);
}

SMR_INLINE void N(vquant_dequantize_steps)(size_t n, const int8_t *x, const float *scales,
                                           const int32_t *zeros, float *restrict y, size_t step) {
  const float scale = n ? scales[0] : 0.0f;
  const int32_t zero = n ? zeros[0] : 0;
  for (size_t i = 0; i < n; i++)
    y[i] = (float)(x[i] - (step ? zeros[i] : zero)) * (step ? scales[i] : scale);
}

SMR_VECTORIZED static void N(vquant_dequantize)(size_t n, const int8_t *x,
                                                struct smr_vquant_params p, float *y) {
  VQUANT_BY_STEP(N(vquant_dequantize_steps), p.step, n, x, p.scales, p.zero_points, y);
}

SMR_INLINE void N(vquant_requantize_steps)(size_t n, const int8_t *x, struct smr_vquant_params from,
                                           struct smr_vquant_params to, int8_t *y, size_t steps) {
  const size_t f = steps & 1, t = steps >> 1;
  int32_t block[VQUANT_BLOCK];
  for (size_t i = 0; i < n; i += VQUANT_BLOCK) {
    const size_t count = n - i < VQUANT_BLOCK ? n - i : VQUANT_BLOCK;
    for (size_t j = 0; j < count; j++) {
      const size_t a = (i + j) * f, b = (i + j) * t;
      const float m = from.scales[a] / to.scales[b];
      const int32_t acc = x[i + j] - from.zero_points[a], zero = to.zero_points[b];
      block[j] = smr_requantized(acc, m, (float)(-128 - zero), (float)(127 - zero), zero);
    }
    N(vquant_narrow)(count, block, y + i);
  }
}

SMR_VECTORIZED static void N(vquant_requantize)(size_t n, const int8_t *x,
                                                struct smr_vquant_params from,
                                                struct smr_vquant_params to, int8_t *y) {
  const size_t steps = (from.step ? 1u : 0u) | (to.step ? 2u : 0u);
  if (SMR_HAS(vquant_axis) && steps != 0)
    N(vquant_requantize_steps)(n, x, from, to, y, steps);
  else
    N(vquant_requantize_steps)(n, x, from, to, y, 0);
}
#undef VQUANT_BY_STEP
#undef VQUANT_BLOCK
