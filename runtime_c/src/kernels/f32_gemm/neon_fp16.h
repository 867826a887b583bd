// SPDX-License-Identifier: Apache-2.0
// Float product over float16 weights in float16 arithmetic: tiles up to 8x16, A by lane.
//
// A is processed in chunks of 32 terms. A power of two scales the largest magnitude of a row's
// chunk to [8, 16) before the elements are rounded to float16, so small elements keep their digits
// and large ones do not overflow. Sums of a chunk are float16; the total is float32. If it is not
// finite (weights too large for a chunk's sum, infinities, NaN), the element is recomputed by the
// float32 kernel. An element depends only on its row of A and its column of weights.

#define GEMM_NAME(name) N(f32_gemm_##name)
#include "kernels/f32_gemm/finish.h"

#define HALF_MR 8
#define HALF_NR 64
#define HALF_STEPS 32
#define HALF_TOP 3  // exponent of the largest magnitude of a chunk

// HALF_STEPS terms of up to eight rows of A; missing rows are zero.
struct N(f32_gemm_chunk) {
  uint16_t row[HALF_MR][HALF_STEPS];
  uint16_t step[HALF_STEPS][HALF_MR];  // the same, transposed; not filled for a single row
  float unit[HALF_MR];                 // the scale: value of 1.0
};

SMR_INLINE float16x8_t N(f32_gemm_halves)(const uint16_t *p) {
  return vreinterpretq_f16_u16(vld1q_u16(p));
}

SMR_INLINE const float *N(f32_gemm_row)(size_t i, size_t tap, const float *a,
                                        const float *const *pointers,
                                        const struct smr_f32_gemm_params *params) {
  if (!pointers) return a + i * params->a_stride;
  const float *p = pointers[i * params->taps + tap];
  if (p == params->zero) return p;
  return (const float *)(const void *)((const char *)p + params->a_offset_bytes);
}

// Scale HALF_STEPS floats and round to float16. Returns the value of 1.0.
SMR_INLINE float N(f32_gemm_narrow)(const float *x, uint16_t *out) {
  float32x4_t v[HALF_STEPS / 4];
  SMR_UNROLL for (size_t j = 0; j < HALF_STEPS / 4; j++) v[j] = N(load)(x + 4 * j);
  float32x4_t top[2] = {N(abs)(v[0]), N(abs)(v[1])};
  SMR_UNROLL for (size_t j = 2; j < HALF_STEPS / 4; j++) top[j % 2] =
      N(max)(top[j % 2], N(abs)(v[j]));
  const float most = N(reduce_max)(N(max)(top[0], top[1]));
  uint32_t bits;
  memcpy(&bits, &most, sizeof bits);
  // Exponents of scale and unit; both are normal numbers. Infinity and NaN are kept.
  uint32_t exponent = 2 * 127 + HALF_TOP - (bits >> 23);
  if (exponent > 253) exponent = 253;
  const uint32_t scale_bits = exponent << 23, unit_bits = (254 - exponent) << 23;
  float scale, unit;
  memcpy(&scale, &scale_bits, sizeof scale);
  memcpy(&unit, &unit_bits, sizeof unit);
  const float32x4_t s = N(set1)(scale);
  SMR_UNROLL for (size_t j = 0; j < HALF_STEPS / 4; j += 2) {
    const float16x4_t low = vcvt_f16_f32(N(mul)(v[j], s));
    const float16x8_t both = vcvt_high_f16_f32(low, N(mul)(v[j + 1], s));
    vst1q_u16(out + 4 * j, vreinterpretq_u16_f16(both));
  }
  return unit;
}

// Eight rows of eight elements, HALF_STEPS apart, to eight steps.
SMR_INLINE void N(f32_gemm_turn)(const uint16_t *row, uint16_t *step) {
  uint16x8_t v[8], w[8];
  SMR_UNROLL for (size_t i = 0; i < 8; i++) v[i] = vld1q_u16(row + i * HALF_STEPS);
  // Each pass interleaves rows i and i + 4; three passes transpose.
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    w[2 * i] = vzip1q_u16(v[i], v[i + 4]);
    w[2 * i + 1] = vzip2q_u16(v[i], v[i + 4]);
  }
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    v[2 * i] = vzip1q_u16(w[i], w[i + 4]);
    v[2 * i + 1] = vzip2q_u16(w[i], w[i + 4]);
  }
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    w[2 * i] = vzip1q_u16(v[i], v[i + 4]);
    w[2 * i + 1] = vzip2q_u16(v[i], v[i + 4]);
  }
  SMR_UNROLL for (size_t i = 0; i < 8; i++) vst1q_u16(step + 8 * i, w[i]);
}

