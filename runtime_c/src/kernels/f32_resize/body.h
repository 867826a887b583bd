// SPDX-License-Identifier: Apache-2.0
// Weighted sums over the vocabulary.

SMR_INLINE N(vf) N(f32_resize_load)(int half, const char *x, size_t lanes) {
  const float *f = (const float *)(const void *)x;
  const uint16_t *h = (const uint16_t *)(const void *)x;
  if (half) return lanes == VF ? N(load_f16)(h) : N(load_f16_n)(h, lanes);
  return lanes == VF ? N(load)(f) : N(load_n)(f, lanes);
}

SMR_INLINE void N(f32_resize_store)(int half, char *y, N(vf) v, size_t lanes) {
  float *f = (float *)(void *)y;
  uint16_t *h = (uint16_t *)(void *)y;
  if (half && lanes == VF)
    N(store_f16)(h, v);
  else if (half)
    N(store_f16_n)(h, v, lanes);
  else if (lanes == VF)
    N(store)(f, v);
  else
    N(store_n)(f, v, lanes);
}

// `vectors` vectors from element `at` on; the last has `lanes`.
SMR_INLINE void N(f32_resize_blend_block)(int half, size_t vectors, size_t lanes, size_t at,
                                          const struct smr_resize_rows *rows, float *y) {
  const size_t element = half ? sizeof(uint16_t) : sizeof(float);
  N(vf) sums[4];
  SMR_UNROLL
  for (size_t v = 0; v < vectors; v++) sums[v] = N(zero)();
  const char *outer = (const char *)rows->x + at * element;
  for (size_t i = 0; i < rows->count[0]; i++, outer += rows->stride_bytes[0]) {
    const char *x = outer;
    for (size_t j = 0; j < rows->count[1]; j++, x += rows->stride_bytes[1]) {
      const N(vf) weight = N(set1)(rows->weights[0][i] * rows->weights[1][j]);
      SMR_UNROLL
      for (size_t v = 0; v < vectors; v++)
        sums[v] = N(fma)(
            weight, N(f32_resize_load)(half, x + v * VF * element, v + 1 == vectors ? lanes : VF),
            sums[v]);
    }
  }
  SMR_UNROLL
  for (size_t v = 0; v < vectors; v++)
    N(f32_resize_store)(0, (char *)(y + at + v * VF), sums[v], v + 1 == vectors ? lanes : VF);
}

SMR_INLINE void N(f32_resize_blend_any)(int half, size_t n, const struct smr_resize_rows *rows,
                                        float *y) {
  size_t i = 0;
  for (; n - i >= 4 * VF; i += 4 * VF) N(f32_resize_blend_block)(half, 4, VF, i, rows, y);
  for (; n - i >= VF; i += VF) N(f32_resize_blend_block)(half, 1, VF, i, rows, y);
  if (i < n) N(f32_resize_blend_block)(half, 1, n - i, i, rows, y);
}

// The channels of one pixel, from `at` on.
SMR_INLINE void N(f32_resize_pixel_block)(int half, size_t vectors, size_t lanes, size_t at,
                                          size_t taps, const float *weights, const float *x,
                                          size_t x_stride, char *y) {
  const size_t element = half ? sizeof(uint16_t) : sizeof(float);
  N(vf) sums[4];
  SMR_UNROLL
  for (size_t v = 0; v < vectors; v++) sums[v] = N(zero)();
  x += at;
  for (size_t t = 0; t < taps; t++, x += x_stride) {
    const N(vf) weight = N(set1)(weights[t]);
    SMR_UNROLL
    for (size_t v = 0; v < vectors; v++)
      sums[v] = N(fma)(
          weight, N(f32_resize_load)(0, (const char *)(x + v * VF), v + 1 == vectors ? lanes : VF),
          sums[v]);
  }
  SMR_UNROLL
  for (size_t v = 0; v < vectors; v++)
    N(f32_resize_store)(half, y + (at + v * VF) * element, sums[v], v + 1 == vectors ? lanes : VF);
}

SMR_INLINE void N(f32_resize_row_any)(int half, size_t pixels, size_t channels,
                                      const struct smr_resize_axis *axis, const float *x,
                                      size_t x_stride, char *y, size_t y_stride) {
  y_stride *= half ? sizeof(uint16_t) : sizeof(float);
  for (size_t p = 0; p < pixels; p++, y += y_stride) {
    const size_t taps = (size_t)axis->count[p];
    const float *weights = axis->weights + p * axis->width;
    if (taps == 0) continue;
    const float *from = x + (size_t)axis->first[p] * x_stride;
    size_t c = 0;
    for (; channels - c >= 4 * VF; c += 4 * VF)
      N(f32_resize_pixel_block)(half, 4, VF, c, taps, weights, from, x_stride, y);
    for (; channels - c >= VF; c += VF)
      N(f32_resize_pixel_block)(half, 1, VF, c, taps, weights, from, x_stride, y);
    if (c < channels)
      N(f32_resize_pixel_block)(half, 1, channels - c, c, taps, weights, from, x_stride, y);
  }
}

static void N(f32_resize_blend)(size_t n, const struct smr_resize_rows *rows, float *y) {
  N(f32_resize_blend_any)(0, n, rows, y);
}
static void N(f32_resize_blend_f16)(size_t n, const struct smr_resize_rows *rows, float *y) {
  N(f32_resize_blend_any)(1, n, rows, y);
}
static void N(f32_resize_row)(size_t pixels, size_t channels, const struct smr_resize_axis *axis,
                              const float *x, size_t x_stride, void *y, size_t y_stride) {
  N(f32_resize_row_any)(0, pixels, channels, axis, x, x_stride, (char *)y, y_stride);
}
static void N(f32_resize_row_f16)(size_t pixels, size_t channels,
                                  const struct smr_resize_axis *axis, const float *x,
                                  size_t x_stride, void *y, size_t y_stride) {
  N(f32_resize_row_any)(1, pixels, channels, axis, x, x_stride, (char *)y, y_stride);
}

static const struct smr_f32_resize_kernels N(f32_resize_kernels) = {
    {N(f32_resize_blend), SMR_HAS(type_float16) ? N(f32_resize_blend_f16) : NULL},
    {N(f32_resize_row), SMR_HAS(type_float16) ? N(f32_resize_row_f16) : NULL},
    "f32_resize__" SMR_SIMD_NAME,
};
