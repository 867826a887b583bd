// SPDX-License-Identifier: Apache-2.0
// softmax over the vocabulary; SOFTMAX_TABLE names the table it ends in.
#include "simd/math.h"

SMR_INLINE float N(f32_softmax_max)(size_t n, const float *x) {
  N(vf) m = N(set1)(-INFINITY);
  for (; n >= VF; n -= VF, x += VF) m = N(max)(N(load)(x), m);
  float best = N(reduce_max)(m);
  for (size_t i = 0; i < n; i++) best = x[i] > best ? x[i] : best;
  return best;
}

// Sum of e^(x - max), which are also stored where y is given.
SMR_INLINE float N(f32_softmax_exp)(size_t n, const float *x, float best, float *y) {
  const N(vf) shift = N(set1)(best);
  N(vf) sum = N(zero)();
  for (; n >= VF; n -= VF, x += VF) {
    const N(vf) e = N(exp)(N(sub)(N(load)(x), shift));
    sum = N(add)(sum, e);
    if (y) {
      N(store)(y, e);
      y += VF;
    }
  }
  if (n) {
    float lanes[VF] = {0};
    N(store_n)(lanes, N(exp)(N(sub)(N(load_n)(x, n), shift)), n);
    sum = N(add)(sum, N(load)(lanes));
    if (y) memcpy(y, lanes, n * sizeof(float));
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
  for (; columns >= VF; columns -= VF, x += VF, y += VF)
    N(f32_softmax_lanes)(rows, VF, stride, x, y, 0);
  if (columns) N(f32_softmax_lanes)(rows, columns, stride, x, y, 0);
}

static void N(f32_softmax_log_columns)(size_t rows, size_t columns, size_t stride, const float *x,
                                       float *y) {
  for (; columns >= VF; columns -= VF, x += VF, y += VF)
    N(f32_softmax_lanes)(rows, VF, stride, x, y, 1);
  if (columns) N(f32_softmax_lanes)(rows, columns, stride, x, y, 1);
}

const struct smr_f32_softmax SOFTMAX_TABLE = {
    .name = "f32_softmax__" SMR_SIMD_NAME,
    .row = {N(f32_softmax_row), N(f32_softmax_log_row)},
    .columns = {N(f32_softmax_columns), N(f32_softmax_log_columns)},
};
#undef SOFTMAX_TABLE
