// SPDX-License-Identifier: Apache-2.0
// softmax on int8 in plain C, which compilers vectorize for the region's ISA.
//
// The distances below the largest element, 0 to 255, are stored in y. x is then no longer needed,
// so y may be x. A group longer than 256 has at most 256 different results: they are computed once
// and looked up.

#define I8_SOFTMAX_STEPS 256
#define I8_SOFTMAX_HALF ((uint64_t)1 << 46)

SMR_VECTORIZED static int8_t N(i8_softmax_max)(size_t n, const int8_t *x) {
  int8_t top = -128;
  for (size_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
  return top;
}

SMR_VECTORIZED static void N(i8_softmax_below)(size_t n, const int8_t *x, int8_t top, int8_t *y) {
  for (size_t i = 0; i < n; i++) y[i] = (int8_t)(uint8_t)(top - x[i]);
}

// Sum of the exponentials of n elements. Stores them if e is given. Indexed loads stay scalar,
// because gathers are slower; one load fetches eight distances, one store writes two exponentials.
SMR_INLINE uint64_t N(i8_softmax_sum)(size_t n, const int8_t *below, const uint32_t *table,
                                      uint32_t *e) {
  uint64_t sums[4] = {0};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t steps;
    memcpy(&steps, below + i, sizeof steps);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) {
      const uint64_t first = table[steps >> 16 * k & 255],
                     second = table[steps >> 16 * k >> 8 & 255];
      const uint64_t both = first | second << 32;
      sums[k] += first + second;
      if (e != NULL) memcpy(e + i + 2 * k, &both, sizeof both);
    }
  }
  for (; i < n; i++) {
    const uint32_t value = table[(uint8_t)below[i]];
    sums[0] += value;
    if (e != NULL) e[i] = value;
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

SMR_INLINE uint64_t N(i8_softmax_factor)(uint64_t sum) {
  return ((uint64_t)1 << 55) / (sum ? sum : 1);
}

// Convert n <= 256 exponentials to results.
SMR_VECTORIZED static void N(i8_softmax_scaled)(size_t n, const uint32_t *e, uint32_t factor,
                                                int8_t *y) {
  uint32_t whole[I8_SOFTMAX_STEPS];
  for (size_t i = 0; i < n; i++)
    whole[i] = (uint32_t)(((uint64_t)e[i] * factor + I8_SOFTMAX_HALF) >> 47);
  for (size_t i = 0; i < n; i++) y[i] = (int8_t)((whole[i] < 255 ? whole[i] : 255) ^ 0x80);
}

SMR_INLINE int8_t N(i8_softmax_result)(uint32_t e, uint64_t factor) {
  const uint64_t whole = (e * factor + I8_SOFTMAX_HALF) >> 47;
  return (int8_t)((int32_t)(whole < 255 ? whole : 255) - 128);
}

// The same for unusual tables with such small exponentials that the factor is large.
static void N(i8_softmax_results)(size_t n, const uint32_t *e, uint64_t factor, int8_t *y) {
  if (factor <= UINT32_MAX)
    N(i8_softmax_scaled)(n, e, (uint32_t)factor, y);
  else
    for (size_t i = 0; i < n; i++) y[i] = N(i8_softmax_result)(e[i], factor);
}

static void N(i8_softmax_row)(size_t n, const int8_t *x, const uint32_t table[256], int8_t *y) {
  N(i8_softmax_below)(n, x, N(i8_softmax_max)(n, x), y);
  if (!SMR_HAS(q8_softmax_long_row) || n <= SMR_I8_SOFTMAX_SHORT) {
    uint32_t e[I8_SOFTMAX_STEPS];
    const uint64_t sum = N(i8_softmax_sum)(n, y, table, e);
    N(i8_softmax_results)(n, e, N(i8_softmax_factor)(sum), y);
  } else {
    // The table of a lookup starts at byte 128.
    uint32_t e[I8_SOFTMAX_STEPS];
    int8_t results[I8_SOFTMAX_STEPS];
    memcpy(e, table + 128, 128 * sizeof *e);
    memcpy(e + 128, table, 128 * sizeof *e);
    const uint64_t sum = N(i8_softmax_sum)(n, y, table, NULL);
    N(i8_softmax_results)(I8_SOFTMAX_STEPS, e, N(i8_softmax_factor)(sum), results);
    // In a build with a higher baseline, portable C uses the lookups of the baseline.
    smr_i8_lookup_config(SMR_SIMD_ISA | SMR_ISA_FLOOR)->run(n, y, results, y);
  }
}

SMR_VECTORIZED static void N(i8_softmax_tops)(size_t rows, size_t columns, size_t stride,
                                              const int8_t *x, int8_t *top) {
  for (size_t j = 0; j < columns; j++) top[j] = x[j];
  for (size_t i = 1; i < rows; i++)
    for (size_t j = 0; j < columns; j++)
      top[j] = x[i * stride + j] > top[j] ? x[i * stride + j] : top[j];
}

static void N(i8_softmax_columns)(size_t rows, size_t columns, size_t stride, const int8_t *x,
                                  const uint32_t table[256], int8_t *y) {
  int8_t top[SMR_I8_SOFTMAX_COLUMNS];
  uint64_t factor[SMR_I8_SOFTMAX_COLUMNS] = {0};
  N(i8_softmax_tops)(rows, columns, stride, x, top);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) factor[j] += table[top[j] - x[i * stride + j]];
  for (size_t j = 0; j < columns; j++) factor[j] = N(i8_softmax_factor)(factor[j]);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++)
      y[i * stride + j] = N(i8_softmax_result)(table[top[j] - x[i * stride + j]], factor[j]);
}

static const struct smr_i8_softmax N(i8_softmax_kernels) = {
    .name = "i8_softmax__" SMR_SIMD_NAME,
    .row = SMR_HAS(q8_softmax_row) ? N(i8_softmax_row) : NULL,
    .columns = SMR_HAS(q8_softmax_columns) ? N(i8_softmax_columns) : NULL,
};
#undef I8_SOFTMAX_HALF
#undef I8_SOFTMAX_STEPS
