// SPDX-License-Identifier: Apache-2.0
// Exact float routines over the vocabulary: sixteen lanes in SETS vectors, whatever their width.
#include "kernels/f32_exact/math.h"

#define PARTIALS SMR_F32_EXACT_PARTIALS
#define SETS (PARTIALS / VF)
#if VF == 1  // arrays in memory: unrolled, portable C would be large and no faster
#define EACH(i, count) for (size_t i = 0; i < (count); i++)
#else
#define EACH(i, count) SMR_UNROLL for (size_t i = 0; i < (count); i++)
#endif

// Lanes of vector `i` of a block of which `n` elements are left.
SMR_INLINE size_t N(f32_exact_lanes)(size_t n, size_t i) {
  const size_t at = i * VF;
  return n <= at ? 0 : n - at < VF ? n - at : VF;
}

// The elements of vector `i`; missing ones are +0, which changes no partial: none is ever -0.
SMR_INLINE N(vf) N(f32_exact_load)(const float *x, size_t n, size_t i) {
  if (n >= PARTIALS) return N(load)(x + i * VF);
  const size_t lanes = N(f32_exact_lanes)(n, i);
  return lanes ? N(load_n)(x + i * VF, lanes) : N(zero)();
}

SMR_INLINE float N(f32_exact_tree)(const N(vf) * partial) {
  N(vf) s[SETS];
  EACH(i, SETS) s[i] = partial[i];
  SMR_UNROLL for (size_t half = SETS / 2; half > 0; half /= 2) EACH(i, half) s[i] =
      N(add)(s[i], s[i + half]);
#if defined(SMR_SIMD_NEON)
  const float32x2_t pair = vadd_f32(vget_low_f32(s[0]), vget_high_f32(s[0]));
  return vget_lane_f32(vpadd_f32(pair, pair), 0);
#elif defined(SMR_SIMD_V128)
  return (s[0][0] + s[0][2]) + (s[0][1] + s[0][3]);
#else
  return N(reduce_add)(s[0]);  // the upper half to the lower
#endif
}

// The last n < 16 elements, and zeros.
static __attribute__((noinline)) const float *N(f32_exact_last)(size_t n, const float *x,
                                                                float *last) {
  for (size_t i = 0; i < PARTIALS; i++) last[i] = i < n ? x[i] : 0.0f;
  return last;
}

static float N(f32_exact_dot)(size_t n, const float *a, const float *b) {
  N(vf) s[SETS];
  float last[2][PARTIALS];
  EACH(i, SETS) s[i] = N(zero)();
  while (n) {
    if (n < PARTIALS) {
      a = N(f32_exact_last)(n, a, last[0]);
      b = N(f32_exact_last)(n, b, last[1]);
      n = PARTIALS;
    }
    EACH(i, SETS) s[i] = TWICE(N(load)(a + i * VF), N(load)(b + i * VF), s[i]);
    n -= PARTIALS, a += PARTIALS, b += PARTIALS;
  }
  return N(f32_exact_tree)(s);
}

// ROWS rows at once: as many chains of additions, and each vector of `a` is loaded once.
#define ROWS 2
SMR_INLINE void N(f32_exact_dot_rows)(size_t n, const float *a, const float *b, size_t stride,
                                      float *y) {
  N(vf) s[ROWS][SETS];
  EACH(r, ROWS) EACH(i, SETS) s[r][i] = N(zero)();
  for (; n >= PARTIALS; n -= PARTIALS, a += PARTIALS, b += PARTIALS) EACH(i, SETS) {
      const N(vf) v = N(load)(a + i * VF);
      EACH(r, ROWS) s[r][i] = TWICE(v, N(load)(b + r * stride + i * VF), s[r][i]);
    }
  if (n) EACH(i, SETS) {
      const N(vf) v = N(f32_exact_load)(a, n, i);
      EACH(r, ROWS) s[r][i] = TWICE(v, N(f32_exact_load)(b + r * stride, n, i), s[r][i]);
    }
  EACH(r, ROWS) y[r] = N(f32_exact_tree)(s[r]);
}

static void N(f32_exact_dots)(size_t rows, size_t n, const float *a, const float *b, size_t stride,
                              float *y) {
#if VF > 1  // portable C has no registers for more than one row
  for (; rows >= ROWS; rows -= ROWS, b += ROWS * stride, y += ROWS)
    N(f32_exact_dot_rows)(n, a, b, stride, y);
#endif
  for (; rows; rows--, b += stride) *y++ = N(f32_exact_dot)(n, a, b);
}
#undef ROWS

static float N(f32_exact_sum)(size_t n, const float *a) {
  N(vf) s[SETS];
  float last[PARTIALS];
  EACH(i, SETS) s[i] = N(zero)();
  while (n) {
    if (n < PARTIALS) a = N(f32_exact_last)(n, a, last), n = PARTIALS;
    EACH(i, SETS) s[i] = N(add)(s[i], N(load)(a + i * VF));
    n -= PARTIALS, a += PARTIALS;
  }
  return N(f32_exact_tree)(s);
}

