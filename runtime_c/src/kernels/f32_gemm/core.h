// SPDX-License-Identifier: Apache-2.0
// The register tile of the float product, for ISAs that broadcast an element of A from memory.
//
// Written once over the simd vocabulary. Row and vector counts are constants at every call, so
// loops marked SMR_UNROLL vanish and the arrays are in registers. GEMM_NAME(x) names the functions
// of the including file.
#include <math.h>

#include "kernels/f32_gemm/finish.h"

// How A is addressed: rows computed or read as pointers per tap; or a pointer per row and a table
// of offsets per k.
#define GEMM_ROWS 0
#define GEMM_OFFSETS 1
#define GEMM_STRIDED \
  2  // computed rows only, one pointer per three rows: for tiles with more rows than registers

// For WebAssembly: whole tiles add a residual in registers, and the rows of a step come one after
// the other (f32_gemm/v128.h). clang would first load the elements of all rows.
#if defined(SMR_SIMD_WASM)
#define GEMM_ADDS 1
#define GEMM_IN_ORDER(sums) __asm__ volatile("" : "+r"((sums)[0]), "+r"((sums)[1]) : : "memory")
#else
#define GEMM_ADDS 0
#define GEMM_IN_ORDER(sums)
#endif

// Steps of tall tiles that share addresses, for WebAssembly: engines compute an address per row in
// each step otherwise, and check in each whether to stop.
#if defined(SMR_SIMD_WASM)
#if defined(SMR_SIMD_RELAXED)
#define GEMM_TALL 5
#else
#define GEMM_TALL 4
#endif
#define GEMM_STEPS(mr, half, f16, mode) \
  ((mr) >= GEMM_TALL && !(half) && !(f16) && (mode) == GEMM_ROWS ? 4 : 1)
#else
#define GEMM_STEPS(mr, half, f16, mode) 1
#endif

#define GEMM_MAX_MR 14
#define GEMM_MAX_NV 3
#define GEMM_PANEL_VECTORS (SMR_PANEL / VF)

// Byte offset of vector j of a row of weights. Panels are `stride` bytes apart.
SMR_INLINE size_t GEMM_NAME(column)(size_t j, size_t stride, size_t element_bytes) {
  return j / GEMM_PANEL_VECTORS * stride + j % GEMM_PANEL_VECTORS * VF * element_bytes;
}

// The end of a tile. For the arguments see GEMM_NAME(tile).
SMR_INLINE void GEMM_NAME(tile_end)(const size_t mr, const size_t nv, const int half,
                                    const int exact, size_t rows, size_t columns,
                                    N(vf) (*acc)[GEMM_MAX_NV], N(hf) * acc_half, void *out,
                                    const void *residual,
                                    const struct smr_f32_gemm_params *params) {
  // A whole tile is stored directly; other tiles are finished from a copy of the sums.
  const size_t width = nv * VF + (half ? VF / 2 : 0);
  const int whole = (GEMM_ADDS || !residual) && params->out_type == SMR_GEMM_F32 &&
                    columns == width && (exact || rows == mr);
  float sums[GEMM_MAX_MR * GEMM_MAX_NV * VF + VF];
  float *p = whole ? (float *)out : sums;
  const size_t out_stride = whole ? params->out_stride : width;
  if (GEMM_ADDS && whole && residual) {
    const float *r = (const float *)residual;
    SMR_UNROLL for (size_t i = 0; i < mr; i++, r += params->residual_stride) {
      SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(add)(acc[i][j], N(load)(r + j * VF));
    }
  }
  // Skip infinite limits: on some cores min and max compete with the multiply-adds.
  if (whole && params->lo != -INFINITY) {
    const N(vf) lo = N(set1)(params->lo);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(max)(lo, acc[i][j]);
      if (half) acc_half[i] = N(hmax)(N(hlow)(lo), acc_half[i]);
    }
  }
  if (whole && params->hi != INFINITY) {
    const N(vf) hi = N(set1)(params->hi);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(min)(hi, acc[i][j]);
      if (half) acc_half[i] = N(hmin)(N(hlow)(hi), acc_half[i]);
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv; j++) N(store)(p + j * VF, acc[i][j]);
    if (half) N(hstore)(p + nv * VF, acc_half[i]);
    p += out_stride;
  }
  if (!whole) GEMM_NAME(finish)(exact ? mr : rows, columns, sums, width, out, residual, params);
}

// Step s of some that share addresses: x[i] is row i of A, `w` the weights of the first.
SMR_INLINE void GEMM_NAME(shared_step)(const size_t mr, const size_t nv, const size_t s,
                                       const float *const *x, const float *w, size_t stride,
                                       N(vf) (*acc)[GEMM_MAX_NV]) {
  N(vf) b[GEMM_MAX_NV];
  SMR_UNROLL for (size_t j = 0; j < nv; j++) {
    b[j] = N(load)(w + s * SMR_PANEL + GEMM_NAME(column)(j, stride, sizeof *w) / sizeof *w);
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    const N(vf) a = N(set1)(x[i][s]);
    SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(fma)(a, b[j], acc[i][j]);
    GEMM_IN_ORDER(acc[i]);
  }
}

