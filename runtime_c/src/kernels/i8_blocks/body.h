// SPDX-License-Identifier: Apache-2.0
// The products in blocks, once over the vocabulary. An instruction set's file defines
//
//   BLOCKS_ROWS, BLOCKS_VECTORS   rows and vectors of columns of a tile of several rows
//   BLOCKS_ROW_VECTORS            vectors of columns of a tile of a single row: the whole panel, so
//                                 that the weights are read as one stream
//   BLOCKS_SHIFT_8                what it adds to weights of 8 bits: 0 or 128
//   N(blocks_sum_4)(mr, nv, masks, w, x, stride, sums)
//                                 adds 32 rows of a panel of 4 bits to sums[mr][nv]; `w` and `x`
//                                 are the first of them
//   N(blocks_sum_8)(mr, nv, groups, w, x, stride, sums)
//                                 adds `groups` groups of four rows of a panel of 8 bits

#define BLOCKS_V (SMR_NARROW_COLUMNS / VF)
#define BLOCKS_GROUP_BYTES 64     // [16][4]
#define BLOCKS_GROUP_4_BYTES 256  // 32 rows

// Bits of weights of 4 bits: those flipped before they are read as numbers from 0 to 15, and those
// used of either half of a byte.
struct N(blocks_masks) {
  N(vi) flip, low, high;
};

#if defined(SMR_SIMD_AVX512VNNI)
#include "kernels/i8_blocks/avx512vnni.h"
#elif defined(SMR_SIMD_AVX2)
#include "kernels/i8_blocks/avx2.h"
#elif defined(SMR_SIMD_NEON_I8MM)
#include "kernels/i8_blocks/neon_i8mm.h"
#elif defined(SMR_SIMD_NEON_DOT)
#include "kernels/i8_blocks/neon_dot.h"
#elif defined(SMR_SIMD_NEON)
#include "kernels/i8_blocks/neon.h"
#elif defined(SMR_SIMD_V128)
#include "kernels/i8_blocks/v128.h"
#else
#include "kernels/i8_blocks/scalar.h"
#endif

// Without vectors, reading a float16 takes many instructions.
#if VF == 1
#define BLOCKS_LOADS SMR_APART
#else
#define BLOCKS_LOADS SMR_INLINE
#endif
BLOCKS_LOADS N(vi) N(blocks_zero)(const uint16_t *p) { return N(to_int)(N(load_f16)(p)); }
BLOCKS_LOADS N(vf) N(blocks_scale)(const struct smr_f32_narrow_panel *p, size_t at) {
  return p->scales_are_f16 ? N(load_f16)((const uint16_t *)p->scales + at)
                           : N(load)((const float *)p->scales + at);
}

// Writes rows [row, row + rows) and columns [first, first + columns) of the output.
static __attribute__((noinline)) void N(blocks_finish)(const struct smr_i8_blocks_call *call,
                                                       size_t row, size_t rows, size_t first,
                                                       size_t columns, bool whole,
                                                       const float *sums) {
  const N(vf) lo = N(set1)(call->lo), hi = N(set1)(call->hi);
  const size_t end = call->columns < first + columns ? call->columns : first + columns;
  for (size_t i = 0; i < rows; i++) {
    const N(vf) scale = N(set1)(whole ? 1.0f : call->row_scale[row + i]);
    for (size_t j = first; j < end; j += VF) {
      N(vf) y = N(mul)(N(load)(sums + i * SMR_NARROW_COLUMNS + j - first), scale);
      // Without a bias, do not add 0: that would turn -0 into 0.
      if (call->bias != NULL) y = N(add)(y, N(load)(call->bias + j));
      y = N(clamp)(y, lo, hi);
      float *out = call->out + (row + i) * call->out_stride + j;
      if (end - j < VF)
        N(store_n)(out, y, end - j);
      else
        N(store)(out, y);
    }
  }
}

