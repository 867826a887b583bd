// SPDX-License-Identifier: Apache-2.0
// Exact float products over the vocabulary. A panel's 16 columns are SETS vectors. The 16 partial
// sums of each column are computed a few at a time, so that they stay in registers: partial p adds
// the terms p, p + 16 ... Then the sums are added as vectors.

#define PARTIALS 16
#define SETS (SMR_PANEL / VF)
#define MOST 8        // rows of a tile: 8 KB of sums
#define PART 256      // terms of a part: 16 KB of a panel; a multiple of PARTIALS
#define HALF_PART 64  // of float16
#if VF == 1           // arrays in memory: unrolled, portable C would be large and no faster
#define EACH(i, count) for (size_t i = 0; i < (count); i++)
#else
#define EACH(i, count) SMR_UNROLL for (size_t i = 0; i < (count); i++)
#endif

// The first `n` terms of partials [first, first + count) of `rows` rows of A by a part of a panel,
// in sums[row][partial][16]; `more`: added to what is there. `rows` and `count` are constants.
SMR_INLINE void N(f32_gemm_exact_partials)(const size_t rows, const size_t count, size_t first,
                                           int more, size_t n, const float *a, size_t a_stride,
                                           const float *w, float (*sums)[PARTIALS][SMR_PANEL]) {
  N(vf) acc[2][4][SETS];  // `rows` and `count` of them are used
  EACH(r, rows)
  EACH(p, count)
  EACH(v, SETS) acc[r][p][v] = more ? N(load)(sums[r][first + p] + v * VF) : N(zero)();
  for (size_t c = first; c < n; c += PARTIALS) {
    EACH(p, count) {
      if (c + p >= n) break;  // the last terms, fewer than `count`
      EACH(v, SETS) {
        const N(vf) b = N(load)(w + (c + p) * SMR_PANEL + v * VF);
        EACH(r, rows)
        acc[r][p][v] = N(add)(N(mul)(N(set1)(a[r * a_stride + c + p]), b), acc[r][p][v]);
      }
    }
  }
  EACH(r, rows) EACH(p, count) EACH(v, SETS) N(store)(sums[r][first + p] + v * VF, acc[r][p][v]);
}

// The end of a row by one panel: the tree, bias, residual, clamp, conversion.
static __attribute__((noinline)) void N(f32_gemm_exact_finish)(
    float (*sums)[SMR_PANEL], size_t columns, const float *bias, void *out, const void *residual,
    const struct smr_f32_gemm_params *params) {
  const int is_f16 = SMR_HAS(type_float16) && params->out_type == SMR_GEMM_F16;
  for (size_t half = PARTIALS / 2; half > 0; half /= 2)
    for (size_t p = 0; p < half; p++) EACH(v, SETS)
  N(store)(sums[p] + v * VF, N(add)(N(load)(sums[p] + v * VF), N(load)(sums[p + half] + v * VF)));
  const N(vf) lo = N(set1)(params->lo), hi = N(set1)(params->hi);
  for (size_t j = 0; j < columns; j += VF) {
    const size_t n = columns - j < VF ? columns - j : VF;
    N(vf) y = N(load)(sums[0] + j);
    if (bias) y = N(add)(y, N(load)(bias + j));
    if (residual)
      y = N(add)(y, is_f16 ? N(load_f16_n)((const uint16_t *)residual + j, n)
                           : N(load_n)((const float *)residual + j, n));
    y = N(select)(N(lt)(y, lo), lo, y);
    y = N(select)(N(gt)(y, hi), hi, y);
    if (is_f16)
      N(store_f16_n)((uint16_t *)out + j, y, n);
    else
      N(store_n)((float *)out + j, y, n);
  }
}

// Rows and partial sums that registers hold together, and partial sums of a single row.
#if VF == 1
#define ROWS 1
#define TOGETHER 1
#define ALONE 1
#else
#define ROWS 2
#define TOGETHER 2
#define ALONE 4
#endif

