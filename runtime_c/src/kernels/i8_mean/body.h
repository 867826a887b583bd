// SPDX-License-Identifier: Apache-2.0
// Means of int8 over the vocabulary, four vectors of lanes at a time.
#if VF == 1
#include "kernels/i8_mean/scalar.h"
#else
#include "simd/bytes.h"

#define I8_MEAN_BLOCK (4 * VF)

SMR_INLINE void N(i8_mean_clear)(N(vi) v[4]) {
  SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] = N(izero)();
}

// Adds `rows` rows of n columns.
SMR_INLINE void N(i8_mean_add)(size_t n, size_t rows, size_t stride, const int8_t *x,
                               N(vi) sums[4]) {
  for (size_t r = 0; r < rows; r++, x += stride) {
    N(vi) v[4];
    N(load_i8_some)(x, n, v);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) sums[k] = N(iadd)(sums[k], v[k]);
  }
}

SMR_INLINE void N(i8_mean_end)(const N(vi) sums[4], const struct smr_i8_mean_end *end,
                               const struct N(i8_limits) * limits, size_t n, int8_t *y) {
  const N(vi) offset = N(iset1)(end->offset);
  const N(vf) multiplier = N(set1)(end->multiplier);
  N(vf) p[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] =
      N(mul)(N(to_float)(N(isub)(sums[k], offset)), multiplier);
  N(store_i8)(y, p, limits, n);
}

// Channels [c, c + n).
SMR_INLINE void N(i8_mean_pixel)(const struct smr_pool_window *window, size_t c, size_t n,
                                 const struct smr_i8_mean_end *end,
                                 const struct N(i8_limits) * limits, int8_t *y) {
  const int8_t *x = (const int8_t *)window->x + c;
  N(vi) sums[4];
  N(i8_mean_clear)(sums);
  for (size_t i = 0; i < window->n[0]; i++)
    for (size_t j = 0; j < window->n[1]; j++)
      N(i8_mean_add)(n, window->n[2], window->stride[2],
                     x + i * window->stride[0] + j * window->stride[1], sums);
  N(i8_mean_end)(sums, end, limits, n, y + c);
}

static void N(i8_mean_window)(size_t channels, const struct smr_pool_window *window,
                              const struct smr_i8_mean_end *end, int8_t *y) {
  const struct N(i8_limits) limits = N(i8_limits)(end->lo, end->hi, end->zero);
  const size_t n = channels < I8_MEAN_BLOCK ? channels : I8_MEAN_BLOCK;
  for (size_t c = 0; c < channels; c += n) {
    if (channels - c < n) c = channels - n;  // some channels are computed twice
    N(i8_mean_pixel)(window, c, n, end, &limits, y);
  }
}

// Channels [c, c + n) of window_real.
SMR_INLINE void N(i8_mean_real_pixel)(const struct smr_pool_window *window, size_t c, size_t n,
                                      const struct smr_i8_mean_real *mean,
                                      const struct N(i8_limits) * limits, int8_t *y) {
  const N(vi) zero = N(iset1)(mean->x_zero);
  const N(vf) x_scale = N(set1)(mean->x_scale);
  const N(vf) count = N(set1)(mean->count), scale = N(set1)(mean->scale);
  N(vf) p[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] = N(set1)(0.0f);
  for (size_t i = 0; i < window->n[0]; i++)
    for (size_t j = 0; j < window->n[1]; j++) {
      const int8_t *x =
          (const int8_t *)window->x + c + i * window->stride[0] + j * window->stride[1];
      for (size_t t = 0; t < window->n[2]; t++, x += window->stride[2]) {
        N(vi) v[4];
        N(load_i8_some)(x, n, v);
        SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] =
            N(add)(p[k], N(mul)(N(to_float)(N(isub)(v[k], zero)), x_scale));
      }
    }
  SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] = N(div)(N(div)(p[k], count), scale);
  N(store_i8)(y + c, p, limits, n);
}

static void N(i8_mean_window_real)(size_t channels, const struct smr_pool_window *window,
                                   const struct smr_i8_mean_real *mean, int8_t *y) {
  const struct N(i8_limits) limits = N(i8_limits)(mean->lo, mean->hi, mean->zero);
  const size_t n = channels < I8_MEAN_BLOCK ? channels : I8_MEAN_BLOCK;
  for (size_t c = 0; c < channels; c += n) {
    if (channels - c < n) c = channels - n;  // some channels are computed twice
    N(i8_mean_real_pixel)(window, c, n, mean, &limits, y);
  }
}

static void N(i8_mean_columns)(size_t width, size_t rows, size_t stride, const int8_t *x,
                               int32_t *sums) {
  for (size_t c = 0; c < width; c += I8_MEAN_BLOCK) {
    const size_t n = width - c < I8_MEAN_BLOCK ? width - c : I8_MEAN_BLOCK;
    int32_t last[I8_MEAN_BLOCK] = {0}, *to = sums + c;
    N(vi) v[4];
    if (n < I8_MEAN_BLOCK) memcpy(to = last, sums + c, n * sizeof *last);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] = N(iload)(to + k * VF);
    N(i8_mean_add)(n, rows, stride, x + c, v);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) N(istore)(to + k * VF, v[k]);
    if (n < I8_MEAN_BLOCK) memcpy(sums + c, last, n * sizeof *last);
  }
}

static int32_t N(i8_mean_row)(size_t n, const int8_t *x) {
  N(vi) v[4];
  N(i8_mean_clear)(v);
  N(i8_mean_add)(I8_MEAN_BLOCK, n / I8_MEAN_BLOCK, I8_MEAN_BLOCK, x, v);
  const size_t left = n % I8_MEAN_BLOCK;
  if (left > 0) N(i8_mean_add)(left, 1, 0, x + n - left, v);
  int32_t lanes[I8_MEAN_BLOCK], sum = 0;
  SMR_UNROLL for (size_t k = 0; k < 4; k++) N(istore)(lanes + k * VF, v[k]);
  for (size_t i = 0; i < I8_MEAN_BLOCK; i++) sum += lanes[i];
  return sum;
}

static void N(i8_mean_finish)(size_t n, const int32_t *sums, const struct smr_i8_mean_end *end,
                              int8_t *y) {
  const struct N(i8_limits) limits = N(i8_limits)(end->lo, end->hi, end->zero);
  for (size_t i = 0; i < n; i += I8_MEAN_BLOCK) {
    const size_t some = n - i < I8_MEAN_BLOCK ? n - i : I8_MEAN_BLOCK;
    int32_t rest[I8_MEAN_BLOCK] = {0};
    const int32_t *from = sums + i;
    N(vi) v[4];
    if (some < I8_MEAN_BLOCK) from = memcpy(rest, from, some * sizeof *rest);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] = N(iload)(from + k * VF);
    N(i8_mean_end)(v, end, &limits, some, y + i);
  }
}

static const struct smr_i8_mean N(i8_mean_kernels) = {
    .name = "i8_mean__" SMR_SIMD_NAME,
    .window = SMR_HAS(s8_mean_window) ? N(i8_mean_window) : NULL,
    .window_real = SMR_HAS(s8_mean_window_real) ? N(i8_mean_window_real) : NULL,
    .columns = SMR_HAS(s8_mean_columns) ? N(i8_mean_columns) : NULL,
    .row = SMR_HAS(s8_mean_row) ? N(i8_mean_row) : NULL,
    .finish = SMR_HAS(s8_mean_finish) ? N(i8_mean_finish) : NULL,
};
#undef I8_MEAN_BLOCK
#endif
