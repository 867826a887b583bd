// SPDX-License-Identifier: Apache-2.0
// The register tile of the int8 product for ISAs that multiply pairs of int16: A is widened when it
// is staged, weights as they are loaded. Products of bytes have no other exact form there: pairs of
// products of an unsigned and a signed byte saturate.
//
// A vector of weights holds four int16 of VF / 2 channels, its products two sums per channel, which
// are added at the end. The including file defines I8_NAME, I8_MR, I8_NR, I8_STAGED (int16_t) and
//
//   I8_NAME(widen)(p)      2 * VF bytes as int16
//   I8_NAME(pairs)(a, b)   sums of pairs of lanes of a, then of b
//   I8_REGISTER            the constraint of a vector register
//
// and gets I8_NAME(tiles) of core.h.

enum { I8_NAME(panel_vectors) = 2 * SMR_I8_PANEL / VF };  // vectors of a group of a panel

// acc[0 .. 2] += sums of pairs of products of four int16 at `p`, repeated, and b[0 .. 2]. As
// intrinsics GCC 12 computes all products of a tile before it adds them up and runs out of
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

// mr rows by nv vectors of weights at `w`, nv * VF / 2 columns.
SMR_INLINE void I8_NAME(tile)(const size_t mr, const size_t nv, const int16_t *staged,
                              const int8_t *w, size_t groups, const int32_t *from,
                              size_t from_stride, int32_t *sums) {
  N(vi) acc[8][4];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(izero)();
  }
  for (size_t g = 0; g < groups; g++) {
    N(vi) b[4];
    SMR_UNROLL for (size_t j = 0; j < nv; j++) b[j] = I8_NAME(widen)(w + j * 2 * VF);
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      SMR_UNROLL for (size_t j = 0; j < nv; j += 2) {
        I8_NAME(madd)(acc[i] + j, staged + i * SMR_I8_GEMM_PITCH_BYTES / 2, b + j);
      }
    }
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv / 2; j++) {
      const N(vi) sum = I8_NAME(pairs)(acc[i][2 * j], acc[i][2 * j + 1]);
      N(istore)(sums + i * I8_NR + j * VF, N(iadd)(sum, N(iload)(from + i * from_stride + j * VF)));
    }
  }
}

#define I8_WIDENED_TILE(mr, nv)                                                            \
  static void I8_NAME(tile_##mr)(const int16_t *staged, const int8_t *w, size_t groups,    \
                                 const int32_t *from, size_t from_stride, int32_t *sums) { \
    I8_NAME(tile)(mr, nv, staged, w, groups, from, from_stride, sums);                     \
  }

typedef void (*I8_NAME(tile_function))(const int16_t *staged, const int8_t *w, size_t groups,
                                       const int32_t *from, size_t from_stride, int32_t *sums);

// A single row takes whole panels, so that weights are one stream.
I8_WIDENED_TILE(1, I8_NAME(panel_vectors))
I8_WIDENED_TILE(2, 2)
I8_WIDENED_TILE(3, 2)
I8_WIDENED_TILE(4, 2)
I8_WIDENED_TILE(5, 2)
I8_WIDENED_TILE(6, 2)
#if I8_MR > 6
I8_WIDENED_TILE(7, 2)
I8_WIDENED_TILE(8, 2)
#endif

static void I8_NAME(tiles)(size_t rows, size_t panels, const int16_t *staged, const int8_t *w,
                           size_t panel_stride_bytes, size_t groups, const int32_t *from,
                           size_t from_stride, int32_t *sums) {
  static const I8_NAME(tile_function) tiles[I8_MR] = {
      I8_NAME(tile_1), I8_NAME(tile_2), I8_NAME(tile_3),
      I8_NAME(tile_4), I8_NAME(tile_5), I8_NAME(tile_6),
#if I8_MR > 6
      I8_NAME(tile_7), I8_NAME(tile_8),
#endif
  };
  const size_t step = rows == 1 ? SMR_I8_PANEL : VF;
  for (size_t j = 0; j < panels * SMR_I8_PANEL; j += step) {
    const int8_t *at = w + j / SMR_I8_PANEL * panel_stride_bytes + j % SMR_I8_PANEL * SMR_I8_GROUP;
    tiles[rows - 1](staged, at, groups, from + j, from_stride, sums + j);
  }
}
#undef I8_WIDENED_TILE