// Load `count` <= HALF_STEPS terms, starting at step `c` of tap `tap`.
static void N(f32_gemm_fill)(size_t rows, size_t count, size_t tap, size_t c, const float *a,
                             const float *const *pointers, const struct smr_f32_gemm_params *params,
                             struct N(f32_gemm_chunk) * chunk) {
  const size_t k = params->k;
  for (size_t i = 0; i < rows; i++) {
    if (count == HALF_STEPS && k - c >= HALF_STEPS) {
      const float *x = N(f32_gemm_row)(i, tap, a, pointers, params) + c;
      chunk->unit[i] = N(f32_gemm_narrow)(x, chunk->row[i]);
      continue;
    }
    float part[HALF_STEPS] = {0};
    for (size_t done = 0, t = tap, from = c; done < count; t++, from = 0) {
      const size_t n = k - from < count - done ? k - from : count - done;
      memcpy(part + done, N(f32_gemm_row)(i, t, a, pointers, params) + from, n * sizeof(float));
      done += n;
    }
    chunk->unit[i] = N(f32_gemm_narrow)(part, chunk->row[i]);
  }
  if (rows == 1) return;
  SMR_UNROLL for (size_t j = 0; j < HALF_STEPS; j += 8) {
    N(f32_gemm_turn)(chunk->row[0] + j, chunk->step[j]);
  }
}

// Eight sums of a chunk, widened and added.
SMR_INLINE void N(f32_gemm_widen)(float16x8_t v, float unit, float *sums) {
  const float32x4_t low = vcvt_f32_f16(vget_low_f16(v)), high = vcvt_high_f32_f16(v);
  N(store)(sums, vfmaq_n_f32(N(load)(sums), low, unit));
  N(store)(sums + 4, vfmaq_n_f32(N(load)(sums + 4), high, unit));
}

// acc + b * lane `lane` of x. GCC 12 would copy or reload a lane that is used twice; lanes of
// halves must be in v0 to v15.
#if defined(__clang__)
#define HALF_MULTIPLY(acc, b, x, lane) acc = vfmaq_laneq_f16(acc, b, x, lane)
#else
#define HALF_MULTIPLY(acc, b, x, lane) \
  __asm__("fmla %0.8h, %1.8h, %2.h[" #lane "]" : "+w"(acc) : "w"(b), "x"(x))
#endif
#define HALF_ROW(i)                     \
  if (i < mr) {                         \
    HALF_MULTIPLY(acc[i][0], b0, x, i); \
    HALF_MULTIPLY(acc[i][1], b1, x, i); \
  }

// mr rows of a chunk times a panel, added to sums [mr][HALF_NR].
SMR_INLINE void N(f32_gemm_tile)(const size_t mr, size_t count,
                                 const struct N(f32_gemm_chunk) * chunk, const uint16_t *w,
                                 float *sums) {
  float16x8_t acc[HALF_MR][2];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) acc[i][0] = acc[i][1] = vdupq_n_f16(0);
  for (size_t s = 0; s < count; s++, w += SMR_PANEL) {
    const float16x8_t x = N(f32_gemm_halves)(chunk->step[s]);
    const float16x8_t b0 = N(f32_gemm_halves)(w), b1 = N(f32_gemm_halves)(w + 8);
    HALF_ROW(0)
    HALF_ROW(1)
    HALF_ROW(2)
    HALF_ROW(3)
    HALF_ROW(4)
    HALF_ROW(5)
    HALF_ROW(6)
    HALF_ROW(7)
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    N(f32_gemm_widen)(acc[i][0], chunk->unit[i], sums + i * HALF_NR);
    N(f32_gemm_widen)(acc[i][1], chunk->unit[i], sums + i * HALF_NR + 8);
  }
}

