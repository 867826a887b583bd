// SPDX-License-Identifier: Apache-2.0
// int8 product for WebAssembly's dot products of bytes: tiles of 6x8, whose sums, weights and
// element of A fill the 15 registers that engines have on x86.

#define I8_NAME(name) N(i8_gemm_##name)

SMR_INLINE N(v16i8) N(i8_gemm_load)(const int8_t *p) {
  N(v16i8) v;
  memcpy(&v, p, sizeof v);
  return v;
}

// Four bytes of a row, in all lanes.
SMR_INLINE N(v16i8) N(i8_gemm_four)(const int8_t *p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  return (N(v16i8))N(iset1)(four);
}

// SMR_ISA_WASM_UDOT: bytes become unsigned by an offset of 128.
static void N(i8_gemm_stage)(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged) {
  typedef uint64_t words __attribute__((vector_size(16)));
  const uint64_t flip = 0x8080808080808080;
  for (size_t i = 0; i < rows; i++) {
    const int8_t *from = a[i];
    int8_t *to = (int8_t *)staged + i * SMR_I8_GEMM_PITCH_BYTES + at;
    size_t left = n;
    for (; left >= 16; left -= 16, from += 16, to += 16) {
      const words v = (words)N(i8_gemm_load)(from) ^ (words) { flip, flip };
      memcpy(to, &v, sizeof v);
    }
    if (left == 0) continue;
    uint64_t last[2];
    smr_load_tail(from, left, last);
    last[0] ^= flip;
    last[1] ^= flip;
    memcpy(to, last, sizeof last);
  }
}

// One group of four rows of weights, and the next elements of mr rows by eight columns.
SMR_INLINE void N(i8_gemm_step)(const size_t mr, const int8_t *staged, const int8_t *w,
                                N(vi) (*acc)[2]) {
  const N(v16i8) b0 = N(i8_gemm_load)(w), b1 = N(i8_gemm_load)(w + 16);
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    const N(v16i8) x = N(i8_gemm_four)(staged + i * SMR_I8_GEMM_PITCH_BYTES);
    acc[i][0] = N(dot)(acc[i][0], b0, x);
    acc[i][1] = N(dot)(acc[i][1], b1, x);
    // The compiler would first load the elements of all rows.
    __asm__ volatile("" : "+r"(acc[i][0]), "+r"(acc[i][1]) : : "memory");
  }
}

SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  const int32_t *from = at->from;
  N(vi) acc[6][2];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    acc[i][0] = N(iload)(from);
    acc[i][1] = N(iload)(from + 4);
    from += at->from_stride;
  }
  for (size_t groups = at->groups; groups > 0; groups--) {
    // Addresses whose origin is hidden become constant offsets of loads.
    SMR_OPAQUE(staged);
    SMR_OPAQUE(w);
    N(i8_gemm_step)(mr, staged, w, acc);
    staged += SMR_I8_GROUP;
    w += SMR_I8_GROUP * SMR_I8_PANEL;
  }
  int32_t *sums = at->sums;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    N(istore)(sums, acc[i][0]);
    N(istore)(sums + 4, acc[i][1]);
    sums += SMR_I8_GEMM_SUMS;
  }
}

// A single row uses whole panels, two groups at a time: eight sums hide the latency, and weights
// are read as one stream.
SMR_INLINE void N(i8_gemm_tile_1)(const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  N(vi) acc[2][4];
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    acc[0][j] = N(iload)(at->from + 4 * j);
    acc[1][j] = N(izero)();
  }
  for (size_t left = at->groups / 2; left > 0; left--) {
    SMR_OPAQUE(staged);
    SMR_OPAQUE(w);
    SMR_UNROLL for (size_t g = 0; g < 2; g++) {
      const N(v16i8) x = N(i8_gemm_four)(staged + g * SMR_I8_GROUP);
      SMR_UNROLL for (size_t j = 0; j < 4; j++) {
        acc[g][j] = N(dot)(acc[g][j], N(i8_gemm_load)(w + 64 * g + 16 * j), x);
      }
    }
    staged += 2 * SMR_I8_GROUP;
    w += 2 * SMR_I8_GROUP * SMR_I8_PANEL;
  }
  if (at->groups % 2 != 0) {
    const N(v16i8) x = N(i8_gemm_four)(staged);
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      acc[0][j] = N(dot)(acc[0][j], N(i8_gemm_load)(w + 16 * j), x);
    }
  }
  SMR_UNROLL for (size_t j = 0; j < 4; j++) {
    N(istore)(at->sums + 4 * j, N(iadd)(acc[0][j], acc[1][j]));
  }
}

#include "kernels/i8_gemm/rows.h"
I8_ROWS(6, 8, N(i8_gemm_tile)(6, &at))
I8_ROWS(1, SMR_I8_PANEL, N(i8_gemm_tile_1)(&at))
#undef I8_ROWS

// Two to five rows take a tile of six, too: tiles of two and four would be 0.8 KB more.
static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {{6, 2, N(i8_gemm_rows_6)},
                                                                  {1, 1, N(i8_gemm_rows_1)}};

// The two forms differ in what A becomes when it is staged.
#define DOT_FORM(form, offset, fills_, stage_)                              \
  static const struct smr_i8_gemm_funcs smr_i8_gemm_funcs_v128_##form = {   \
      .staged_bytes = 1,                                                    \
      .woven = 1,                                                           \
      .fills = fills_,                                                      \
      .tiles = N(i8_gemm_tiles),                                            \
      .ends = &smr_i8_gemm_ends_v128,                                       \
      .stage = stage_,                                                      \
  };                                                                        \
  static const struct smr_i8_gemm_config smr_i8_gemm_config_v128_##form = { \
      "v128_" #form,                                                        \
      6,                                                                    \
      64,                                                                   \
      offset,                                                               \
      &smr_i8_gemm_funcs_v128_##form,                                       \
      {"i8_gemm_6x64__v128_" #form, "i8_gemm_gemv__v128_" #form}}
DOT_FORM(udot, 128, true, N(i8_gemm_stage));
DOT_FORM(sdot, 0, false, smr_i8_gemm_stage_bytes);
#undef DOT_FORM
#undef I8_NAME
