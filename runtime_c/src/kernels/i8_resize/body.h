// SPDX-License-Identifier: Apache-2.0
// Linear interpolation of int8 over the vocabulary.
#if VF == 1
#include "kernels/i8_resize/scalar.h"
#else
#include "simd/bytes.h"

#define I8_RESIZE_BLOCK (4 * VF)
#define I8_RESIZE_SUMS 1024  // sums requantized at once; a multiple of the block

SMR_INLINE void N(i8_resize_load)(const int8_t *x, size_t n, N(vi) v[4]) {
  if (n == I8_RESIZE_BLOCK)
    N(load_i8)(x, v);
  else
    N(load_i8_n)(x, n, v);
}

SMR_INLINE void N(i8_resize_store)(int32_t *y, const N(vi) v[4], size_t n) {
  SMR_UNROLL for (size_t k = 0; k < 4; k++) {
    if (n == I8_RESIZE_BLOCK)
      N(istore)(y + k * VF, v[k]);
    else if (n > k * VF)
      N(istore_n)(y + k * VF, v[k], n - k * VF < VF ? n - k * VF : VF);
  }
}

SMR_INLINE void N(i8_resize_centre_block)(size_t n, const int8_t *x, int32_t x_zero, int32_t *y) {
  N(vi) v[4];
  N(i8_resize_load)(x, n, v);
  SMR_UNROLL for (size_t k = 0; k < 4; k++) v[k] = N(isub)(v[k], N(iset1)(x_zero));
  N(i8_resize_store)(y, v, n);
}

static void N(i8_resize_centre)(size_t n, const int8_t *x, int32_t x_zero, int32_t *y) {
  size_t i = 0;
  for (; n - i >= I8_RESIZE_BLOCK; i += I8_RESIZE_BLOCK)
    N(i8_resize_centre_block)(I8_RESIZE_BLOCK, x + i, x_zero, y + i);
  if (i < n) N(i8_resize_centre_block)(n - i, x + i, x_zero, y + i);
}

// a * (2^11 - weight) + b * weight - x_zero * 2^11, exactly.
SMR_INLINE void N(i8_resize_blend_block)(size_t n, const int8_t *a, const int8_t *b, int32_t weight,
                                         int32_t x_zero, int32_t *y) {
  N(vi) v[4], w[4];
  N(i8_resize_load)(a, n, v);
  N(i8_resize_load)(b, n, w);
  SMR_UNROLL for (size_t k = 0; k < 4; k++) {
    const N(vi) whole = N(ishl)(N(isub)(v[k], N(iset1)(x_zero)), SMR_I8_RESIZE_BITS);
    v[k] = N(iadd)(whole, N(imul)(N(isub)(w[k], v[k]), N(iset1)(weight)));
  }
  N(i8_resize_store)(y, v, n);
}

static void N(i8_resize_blend)(size_t n, const int8_t *a, const int8_t *b, int32_t weight,
                               int32_t x_zero, int32_t *y) {
  size_t i = 0;
  for (; n - i >= I8_RESIZE_BLOCK; i += I8_RESIZE_BLOCK)
    N(i8_resize_blend_block)(I8_RESIZE_BLOCK, a + i, b + i, weight, x_zero, y + i);
  if (i < n) N(i8_resize_blend_block)(n - i, a + i, b + i, weight, x_zero, y + i);
}

// n channels of a pixel.
SMR_INLINE void N(i8_resize_pixel)(size_t n, const int32_t *a, const int32_t *b, int32_t weight,
                                   int32_t *y) {
  const N(vi) w = N(iset1)(weight);
  size_t c = 0;
  for (; n - c >= VF; c += VF) {
    const N(vi) v = N(iload)(a + c);
    const N(vi) step = N(imul)(N(isub)(N(iload)(b + c), v), w);
    N(istore)(y + c, N(iadd)(N(ishl)(v, SMR_I8_RESIZE_BITS), step));
  }
  if (c == n) return;
  const N(vi) v = N(iload_n)(a + c, n - c);
  const N(vi) step = N(imul)(N(isub)(N(iload_n)(b + c, n - c), v), w);
  N(istore_n)(y + c, N(iadd)(N(ishl)(v, SMR_I8_RESIZE_BITS), step), n - c);
}

