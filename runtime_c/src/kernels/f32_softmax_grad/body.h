// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax over the vocabulary.
#include "simd/math.h"

#define SOFTMAX_GRAD_BLOCK 256  // vectors that are summed up before they are added to the total

SMR_INLINE N(vf) N(f32_softmax_grad_load)(const float *p, size_t n) {
  return n == VF ? N(load)(p) : N(load_n)(p, n);
}

SMR_INLINE void N(f32_softmax_grad_store)(float *p, N(vf) v, size_t n) {
  if (n == VF)
    N(store)(p, v);
  else
    N(store_n)(p, v, n);
}

static const float N(f32_softmax_grad_numbers)[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                      8, 9, 10, 11, 12, 13, 14, 15};

// The first n lanes of v, `other` in the others.
SMR_INLINE N(vf) N(f32_softmax_grad_first)(N(vf) v, size_t n, N(vf) other) {
  if (n == VF) return v;
  return N(select)(N(lt)(N(load)(N(f32_softmax_grad_numbers)), N(set1)((float)n)), v, other);
}

// End of the block that starts at i; `whole` elements are in full vectors.
SMR_INLINE size_t N(f32_softmax_grad_end)(size_t whole, size_t i) {
  return whole - i < SOFTMAX_GRAD_BLOCK * VF ? whole : i + SOFTMAX_GRAD_BLOCK * VF;
}

// Sum of a * b, or of a where b is NULL.
SMR_INLINE float N(f32_softmax_grad_dot)(size_t n, const float *a, const float *b) {
  const size_t whole = n - n % VF;
  N(vf) total = N(zero)();
  for (size_t i = 0; i < whole; i += SOFTMAX_GRAD_BLOCK * VF) {
    const size_t end = N(f32_softmax_grad_end)(whole, i);
    N(vf) s = N(zero)(), t = N(zero)();
    size_t k = i;
    for (; k + 2 * VF <= end; k += 2 * VF) {
      const N(vf) u = N(load)(a + k), v = N(load)(a + k + VF);
      s = b ? N(fma)(u, N(load)(b + k), s) : N(add)(s, u);
      t = b ? N(fma)(v, N(load)(b + k + VF), t) : N(add)(t, v);
    }
    if (k < end) s = b ? N(fma)(N(load)(a + k), N(load)(b + k), s) : N(add)(s, N(load)(a + k));
    total = N(add)(total, N(add)(s, t));
  }
  if (whole < n) {
    const N(vf) u = N(load_n)(a + whole, n - whole);
    total = b ? N(fma)(u, N(load_n)(b + whole, n - whole), total) : N(add)(total, u);
  }
  return N(reduce_add)(total);
}

SMR_INLINE N(vf) N(f32_softmax_grad_value)(N(vf) dy, N(vf) y, N(vf) sum, const int log) {
  return log ? N(sub)(dy, N(mul)(N(exp)(y), sum)) : N(mul)(y, N(sub)(dy, sum));
}

SMR_INLINE void N(f32_softmax_grad_write)(size_t n, const float *dy, const float *y, N(vf) sum,
                                          float *dx, const int log) {
  const N(vf) g = N(f32_softmax_grad_load)(dy, n), v = N(f32_softmax_grad_load)(y, n);
  N(f32_softmax_grad_store)(dx, N(f32_softmax_grad_value)(g, v, sum, log), n);
}

SMR_INLINE void N(f32_softmax_grad_any_row)(size_t n, const float *dy, const float *y, float *dx,
                                            const int log) {
  const N(vf) sum = N(set1)(N(f32_softmax_grad_dot)(n, dy, log ? NULL : y));
  size_t i = 0;
  for (; i + VF <= n; i += VF) N(f32_softmax_grad_write)(VF, dy + i, y + i, sum, dx + i, log);
  if (i < n) N(f32_softmax_grad_write)(n - i, dy + i, y + i, sum, dx + i, log);
}

// One vector of columns, n <= VF of its lanes.
SMR_INLINE void N(f32_softmax_grad_lanes)(size_t rows, size_t n, size_t stride, const float *dy,
                                          const float *y, float *dx, const int log) {
  N(vf) sum = N(zero)();
  for (size_t i = 0; i < rows; i += SOFTMAX_GRAD_BLOCK) {
    const size_t end = rows - i < SOFTMAX_GRAD_BLOCK ? rows : i + SOFTMAX_GRAD_BLOCK;
    N(vf) part = N(zero)();
    for (size_t r = i; r < end; r++) {
      const N(vf) g = N(f32_softmax_grad_load)(dy + r * stride, n);
      part = log ? N(add)(part, g) : N(fma)(g, N(f32_softmax_grad_load)(y + r * stride, n), part);
    }
    sum = N(add)(sum, part);
  }
  for (size_t r = 0; r < rows; r++)
    N(f32_softmax_grad_write)(n, dy + r * stride, y + r * stride, sum, dx + r * stride, log);
}

SMR_INLINE void N(f32_softmax_grad_any_columns)(size_t rows, size_t columns, size_t stride,
                                                const float *dy, const float *y, float *dx,
                                                const int log) {
  for (; columns >= VF; columns -= VF, dy += VF, y += VF, dx += VF)
    N(f32_softmax_grad_lanes)(rows, VF, stride, dy, y, dx, log);
  if (columns) N(f32_softmax_grad_lanes)(rows, columns, stride, dy, y, dx, log);
}

static void N(f32_softmax_grad_row)(size_t n, const float *dy, const float *y, float *dx) {
  N(f32_softmax_grad_any_row)(n, dy, y, dx, 0);
}

