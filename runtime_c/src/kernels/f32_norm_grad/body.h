// SPDX-License-Identifier: Apache-2.0
// Gradients of normalised rows over the vocabulary.

#define NORM_GRAD_BLOCK 256  // vectors that are summed up before they are added to the total

struct N(f32_norm_grad_sums) {
  N(vf) square, plain, product;  // sums of u * u, h and h * u
};

static const float N(f32_norm_grad_lanes)[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                 8, 9, 10, 11, 12, 13, 14, 15};

SMR_INLINE N(vf) N(f32_norm_grad_load)(const float *p, size_t n) {
  return n == VF ? N(load)(p) : N(load_n)(p, n);
}

// The first n lanes of v, 0 in the others.
SMR_INLINE N(vf) N(f32_norm_grad_first)(N(vf) v, size_t n) {
  if (n == VF) return v;
  const N(vm) inside = N(lt)(N(load)(N(f32_norm_grad_lanes)), N(set1)((float)n));
  return N(select)(inside, v, N(zero)());
}

// End of the block that starts at i; `whole` elements are in full vectors.
SMR_INLINE size_t N(f32_norm_grad_end)(size_t whole, size_t i) {
  return whole - i < NORM_GRAD_BLOCK * VF ? whole : i + NORM_GRAD_BLOCK * VF;
}

SMR_INLINE float N(f32_norm_grad_mean)(size_t n, const float *x) {
  const size_t whole = n - n % VF;
  N(vf) total = N(zero)();
  for (size_t i = 0; i < whole; i += NORM_GRAD_BLOCK * VF) {
    const size_t end = N(f32_norm_grad_end)(whole, i);
    N(vf) a = N(zero)(), b = N(zero)();
    size_t k = i;
    for (; k + 2 * VF <= end; k += 2 * VF) {
      a = N(add)(a, N(load)(x + k));
      b = N(add)(b, N(load)(x + k + VF));
    }
    if (k < end) a = N(add)(a, N(load)(x + k));
    total = N(add)(total, N(add)(a, b));
  }
  if (whole < n) total = N(add)(total, N(load_n)(x + whole, n - whole));
  return N(reduce_add)(total) / (float)n;
}

SMR_INLINE void N(f32_norm_grad_step)(size_t n, const float *dy, const float *x, const float *scale,
                                      N(vf) mean, struct N(f32_norm_grad_sums) * sums) {
  const N(vf) u = N(f32_norm_grad_first)(N(sub)(N(f32_norm_grad_load)(x, n), mean), n);
  N(vf) h = N(f32_norm_grad_load)(dy, n);
  if (scale) h = N(mul)(h, N(f32_norm_grad_load)(scale, n));
  sums->square = N(fma)(u, u, sums->square);
  sums->plain = N(add)(sums->plain, h);
  sums->product = N(fma)(h, u, sums->product);
}

SMR_INLINE struct N(f32_norm_grad_sums)
    N(f32_norm_grad_join)(struct N(f32_norm_grad_sums) a, struct N(f32_norm_grad_sums) b) {
  return (struct N(f32_norm_grad_sums)){.square = N(add)(a.square, b.square),
                                        .plain = N(add)(a.plain, b.plain),
                                        .product = N(add)(a.product, b.product)};
}

SMR_INLINE struct N(f32_norm_grad_sums)
    N(f32_norm_grad_sum)(size_t n, const float *dy, const float *x, const float *scale,
                         N(vf) mean) {
  const struct N(f32_norm_grad_sums) none = {N(zero)(), N(zero)(), N(zero)()};
  struct N(f32_norm_grad_sums) total = none;
  const size_t whole = n - n % VF;
  for (size_t i = 0; i < whole; i += NORM_GRAD_BLOCK * VF) {
    const size_t end = N(f32_norm_grad_end)(whole, i);
    struct N(f32_norm_grad_sums) a = none, b = none;
    size_t k = i;
    for (; k + 2 * VF <= end; k += 2 * VF) {
      const size_t next = k + VF;
      N(f32_norm_grad_step)(VF, dy + k, x + k, scale ? scale + k : NULL, mean, &a);
      N(f32_norm_grad_step)(VF, dy + next, x + next, scale ? scale + next : NULL, mean, &b);
    }
    if (k < end) N(f32_norm_grad_step)(VF, dy + k, x + k, scale ? scale + k : NULL, mean, &a);
    total = N(f32_norm_grad_join)(total, N(f32_norm_grad_join)(a, b));
  }
  if (whole < n)
    N(f32_norm_grad_step)(n - whole, dy + whole, x + whole, scale ? scale + whole : NULL, mean,
                          &total);
  return total;
}

