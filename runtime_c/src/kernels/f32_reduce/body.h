// SPDX-License-Identifier: Apache-2.0
// Float reductions over the vocabulary.

// Vectors that are summed up before they are added to the total.
#define REDUCE_BLOCK 64

SMR_INLINE N(vf) N(f32_reduce_join_sum)(N(vf) a, N(vf) b) { return N(add)(a, b); }
SMR_INLINE N(vf) N(f32_reduce_join_prod)(N(vf) a, N(vf) b) { return N(mul)(a, b); }
// The vocabulary's max and min only propagate a NaN of the second operand.
SMR_INLINE N(vf) N(f32_reduce_join_max)(N(vf) a, N(vf) b) {
  return N(select)(N(ne)(a, a), a, N(max)(a, b));
}
SMR_INLINE N(vf) N(f32_reduce_join_min)(N(vf) a, N(vf) b) {
  return N(select)(N(ne)(a, a), a, N(min)(a, b));
}

// smr_f32_reduce_join for use in loops.
SMR_INLINE float N(f32_reduce_scalar_sum)(float a, float b) { return a + b; }
SMR_INLINE float N(f32_reduce_scalar_prod)(float a, float b) { return a * b; }
SMR_INLINE float N(f32_reduce_scalar_max)(float a, float b) { return a > b || a != a ? a : b; }
SMR_INLINE float N(f32_reduce_scalar_min)(float a, float b) { return a < b || a != a ? a : b; }

