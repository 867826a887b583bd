// SPDX-License-Identifier: Apache-2.0
// Arrays of pixels in int32 lanes: the same integers on all instruction sets.
#include "simd/lanes.h"

#define IMAGE_EACH(n) for (size_t i = 0; i < (n); i += VF)

SMR_INLINE void N(image_byte)(N(vi) pixels, uint32_t shift, uint8_t *x) {
  N(store_u8)(x, N(iand)(N(isrl)(pixels, (int)shift), N(iset1)(255)));
}

static void N(image_split)(size_t n, const uint8_t *pixels, const uint32_t shifts[3], uint8_t *r,
                           uint8_t *g, uint8_t *b) {
  IMAGE_EACH(n) {
    const N(vi) v = N(load_bytes)(pixels + 4 * i);
    N(image_byte)(v, shifts[0], r + i);
    N(image_byte)(v, shifts[1], g + i);
    N(image_byte)(v, shifts[2], b + i);
  }
}

// Sums with 16 fractional bits, rounding included, to pixels.
SMR_INLINE void N(image_clip)(uint8_t *x, N(vi) sum) { N(store_u8_clip)(x, N(isra)(sum, 16)); }

// Combines the offsets of Y, U and V, times their factors, to one number per channel.
static void N(image_colour)(size_t n, const uint8_t *y, const uint16_t *uv, bool v_first,
                            const struct smr_image_colour *colour, uint8_t *r, uint8_t *g,
                            uint8_t *b) {
  const struct smr_image_colour f = *colour;
  const int32_t light_rest = 32768 - f.offset * f.cy;
  const N(vi) red_rest = N(iset1)(light_rest - 128 * f.rv);
  const N(vi) green_rest = N(iset1)(light_rest - 128 * (f.gu + f.gv));
  const N(vi) blue_rest = N(iset1)(light_rest - 128 * f.bu);
  IMAGE_EACH(n) {
    const N(vi) pair = N(load_u16)(uv + i);
    const N(vi) first = N(iand)(pair, N(iset1)(255)), second = N(isrl)(pair, 8);
    const N(vi) u = v_first ? second : first, v = v_first ? first : second;
    const N(vi) light = N(imul)(N(load_u8)(y + i), N(iset1)(f.cy));
    const N(vi) red = N(iadd)(red_rest, N(imul)(v, N(iset1)(f.rv)));
    const N(vi) blue = N(iadd)(blue_rest, N(imul)(u, N(iset1)(f.bu)));
    const N(vi) green = N(iadd)(N(imul)(u, N(iset1)(f.gu)), N(imul)(v, N(iset1)(f.gv)));
    N(image_clip)(r + i, N(iadd)(light, red));
    N(image_clip)(g + i, N(iadd)(light, N(iadd)(green_rest, green)));
    N(image_clip)(b + i, N(iadd)(light, blue));
  }
}

static void N(image_brightness)(size_t n, const struct smr_image_colour *colour, uint8_t *x) {
  const N(vi) rest = N(iset1)(32768 - colour->offset * colour->cy), factor = N(iset1)(colour->cy);
  IMAGE_EACH(n) N(image_clip)(x + i, N(iadd)(N(imul)(N(load_u8)(x + i), factor), rest));
}

static void N(image_luma)(size_t n, uint8_t *r, const uint8_t *g, const uint8_t *b) {
  IMAGE_EACH(n) {
    const N(vi) red = N(imul)(N(load_u8)(r + i), N(iset1)(19595));
    const N(vi) green = N(imul)(N(load_u8)(g + i), N(iset1)(38470));
    const N(vi) blue = N(imul)(N(load_u8)(b + i), N(iset1)(7471));
    const N(vi) rounded = N(iadd)(red, N(iset1)(32768));
    N(image_clip)(r + i, N(iadd)(N(iadd)(rounded, green), blue));
  }
}

// Converts sums of taps to the row and to the pixel.
SMR_INLINE N(vi) N(image_row)(N(vi) sum) { return N(isra)(N(iadd)(sum, N(iset1)(64)), 7); }
SMR_INLINE void N(image_pixel)(uint8_t *y, N(vi) sum) {
  N(store_u8)(y, N(isra)(N(iadd)(sum, N(iset1)(1 << 20)), 21));
}

