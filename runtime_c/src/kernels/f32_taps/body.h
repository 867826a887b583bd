// SPDX-License-Identifier: Apache-2.0
// Sums over pixels at arbitrary offsets, over the vocabulary.

SMR_INLINE N(vf) N(f32_taps_load)(const float *x, size_t lanes) {
  return lanes == VF ? N(load)(x) : N(load_n)(x, lanes);
}

SMR_INLINE void N(f32_taps_sum_block)(size_t lanes, size_t taps, const size_t *offsets,
                                      const float *weights, const float *x, float *y) {
  N(vf) sum = N(zero)();
  for (size_t k = 0; k < taps; k++)
    sum = N(fma)(N(set1)(weights[k]), N(f32_taps_load)(x + offsets[k], lanes), sum);
  if (lanes == VF)
    N(store)(y, sum);
  else
    N(store_n)(y, sum, lanes);
}

static void N(f32_taps_sum)(size_t n, size_t taps, const size_t *offsets, const float *weights,
                            const float *x, float *y) {
  size_t i = 0;
  for (; n - i >= VF; i += VF) N(f32_taps_sum_block)(VF, taps, offsets, weights, x + i, y + i);
  if (i < n) N(f32_taps_sum_block)(n - i, taps, offsets, weights, x + i, y + i);
}

static void N(f32_taps_spread)(size_t n, size_t taps, const size_t *offsets, const float *weights,
                               const float *y, float *x) {
  for (size_t k = 0; k < taps; k++) {
    const N(vf) weight = N(set1)(weights[k]);
    float *to = x + offsets[k];
    size_t i = 0;
    for (; n - i >= VF; i += VF) N(store)(to + i, N(fma)(weight, N(load)(y + i), N(load)(to + i)));
    if (i < n)
      N(store_n)(to + i, N(fma)(weight, N(load_n)(y + i, n - i), N(load_n)(to + i, n - i)), n - i);
  }
}

static void N(f32_taps_dots)(size_t n, size_t taps, const size_t *offsets, const float *x,
                             const float *y, float *dots) {
  for (size_t k = 0; k < taps; k++) {
    const float *from = x + offsets[k];
    N(vf) sum = N(zero)();
    size_t i = 0;
    for (; n - i >= VF; i += VF) sum = N(fma)(N(load)(from + i), N(load)(y + i), sum);
    if (i < n) sum = N(fma)(N(load_n)(from + i, n - i), N(load_n)(y + i, n - i), sum);
    dots[k] = N(reduce_add)(sum);
  }
}

SMR_INLINE void N(f32_taps_largest_block)(size_t lanes, size_t taps, const size_t *offsets,
                                          const float *weights, const float *x, float *y) {
  N(vf) best = N(f32_taps_load)(y, lanes);
  for (size_t k = 0; k < taps; k++) {
    const N(vf) product = N(mul)(N(set1)(weights[k]), N(f32_taps_load)(x + offsets[k], lanes));
    // max returns a NaN of its second operand; the select handles one of its first.
    best = N(select)(N(eq)(product, product), N(max)(product, best), product);
  }
  if (lanes == VF)
    N(store)(y, best);
  else
    N(store_n)(y, best, lanes);
}

static void N(f32_taps_largest)(size_t n, size_t taps, const size_t *offsets, const float *weights,
                                const float *x, float *y) {
  size_t i = 0;
  for (; n - i >= VF; i += VF) N(f32_taps_largest_block)(VF, taps, offsets, weights, x + i, y + i);
  if (i < n) N(f32_taps_largest_block)(n - i, taps, offsets, weights, x + i, y + i);
}

static const struct smr_f32_taps_kernels N(f32_taps_kernels) = {
    N(f32_taps_sum),     N(f32_taps_spread),         N(f32_taps_dots),
    N(f32_taps_largest), "f32_taps__" SMR_SIMD_NAME,
};