static float N(f32_exact_squares)(size_t n, const float *a, float shift) {
  const N(vf) m = N(set1)(shift);
  N(vf) s[SETS];
  EACH(i, SETS) s[i] = N(zero)();
  for (; n >= PARTIALS; n -= PARTIALS, a += PARTIALS) {
    EACH(i, SETS) {
      const N(vf) v = N(sub)(N(load)(a + i * VF), m);
      s[i] = TWICE(v, v, s[i]);
    }
  }
  if (n) {  // missing differences are +0
    float last[PARTIALS] = {0};
    for (size_t i = 0; i < n; i++) last[i] = a[i] - shift;
    EACH(i, SETS) {
      const N(vf) v = N(load)(last + i * VF);
      s[i] = TWICE(v, v, s[i]);
    }
  }
  return N(f32_exact_tree)(s);
}

static float N(f32_exact_max)(size_t n, const float *a) {
  const N(vf) least = N(set1)(-INFINITY);
  N(vf) m[4] = {least, least, least, least}, other = N(zero)();
  for (; n >= 4 * VF; n -= 4 * VF, a += 4 * VF) EACH(i, 4) {
      const N(vf) v = N(load)(a + i * VF);
      m[i] = N(max)(v, m[i]);
      other = N(select)(N(ne)(v, v), v, other);
    }
  for (; n >= VF; n -= VF, a += VF) {
    const N(vf) v = N(load)(a);
    m[0] = N(max)(v, m[0]);
    other = N(select)(N(ne)(v, v), v, other);
  }
  float best = N(reduce_max)(N(max)(N(max)(m[0], m[1]), N(max)(m[2], m[3])));
  int has_nan = N(any)(N(ne)(other, other));
  for (size_t i = 0; i < n; i++) {
    has_nan |= a[i] != a[i];
    best = a[i] > best ? a[i] : best;
  }
  return has_nan ? NAN : best + 0.0f;  // -0 and +0 are equal, and become +0
}

static float N(f32_exact_exp_sum)(size_t n, const float *x, float shift, float *y) {
  const N(vf) m = N(set1)(shift);
  N(vf) s[SETS];
  EACH(i, SETS) s[i] = N(zero)();
  for (; n; n -= n < PARTIALS ? n : PARTIALS, x += PARTIALS, y += PARTIALS) {
    float last[PARTIALS];
    const float *from = n < PARTIALS ? N(f32_exact_last)(n, x, last) : x;
    float *to = n < PARTIALS ? last : y;
    EACH(i, SETS)
    N(store)(to + i * VF, N(f32_exact_exp_of)(N(sub)(N(load)(from + i * VF), m)));
    for (size_t i = n; i < PARTIALS; i++) to[i] = 0.0f;
    EACH(i, SETS) s[i] = N(add)(s[i], N(load)(to + i * VF));
    for (size_t i = 0; to == last && i < n; i++) y[i] = last[i];
    if (to == last) break;
  }
  return N(f32_exact_tree)(s);
}

static void N(f32_exact_scale)(size_t n, float w, const float *x, float *y) {
  const N(vf) v = N(set1)(w);
  for (; n >= VF; n -= VF, x += VF, y += VF) N(store)(y, N(mul)(v, N(load)(x)));
  if (n) N(store_n)(y, N(mul)(v, N(load_n)(x, n)), n);
}

static void N(f32_exact_scale_add)(size_t n, float w, const float *x, float *y) {
  const N(vf) v = N(set1)(w);
  for (; n >= VF; n -= VF, x += VF, y += VF) N(store)(y, TWICE(v, N(load)(x), N(load)(y)));
  if (n) N(store_n)(y, TWICE(v, N(load_n)(x, n), N(load_n)(y, n)), n);
}

// Columns of four vectors stay in registers for all rows.
static void N(f32_exact_scale_add_rows)(size_t rows, size_t n, const float *w, const float *x,
                                        size_t stride, float *y) {
  for (; n >= 4 * VF; n -= 4 * VF, x += 4 * VF, y += 4 * VF) {
    N(vf) s[4];
    EACH(i, 4) s[i] = N(load)(y + i * VF);
    const float *row = x;
    for (size_t r = 0; r < rows; r++, row += stride) {
      const N(vf) v = N(set1)(w[r]);
      EACH(i, 4) s[i] = TWICE(v, N(load)(row + i * VF), s[i]);
    }
    EACH(i, 4) N(store)(y + i * VF, s[i]);
  }
  for (; n; n -= n < VF ? n : VF, x += VF, y += VF) {
    const size_t lanes = n < VF ? n : VF;
    N(vf) s = N(load_n)(y, lanes);
    const float *row = x;
    for (size_t r = 0; r < rows; r++, row += stride)
      s = TWICE(N(set1)(w[r]), N(load_n)(row, lanes), s);
    N(store_n)(y, s, lanes);
    if (lanes < VF) return;
  }
}