// Two taps of VF pixels. Sums over rows are not negative.
SMR_INLINE N(vi) N(image_beside)(const uint8_t *x, const int32_t *w) {
  return N(dot)(N(load_u8_pairs)(x), N(iload)(w));
}
SMR_INLINE N(vi) N(image_bytes)(const uint8_t *a, const uint8_t *b, N(vi) w) {
  return N(dot)(N(pairs)(N(load_u8)(a), N(load_u8)(b)), w);
}
SMR_INLINE N(vi) N(image_sums)(const int32_t *a, const int32_t *b, N(vi) w) {
  return N(dot)(N(pairs)(N(iload)(a), N(iload)(b)), w);
}
SMR_INLINE N(vi) N(image_folded)(const int16_t *x, const int32_t *w) {
  return N(dot)(N(iload)((const int32_t *)(const void *)x), N(iload)(w));
}
SMR_INLINE void N(image_add)(int32_t *sums, N(vi) more) {
  N(istore)(sums, N(iadd)(N(iload)(sums), more));
}

static void N(image_along)(size_t n, const uint8_t *x, const int32_t *w, int32_t *h) {
  IMAGE_EACH(n) N(istore)(h + i, N(image_row)(N(image_beside)(x + 2 * i, w + i)));
}

// Bytes 0 and 2 of a pixel are 16 bits apart, like the two values of a pair: one mask extracts
// both.
static void N(image_along_four)(size_t n, const uint8_t *pixels, const int32_t *w,
                                int32_t *const h[3]) {
  const N(vi) bytes = N(iset1)(0xff00ff), low = N(iset1)(0xffff), high = N(iset1)(~0xffff);
  IMAGE_EACH(n) {
    const N(vi) x0 = N(load_bytes)(pixels + 8 * i), x1 = N(load_bytes)(pixels + 8 * i + 4 * VF);
    const N(vi) a = N(even)(x0, x1), b = N(odd)(x0, x1), both = N(iload)(w + i);
    const N(vi) a02 = N(iand)(a, bytes), b02 = N(iand)(b, bytes);
    const N(vi) a1 = N(iand)(N(isrl)(a, 8), N(iset1)(255));
    const N(vi) b1 = N(iand)(N(ishl)(b, 8), N(iset1)(0xff0000));
    const N(vi) x[3] = {N(ior)(N(iand)(a02, low), N(ishl)(b02, 16)), N(ior)(a1, b1),
                        N(ior)(N(isrl)(a02, 16), N(iand)(b02, high))};
    N(istore)(h[0] + i, N(image_row)(N(dot)(x[0], both)));
    N(istore)(h[1] + i, N(image_row)(N(dot)(x[1], both)));
    N(istore)(h[2] + i, N(image_row)(N(dot)(x[2], both)));
  }
}

static void N(image_over)(size_t n, const uint8_t *a, const uint8_t *b, const int32_t *w,
                          int16_t *h) {
  const N(vi) both = N(iload)(w);
  IMAGE_EACH(n) N(store_i16)(h + i, N(image_row)(N(image_bytes)(a + i, b + i, both)));
}

static void N(image_down)(size_t n, const int32_t *a, const int32_t *b, const int32_t *w,
                          uint8_t *y) {
  const N(vi) both = N(iload)(w);
  IMAGE_EACH(n) N(image_pixel)(y + i, N(image_sums)(a + i, b + i, both));
}

static void N(image_fold)(size_t n, const int16_t *x, const int32_t *w, uint8_t *y) {
  IMAGE_EACH(n) N(image_pixel)(y + i, N(image_folded)(x + 2 * i, w + i));
}

static void N(image_along_add)(size_t n, const uint8_t *x, const int32_t *w, int32_t *sums) {
  IMAGE_EACH(n) N(image_add)(sums + i, N(image_beside)(x + 2 * i, w + i));
}

static void N(image_over_add)(size_t n, const uint8_t *a, const uint8_t *b, const int32_t *w,
                              int32_t *sums) {
  const N(vi) both = N(iload)(w);
  IMAGE_EACH(n) N(image_add)(sums + i, N(image_bytes)(a + i, b + i, both));
}

