// SPDX-License-Identifier: Apache-2.0
// Linear interpolation of int8 in portable C.

SMR_VECTORIZED static void N(i8_resize_centre)(size_t n, const int8_t *x, int32_t x_zero,
                                               int32_t *restrict y) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] - x_zero;
}

SMR_VECTORIZED static void N(i8_resize_blend)(size_t n, const int8_t *a, const int8_t *b,
                                              int32_t weight, int32_t x_zero, int32_t *restrict y) {
  for (size_t i = 0; i < n; i++)
    y[i] = (a[i] - x_zero) * (SMR_I8_RESIZE_ONE - weight) + (b[i] - x_zero) * weight;
}

static void N(i8_resize_row)(size_t pixels, size_t channels, const int32_t *taps, const int32_t *x,
                             const struct smr_i8_resize_end *end, int8_t *restrict y) {
  const int32_t zero = end->zero;
  const float m = end->multiplier, lo = (float)(end->lo - zero), hi = (float)(end->hi - zero);
  for (size_t p = 0; p < pixels; p++, taps += 3, y += channels) {
    const int32_t *a = x + (size_t)taps[0] * channels, *b = x + (size_t)taps[1] * channels;
    const int32_t weight = taps[2];
    for (size_t c = 0; c < channels; c++) {
      const int32_t sum = a[c] * (SMR_I8_RESIZE_ONE - weight) + b[c] * weight;
      y[c] = (int8_t)smr_requantized(sum, m, lo, hi, zero);
    }
  }
}

static const struct smr_i8_resize N(i8_resize_kernels) = {
    .name = "i8_resize__scalar",
    .centre = N(i8_resize_centre),
    .blend = N(i8_resize_blend),
    .row = N(i8_resize_row),
};
