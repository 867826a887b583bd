// SPDX-License-Identifier: Apache-2.0
// Columns over the vocabulary.
//
// Columns are processed four vectors at a time, so that their sums are independent, then one by
// one. `n` is the number of lanes of a single vector, and VF with four vectors.

#define CHANNEL_BLOCK 64  // rows that are summed up before they are added to the total
#define CHANNEL_WIDE 4    // vectors side by side
// Sums of gradients in WebAssembly, which few pages run, have no code for four vectors.
#if defined(SMR_SIMD_WASM)
#define CHANNEL_GRAD_WIDE 0
#else
#define CHANNEL_GRAD_WIDE 1
#endif

SMR_INLINE N(vf) N(f32_channel_load)(const float *p, size_t n) {
  return n == VF ? N(load)(p) : N(load_n)(p, n);
}

SMR_INLINE void N(f32_channel_store)(float *p, N(vf) v, size_t n) {
  if (n == VF)
    N(store)(p, v);
  else
    N(store_n)(p, v, n);
}

// total[j] = sum of x - shift[j] (shift NULL: 0); squares[j], unless NULL, = sum of its squares.
SMR_INLINE void N(f32_channel_sum)(size_t rows, const size_t vectors, size_t n, size_t stride,
                                   const float *x, const N(vf) * shift, N(vf) * total,
                                   N(vf) * squares) {
  SMR_UNROLL for (size_t j = 0; j < vectors; j++) total[j] = N(zero)();
  if (squares) SMR_UNROLL for (size_t j = 0; j < vectors; j++) squares[j] = N(zero)();
  for (size_t i = 0; i < rows; i += CHANNEL_BLOCK) {
    const size_t end = rows - i < CHANNEL_BLOCK ? rows : i + CHANNEL_BLOCK;
    N(vf) part[CHANNEL_WIDE], square[CHANNEL_WIDE];
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) part[j] = square[j] = N(zero)();
    for (size_t r = i; r < end; r++) {
      SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
        N(vf) v = N(f32_channel_load)(x + r * stride + j * VF, n);
        if (shift) v = N(sub)(v, shift[j]);
        part[j] = N(add)(part[j], v);
        if (squares) square[j] = N(fma)(v, v, square[j]);
      }
    }
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
      total[j] = N(add)(total[j], part[j]);
      if (squares) squares[j] = N(add)(squares[j], square[j]);
    }
  }
}

SMR_INLINE void N(f32_channel_moments_lanes)(size_t rows, const size_t vectors, size_t n,
                                             size_t stride, const float *x, float *mean,
                                             float *rest, float *square) {
  N(vf) m[CHANNEL_WIDE], left[CHANNEL_WIDE], total[CHANNEL_WIDE];
  N(f32_channel_sum)(rows, vectors, n, stride, x, NULL, m, NULL);
  SMR_UNROLL for (size_t j = 0; j < vectors; j++) m[j] = N(div)(m[j], N(set1)((float)rows));
  N(f32_channel_sum)(rows, vectors, n, stride, x, m, left, total);
  SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
    N(f32_channel_store)(mean + j * VF, m[j], n);
    N(f32_channel_store)(rest + j * VF, left[j], n);
    N(f32_channel_store)(square + j * VF, total[j], n);
  }
}

static void N(f32_channel_moments)(size_t rows, size_t columns, size_t stride, const float *x,
                                   float *mean, float *rest, float *square) {
  size_t j = 0;
  for (; j + CHANNEL_WIDE * VF <= columns; j += CHANNEL_WIDE * VF)
    N(f32_channel_moments_lanes)(rows, CHANNEL_WIDE, VF, stride, x + j, mean + j, rest + j,
                                 square + j);
  for (; j + VF <= columns; j += VF)
    N(f32_channel_moments_lanes)(rows, 1, VF, stride, x + j, mean + j, rest + j, square + j);
  if (j < columns)
    N(f32_channel_moments_lanes)(rows, 1, columns - j, stride, x + j, mean + j, rest + j,
                                 square + j);
}

