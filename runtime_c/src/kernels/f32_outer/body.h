// SPDX-License-Identifier: Apache-2.0
// Outer products over the vocabulary. OUTER_MR and OUTER_NV are the rows and vectors of the largest
// tile. OUTER_MASKED: loading part of a vector costs no more than loading all of it. OUTER_TILES(X,
// nv) lists X(rows, nv) for all rows. If OUTER_TALL_TILES is defined, it lists further rows for
// tiles of one vector.
#if defined(SMR_SIMD_AVX512)
#define OUTER_MR 12
#define OUTER_NV 3
#define OUTER_MASKED 1
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv) X(7, nv) X(8, nv)
#define OUTER_TALL_TILES(X, nv) X(9, nv) X(10, nv) X(11, nv) X(12, nv)
#define OUTER_CONFIG(X) X(8, 48, 12, 16)
#elif defined(SMR_SIMD_SCALAR)
#define OUTER_MR 3
#define OUTER_NV 4
#define OUTER_MASKED 0
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv)
#define OUTER_CONFIG(X) X(3, 4, 3, 4)
#else
#define OUTER_MR 6
#define OUTER_NV (16 / VF)
#define OUTER_MASKED 0
#define OUTER_TILES(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#define OUTER_CONFIG(X) X(6, 16, 6, 16)
#endif

// mr rows by nv vectors. If `part`, only `lanes` of the last vector exist.
SMR_INLINE void N(outer_tile)(const size_t mr, const size_t nv, const int part, size_t lanes,
                              const struct smr_f32_outer_walk *walk) {
  N(vf) acc[OUTER_MR][OUTER_NV];
  const size_t a_step = walk->a_step, b_step = walk->b_step;
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    const float *out = walk->out + i * walk->out_stride;
    SMR_UNROLL for (size_t j = 0; j < nv; j++) {
      acc[i][j] = part && j + 1 == nv ? N(load_n)(out + j * VF, lanes) : N(load)(out + j * VF);
    }
  }
  for (size_t plane = 0; plane < walk->planes; plane++) {
    for (size_t row = 0; row < walk->rows; row++) {
      const float *a = walk->a + plane * walk->a_plane + row * walk->a_row;
      const float *b = walk->b + plane * walk->b_plane + row * walk->b_row;
      for (size_t pixel = walk->pixels; pixel > 0; pixel--, a += a_step, b += b_step) {
        N(vf) y[OUTER_NV];
        SMR_UNROLL for (size_t j = 0; j < nv; j++) {
          y[j] = part && j + 1 == nv ? N(load_n)(b + j * VF, lanes) : N(load)(b + j * VF);
        }
        SMR_UNROLL for (size_t i = 0; i < mr; i++) {
          const N(vf) x = N(set1)(a[i]);
          SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] = N(fma)(x, y[j], acc[i][j]);
        }
      }
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    float *out = walk->out + i * walk->out_stride;
    SMR_UNROLL for (size_t j = 0; j < nv; j++) {
      if (part && j + 1 == nv)
        N(store_n)(out + j * VF, acc[i][j], lanes);
      else
        N(store)(out + j * VF, acc[i][j]);
    }
  }
}

typedef void (*N(outer_function))(size_t lanes, const struct smr_f32_outer_walk *walk);

#define OUTER_FULL(mr, nv)                                                                \
  static void N(outer_##mr##x##nv)(size_t lanes, const struct smr_f32_outer_walk *walk) { \
    N(outer_tile)(mr, nv, OUTER_MASKED, lanes, walk);                                     \
  }
#define OUTER_PART(mr, nv)                                                                     \
  static void N(outer_part_##mr##x##nv)(size_t lanes, const struct smr_f32_outer_walk *walk) { \
    N(outer_tile)(mr, nv, 1, lanes, walk);                                                     \
  }
#define OUTER_FULL_NAME(mr, nv) N(outer_##mr##x##nv),
#define OUTER_PART_NAME(mr, nv) N(outer_part_##mr##x##nv),

#ifndef OUTER_TALL_TILES
#define OUTER_TALL_TILES(X, nv)
#endif
OUTER_TILES(OUTER_FULL, 1)
OUTER_TILES(OUTER_FULL, 2)
OUTER_TALL_TILES(OUTER_FULL, 1)
#if OUTER_NV >= 3
OUTER_TILES(OUTER_FULL, 3)
#endif
#if OUTER_NV >= 4
OUTER_TILES(OUTER_FULL, 4)
#endif
// [vectors - 1][rows - 1]
static const N(outer_function) N(outer_tiles)[OUTER_NV][OUTER_MR] = {
    {OUTER_TILES(OUTER_FULL_NAME, 1) OUTER_TALL_TILES(OUTER_FULL_NAME, 1)},
    {OUTER_TILES(OUTER_FULL_NAME, 2)},
#if OUTER_NV >= 3
    {OUTER_TILES(OUTER_FULL_NAME, 3)},
#endif
#if OUTER_NV >= 4
    {OUTER_TILES(OUTER_FULL_NAME, 4)},
#endif
};
#if !OUTER_MASKED
OUTER_TILES(OUTER_PART, 1)
static const N(outer_function) N(outer_parts)[OUTER_MR] = {OUTER_TILES(OUTER_PART_NAME, 1)};
#endif

