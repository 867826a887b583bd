// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX-512 VNNI: tiles up to 8x48 and calls of two of them of dot products of four
// bytes.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx512vnni_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 8
#define I8_NR 96
#define I8_STAGED uint8_t
#define I8_OFFSET 128
#define I8_DIRECT
#define I8_ROW_SUM

// acc[0 .. nv] += four products of the unsigned bytes at `p` and signed b[0 .. nv] per lane. As
// intrinsics, or one by one, GCC 12 moves the accumulators around the instructions.
SMR_INLINE void N(i8_gemm_dot)(const size_t nv, __m512i *acc, const uint8_t *p, const __m512i *b) {
  const uint8_t (*four)[4] = (const uint8_t (*)[4])(const void *)p;
  __m512i a;
  if (nv == 1) {
    __asm__("vpbroadcastd %2, %1\n\tvpdpbusd %3, %1, %0"
            : "+v"(acc[0]), "=&v"(a)
            : "m"(*four), "v"(b[0]));
  } else if (nv == 2) {
    __asm__("vpbroadcastd %3, %2\n\tvpdpbusd %4, %2, %0\n\tvpdpbusd %5, %2, %1"
            : "+v"(acc[0]), "+v"(acc[1]), "=&v"(a)
            : "m"(*four), "v"(b[0]), "v"(b[1]));
  } else {
    __asm__(
        "vpbroadcastd %4, %3\n\tvpdpbusd %5, %3, %0\n\t"
        "vpdpbusd %6, %3, %1\n\tvpdpbusd %7, %3, %2"
        : "+v"(acc[0]), "+v"(acc[1]), "+v"(acc[2]), "=&v"(a)
        : "m"(*four), "v"(b[0]), "v"(b[1]), "v"(b[2]));
  }
}

SMR_INLINE void N(i8_gemm_stage)(uint8_t *staged, size_t row, size_t at, const int8_t *a,
                                 size_t n) {
  const __m512i flip = _mm512_set1_epi8((char)0x80);
  uint8_t *to = staged + row * SMR_I8_GEMM_PITCH_BYTES + at;
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_loadu_si512(a + i), flip));
  }
  if (i < n) {
    const __mmask64 mask = ~(__mmask64)0 >> (64 - (n - i));
    _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, a + i), flip));
  }
}

// Dot products with ones.
SMR_INLINE uint32_t N(i8_gemm_row_sum)(const int8_t *a, size_t n) {
  const __m512i flip = _mm512_set1_epi8((char)0x80), ones = _mm512_set1_epi8(1);
  __m512i acc = N(izero)();
  size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    acc = _mm512_dpbusd_epi32(acc, _mm512_xor_si512(_mm512_loadu_si512(a + i), flip), ones);
  }
  if (i < n) {
    const __mmask64 mask = ~(__mmask64)0 >> (64 - (n - i));
    const __m512i rest = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, a + i), flip);
    acc = _mm512_dpbusd_epi32(acc, rest, _mm512_maskz_mov_epi8(mask, ones));
  }
  return (uint32_t)_mm512_reduce_add_epi32(acc);
}

#include "kernels/i8_gemm/narrow512.h"
#include "kernels/i8_gemm/scale.h"

// Finished rows of a tile. For short sums storing and loading them once more would be felt.
SMR_INLINE void N(i8_gemm_tile_out)(const size_t mr, const size_t nv, __m512i (*acc)[3],
                                    const struct smr_i8_gemm_direct *direct) {
  // Copies: bytes that are stored might be the parameters, as far as the compiler knows.
  const struct smr_i8_gemm_direct to = *direct;
  const __m512 hi = N(set1)(to.hi);
  SMR_UNROLL for (size_t j = 0; j < nv; j++) {
    const __m512 multiplier = N(load)(to.multiplier + j * SMR_I8_PANEL);
    int8_t *out = to.out + j * SMR_I8_PANEL;
    SMR_UNROLL for (size_t i = 0; i < mr; i += 4) {
      __m512i v[4];
      SMR_UNROLL for (size_t r = 0; r < 4; r++) {
        v[r] = N(i8_gemm_scale)(acc[i + r < mr ? i + r : i][j], multiplier, hi);
      }
      N(i8_gemm_narrow)(out, to.out_stride, mr - i < 4 ? mr - i : 4, SMR_I8_PANEL, v, to.zero,
                        to.lo);
      out += 4 * to.out_stride;
    }
  }
}

// mr rows by nv panels, into `sums` or out.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const size_t nv, const uint8_t *staged,
                                const int8_t *w, size_t panel_stride_bytes, size_t groups,
                                const int32_t *from, size_t from_stride, int32_t *sums,
                                const struct smr_i8_gemm_direct *direct) {
  __m512i acc[8][3];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv; j++) {
      acc[i][j] = N(iload)(from + i * from_stride + j * SMR_I8_PANEL);
    }
  }
  for (size_t g = 0; g < groups; g++) {
    __m512i b[3];
    SMR_UNROLL for (size_t j = 0; j < nv; j++) {
      b[j] = _mm512_loadu_si512(w + j * panel_stride_bytes);
    }
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      N(i8_gemm_dot)(nv, acc[i], staged + i * SMR_I8_GEMM_PITCH_BYTES, b);
    }
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  if (direct) {
    N(i8_gemm_tile_out)(mr, nv, acc, direct);
    return;
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < nv; j++) {
      N(istore)(sums + i * I8_NR + j * SMR_I8_PANEL, acc[i][j]);
    }
  }
}

