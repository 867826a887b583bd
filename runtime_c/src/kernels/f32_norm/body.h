// SPDX-License-Identifier: Apache-2.0
// Normalisation over the vocabulary.

#define NORM_BLOCK 256  // vectors that are summed up before they are added to the total

// Sum of x - shift, or of its square, over n elements.
SMR_INLINE float N(f32_norm_sum)(size_t n, const float *x, float shift, const int square) {
  const N(vf) s = N(set1)(shift);
  N(vf) total = N(zero)();
  while (n >= VF) {
    N(vf) a = N(zero)(), b = N(zero)();
    size_t left = n / VF < NORM_BLOCK ? n / VF : NORM_BLOCK;
    n -= left * VF;
    for (; left >= 2; left -= 2, x += 2 * VF) {
      const N(vf) u = N(sub)(N(load)(x), s), v = N(sub)(N(load)(x + VF), s);
      a = square ? N(fma)(u, u, a) : N(add)(a, u);
      b = square ? N(fma)(v, v, b) : N(add)(b, v);
    }
    if (left) {
      const N(vf) u = N(sub)(N(load)(x), s);
      a = square ? N(fma)(u, u, a) : N(add)(a, u);
      x += VF;
    }
    total = N(add)(total, N(add)(a, b));
  }
  float sum = 0.0f;
  for (size_t i = 0; i < n; i++) {
    const float u = x[i] - shift;
    sum += square ? u * u : u;
  }
  return N(reduce_add)(total) + sum;
}

SMR_INLINE N(vf) N(f32_norm_value)(N(vf) x, N(vf) mean, N(vf) inverse, const float *scale,
                                   const float *bias, size_t n) {
  N(vf) y = N(mul)(N(sub)(x, mean), inverse);
  if (scale) y = N(mul)(y, n == VF ? N(load)(scale) : N(load_n)(scale, n));
  if (bias) y = N(add)(y, n == VF ? N(load)(bias) : N(load_n)(bias, n));
  return y;
}

SMR_INLINE void N(f32_norm_row)(size_t n, const float *x, const float *scale, const float *bias,
                                float eps, float *y, const int centred) {
  const float mean = centred ? N(f32_norm_sum)(n, x, 0.0f, 0) / (float)n : 0.0f;
  const float variance = N(f32_norm_sum)(n, x, mean, 1) / (float)n;
  const N(vf) m = N(set1)(mean);
  const N(vf) inverse = N(div)(N(set1)(1.0f), N(sqrt)(N(set1)(variance + eps)));
  size_t i = 0;
  for (; i + VF <= n; i += VF)
    N(store)(y + i, N(f32_norm_value)(N(load)(x + i), m, inverse, scale ? scale + i : NULL,
                                      bias ? bias + i : NULL, VF));
  if (i < n)
    N(store_n)(y + i,
               N(f32_norm_value)(N(load_n)(x + i, n - i), m, inverse, scale ? scale + i : NULL,
                                 bias ? bias + i : NULL, n - i),
               n - i);
}

static void N(f32_norm_centred_row)(size_t n, const float *x, const float *scale, const float *bias,
                                    float eps, float *y) {
  N(f32_norm_row)(n, x, scale, bias, eps, y, 1);
}

static void N(f32_norm_plain_row)(size_t n, const float *x, const float *scale, const float *bias,
                                  float eps, float *y) {
  N(f32_norm_row)(n, x, scale, bias, eps, y, 0);
}

// Mean over rows of x - shift, or of its square, for one vector of columns.
SMR_INLINE N(vf) N(f32_norm_mean)(size_t rows, size_t n, size_t stride, const float *x, N(vf) shift,
                                  const int square) {
  N(vf) total = N(zero)();
  for (size_t i = 0; i < rows; i += NORM_BLOCK) {
    const size_t end = rows - i < NORM_BLOCK ? rows : i + NORM_BLOCK;
    N(vf) part = N(zero)();
    for (size_t r = i; r < end; r++) {
      const N(vf) u = N(sub)(N(load_n)(x + r * stride, n), shift);
      part = square ? N(fma)(u, u, part) : N(add)(part, u);
    }
    total = N(add)(total, part);
  }
  return N(div)(total, N(set1)((float)rows));
}

// One vector of columns, n <= VF of its lanes.
SMR_INLINE void N(f32_norm_lanes)(size_t rows, size_t n, size_t stride, const float *x,
                                  const float *scale, const float *bias, float eps, float *y) {
  const N(vf) mean = N(f32_norm_mean)(rows, n, stride, x, N(zero)(), 0);
  const N(vf) variance = N(f32_norm_mean)(rows, n, stride, x, mean, 1);
  const N(vf) inverse = N(div)(N(set1)(1.0f), N(sqrt)(N(add)(variance, N(set1)(eps))));
  for (size_t r = 0; r < rows; r++)
    N(store_n)(y + r * stride,
               N(f32_norm_value)(N(load_n)(x + r * stride, n), mean, inverse, scale, bias, n), n);
}

static void N(f32_norm_centred_columns)(size_t rows, size_t columns, size_t stride, const float *x,
                                        const float *scale, const float *bias, float eps,
                                        float *y) {
  for (size_t j = 0; j < columns; j += VF)
    N(f32_norm_lanes)(rows, columns - j < VF ? columns - j : VF, stride, x + j,
                      scale ? scale + j : NULL, bias ? bias + j : NULL, eps, y + j);
}

static const struct smr_f32_norm N(f32_norm_kernels) = {
    .name = "f32_norm__" SMR_SIMD_NAME,
    .centred_row = SMR_HAS(f32_norm_centred_row) ? N(f32_norm_centred_row) : NULL,
    .plain_row = SMR_HAS(f32_norm_plain_row) ? N(f32_norm_plain_row) : NULL,
    .centred_columns = SMR_HAS(f32_norm_centred_columns) ? N(f32_norm_centred_columns) : NULL,
};
#undef NORM_BLOCK