#define REDUCE(name, start)                                                                        \
  /* At most REDUCE_BLOCK * 4 * VF elements, four sums side by side. */                            \
  SMR_INLINE N(vf) N(f32_reduce_block_##name)(size_t n, const float *x) {                          \
    N(vf) a[4];                                                                                    \
    SMR_UNROLL for (size_t j = 0; j < 4; j++) a[j] = N(set1)(start);                               \
    for (; n >= 4 * VF; n -= 4 * VF, x += 4 * VF) {                                                \
      SMR_UNROLL for (size_t j = 0; j < 4; j++) a[j] =                                             \
          N(f32_reduce_join_##name)(a[j], N(load)(x + j * VF));                                    \
    }                                                                                              \
    for (; n >= VF; n -= VF, x += VF) a[0] = N(f32_reduce_join_##name)(a[0], N(load)(x));          \
    if (n) {                                                                                       \
      float rest[VF];                                                                              \
      for (size_t i = 0; i < VF; i++) rest[i] = i < n ? x[i] : (start);                            \
      a[1] = N(f32_reduce_join_##name)(a[1], N(load)(rest));                                       \
    }                                                                                              \
    return N(f32_reduce_join_##name)(N(f32_reduce_join_##name)(a[0], a[1]),                        \
                                     N(f32_reduce_join_##name)(a[2], a[3]));                       \
  }                                                                                                \
  SMR_INLINE N(vf) N(f32_reduce_line_##name)(size_t n, const float *x) {                           \
    const size_t block = REDUCE_BLOCK * 4 * VF;                                                    \
    N(vf) total = N(zero)();                                                                       \
    for (size_t i = 0; i < n; i += block) {                                                        \
      const N(vf) part = N(f32_reduce_block_##name)(n - i < block ? n - i : block, x + i);         \
      total = i ? N(f32_reduce_join_##name)(total, part) : part;                                   \
    }                                                                                              \
    return total;                                                                                  \
  }                                                                                                \
  static float N(f32_reduce_row_##name)(size_t rows, size_t n, const float *x, size_t stride) {    \
    /* The first row, then the others in blocks. */                                                \
    N(vf) total = N(zero)();                                                                       \
    for (size_t r = 0; r < rows;) {                                                                \
      const size_t first = r;                                                                      \
      const size_t most = first == 0 ? 1 : REDUCE_BLOCK;                                           \
      const size_t end = rows - first < most ? rows : first + most;                                \
      N(vf) part = N(zero)();                                                                      \
      for (; r < end; r++) {                                                                       \
        const N(vf) line = N(f32_reduce_line_##name)(n, x + r * stride);                           \
        part = r == first ? line : N(f32_reduce_join_##name)(part, line);                          \
      }                                                                                            \
      total = first ? N(f32_reduce_join_##name)(total, part) : part;                               \
    }                                                                                              \
    float lanes[VF];                                                                               \
    N(store)(lanes, total);                                                                        \
    /* Combine halves with halves. */                                                              \
    SMR_UNROLL for (size_t width = VF / 2; width > 0; width /= 2)                                  \
        SMR_UNROLL for (size_t i = 0; i < width; i++) lanes[i] =                                   \
            N(f32_reduce_scalar_##name)(lanes[i], lanes[i + width]);                               \
    return lanes[0];                                                                               \
  }                                                                                                \
  /* Rows [begin, end) of some vectors of columns, the last of n lanes; at most REDUCE_BLOCK rows. \
   */                                                                                              \
  SMR_INLINE void N(f32_reduce_few_##name)(size_t begin, size_t end, const float *x,               \
                                           size_t stride, size_t n, size_t vectors,                \
                                           N(vf) * total) {                                        \
    N(vf) part[4];                                                                                 \
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) part[j] = N(set1)(start);                      \
    for (size_t r = begin; r < end; r++) {                                                         \
      const float *row = x + r * stride;                                                           \
      SMR_UNROLL for (size_t j = 0; j < vectors; j++) part[j] = N(f32_reduce_join_##name)(         \
          part[j], vectors == 4 ? N(load)(row + j * VF) : N(load_n)(row, n));                      \
    }                                                                                              \
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) total[j] =                                     \
        N(f32_reduce_join_##name)(total[j], part[j]);                                              \
  }                                                                                                \
  /* Blocks of rows, and blocks of those. */                                                       \
  SMR_INLINE void N(f32_reduce_rows_##name)(size_t rows, const float *x, size_t stride, size_t n,  \
                                            size_t vectors, float *acc) {                          \
    N(vf) all[4];                                                                                  \
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) all[j] =                                       \
        vectors == 4 ? N(load)(acc + j * VF) : N(load_n)(acc, n);                                  \
    for (size_t i = 0; i < rows;) {                                                                \
      const size_t far =                                                                           \
          rows - i < REDUCE_BLOCK * REDUCE_BLOCK ? rows : i + REDUCE_BLOCK * REDUCE_BLOCK;         \
      N(vf) total[4];                                                                              \
      SMR_UNROLL for (size_t j = 0; j < vectors; j++) total[j] = N(set1)(start);                   \
      while (i < far) {                                                                            \
        const size_t end = far - i < REDUCE_BLOCK ? far : i + REDUCE_BLOCK;                        \
        N(f32_reduce_few_##name)(i, end, x, stride, n, vectors, total);                            \
        i = end;                                                                                   \
      }                                                                                            \
      SMR_UNROLL for (size_t j = 0; j < vectors; j++) all[j] =                                     \
          N(f32_reduce_join_##name)(all[j], total[j]);                                             \
    }                                                                                              \
    SMR_UNROLL for (size_t j = 0; j < vectors; j++) {                                              \
      if (vectors == 4)                                                                            \
        N(store)(acc + j * VF, all[j]);                                                            \
      else                                                                                         \
        N(store_n)(acc, all[j], n);                                                                \
    }                                                                                              \
  }                                                                                                \
  static void N(f32_reduce_columns_##name)(size_t rows, size_t n, const float *x, size_t stride,   \
                                           float *acc) {                                           \
    /* Neighbouring vectors together: a row is then read in longer runs. */                        \
    for (; n >= 4 * VF; n -= 4 * VF, x += 4 * VF, acc += 4 * VF)                                   \
      N(f32_reduce_rows_##name)(rows, x, stride, VF, 4, acc);                                      \
    for (size_t i = 0; i < n; i += VF)                                                             \
      N(f32_reduce_rows_##name)(rows, x + i, stride, n - i < VF ? n - i : VF, 1, acc + i);         \
  }

REDUCE(sum, 0.0f)
REDUCE(max, -INFINITY)
REDUCE(min, INFINITY)
REDUCE(prod, 1.0f)

#define REDUCE_IN(name) SMR_HAS(f32_reduce_##name) ? N(f32_reduce_##name) : NULL
static const struct smr_f32_reduce N(f32_reduce_kernels) = {
    .name = "f32_reduce__" SMR_SIMD_NAME,
    .row = {REDUCE_IN(row_sum), REDUCE_IN(row_max), REDUCE_IN(row_min), REDUCE_IN(row_prod)},
    .columns = {REDUCE_IN(columns_sum), REDUCE_IN(columns_max), REDUCE_IN(columns_min),
                REDUCE_IN(columns_prod)},
};
#undef REDUCE
#undef REDUCE_IN
#undef REDUCE_BLOCK