static void N(image_along_end)(size_t n, int32_t *h) {
  IMAGE_EACH(n) N(istore)(h + i, N(image_row)(N(iload)(h + i)));
}

static void N(image_over_end)(size_t n, const int32_t *sums, int16_t *h) {
  IMAGE_EACH(n) N(store_i16)(h + i, N(image_row)(N(iload)(sums + i)));
}

static void N(image_down_add)(size_t n, const int32_t *a, const int32_t *b, const int32_t *w,
                              int32_t *sums) {
  const N(vi) both = N(iload)(w);
  IMAGE_EACH(n) N(image_add)(sums + i, N(image_sums)(a + i, b + i, both));
}

static void N(image_fold_add)(size_t n, const int16_t *x, const int32_t *w, int32_t *sums) {
  IMAGE_EACH(n) N(image_add)(sums + i, N(image_folded)(x + 2 * i, w + i));
}

static void N(image_down_end)(size_t n, const int32_t *sums, uint8_t *y) {
  IMAGE_EACH(n) N(image_pixel)(y + i, N(iload)(sums + i));
}

static void N(image_scale)(size_t n, const uint8_t *v, const float *mean, const float *scale,
                           float *y) {
  size_t factor = 0, i = 0;
  for (; n - i >= VF; i += VF) {
    const N(vf) x = N(sub)(N(to_float)(N(load_u8)(v + i)), N(load)(mean + factor));
    N(store)(y + i, N(mul)(x, N(load)(scale + factor)));
    factor = factor + VF == SMR_IMAGE_PERIOD ? 0 : factor + VF;
  }
  for (; i < n; i++) {
    const float x = (float)(int32_t)v[i] - mean[i % SMR_IMAGE_PERIOD];
    y[i] = x * scale[i % SMR_IMAGE_PERIOD];
  }
}

static void N(image_down_scale)(size_t n, const int32_t *a, const int32_t *b, const int32_t *w,
                                const float *mean, const float *scale, float *y) {
  const N(vi) both = N(iload)(w), half = N(iset1)(1 << 20);
  const N(vf) less = N(load)(mean), factor = N(load)(scale);
  for (size_t i = 0; i < n; i += VF) {
    const N(vi) sum = N(iadd)(N(image_sums)(a + i, b + i, both), half);
    const N(vf) v = N(mul)(N(sub)(N(to_float)(N(isra)(sum, 21)), less), factor);
    if (n - i >= VF)
      N(store)(y + i, v);
    else
      N(store_n)(y + i, v, n - i);
  }
}

#undef IMAGE_EACH

#define IMAGE_IF(has, kernel) ((has) ? (kernel) : NULL)

static const struct smr_image_rows N(image_rows_kernels) = {
    .name = "image_rows__" SMR_SIMD_NAME,
    .split = IMAGE_IF(SMR_IMAGE_HAS_FOUR, N(image_split)),
    .colour = IMAGE_IF(SMR_IMAGE_HAS_YUV && SMR_HAS(image_to_colour), N(image_colour)),
    .brightness = IMAGE_IF(SMR_IMAGE_HAS_YUV && SMR_HAS(image_to_gray), N(image_brightness)),
    .luma = IMAGE_IF((SMR_IMAGE_HAS_THREE || SMR_IMAGE_HAS_FOUR) && SMR_HAS(image_to_gray),
                     N(image_luma)),
    .along = N(image_along),
    .along_four = IMAGE_IF(SMR_IMAGE_HAS_FOUR && SMR_HAS(image_to_colour), N(image_along_four)),
    .over = N(image_over),
    .down = N(image_down),
    .fold = N(image_fold),
    .along_add = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_along_add)),
    .over_add = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_over_add)),
    .along_end = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_along_end)),
    .over_end = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_over_end)),
    .down_add = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_down_add)),
    .fold_add = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_fold_add)),
    .down_end = IMAGE_IF(SMR_IMAGE_HAS_MORE, N(image_down_end)),
    .down_scale = IMAGE_IF(SMR_HAS(image_to_float32), N(image_down_scale)),
    .scale = IMAGE_IF(SMR_IMAGE_HAS_FLOATS, N(image_scale)),
};

#undef IMAGE_IF