// mr rows by nv vectors of columns from v0 on.
SMR_INLINE void N(blocks_tile)(const int bits, const size_t mr, const size_t nv,
                               const struct smr_i8_blocks_call *call, size_t row, size_t v0) {
  const struct smr_f32_narrow_panel *p = &call->panel;
  const size_t stride = call->x_stride, block = p->block;
  const int8_t *x = call->x + row * stride;
  const int32_t *less = call->x_less + row * call->less_stride;
  const char *w = (const char *)p->w + v0 * VF * 4;
  size_t at = v0 * VF;  // in scales and zero points
  // Blocks of 16 rows are the halves of the bytes of 32 rows.
  const bool halved = bits == 4 && block < SMR_NARROW_ROWS_4;
  const int32_t flip = call->type == SMR_NARROW_I4 ? (int32_t)0x88888888 : 0;
  const N(vi) nibbles = N(iset1)(0x0f0f0f0f);
  struct N(blocks_masks) masks = {N(iset1)(flip), nibbles, halved ? N(izero)() : nibbles};
  bool second = false;  // half
  // A scale per column is multiplied with that of the row first. Adding to -0 changes nothing.
  const bool whole = bits == 8 && call->whole;
  const float empty = whole && p->rows > 0 ? -0.0f : 0.0f;
  N(vf) total[BLOCKS_ROWS][BLOCKS_V];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) total[i][v] = N(set1)(empty);
  }
  for (size_t left = p->rows; left > 0; at += SMR_NARROW_COLUMNS, less++) {
    const size_t rows = left < block ? left : block;
    left -= rows;
    N(vi) sums[BLOCKS_ROWS][BLOCKS_V];
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      const N(vi) start = N(iset1)(less[i * call->less_stride]);
      SMR_UNROLL for (size_t v = 0; v < nv; v++) sums[i][v] = start;
    }
    if (p->zeros != NULL) {
      SMR_UNROLL for (size_t v = 0; v < nv; v++) {
        const N(vi) zero = N(blocks_zero)(p->zeros + at + v * VF);
        const N(vi) by = N(iadd)(zero, N(iset1)(call->shift));
        SMR_UNROLL for (size_t i = 0; i < mr; i++) sums[i][v] = N(imul)(sums[i][v], by);
      }
    }
    if (bits == 8) {
      const size_t groups = (rows + SMR_NARROW_ROWS_8 - 1) / SMR_NARROW_ROWS_8;
      N(blocks_sum_8)(mr, nv, groups, w, x, stride, sums);
      w += groups * BLOCKS_GROUP_BYTES;
      x += rows;
    } else {
      for (size_t r = 0; r < rows; r += SMR_NARROW_ROWS_4) {
        N(blocks_sum_4)(mr, nv, &masks, w, x, stride, sums);
        w += BLOCKS_GROUP_4_BYTES;
        x += SMR_NARROW_ROWS_4;
      }
      if (halved) {
        w -= second ? 0 : BLOCKS_GROUP_4_BYTES;
        x -= second ? 0 : SMR_NARROW_ROWS_4;
        second = !second;
        const N(vi) low = masks.low;
        masks.low = masks.high;
        masks.high = low;
      }
    }
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      const N(vf) scale = N(blocks_scale)(p, at + v * VF);
      SMR_UNROLL for (size_t i = 0; i < mr; i++) {
        N(vf) by = scale;
        if (bits == 8) by = N(mul)(N(set1)(whole ? call->row_scale[row + i] : 1.0f), by);
        total[i][v] = N(add)(total[i][v], N(mul)(N(to_float)(sums[i][v]), by));
      }
    }
  }
  float sums[BLOCKS_ROWS * SMR_NARROW_COLUMNS];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t v = 0; v < nv; v++) {
      N(store)(sums + i * SMR_NARROW_COLUMNS + v * VF, total[i][v]);
    }
  }
  N(blocks_finish)(call, row, mr, v0 * VF, nv * VF, whole, sums);
}

SMR_INLINE void N(blocks_rows)(const int bits, const struct smr_i8_blocks_call *call, size_t rows) {
  size_t row = 0;
  for (; row + BLOCKS_ROWS <= rows; row += BLOCKS_ROWS) {
    for (size_t v = 0; v * VF < call->columns; v += BLOCKS_VECTORS)
      N(blocks_tile)(bits, BLOCKS_ROWS, BLOCKS_VECTORS, call, row, v);
  }
  for (; row < rows; row++) {
    for (size_t v = 0; v * VF < call->columns; v += BLOCKS_ROW_VECTORS)
      N(blocks_tile)(bits, 1, BLOCKS_ROW_VECTORS, call, row, v);
  }
}

static void N(blocks_rows_4)(const struct smr_i8_blocks_call *call, size_t rows) {
  N(blocks_rows)(4, call, rows);
}
static void N(blocks_rows_8)(const struct smr_i8_blocks_call *call, size_t rows) {
  N(blocks_rows)(8, call, rows);
}

static const struct smr_i8_blocks_config N(i8_blocks_kernels) = {
    {"i8_blocks_4__" SMR_SIMD_NAME, "i8_blocks_8__" SMR_SIMD_NAME},
    {BLOCKS_SHIFT_8, 8, 0},
    {SMR_HAS(i8_blocks_4) ? N(blocks_rows_4) : NULL,
     SMR_HAS(i8_blocks_8) ? N(blocks_rows_8) : NULL}};

#undef BLOCKS_V
#undef BLOCKS_GROUP_BYTES
#undef BLOCKS_GROUP_4_BYTES
#undef BLOCKS_ROWS
#undef BLOCKS_VECTORS
#undef BLOCKS_ROW_VECTORS
#undef BLOCKS_LOADS
#undef BLOCKS_SHIFT_8