// Up to MOST rows by one panel. All of them read a part of the panel while it is in L1; float16 is
// widened first.
SMR_INLINE void N(f32_gemm_exact_panel)(int f16, size_t rows, const float *a, size_t a_stride,
                                        size_t k, const void *panel,
                                        float (*sums)[PARTIALS][SMR_PANEL]) {
  float wide[HALF_PART * SMR_PANEL];
  const size_t most = f16 ? HALF_PART : PART;
  size_t begin = 0;
  do {
    const size_t n = k - begin < most ? k - begin : most;
    const float *w = (const float *)panel + begin * SMR_PANEL;
    if (f16) {
      const uint16_t *half = (const uint16_t *)panel + begin * SMR_PANEL;
      for (size_t i = 0; i < n * SMR_PANEL; i += VF) N(store)(wide + i, N(load_f16)(half + i));
      w = wide;
    }
    size_t r = 0;
    for (; ROWS > 1 && r + ROWS <= rows; r += ROWS)
      for (size_t first = 0; first < PARTIALS; first += TOGETHER)
        N(f32_gemm_exact_partials)(ROWS, TOGETHER, first, begin > 0, n, a + r * a_stride + begin,
                                   a_stride, w, sums + r);
    for (; r < rows; r++)
      for (size_t first = 0; first < PARTIALS; first += ALONE)
        N(f32_gemm_exact_partials)(1, ALONE, first, begin > 0, n, a + r * a_stride + begin,
                                   a_stride, w, sums + r);
    begin += n;
  } while (begin < k);
}

static __attribute__((noinline)) void N(f32_gemm_exact_tile)(
    int f16, size_t rows, size_t columns, const float *a, const void *w, const float *bias,
    void *out, const void *residual, const struct smr_f32_gemm_params *params) {
  const size_t out_bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += SMR_PANEL) {
    float sums[MOST][PARTIALS][SMR_PANEL];
    const size_t n = columns - j < SMR_PANEL ? columns - j : SMR_PANEL;
    const void *panel = (const char *)w + j / SMR_PANEL * params->panel_stride_bytes;
    N(f32_gemm_exact_panel)(f16, rows, a, params->a_stride, params->k, panel, sums);
    for (size_t r = 0; r < rows; r++)
      N(f32_gemm_exact_finish)(
          sums[r], n, bias ? bias + j : NULL,
          (char *)out + (r * params->out_stride + j) * out_bytes,
          residual ? (const char *)residual + (r * params->residual_stride + j) * out_bytes : NULL,
          params);
  }
}

static void N(f32_gemm_exact_kernel)(size_t rows, size_t columns, const float *a,
                                     const float *const *indirect, const void *w, const float *bias,
                                     void *out, const void *residual,
                                     const struct smr_f32_gemm_params *params) {
  (void)indirect;
  N(f32_gemm_exact_tile)(0, rows, columns, a, w, bias, out, residual, params);
}

static void N(f32_gemm_exact_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                          const float *const *indirect, const void *w,
                                          const float *bias, void *out, const void *residual,
                                          const struct smr_f32_gemm_params *params) {
  (void)indirect;
  N(f32_gemm_exact_tile)(1, rows, columns, a, w, bias, out, residual, params);
}

#define EXACT_KERNELS                                         \
  {SMR_HAS(f32_gemm_exact) ? N(f32_gemm_exact_kernel) : NULL, \
   SMR_HAS(f32_gemm_exact_f16w) ? N(f32_gemm_exact_kernel_f16w) : NULL}
static const struct smr_f32_gemm_config N(f32_gemm_exact_config) = {
    .isa = SMR_SIMD_NAME,
    .mr = MOST,
    .nr = {SMR_PANEL, SMR_PANEL},
    .ukernel = EXACT_KERNELS,
    .gemv = EXACT_KERNELS,
    .gemv_nr = {SMR_PANEL, SMR_PANEL},
    .names = {"f32_gemm_exact__" SMR_SIMD_NAME, "f32_gemm_exact_f16w__" SMR_SIMD_NAME},
    .gemv_names = {"f32_gemm_exact_gemv__" SMR_SIMD_NAME,
                   "f32_gemm_exact_gemv_f16w__" SMR_SIMD_NAME},
};
#undef EXACT_KERNELS
#undef ALONE
#undef TOGETHER
#undef ROWS
#undef EACH
#undef HALF_PART
#undef PART
#undef MOST
#undef SETS
#undef PARTIALS
