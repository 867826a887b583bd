// SPDX-License-Identifier: Apache-2.0
// softmax over the vocabulary.
#include "simd/math.h"

SMR_INLINE float N(f32_softmax_max)(size_t n, const float *x) {
  N(vf) m = N(set1)(-INFINITY);
  for (; n >= VF; n -= VF, x += VF) m = N(max)(N(load)(x), m);
  float best = N(reduce_max)(m);
  for (size_t i = 0; i < n; i++) best = x[i] > best ? x[i] : best;
  return best;
}

// Sum of e^(x - max). Stores the terms if y is given.
SMR_INLINE float N(f32_softmax_exp)(size_t n, const float *x, float best, float *y) {
  const N(vf) shift = N(set1)(best);
  N(vf) sum = N(zero)();
  while (n) {
    const size_t lanes = n < VF ? n : VF;
    N(vf) e = N(exp)(N(sub)(lanes == VF ? N(load)(x) : N(load_n)(x, lanes), shift));
    if (lanes < VF) {  // missing lanes add nothing
      float some[VF] = {0};
      N(store_n)(some, e, lanes);
      e = N(load)(some);
    }
    sum = N(add)(sum, e);
    if (y && lanes == VF) N(store)(y, e);
    if (y && lanes < VF) N(store_n)(y, e, lanes);
    n -= lanes, x += lanes;
    if (y) y += lanes;
  }
  return N(reduce_add)(sum);
}

static void N(f32_softmax_row)(size_t n, const float *x, float *y) {
  const float best = N(f32_softmax_max)(n, x);
  const N(vf) inverse = N(set1)(1.0f / N(f32_softmax_exp)(n, x, best, y));
  for (; n >= VF; n -= VF, y += VF) N(store)(y, N(mul)(N(load)(y), inverse));
  if (n) N(store_n)(y, N(mul)(N(load_n)(y, n), inverse), n);
}

static void N(f32_softmax_log_row)(size_t n, const float *x, float *y) {
  const float best = N(f32_softmax_max)(n, x);
  const N(vf) shift = N(set1)(best);
  const N(vf) tail = N(log)(N(set1)(N(f32_softmax_exp)(n, x, best, NULL)));
  for (; n >= VF; n -= VF, x += VF, y += VF) N(store)(y, N(sub)(N(sub)(N(load)(x), shift), tail));
  if (n) N(store_n)(y, N(sub)(N(sub)(N(load_n)(x, n), shift), tail), n);
}

// One vector of columns, n <= VF of its lanes.
SMR_INLINE void N(f32_softmax_lanes)(size_t rows, size_t n, size_t stride, const float *x, float *y,
                                     const int log) {
  N(vf) best = N(set1)(-INFINITY), sum = N(zero)();
  for (size_t r = 0; r < rows; r++) best = N(max)(N(load_n)(x + r * stride, n), best);
  for (size_t r = 0; r < rows; r++) {
    const N(vf) e = N(exp)(N(sub)(N(load_n)(x + r * stride, n), best));
    sum = N(add)(sum, e);
    if (!log) N(store_n)(y + r * stride, e, n);
  }
  const N(vf) tail = log ? N(log)(sum) : N(div)(N(set1)(1.0f), sum);
  for (size_t r = 0; r < rows; r++) {
    const N(vf) v = N(load_n)((log ? x : y) + r * stride, n);
    N(store_n)(y + r * stride, log ? N(sub)(N(sub)(v, best), tail) : N(mul)(v, tail), n);
  }
}

static void N(f32_softmax_columns)(size_t rows, size_t columns, size_t stride, const float *x,
                                   float *y) {
  for (size_t i = 0; i < columns; i += VF)
    N(f32_softmax_lanes)(rows, columns - i < VF ? columns - i : VF, stride, x + i, y + i, 0);
}

static void N(f32_softmax_log_columns)(size_t rows, size_t columns, size_t stride, const float *x,
                                       float *y) {
  for (size_t i = 0; i < columns; i += VF)
    N(f32_softmax_lanes)(rows, columns - i < VF ? columns - i : VF, stride, x + i, y + i, 1);
}

#define SOFTMAX_IN(name) SMR_HAS(f32_softmax_##name) ? N(f32_softmax_##name) : NULL
static const struct smr_f32_softmax N(f32_softmax_kernels) = {
    .name = "f32_softmax__" SMR_SIMD_NAME,
    .row = {SOFTMAX_IN(row), SOFTMAX_IN(log_row)},
    .columns = {SOFTMAX_IN(columns), SOFTMAX_IN(log_columns)},
};
#undef SOFTMAX_IN