// A tile of mr rows by nv vectors (and half a vector). Unless `exact`, only rows <= mr rows exist;
// the others repeat the last. `columns` columns are stored. GEMM_ROWS: `a`, or `pointers`
// [rows][taps]; GEMM_OFFSETS: `pointers` [mr] and `offsets` [k]; GEMM_STRIDED: `a`, exact.
SMR_INLINE void GEMM_NAME(tile)(const size_t mr, const size_t nv, const int half, const int f16,
                                const int mode, const int exact, size_t rows, size_t columns,
                                const float *a, const float *const *pointers,
                                const int32_t *offsets, const void *w, const float *bias, void *out,
                                const void *residual, const struct smr_f32_gemm_params *params) {
  N(vf) acc[GEMM_MAX_MR][GEMM_MAX_NV];
  N(hf) acc_half[GEMM_MAX_MR];
  const float *row[GEMM_MAX_MR], *base[GEMM_MAX_MR / 3 + 1];
  const size_t bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  const size_t stride = params->panel_stride_bytes, k = params->k;
  const int indirect = mode == GEMM_ROWS && SMR_HAS(f32_gemm_indirect);
  const size_t taps = indirect ? params->taps : 1, a_stride = params->a_stride;
  const char *wp = (const char *)w;

  SMR_UNROLL for (size_t j = 0; j < nv; j++) {
    const N(vf) b = bias ? N(load)(bias + j * VF) : N(zero)();
    SMR_UNROLL for (size_t i = 0; i < mr; i++) acc[i][j] = b;
  }
  if (half) {
    const N(hf) b = bias ? N(hload)(bias + nv * VF) : N(hset1)(0.0f);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) acc_half[i] = b;
  }

  for (size_t tap = 0; tap < taps; tap++) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      if (mode == GEMM_STRIDED) {
        if (i % 3 == 0) base[i / 3] = a + i * a_stride;
        continue;
      }
      const size_t real = exact || i < rows ? i : rows - 1;
      if (mode == GEMM_OFFSETS) {
        row[i] = pointers[i];
      } else if (indirect && pointers) {
        const float *p = pointers[real * taps + tap];
        row[i] = p == params->zero
                     ? p
                     : (const float *)(const void *)((const char *)p + params->a_offset_bytes);
      } else {
        row[i] = a + real * a_stride;
      }
    }
    size_t c = 0;
    const size_t steps = GEMM_STEPS(mr, half, f16, mode);
    for (; steps > 1 && c + steps <= k; c += steps) {
      const float *x[GEMM_MAX_MR];
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        x[i] = row[i] + c;
        SMR_OPAQUE(x[i]);
      }
      SMR_OPAQUE(wp);
      SMR_UNROLL for (size_t s = 0; s < steps; s++) {
        GEMM_NAME(shared_step)(mr, nv, s, x, (const float *)(const void *)wp, stride, acc);
      }
      wp += steps * SMR_PANEL * bytes;
    }
    for (; c < k; c++) {
      N(vf) b[GEMM_MAX_NV];
      N(hf) b_half;
      SMR_UNROLL for (size_t j = 0; j < nv; j++) {
        const void *p = wp + GEMM_NAME(column)(j, stride, bytes);
        b[j] = f16 ? N(load_f16)((const uint16_t *)p) : N(load)((const float *)p);
      }
      if (half) {
        const void *p = wp + GEMM_NAME(column)(nv, stride, bytes);
        b_half = f16 ? N(hload_f16)((const uint16_t *)p) : N(hload)((const float *)p);
      }
      wp += SMR_PANEL * bytes;
      const ptrdiff_t at = mode == GEMM_OFFSETS ? (ptrdiff_t)offsets[c] : (ptrdiff_t)c;
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        if (mode == GEMM_STRIDED && i % 3 == 0) SMR_OPAQUE(base[i / 3]);
        const N(vf) x = N(set1)(mode == GEMM_STRIDED ? base[i / 3][i % 3 * a_stride] : row[i][at]);
        SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(fma)(x, b[j], acc[i][j]);
        if (half) acc_half[i] = N(hfma)(N(hlow)(x), b_half, acc_half[i]);
        GEMM_IN_ORDER(acc[i]);
        if (mode == GEMM_STRIDED && (i % 3 == 2 || i + 1 == mr)) base[i / 3]++;
      }
    }
  }

  GEMM_NAME(tile_end)
  (mr, nv, half, exact, rows, columns, acc, acc_half, out, residual, params);
}

// One instance over rows of A, with the signature of a micro-kernel: mr rows, nv vectors,
// optionally half a vector more; if exact, rows == mr.
typedef smr_f32_gemm_ukernel GEMM_NAME(tile_function);
#define GEMM_TILE(name, mr, nv, half, f16, exact)                                             \
  static void GEMM_NAME(name)(size_t rows, size_t columns, const float *a,                    \
                              const float *const *indirect, const void *w, const float *bias, \
                              void *out, const void *residual,                                \
                              const struct smr_f32_gemm_params *params) {                     \
    GEMM_NAME(tile)(mr, nv, half, f16, GEMM_ROWS, exact, rows, columns, a, indirect, NULL, w, \
                    bias, out, residual, params);                                             \
  }

// One tall instance, direct and exact.
#define GEMM_TILE_STRIDED(name, mr, nv)                                                            \
  static void GEMM_NAME(name)(size_t rows, size_t columns, const float *a,                         \
                              const float *const *indirect, const void *w, const float *bias,      \
                              void *out, const void *residual,                                     \
                              const struct smr_f32_gemm_params *params) {                          \
    GEMM_NAME(tile)(mr, nv, 0, 0, GEMM_STRIDED, 1, rows, columns, a, indirect, NULL, w, bias, out, \
                    residual, params);                                                             \
  }

// One instance over a table of offsets.
#define GEMM_TILE_OFFSETS(name, mr, nv, half, f16)                                                 \
  static void GEMM_NAME(name)(size_t rows, size_t columns, const float *const *rows_a,             \
                              const int32_t *offsets, const void *w, const float *bias, void *out, \
                              const void *residual, const struct smr_f32_gemm_params *params) {    \
    GEMM_NAME(tile)(mr, nv, half, f16, GEMM_OFFSETS, 0, rows, columns, NULL, rows_a, offsets, w,   \
                    bias, out, residual, params);                                                  \
  }