// One row times `panels` panels, `stride` elements apart.
SMR_INLINE void N(f32_gemm_line)(const size_t panels, size_t count,
                                 const struct N(f32_gemm_chunk) * chunk, const uint16_t *w,
                                 size_t stride, float *sums) {
  float16x8_t acc[HALF_NR / SMR_PANEL][2];
  SMR_UNROLL for (size_t p = 0; p < panels; p++) acc[p][0] = acc[p][1] = vdupq_n_f16(0);
  for (size_t s = 0; s < count; s++, w += SMR_PANEL) {
    const float16x8_t x = vreinterpretq_f16_u16(vld1q_dup_u16(&chunk->row[0][s]));
    SMR_UNROLL for (size_t p = 0; p < panels; p++) {
      acc[p][0] = vfmaq_f16(acc[p][0], N(f32_gemm_halves)(w + p * stride), x);
      acc[p][1] = vfmaq_f16(acc[p][1], N(f32_gemm_halves)(w + p * stride + 8), x);
    }
  }
  SMR_UNROLL for (size_t p = 0; p < panels; p++) {
    N(f32_gemm_widen)(acc[p][0], chunk->unit[0], sums + p * SMR_PANEL);
    N(f32_gemm_widen)(acc[p][1], chunk->unit[0], sums + p * SMR_PANEL + 8);
  }
}

static void N(f32_gemm_chunk_times)(size_t rows, size_t panels, size_t count,
                                    const struct N(f32_gemm_chunk) * chunk, const uint16_t *w,
                                    size_t stride, float *sums) {
  if (rows == 1 && panels == HALF_NR / SMR_PANEL) {
    N(f32_gemm_line)(HALF_NR / SMR_PANEL, count, chunk, w, stride, sums);
    return;
  }
  for (size_t p = 0; p < panels; p++, w += stride, sums += SMR_PANEL) {
    if (rows == 1) {
      N(f32_gemm_line)(1, count, chunk, w, stride, sums);
    } else if (rows <= 4) {
      N(f32_gemm_tile)(4, count, chunk, w, sums);
    } else if (rows <= 6) {
      N(f32_gemm_tile)(6, count, chunk, w, sums);
    } else {
      N(f32_gemm_tile)(8, count, chunk, w, sums);
    }
  }
}

// Whether all sums are finite.
static int N(f32_gemm_is_finite)(size_t rows, size_t padded, const float *sums) {
  float32x4_t zero[4] = {N(zero)(), N(zero)(), N(zero)(), N(zero)()};
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < padded; j += SMR_PANEL) {
      SMR_UNROLL for (size_t l = 0; l < 4; l++) {
        const float32x4_t v = N(load)(sums + i * HALF_NR + j + 4 * l);
        zero[l] = vfmaq_n_f32(zero[l], v, 0.0f);
      }
    }
  }
  const float32x4_t all = N(add)(N(add)(zero[0], zero[1]), N(add)(zero[2], zero[3]));
  return N(all)(N(eq)(all, all));
}

// Replace elements that are not finite by those of the float32 kernel.
static __attribute__((noinline)) void N(f32_gemm_repair)(size_t rows, size_t padded, const float *a,
                                                         const float *const *pointers,
                                                         const char *w, const float *bias,
                                                         float *sums,
                                                         const struct smr_f32_gemm_params *params) {
  struct smr_f32_gemm_params plain = *params;
  plain.out_type = SMR_GEMM_F32;
  plain.out_stride = SMR_PANEL;
  plain.lo = -INFINITY;
  plain.hi = INFINITY;
  for (size_t j = 0; j < padded; j += SMR_PANEL, w += params->panel_stride_bytes) {
    float again[HALF_MR * SMR_PANEL];
    smr_f32_gemm_kernel_f16w_neon(rows, SMR_PANEL, a, pointers, w, bias ? bias + j : NULL, again,
                                  NULL, &plain);
    for (size_t i = 0; i < rows; i++) {
      for (size_t l = 0; l < SMR_PANEL; l++) {
        float *sum = sums + i * HALF_NR + j + l;
        if (!(fabsf(*sum) <= FLT_MAX)) *sum = again[i * SMR_PANEL + l];
      }
    }
  }
}

// Store whole vectors of float32; the general code stores the rest.
static void N(f32_gemm_end)(size_t rows, size_t columns, const float *sums, void *out,
                            const void *residual, const struct smr_f32_gemm_params *params) {
  const float32x4_t lo = N(set1)(params->lo), hi = N(set1)(params->hi);
  const size_t whole = params->out_type == SMR_GEMM_F32 ? columns / VF * VF : 0;
  for (size_t i = 0; i < rows && whole; i++) {
    float *y = (float *)out + i * params->out_stride;
    const float *r = residual ? (const float *)residual + i * params->residual_stride : NULL;
    for (size_t j = 0; j < whole; j += VF) {
      float32x4_t v = N(load)(sums + i * HALF_NR + j);
      if (r) v = N(add)(v, N(load)(r + j));
      N(store)(y + j, N(clamp)(v, lo, hi));
    }
  }
  if (whole == columns) return;
  const size_t bytes = whole * sizeof(float);  // 0 if out is float16
  GEMM_NAME(finish)
  (rows, columns - whole, sums + whole, HALF_NR, (char *)out + bytes,
   residual ? (const char *)residual + bytes : NULL, params);
}