static void N(f32_softmax_grad_log_row)(size_t n, const float *dy, const float *y, float *dx) {
  N(f32_softmax_grad_any_row)(n, dy, y, dx, 1);
}

static void N(f32_softmax_grad_columns)(size_t rows, size_t columns, size_t stride, const float *dy,
                                        const float *y, float *dx) {
  N(f32_softmax_grad_any_columns)(rows, columns, stride, dy, y, dx, 0);
}

static void N(f32_softmax_grad_log_columns)(size_t rows, size_t columns, size_t stride,
                                            const float *dy, const float *y, float *dx) {
  N(f32_softmax_grad_any_columns)(rows, columns, stride, dy, y, dx, 1);
}

// ---- cross-entropy ----

SMR_INLINE float N(f32_cross_best)(size_t n, const float *x) {
  const N(vf) none = N(set1)(-INFINITY);
  N(vf) a = none, b = none;
  size_t i = 0;
  for (; i + 2 * VF <= n; i += 2 * VF) {
    a = N(max)(N(load)(x + i), a);
    b = N(max)(N(load)(x + i + VF), b);
  }
  if (i + VF <= n) {
    a = N(max)(N(load)(x + i), a);
    i += VF;
  }
  if (i < n) b = N(max)(N(f32_softmax_grad_first)(N(load_n)(x + i, n - i), n - i, none), b);
  return N(reduce_max)(N(max)(a, b));
}

static float N(f32_cross_log_sum)(size_t n, const float *x, float *best) {
  *best = N(f32_cross_best)(n, x);
  const N(vf) shift = N(set1)(*best);
  const size_t whole = n - n % VF;
  N(vf) total = N(zero)();
  for (size_t i = 0; i < whole; i += SOFTMAX_GRAD_BLOCK * VF) {
    const size_t end = N(f32_softmax_grad_end)(whole, i);
    N(vf) a = N(zero)(), b = N(zero)();
    size_t k = i;
    for (; k + 2 * VF <= end; k += 2 * VF) {
      a = N(add)(a, N(exp)(N(sub)(N(load)(x + k), shift)));
      b = N(add)(b, N(exp)(N(sub)(N(load)(x + k + VF), shift)));
    }
    if (k < end) a = N(add)(a, N(exp)(N(sub)(N(load)(x + k), shift)));
    total = N(add)(total, N(add)(a, b));
  }
  if (whole < n) {
    const N(vf) e = N(exp)(N(sub)(N(load_n)(x + whole, n - whole), shift));
    total = N(add)(total, N(f32_softmax_grad_first)(e, n - whole, N(zero)()));
  }
  float lanes[VF];
  N(store)(lanes, N(log)(N(set1)(N(reduce_add)(total))));
  return lanes[0];
}

SMR_INLINE N(vf)
    N(f32_cross_far)(size_t n, const float *x, const float *w, N(vf) best, N(vf) more) {
  const N(vf) d = N(add)(N(sub)(best, N(f32_softmax_grad_load)(x, n)), more);
  return w ? N(mul)(d, N(f32_softmax_grad_load)(w, n)) : d;
}

static float N(f32_cross_distance)(size_t n, const float *x, const float *w, float best,
                                   float log_sum) {
  const N(vf) from = N(set1)(best), more = N(set1)(log_sum);
  const size_t whole = n - n % VF;
  N(vf) total = N(zero)();
  for (size_t i = 0; i < whole; i += SOFTMAX_GRAD_BLOCK * VF) {
    const size_t end = N(f32_softmax_grad_end)(whole, i);
    N(vf) part = N(zero)();
    for (size_t k = i; k < end; k += VF)
      part = N(add)(part, N(f32_cross_far)(VF, x + k, w ? w + k : NULL, from, more));
    total = N(add)(total, part);
  }
  if (whole < n) {
    const N(vf) d = N(f32_cross_far)(n - whole, x + whole, w ? w + whole : NULL, from, more);
    total = N(add)(total, N(f32_softmax_grad_first)(d, n - whole, N(zero)()));
  }
  return N(reduce_add)(total);
}

// Values shared by the elements of a row.
struct N(f32_cross_line) {
  N(vf) from, factor, share;
};

SMR_INLINE void N(f32_cross_write)(size_t n, const float *x, const float *w,
                                   const struct N(f32_cross_line) * line, float *dx) {
  const N(vf) p = N(exp)(N(sub)(N(f32_softmax_grad_load)(x, n), line->from));
  const N(vf) off = w ? N(mul)(line->share, N(f32_softmax_grad_load)(w, n)) : line->share;
  N(f32_softmax_grad_store)(dx, N(sub)(N(mul)(p, line->factor), off), n);
}

static void N(f32_cross_descend)(size_t n, const float *x, const float *w, float log_sum,
                                 float factor, float share, float *dx) {
  const struct N(f32_cross_line)
      line = {.from = N(set1)(log_sum), .factor = N(set1)(factor), .share = N(set1)(share)};
  size_t i = 0;
  for (; i + VF <= n; i += VF) N(f32_cross_write)(VF, x + i, w ? w + i : NULL, &line, dx + i);
  if (i < n) N(f32_cross_write)(n - i, x + i, w ? w + i : NULL, &line, dx + i);
}

static const struct smr_f32_softmax_grad N(f32_softmax_grad_kernels) = {
    .name = "f32_softmax_grad__" SMR_SIMD_NAME,
    .row = {N(f32_softmax_grad_row), N(f32_softmax_grad_log_row)},
    .columns = {N(f32_softmax_grad_columns), N(f32_softmax_grad_log_columns)},
    .log_sum = N(f32_cross_log_sum),
    .distance = N(f32_cross_distance),
    .descend = N(f32_cross_descend),
};
#undef SOFTMAX_GRAD_BLOCK
