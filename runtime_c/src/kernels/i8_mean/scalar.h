// SPDX-License-Identifier: Apache-2.0
// Means of int8 in portable C.

#define I8_MEAN_BLOCK 64  // columns summed at once

SMR_VECTORIZED static void N(i8_mean_columns)(size_t width, size_t rows, size_t stride,
                                              const int8_t *x, int32_t *restrict sums) {
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < width; c++) sums[c] += x[r * stride + c];
}

SMR_VECTORIZED static int32_t N(i8_mean_row)(size_t n, const int8_t *x) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum;
}

SMR_VECTORIZED static void N(i8_mean_finish)(size_t n, const int32_t *sums,
                                             const struct smr_i8_mean_end *end,
                                             int8_t *restrict y) {
  const int32_t offset = end->offset, zero = end->zero;
  const float m = end->multiplier, lo = (float)(end->lo - zero), hi = (float)(end->hi - zero);
  int32_t block[I8_MEAN_BLOCK];  // a second loop converts int8 to int32, so that both are
                                 // vectorized
  for (size_t i = 0; i < n; i += I8_MEAN_BLOCK) {
    const size_t some = n - i < I8_MEAN_BLOCK ? n - i : I8_MEAN_BLOCK;
    for (size_t j = 0; j < some; j++)
      block[j] = smr_requantized(sums[i + j] - offset, m, lo, hi, zero);
    for (size_t j = 0; j < some; j++) y[i + j] = (int8_t)block[j];
  }
}

static void N(i8_mean_window)(size_t channels, const struct smr_pool_window *window,
                              const struct smr_i8_mean_end *end, int8_t *y) {
  for (size_t c = 0; c < channels; c += I8_MEAN_BLOCK) {
    const size_t some = channels - c < I8_MEAN_BLOCK ? channels - c : I8_MEAN_BLOCK;
    int32_t sums[I8_MEAN_BLOCK] = {0};
    for (size_t i = 0; i < window->n[0]; i++)
      for (size_t j = 0; j < window->n[1]; j++)
        N(i8_mean_columns)(
            some, window->n[2], window->stride[2],
            (const int8_t *)window->x + c + i * window->stride[0] + j * window->stride[1], sums);
    N(i8_mean_finish)(some, sums, end, y + c);
  }
}

SMR_VECTORIZED static void N(i8_mean_add_real)(size_t width, size_t taps, size_t stride,
                                               const int8_t *x, float scale, int32_t zero,
                                               float *restrict sums) {
  for (size_t t = 0; t < taps; t++)
    for (size_t c = 0; c < width; c++) {
      const float v = (float)(x[t * stride + c] - zero) * scale;
      sums[c] += v;
    }
}

SMR_VECTORIZED static void N(i8_mean_finish_real)(size_t n, const float *sums,
                                                  const struct smr_i8_mean_real *mean,
                                                  int8_t *restrict y) {
  const int32_t zero = mean->zero;
  const float count = mean->count, scale = mean->scale;
  const float lo = (float)(mean->lo - zero), hi = (float)(mean->hi - zero);
  int32_t block[I8_MEAN_BLOCK];
  for (size_t i = 0; i < n; i++) block[i] = smr_rounded(sums[i] / count / scale, lo, hi, zero);
  for (size_t i = 0; i < n; i++) y[i] = (int8_t)block[i];
}

static void N(i8_mean_window_real)(size_t channels, const struct smr_pool_window *window,
                                   const struct smr_i8_mean_real *mean, int8_t *y) {
  for (size_t c = 0; c < channels; c += I8_MEAN_BLOCK) {
    const size_t some = channels - c < I8_MEAN_BLOCK ? channels - c : I8_MEAN_BLOCK;
    float sums[I8_MEAN_BLOCK] = {0};
    for (size_t i = 0; i < window->n[0]; i++)
      for (size_t j = 0; j < window->n[1]; j++)
        N(i8_mean_add_real)(
            some, window->n[2], window->stride[2],
            (const int8_t *)window->x + c + i * window->stride[0] + j * window->stride[1],
            mean->x_scale, mean->x_zero, sums);
    N(i8_mean_finish_real)(some, sums, mean, y + c);
  }
}

static const struct smr_i8_mean N(i8_mean_kernels) = {
    .name = "i8_mean__scalar",
    .window = SMR_HAS(s8_mean_window) ? N(i8_mean_window) : NULL,
    .window_real = SMR_HAS(s8_mean_window_real) ? N(i8_mean_window_real) : NULL,
    .columns = SMR_HAS(s8_mean_columns) ? N(i8_mean_columns) : NULL,
    .row = SMR_HAS(s8_mean_row) ? N(i8_mean_row) : NULL,
    .finish = SMR_HAS(s8_mean_finish) ? N(i8_mean_finish) : NULL,
};
#undef I8_MEAN_BLOCK