// `sums` has room for whole blocks; elements after the first n may have any value.
SMR_INLINE void N(i8_resize_finish)(size_t n, const int32_t *sums,
                                    const struct smr_i8_resize_end *end,
                                    const struct N(i8_limits) * limits, int8_t *y) {
  const N(vf) multiplier = N(set1)(end->multiplier);
  for (size_t i = 0; i < n; i += I8_RESIZE_BLOCK) {
    N(vf) p[4];
    SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] =
        N(mul)(N(to_float)(N(iload)(sums + i + k * VF)), multiplier);
    N(store_i8)(y + i, p, limits, n - i < I8_RESIZE_BLOCK ? n - i : I8_RESIZE_BLOCK);
  }
}

// A block of a pixel's channels.
SMR_INLINE void N(i8_resize_whole)(const int32_t *a, const int32_t *b, int32_t weight,
                                   const struct smr_i8_resize_end *end,
                                   const struct N(i8_limits) * limits, int8_t *y) {
  const N(vi) w = N(iset1)(weight);
  N(vf) p[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) {
    const N(vi) v = N(iload)(a + k * VF);
    const N(vi) step = N(imul)(N(isub)(N(iload)(b + k * VF), v), w);
    const N(vi) sum = N(iadd)(N(ishl)(v, SMR_I8_RESIZE_BITS), step);
    p[k] = N(mul)(N(to_float)(sum), N(set1)(end->multiplier));
  }
  N(store_i8)(y, p, limits, I8_RESIZE_BLOCK);
}

// Pixels with at least a block of channels. The last block may overlap the one before.
static void N(i8_resize_row_long)(size_t pixels, size_t channels, const int32_t *taps,
                                  const int32_t *x, const struct smr_i8_resize_end *end,
                                  int8_t *y) {
  const struct smr_i8_resize_end mine = *end;
  const struct N(i8_limits) limits = N(i8_limits)(end->lo, end->hi, end->zero);
  for (size_t p = 0; p < pixels; p++, taps += 3, y += channels) {
    const int32_t *a = x + (size_t)taps[0] * channels, *b = x + (size_t)taps[1] * channels;
    size_t c = 0;
    for (; channels - c >= I8_RESIZE_BLOCK; c += I8_RESIZE_BLOCK)
      N(i8_resize_whole)(a + c, b + c, taps[2], &mine, &limits, y + c);
    if (c == channels) continue;
    c = channels - I8_RESIZE_BLOCK;
    N(i8_resize_whole)(a + c, b + c, taps[2], &mine, &limits, y + c);
  }
}

static void N(i8_resize_row)(size_t pixels, size_t channels, const int32_t *taps, const int32_t *x,
                             const struct smr_i8_resize_end *end, int8_t *y) {
  if (channels >= I8_RESIZE_BLOCK) {
    N(i8_resize_row_long)(pixels, channels, taps, x, end, y);
    return;
  }
  const struct N(i8_limits) limits = N(i8_limits)(end->lo, end->hi, end->zero);
  int32_t sums[I8_RESIZE_SUMS] = {0};
  size_t held = 0;
  for (size_t p = 0; p < pixels; p++, taps += 3) {
    if (channels > I8_RESIZE_SUMS - held) {
      N(i8_resize_finish)(held, sums, end, &limits, y);
      y += held;
      held = 0;
    }
    N(i8_resize_pixel)(channels, x + (size_t)taps[0] * channels, x + (size_t)taps[1] * channels,
                       taps[2], sums + held);
    held += channels;
  }
  N(i8_resize_finish)(held, sums, end, &limits, y);
}

static const struct smr_i8_resize N(i8_resize_kernels) = {
    .name = "i8_resize__" SMR_SIMD_NAME,
    .centre = N(i8_resize_centre),
    .blend = N(i8_resize_blend),
    .row = N(i8_resize_row),
};
#undef I8_RESIZE_BLOCK
#undef I8_RESIZE_SUMS
#endif