typedef void (*N(i8_gemm_tile_function))(const uint8_t *staged, const int8_t *w,
                                         size_t panel_stride_bytes, size_t groups,
                                         const int32_t *from, size_t from_stride, int32_t *sums,
                                         const struct smr_i8_gemm_direct *direct);

#define VNNI_TILE(mr, nv)                                                                         \
  static void N(i8_gemm_tile_##mr##_##nv)(const uint8_t *staged, const int8_t *w,                 \
                                          size_t panel_stride_bytes, size_t groups,               \
                                          const int32_t *from, size_t from_stride, int32_t *sums, \
                                          const struct smr_i8_gemm_direct *direct) {              \
    N(i8_gemm_tile)(mr, nv, staged, w, panel_stride_bytes, groups, from, from_stride, sums,       \
                    direct);                                                                      \
  }
#define VNNI_TILES(mr) VNNI_TILE(mr, 1) VNNI_TILE(mr, 2) VNNI_TILE(mr, 3)
VNNI_TILES(2)
VNNI_TILES(3)
VNNI_TILES(4)
VNNI_TILES(5)
VNNI_TILES(6)
VNNI_TILES(7)
VNNI_TILES(8)

// A single row: eight sums of a panel side by side hide the latency, and weights are one stream.
static void N(i8_gemm_tile_1)(const uint8_t *staged, const int8_t *w, size_t groups,
                              const int32_t *from, int32_t *sums) {
  __m512i acc[8];
  acc[0] = N(iload)(from);
  SMR_UNROLL for (size_t i = 1; i < 8; i++) acc[i] = N(izero)();
  size_t g = 0;
  for (; g + 8 <= groups; g += 8) {
    SMR_UNROLL for (size_t i = 0; i < 8; i++) {
      const __m512i b = _mm512_loadu_si512(w + 64 * i);
      N(i8_gemm_dot)(1, &acc[i], staged + 4 * i, &b);
    }
    staged += 32;
    w += 512;
  }
  for (; g < groups; g++, staged += 4, w += 64) {
    const __m512i b = _mm512_loadu_si512(w);
    N(i8_gemm_dot)(1, &acc[0], staged, &b);
  }
  SMR_UNROLL for (size_t i = 1; i < 8; i++) acc[0] = N(iadd)(acc[0], acc[i]);
  N(istore)(sums, acc[0]);
}

static const N(i8_gemm_tile_function) N(i8_gemm_tile_table)[3][7] = {
#define VNNI_ROW(nv)                                                                               \
  {N(i8_gemm_tile_2_##nv), N(i8_gemm_tile_3_##nv), N(i8_gemm_tile_4_##nv), N(i8_gemm_tile_5_##nv), \
   N(i8_gemm_tile_6_##nv), N(i8_gemm_tile_7_##nv), N(i8_gemm_tile_8_##nv)}
    VNNI_ROW(1), VNNI_ROW(2), VNNI_ROW(3)};

static size_t N(i8_gemm_direct_tiles)(size_t rows, size_t columns, const uint8_t *staged,
                                      const int8_t *w, size_t panel_stride_bytes, size_t groups,
                                      const int32_t *from, size_t from_stride, int32_t *sums,
                                      const struct smr_i8_gemm_direct *direct) {
  size_t panels = (columns + SMR_I8_PANEL - 1) / SMR_I8_PANEL, done = 0;
  struct smr_i8_gemm_direct part = {0};
  if (rows == 1) {
    for (size_t p = 0; p < panels; p++) {
      const size_t j = p * SMR_I8_PANEL;
      N(i8_gemm_tile_1)(staged, w + p * panel_stride_bytes, groups, from + j, sums + j);
    }
    return 0;
  }
  if (direct) part = *direct;
  while (panels > 0) {
    const size_t nv = panels == 4 ? 2 : panels < 3 ? panels : 3;  // four are 2 + 2, not 3 + 1
    const size_t width = nv * SMR_I8_PANEL;
    // A last panel that is not full goes through memory.
    const int whole = direct && done + width <= columns;
    N(i8_gemm_tile_table)
    [nv - 1][rows - 2](staged, w, panel_stride_bytes, groups, from, from_stride, sums,
                       whole ? &part : NULL);
    if (whole) {
      done += width;
      part.multiplier += width;
      part.out += width;
    }
    w += nv * panel_stride_bytes;
    from += width;
    sums += width;
    panels -= nv;
  }
  return done;
}

static void N(i8_gemm_tiles)(size_t rows, size_t panels, const uint8_t *staged, const int8_t *w,
                             size_t panel_stride_bytes, size_t groups, const int32_t *from,
                             size_t from_stride, int32_t *sums) {
  N(i8_gemm_direct_tiles)(rows, panels * SMR_I8_PANEL, staged, w, panel_stride_bytes, groups, from,
                          from_stride, sums, NULL);
}

#include "kernels/i8_gemm/core.h"
I8_KERNELS(8x96__avx512vnni, gemv__avx512vnni)
#include "kernels/i8_gemm/core_end.h"
#undef VNNI_TILE
#undef VNNI_TILES
#undef VNNI_ROW
#include "simd/end.h"
#endif
