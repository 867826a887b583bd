// SPDX-License-Identifier: Apache-2.0
// The register tile of the int8 product for ISAs that multiply pairs of int16. A is widened when it
// is staged, weights when they are loaded. No other form is exact there: sums of two products of an
// unsigned and a signed byte saturate.
//
// A vector of weights holds four int16 for each of VF / 2 channels. Its products are two sums per
// channel, which are added at the end. The including file defines I8_NAME and
//
//   I8_NAME(widen)(p)         2 * VF bytes as int16
//   I8_NAME(pairs)(a, b)      sums of pairs of lanes of a, then of b
//   I8_REGISTER               the constraint of a vector register; or
//   I8_NAME(madd)(acc, p, b)  as below
//
// and gets the table I8_NAME(tiles).

enum { I8_NAME(panel_vectors) = 2 * SMR_I8_PANEL / VF };  // vectors of a group of a panel

#if defined(I8_REGISTER)

// acc[0 .. 2] += sums of pairs of products of b[0 .. 2] and the four int16 at `p`, repeated. With
// intrinsics, GCC 12 computes all products of a tile before it adds them, and runs out of
// registers.
SMR_INLINE void I8_NAME(madd)(N(vi) * acc, const int16_t *p, const N(vi) * b) {
  const int16_t (*four)[4] = (const int16_t (*)[4])(const void *)p;
  N(vi) t, u;
  __asm__(
      "vpbroadcastq %4, %2\n\tvpmaddwd %5, %2, %3\n\tvpmaddwd %6, %2, %2\n\t"
      "vpaddd %3, %0, %0\n\tvpaddd %2, %1, %1"
      : "+" I8_REGISTER(acc[0]), "+" I8_REGISTER(acc[1]), "=&" I8_REGISTER(t), "=&" I8_REGISTER(u)
      : "m"(*four), I8_REGISTER(b[0]), I8_REGISTER(b[1]));
}
#endif

// In WebAssembly, addresses whose origin is hidden become constant offsets of loads.
#if defined(SMR_SIMD_WASM)
#define I8_HIDDEN(pointer) SMR_OPAQUE(pointer)
#else
#define I8_HIDDEN(pointer)
#endif

// A single row waits for its weights, which come from L3 or memory: the hardware prefetcher stops
// at the end of a page.
#if VF > 4
#define I8_AHEAD(mr, w) \
  if ((mr) == 1) _mm_prefetch((const char *)(w) + 4096, _MM_HINT_T0)
#else
#define I8_AHEAD(mr, w) (void)0
#endif

// mr rows by nv vectors of weights, nv * VF / 2 columns.
SMR_INLINE void I8_NAME(tile)(const size_t mr, const size_t nv, const struct smr_i8_gemm_rows *at) {
  const int8_t *w = at->w;
  const int16_t *staged = at->staged;
  N(vi) acc[8][8];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(izero)();
  }
  for (size_t g = at->groups; g > 0; g--) {
    N(vi) b[8];
    I8_HIDDEN(w);
    I8_HIDDEN(staged);
    I8_AHEAD(mr, w);
    SMR_UNROLL for (size_t j = 0; j < nv; j++) b[j] = I8_NAME(widen)(w + j * 2 * VF);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      SMR_UNROLL for (size_t j = 0; j < nv; j += 2) {
        I8_NAME(madd)(acc[i] + j, staged + i * SMR_I8_GEMM_PITCH_BYTES / 2, b + j);
      }
    }
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  const int32_t *from = at->from;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv / 2; j++) {
      const N(vi) sum = I8_NAME(pairs)(acc[i][2 * j], acc[i][2 * j + 1]);
      N(istore)(at->sums + i * SMR_I8_GEMM_SUMS + j * VF, N(iadd)(sum, N(iload)(from + j * VF)));
    }
    from += at->from_stride;
  }
}

#include "kernels/i8_gemm/rows.h"
#if VF == 16
I8_ROWS(8, VF, I8_NAME(tile)(8, 2, &at))
#elif VF == 8
I8_ROWS(6, VF, I8_NAME(tile)(6, 2, &at))
#endif
I8_ROWS(4, VF, I8_NAME(tile)(4, 2, &at))
#if VF == 4
I8_ROWS(2, VF, I8_NAME(tile)(2, 2, &at))
#endif
// A single row uses whole panels, so that weights are read as one stream.
I8_ROWS(1, SMR_I8_PANEL, I8_NAME(tile)(1, I8_NAME(panel_vectors), &at))
#undef I8_ROWS

static const struct smr_i8_gemm_tile_kernel I8_NAME(tiles)[] = {
#if VF == 16
    {8, 6, I8_NAME(rows_8)},
#elif VF == 8
    {6, 5, I8_NAME(rows_6)},
#endif
    {4, 3, I8_NAME(rows_4)},
#if VF == 4
    {2, 2, I8_NAME(rows_2)},
#endif
    {1, 1, I8_NAME(rows_1)},
};

#undef I8_HIDDEN
#undef I8_AHEAD