// Values shared by the elements of a row: dx = (h - plain) * r + u * slope. The difference is taken
// before the product with r, because a large r (a row that hardly varies) would amplify rounding
// errors.
struct N(f32_norm_grad_line) {
  N(vf) mean, r, slope, plain;
};

SMR_INLINE void N(f32_norm_grad_write)(size_t n, const float *dy, const float *x,
                                       const float *scale,
                                       const struct N(f32_norm_grad_line) * line, float *dx,
                                       float *dscale, float *dbias) {
  const N(vf) g = N(f32_norm_grad_load)(dy, n);
  const N(vf) u = N(sub)(N(f32_norm_grad_load)(x, n), line->mean);
  const N(vf) h = scale ? N(mul)(g, N(f32_norm_grad_load)(scale, n)) : g;
  const N(vf) d = N(fma)(N(sub)(h, line->plain), line->r, N(mul)(u, line->slope));
  N(vf) s = N(zero)(), b = N(zero)();
  if (dscale) s = N(fma)(N(mul)(u, line->r), g, N(f32_norm_grad_load)(dscale, n));
  if (dbias) b = N(add)(g, N(f32_norm_grad_load)(dbias, n));
  if (n == VF) {
    N(store)(dx, d);
    if (dscale) N(store)(dscale, s);
    if (dbias) N(store)(dbias, b);
    return;
  }
  N(store_n)(dx, d, n);
  if (dscale) N(store_n)(dscale, s, n);
  if (dbias) N(store_n)(dbias, b, n);
}

SMR_INLINE void N(f32_norm_grad_row)(size_t n, const float *dy, const float *x, const float *scale,
                                     float eps, float *dx, float *dscale, float *dbias,
                                     const int centred) {
  const float mean = centred ? N(f32_norm_grad_mean)(n, x) : 0.0f;
  const struct N(f32_norm_grad_sums) sums = N(f32_norm_grad_sum)(n, dy, x, scale, N(set1)(mean));
  const float variance = N(reduce_add)(sums.square) / (float)n;
  const float r = 1.0f / sqrtf(variance + eps);
  const float product = N(reduce_add)(sums.product) / (float)n;
  const float plain = centred ? N(reduce_add)(sums.plain) / (float)n : 0.0f;
  const struct N(f32_norm_grad_line) line = {.mean = N(set1)(mean),
                                             .r = N(set1)(r),
                                             .slope = N(set1)(-r * (r * r * product)),
                                             .plain = N(set1)(plain)};
  size_t i = 0;
  for (; i + VF <= n; i += VF)
    N(f32_norm_grad_write)(VF, dy + i, x + i, scale ? scale + i : NULL, &line, dx + i,
                           dscale ? dscale + i : NULL, dbias ? dbias + i : NULL);
  if (i < n)
    N(f32_norm_grad_write)(n - i, dy + i, x + i, scale ? scale + i : NULL, &line, dx + i,
                           dscale ? dscale + i : NULL, dbias ? dbias + i : NULL);
}

static void N(f32_norm_grad_centred_row)(size_t n, const float *dy, const float *x,
                                         const float *scale, float eps, float *dx, float *dscale,
                                         float *dbias) {
  N(f32_norm_grad_row)(n, dy, x, scale, eps, dx, dscale, dbias, 1);
}

static void N(f32_norm_grad_plain_row)(size_t n, const float *dy, const float *x,
                                       const float *scale, float eps, float *dx, float *dscale,
                                       float *dbias) {
  N(f32_norm_grad_row)(n, dy, x, scale, eps, dx, dscale, dbias, 0);
}

static const struct smr_f32_norm_grad N(f32_norm_grad_kernels) = {
    .name = "f32_norm_grad__" SMR_SIMD_NAME,
    .centred_row = N(f32_norm_grad_centred_row),
    .plain_row = N(f32_norm_grad_plain_row),
};
#undef NORM_GRAD_BLOCK