static void N(f32_gemm_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                    const float *const *indirect, const void *w, const float *bias,
                                    void *out, const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  const size_t panels = smr_panels(columns), padded = panels * SMR_PANEL;
  const size_t k = params->k, steps = k * params->taps;
  const size_t stride = params->panel_stride_bytes / sizeof(uint16_t);
  float sums[HALF_MR * HALF_NR];
  const size_t made = rows == 1 ? 1 : HALF_MR;
  for (size_t i = 0; i < made; i++) {
    for (size_t j = 0; j < padded; j += VF) {
      N(store)(sums + i * HALF_NR + j, bias ? N(load)(bias + j) : N(zero)());
    }
  }
  struct N(f32_gemm_chunk) chunk;
  for (size_t i = rows; i < made; i++) {
    memset(chunk.row[i], 0, sizeof chunk.row[i]);
    chunk.unit[i] = 0.0f;
  }
  const uint16_t *at = (const uint16_t *)w;
  for (size_t done = 0, tap = 0, c = 0; done < steps; done += HALF_STEPS) {
    const size_t count = steps - done < HALF_STEPS ? steps - done : HALF_STEPS;
    N(f32_gemm_fill)(rows, count, tap, c, a, indirect, params, &chunk);
    N(f32_gemm_chunk_times)(rows, panels, count, &chunk, at, stride, sums);
    at += count * SMR_PANEL;
    c += count;
    tap += c / k;
    c %= k;
  }
  if (!N(f32_gemm_is_finite)(rows, padded, sums)) {
    N(f32_gemm_repair)(rows, padded, a, indirect, (const char *)w, bias, sums, params);
  }
  N(f32_gemm_end)(rows, columns, sums, out, residual, params);
}

static void N(f32_gemm_gemv_kernel_f16w)(size_t rows, size_t columns, const float *a,
                                         const float *const *indirect, const void *w,
                                         const float *bias, void *out, const void *residual,
                                         const struct smr_f32_gemm_params *params) {
  const size_t bytes = params->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  for (size_t j = 0; j < columns; j += HALF_NR) {
    const size_t n = columns - j < HALF_NR ? columns - j : HALF_NR;
    N(f32_gemm_kernel_f16w)(rows, n, a, indirect,
                            (const char *)w + j / SMR_PANEL * params->panel_stride_bytes,
                            bias ? bias + j : NULL, (char *)out + j * bytes,
                            residual ? (const char *)residual + j * bytes : NULL, params);
  }
}

// float32 weights use the kernels of NEON.
static const struct smr_f32_gemm_config N(f32_gemm_config) = {
    .isa = SMR_SIMD_NAME,
    .mr = HALF_MR,
    .nr = {SMR_PANEL, HALF_NR},
    .ukernel = {SMR_HAS(f32_gemm) ? smr_f32_gemm_kernel_neon : NULL,
                GEMM_IN(f32_gemm_f16w, f32_gemm_kernel_f16w)},
    .gemv = {SMR_HAS(f32_gemv) ? smr_f32_gemm_gemv_kernel_neon : NULL,
             GEMM_IN(f32_gemv_f16w, f32_gemm_gemv_kernel_f16w), NULL,
             SMR_HAS(f32_gemv_s8) ? smr_f32_gemm_gemv_kernel_s8_neon : NULL},
    .gemv_nr = {SMR_PANEL, HALF_NR, 0, SMR_PANEL},
    .names = {"f32_gemm_8x16__neon", "f32_gemm_8x64_f16w__" SMR_SIMD_NAME},
    .gemv_names = {"f32_gemm_gemv__neon", "f32_gemm_gemv_f16w__" SMR_SIMD_NAME, NULL,
                   "f32_gemm_gemv_s8__neon"},
    .unfold_s8 = SMR_HAS(f32_gemv_s8) ? smr_f32_gemm_unfold_s8_neon : NULL,
    .plain = &smr_f32_gemm_config_neon,
};

#undef HALF_MR
#undef HALF_NR
#undef HALF_STEPS
#undef HALF_TOP
#undef HALF_MULTIPLY
#undef HALF_ROW
#undef GEMM_NAME