SMR_INLINE void N(f32_channel_products_lanes)(size_t rows, const size_t vectors, size_t n,
                                              size_t stride, const float *dy, const float *x,
                                              const float *shift, float *sum, float *product) {
  N(vf) s[CHANNEL_WIDE], p[CHANNEL_WIDE], m[CHANNEL_WIDE];
  SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
    s[j] = p[j] = N(zero)();
    m[j] = N(f32_channel_load)(shift + j * VF, n);
  }
  for (size_t i = 0; i < rows; i += CHANNEL_BLOCK) {
    const size_t end = rows - i < CHANNEL_BLOCK ? rows : i + CHANNEL_BLOCK;
    N(vf) a[CHANNEL_WIDE], b[CHANNEL_WIDE];
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) a[j] = b[j] = N(zero)();
    for (size_t r = i; r < end; r++) {
      SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
        const N(vf) g = N(f32_channel_load)(dy + r * stride + j * VF, n);
        const N(vf) u = N(sub)(N(f32_channel_load)(x + r * stride + j * VF, n), m[j]);
        a[j] = N(add)(a[j], g);
        b[j] = N(fma)(g, u, b[j]);
      }
    }
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
      s[j] = N(add)(s[j], a[j]);
      p[j] = N(add)(p[j], b[j]);
    }
  }
  SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
    N(f32_channel_store)(sum + j * VF, s[j], n);
    N(f32_channel_store)(product + j * VF, p[j], n);
  }
}

static void N(f32_channel_products)(size_t rows, size_t columns, size_t stride, const float *dy,
                                    const float *x, const float *shift, float *sum,
                                    float *product) {
  size_t j = 0;
  for (; CHANNEL_GRAD_WIDE && j + CHANNEL_WIDE * VF <= columns; j += CHANNEL_WIDE * VF)
    N(f32_channel_products_lanes)(rows, CHANNEL_WIDE, VF, stride, dy + j, x + j, shift + j, sum + j,
                                  product + j);
  for (; j + VF <= columns; j += VF)
    N(f32_channel_products_lanes)(rows, 1, VF, stride, dy + j, x + j, shift + j, sum + j,
                                  product + j);
  if (j < columns)
    N(f32_channel_products_lanes)(rows, 1, columns - j, stride, dy + j, x + j, shift + j, sum + j,
                                  product + j);
}

// y from x; if `dy` is given, dx from both.
SMR_INLINE void N(f32_channel_map_lanes)(size_t rows, const size_t vectors, size_t n, size_t stride,
                                         const float *dy, const float *x,
                                         const struct smr_f32_channel_map *map, size_t at,
                                         float *y) {
  N(vf) shift[CHANNEL_WIDE], factor[CHANNEL_WIDE], slope[CHANNEL_WIDE], bias[CHANNEL_WIDE];
  SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
    shift[j] = N(f32_channel_load)(map->shift + at + j * VF, n);
    factor[j] = N(f32_channel_load)(map->factor + at + j * VF, n);
    bias[j] = N(f32_channel_load)(map->bias + at + j * VF, n);
    slope[j] = dy ? N(f32_channel_load)(map->slope + at + j * VF, n) : factor[j];
  }
  for (size_t r = 0; r < rows; r++) {
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) {
      const size_t i = r * stride + at + j * VF;
      const N(vf) u = N(sub)(N(f32_channel_load)(x + i, n), shift[j]);
      N(vf) v = N(fma)(u, slope[j], bias[j]);
      if (dy) v = N(fma)(N(f32_channel_load)(dy + i, n), factor[j], v);
      N(f32_channel_store)(y + i, v, n);
    }
  }
}

SMR_INLINE void N(f32_channel_map)(size_t rows, size_t columns, size_t stride, const float *dy,
                                   const float *x, const struct smr_f32_channel_map *map,
                                   float *y) {
  size_t j = 0;
  for (; j + CHANNEL_WIDE * VF <= columns; j += CHANNEL_WIDE * VF)
    N(f32_channel_map_lanes)(rows, CHANNEL_WIDE, VF, stride, dy, x, map, j, y);
  for (; j + VF <= columns; j += VF)
    N(f32_channel_map_lanes)(rows, 1, VF, stride, dy, x, map, j, y);
  if (j < columns) N(f32_channel_map_lanes)(rows, 1, columns - j, stride, dy, x, map, j, y);
}

static void N(f32_channel_apply)(size_t rows, size_t columns, size_t stride, const float *x,
                                 const struct smr_f32_channel_map *map, float *y) {
  N(f32_channel_map)(rows, columns, stride, NULL, x, map, y);
}

static void N(f32_channel_grad)(size_t rows, size_t columns, size_t stride, const float *dy,
                                const float *x, const struct smr_f32_channel_map *map, float *dx) {
  N(f32_channel_map)(rows, columns, stride, dy, x, map, dx);
}

static const struct smr_f32_channel_norm N(f32_channel_norm_kernels) = {
    .name = "f32_channel_norm__" SMR_SIMD_NAME,
    .moments = N(f32_channel_moments),
    .apply = N(f32_channel_apply),
};

static const struct smr_f32_channel_norm_grad N(f32_channel_norm_grad_kernels) = {
    .products = N(f32_channel_products),
    .grad = N(f32_channel_grad),
};
#undef CHANNEL_BLOCK
#undef CHANNEL_WIDE
#undef CHANNEL_GRAD_WIDE
