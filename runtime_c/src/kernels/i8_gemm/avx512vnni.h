// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX-512 VNNI: tiles up to 8x32 of dot products of four bytes.

#define I8_NAME(name) N(i8_gemm_##name)
#define I8_GEMM_PITCH SMR_I8_GEMM_PITCH_BYTES
#include "kernels/i8_gemm/vnni_common.h"

// acc[0 .. nv] += per lane, the four products of the unsigned bytes at `p` + `at` and the signed
// b[0 .. nv]. In assembly: with intrinsics GCC 12 moves accumulators around, and otherwise it makes
// a pointer per row of rows that share an offset.
SMR_INLINE void N(i8_gemm_dot)(const size_t nv, __m512i *acc, const uint8_t *p, size_t at,
                               const __m512i *b) {
  const uint8_t (*four)[4] = (const uint8_t (*)[4])(const void *)(p + at);
  __m512i a;
  if (nv == 1) {
    __asm__("vpbroadcastd (%2,%3), %1\n\tvpdpbusd %4, %1, %0"
            : "+v"(acc[0]), "=&v"(a)
            : "r"(p), "r"(at), "v"(b[0]), "m"(*four));
  } else {
    __asm__("vpbroadcastd (%3,%4), %2\n\tvpdpbusd %5, %2, %0\n\tvpdpbusd %6, %2, %1"
            : "+v"(acc[0]), "+v"(acc[1]), "=&v"(a)
            : "r"(p), "r"(at), "v"(b[0]), "v"(b[1]), "m"(*four));
  }
}

// Convert the finished rows of a tile's panel to bytes, from `out` on, without storing sums in
// between (noticeable for short sums).
SMR_INLINE void N(i8_gemm_panel_out)(const size_t mr, const __m512i *acc,
                                     const struct smr_i8_gemm_direct *to, size_t column,
                                     size_t columns) {
  const __m512 multiplier = N(load)(to->multiplier + column);
  const __mmask16 mask = N(mask_n)(columns - column < 16 ? columns - column : 16);
  int8_t *out = to->out + column;
  SMR_UNROLL for (size_t i = 0; i < mr; i++, out += to->out_stride)
      N(i8_gemm_bytes_out)(acc[i], multiplier, to, mask, out);
}

// Bytes of a panel to prefetch ahead: weights come from L3 or memory, and the hardware prefetcher
// stops at the end of a page.
enum { N(i8_gemm_ahead) = 4096 };

// Products of mr rows and nv panels at `w`, added to acc.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const size_t nv,
                                const struct smr_i8_gemm_rows *call, const uint8_t *const *from,
                                const int8_t *w, __m512i (*acc)[2]) {
  const uint8_t *rows[8];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) rows[i] = from[i];
  const size_t *taps = call->taps, *end = taps + call->tap_count;
  const size_t tap_bytes = call->groups * SMR_I8_GROUP, stride = call->panel_stride_bytes;
  for (; taps != end; taps++) {
    const size_t last = *taps + tap_bytes;
    for (size_t at = *taps; at != last; at += SMR_I8_GROUP) {
      __m512i b[2];
      SMR_UNROLL for (size_t j = 0; j < nv; j++) b[j] = _mm512_loadu_si512(w + j * stride);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) N(i8_gemm_dot)(nv, acc[i], rows[i], at, b);
      SMR_UNROLL for (size_t j = 0; j < nv; j++) {
        _mm_prefetch((const char *)(w + j * stride) + N(i8_gemm_ahead), _MM_HINT_T0);
      }
      w += SMR_I8_GROUP * SMR_I8_PANEL;
    }
  }
}

// Pairs of panels, then a single one. The tallest tile can write output directly, tile after tile,
// so that the conversion of one tile overlaps the products of the next. Only the products are
// duplicated in code: the second panel of a pair replaces the first.
SMR_INLINE size_t N(i8_gemm_rows)(const size_t mr, const struct smr_i8_gemm_rows *call) {
  const bool direct = mr == 8 && call->direct != NULL;
  // A local copy: for the compiler, stored bytes might alias the parameters.
  struct smr_i8_gemm_direct to = {.out = NULL};
  if (direct) to = *call->direct;
  const uint8_t *const *rows = call->rows, *const *end = rows + (direct ? call->tiles * mr : 1);
  const size_t columns = call->columns;
  for (; rows < end; rows += mr) {
    const int8_t *w = call->w;
    for (size_t column = 0; column < columns; w += 2 * call->panel_stride_bytes) {
      const bool pair = column + SMR_I8_PANEL < columns;
      const int32_t *from = call->from + column;
      __m512i acc[8][2];
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        acc[i][0] = N(iload)(from);
        acc[i][1] = N(iload)(from + (pair ? SMR_I8_PANEL : 0));
        from += call->from_stride;
      }
      if (pair)
        N(i8_gemm_tile)(mr, 2, call, rows, w, acc);
      else
        N(i8_gemm_tile)(mr, 1, call, rows, w, acc);
      if (direct && columns - column >= 2 * SMR_I8_PANEL && N(i8_gemm_below_1)(&to, column)) {
        const struct N(i8_gemm_packing) packing = N(i8_gemm_packing)(&to, column);
        int8_t *out = to.out + column;
        SMR_UNROLL for (size_t i = 0; i < mr / 2 * 2; i += 2, out += 2 * to.out_stride)
            N(i8_gemm_two_rows_out)(&acc[i], &packing, out, to.out_stride);
        column += 2 * SMR_I8_PANEL;
        continue;
      }
      for (size_t left = pair ? 2 : 1; left > 0; left--, column += SMR_I8_PANEL) {
        __m512i sums[8];
        SMR_UNROLL for (size_t i = 0; i < mr; i++) {
          sums[i] = acc[i][0];
          acc[i][0] = acc[i][1];
        }
        if (direct) {
          N(i8_gemm_panel_out)(mr, sums, &to, column, columns);
        } else {
          SMR_UNROLL for (size_t i = 0; i < mr; i++) {
            N(istore)(call->sums + column + i * SMR_I8_GEMM_SUMS, sums[i]);
          }
        }
      }
    }
    if (direct) to.out += mr * to.out_stride;
  }
  return direct ? columns : 0;
}

static size_t N(i8_gemm_rows_8)(const struct smr_i8_gemm_rows *call) {
  return N(i8_gemm_rows)(8, call);
}
static size_t N(i8_gemm_rows_4)(const struct smr_i8_gemm_rows *call) {
  return N(i8_gemm_rows)(4, call);
}

static size_t N(i8_gemm_rows_1)(const struct smr_i8_gemm_rows *call) {
  return N(i8_gemm_row)(call, call->rows[0]);
}

static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {
    {8, 6, N(i8_gemm_rows_8)}, {4, 2, N(i8_gemm_rows_4)}, {1, 1, N(i8_gemm_rows_1)}};

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = 1,
    .woven = 1,
    .in_place = true,
    .gather = SMR_HAS(i8_gemm_windows) ? N(i8_gemm_gather) : NULL,
    .fills = true,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_avx512,
    .stage = N(i8_gemm_stage),
};
I8_GEMM_CONFIG(8, 96, 128);
#undef I8_NAME