static void N(outer_kernel)(size_t height, size_t width, const struct smr_f32_outer_walk *walk) {
#if OUTER_MASKED
  const size_t vectors = (width + VF - 1) / VF;
  N(outer_tiles)[vectors - 1][height - 1](width - (vectors - 1) * VF, walk);
#else
  const size_t vectors = width / VF;
  if (vectors) N(outer_tiles)[vectors - 1][height - 1](VF, walk);
  if (width % VF == 0) return;
  struct smr_f32_outer_walk rest = *walk;
  rest.b += vectors * VF;
  rest.out += vectors * VF;
  N(outer_parts)[height - 1](width % VF, &rest);
#endif
}

// One vector of channels for `taps` taps: `pixels` partial sums of each, to hide their latency.
SMR_INLINE void N(outer_diagonal)(const size_t taps, const size_t pixels, const int part,
                                  size_t lanes, size_t b_tap,
                                  const struct smr_f32_outer_walk *walk) {
  N(vf) acc[8];
  const size_t a_step = walk->a_step, b_step = walk->b_step;
  SMR_UNROLL for (size_t i = 0; i < pixels * taps; i++) acc[i] = N(zero)();
  for (size_t plane = 0; plane < walk->planes; plane++) {
    for (size_t row = 0; row < walk->rows; row++) {
      const float *a = walk->a + plane * walk->a_plane + row * walk->a_row;
      const float *b = walk->b + plane * walk->b_plane + row * walk->b_row;
      size_t left = walk->pixels;
      for (; left >= pixels; left -= pixels) {
        SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
          const N(vf) x = part ? N(load_n)(a, lanes) : N(load)(a);
          SMR_UNROLL for (size_t t = 0; t < taps; t++) {
            const float *y = b + t * b_tap;
            acc[p * taps + t] =
                N(fma)(x, part ? N(load_n)(y, lanes) : N(load)(y), acc[p * taps + t]);
          }
          a += a_step;
          b += b_step;
        }
      }
      for (; left > 0; left--, a += a_step, b += b_step) {
        const N(vf) x = part ? N(load_n)(a, lanes) : N(load)(a);
        SMR_UNROLL for (size_t t = 0; t < taps; t++) {
          const float *y = b + t * b_tap;
          acc[t] = N(fma)(x, part ? N(load_n)(y, lanes) : N(load)(y), acc[t]);
        }
      }
    }
  }
  SMR_UNROLL for (size_t t = 0; t < taps; t++) {
    N(vf) sum = acc[t];
    SMR_UNROLL for (size_t p = 1; p < pixels; p++) sum = N(add)(sum, acc[p * taps + t]);
    float *out = walk->out + t * walk->out_stride;
    N(store_n)(out, N(add)(N(load_n)(out, lanes), sum), lanes);
  }
}

#define OUTER_DIAGONAL(taps, pixels)                                            \
  static void N(outer_diagonal_##taps)(size_t lanes, size_t b_tap,              \
                                       const struct smr_f32_outer_walk *walk) { \
    if (lanes == VF)                                                            \
      N(outer_diagonal)(taps, pixels, 0, VF, b_tap, walk);                      \
    else                                                                        \
      N(outer_diagonal)(taps, pixels, 1, lanes, b_tap, walk);                   \
  }
OUTER_DIAGONAL(1, 4)
OUTER_DIAGONAL(2, 4)
OUTER_DIAGONAL(3, 2)
OUTER_DIAGONAL(5, 1)

static void N(outer_diagonal_kernel)(size_t taps, size_t channels, size_t b_tap,
                                     const struct smr_f32_outer_walk *walk) {
  for (size_t c = 0; c < channels; c += VF) {
    const size_t lanes = channels - c < VF ? channels - c : VF;
    struct smr_f32_outer_walk at = *walk;
    at.a += c;
    at.b += c;
    at.out += c;
    for (size_t left = taps, now; left > 0; left -= now) {
      now = left == 5 ? 5 : left >= 3 ? 3 : left;
      if (now == 5)
        N(outer_diagonal_5)(lanes, b_tap, &at);
      else if (now == 3)
        N(outer_diagonal_3)(lanes, b_tap, &at);
      else if (now == 2)
        N(outer_diagonal_2)(lanes, b_tap, &at);
      else
        N(outer_diagonal_1)(lanes, b_tap, &at);
      at.b += now * b_tap;
      at.out += now * walk->out_stride;
    }
  }
}

// Up to `nr` columns with up to `mr` rows; up to `narrow` columns with up to `tall` rows.
#define OUTER_KERNELS(mr, nr, tall, narrow)                        \
  static const struct smr_f32_outer_config N(f32_outer_config) = { \
      "f32_outer_" #mr "x" #nr "__" SMR_SIMD_NAME,                 \
      "f32_outer_diagonal__" SMR_SIMD_NAME,                        \
      mr,                                                          \
      nr,                                                          \
      tall,                                                        \
      narrow,                                                      \
      N(outer_kernel),                                             \
      N(outer_diagonal_kernel)};
OUTER_CONFIG(OUTER_KERNELS)

#undef OUTER_KERNELS
#undef OUTER_FULL
#undef OUTER_PART
#undef OUTER_FULL_NAME
#undef OUTER_PART_NAME
#undef OUTER_DIAGONAL
#undef OUTER_MR
#undef OUTER_NV
#undef OUTER_MASKED
#undef OUTER_TILES
#undef OUTER_TALL_TILES
#undef OUTER_CONFIG