static void N(f32_exact_minus)(size_t n, const float *x, float a, float b, float *y) {
  const N(vf) u = N(set1)(a), v = N(set1)(b);
  for (; n >= VF; n -= VF, x += VF, y += VF) N(store)(y, N(sub)(N(sub)(N(load)(x), u), v));
  if (n) N(store_n)(y, N(sub)(N(sub)(N(load_n)(x, n), u), v), n);
}

SMR_INLINE N(vf) N(f32_exact_normal)(N(vf) x, N(vf) mean, N(vf) inverse, const float *scale,
                                     const float *bias, size_t lanes) {
  N(vf) y = N(mul)(N(sub)(x, mean), inverse);
  if (scale) y = N(mul)(y, lanes == VF ? N(load)(scale) : N(load_n)(scale, lanes));
  if (bias) y = N(add)(y, lanes == VF ? N(load)(bias) : N(load_n)(bias, lanes));
  return y;
}

static void N(f32_exact_normalize)(size_t n, const float *x, float mean, float inverse,
                                   const float *scale, const float *bias, float *y) {
  const N(vf) m = N(set1)(mean), v = N(set1)(inverse);
  size_t i = 0;
  for (; i + VF <= n; i += VF)
    N(store)(y + i, N(f32_exact_normal)(N(load)(x + i), m, v, scale ? scale + i : NULL,
                                        bias ? bias + i : NULL, VF));
  if (i < n)
    N(store_n)(y + i,
               N(f32_exact_normal)(N(load_n)(x + i, n - i), m, v, scale ? scale + i : NULL,
                                   bias ? bias + i : NULL, n - i),
               n - i);
}

#define FUNCTION(name, value)                                                                 \
  static void N(f32_exact_##name)(size_t n, const float *px, float *y, const float *params) { \
    (void)params;                                                                             \
    while (n) {                                                                               \
      const size_t lanes = n < VF ? n : VF;                                                   \
      const N(vf) x = lanes == VF ? N(load)(px) : N(load_n)(px, lanes), v = value;            \
      if (lanes == VF)                                                                        \
        N(store)(y, v);                                                                       \
      else                                                                                    \
        N(store_n)(y, v, lanes);                                                              \
      n -= lanes, px += lanes, y += lanes;                                                    \
    }                                                                                         \
  }
FUNCTION(exp, N(f32_exact_exp_of)(x))
FUNCTION(log, N(f32_exact_log_of)(x))
FUNCTION(sigmoid, N(f32_exact_sigmoid_of)(x))
FUNCTION(silu, N(f32_exact_silu_of)(x))
FUNCTION(tanh, N(f32_exact_tanh_of)(x))
FUNCTION(erf, N(f32_exact_erf_of)(x))
FUNCTION(gelu, N(f32_exact_gelu_of)(x))
FUNCTION(gelu_tanh, N(f32_exact_gelu_tanh_of)(x))
FUNCTION(relu, N(select)(N(lt)(x, N(zero)()), N(zero)(), x))
FUNCTION(clamp, N(f32_exact_clamp_of)(x, N(set1)(params[0]), N(set1)(params[1])))
#undef FUNCTION

#define EXACT_IN(part, name) SMR_HAS(f32_exact_##part) ? N(f32_exact_##name) : NULL
static const struct smr_f32_exact N(f32_exact_kernels) = {
    .name = "f32_exact__" SMR_SIMD_NAME,
    .dot = EXACT_IN(dot, dot),
    .dots = EXACT_IN(dot, dots),
    .sum = EXACT_IN(sum, sum),
    .squares = EXACT_IN(sum, squares),
    .max = EXACT_IN(softmax, max),
    .exp_sum = EXACT_IN(softmax, exp_sum),
    .scale = EXACT_IN(softmax, scale),
    .scale_add = EXACT_IN(add, scale_add),
    .scale_add_rows = EXACT_IN(add, scale_add_rows),
    .minus = EXACT_IN(minus, minus),
    .normalize = EXACT_IN(normalize, normalize),
    .function = {EXACT_IN(exp, exp), EXACT_IN(log, log), EXACT_IN(sigmoid, sigmoid),
                 EXACT_IN(silu, silu), EXACT_IN(tanh, tanh), EXACT_IN(erf, erf),
                 EXACT_IN(gelu, gelu), EXACT_IN(gelu_tanh, gelu_tanh), EXACT_IN(relu, relu),
                 EXACT_IN(clamp, clamp)},
};
#undef EXACT_IN
#undef EACH
#undef SETS
#undef PARTIALS
#undef TWICE
