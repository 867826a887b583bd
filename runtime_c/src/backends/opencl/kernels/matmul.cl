// SPDX-License-Identifier: Apache-2.0
// Matrix product: an item makes ROWS rows x PANELS * COLS columns of one matrix of the output.
//
// X: x, with strides of its two axes. W: w in panels [panels][K][16] (WIDE=1, elements of a row
// of 16 columns lie together), int8 in panels [panels][K / 4][16][4] (WIDE=3), plain [K, N]
// (WIDE=2), or any strides (WIDE=0).
// P: 0 M, 1 N, 2 K, 3 x from row to row, 4 x from k to k, 5 w from panel to panel, 6 w from k to k,
//    7 w from column to column, 8-b batch dims, c-f x from batch to batch. Q: 0-3 those of w,
//    9 activation, a flags, f, NARROW and ITEM as in conv.cl. F: lo, hi, alpha, beta. ITEM(2):
//    batch. SHARE=1, for ROWS=1 COLS=4 TALL=1: lanes share K.
// Adds all products; `by` is x from k to k: `step`, or 1 where it is known to be that.
#if NARROW
#define PRODUCTS(ADD, by)                                          \
  int begin = 0;                                                   \
  for (; step == 1 && begin + NARROW <= length; begin += NARROW) { \
    float lanes[ROWS][NARROW];                                     \
    UNROLL                                                         \
    for (int r = 0; r < ROWS; r++) {                               \
      const VECTOR(NARROW) v = LOAD(NARROW, X, from[r] + begin);   \
      STORE(NARROW, f32, v, lanes[r]);                             \
    }                                                              \
    UNROLL_NARROW                                                  \
    for (int j = 0; j < NARROW; j++) ADD(begin + j, lanes[r][j])   \
  }                                                                \
  for (int k = begin; k < length; k++) ADD(k, LD(X, from[r], k * (by)))
#else
#define PRODUCTS(ADD, by)                                              \
  int begin = 0;                                                       \
  for (; (by) == 1 && begin + 4 <= length; begin += 4) {           \
    UNROLL                                                             \
    for (int j = 0; j < 4; j++) ADD(begin + j, LD(X, from[r], begin + j)) \
  }                                                                    \
  for (int k = begin; k < length; k++) ADD(k, LD(X, from[r], k * (by)))
#endif
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  PANEL(W) w = PANEL_IN(W);
  GLOBAL const X *bias = IN(2, X);
  GLOBAL const X *residual = IN(3, X);
  GLOBAL X *y = OUT(5, X);
  const int flags = Q(a), post = Q(9);
  const float lo = F(0), hi = F(1), alpha = F(2), beta = F(3);
  const int first = SHARED_ITEM(1 - DOWN) * (COLS * PANELS), cols = LEAST(COLS * PANELS, P(1) - first);
  const int top = ITEM(DOWN) * ROWS, last = P(0) - 1, length = P(2), step = P(4);
  if (top > last || cols <= 0) return;
  if (ITEM(2)) TO_BATCH
#if WIDE == 1
  w += (PLACE)(first / 16) * (PLACE)TEXEL(P(5)) + (PLACE)TEXEL(first % 16);
#define WEIGHTS(k) READ(COLS, W, w + (PLACE)(k)*TEXEL(16))
#elif WIDE == 3
  // IN(4): N scales, then N zero points, as floats.
  w += (size_t)(first / 16) * (size_t)P(5);
  GLOBAL const f32 *scales = IN(4, f32) + first;
  const f32x16 zero = GATHER16(f32, scales + P(1), 1, cols - 1);
  const f32x16 factor = GATHER16(f32, scales, 1, cols - 1);
#define WEIGHTS(k) (QUAD_BYTES(w + (size_t)((k) >> 2) * 64, (k) & 3) - zero)
#else
  w += first * P(7);
#define WEIGHTS(k) GATHER(COLS, W, w + (k)*P(6), P(7), cols - 1)
#endif
  GLOBAL const X *from[ROWS];
  VECTOR(COLS) acc[PANELS][ROWS];
  UNROLL
  for (int r = 0; r < ROWS; r++) from[r] = x + LEAST(top + r, last) * P(3);
  EACH_SUM acc[i][r] = SPLAT(COLS, 0.0f);
#if PANELS == 2
#define BESIDE(k) LOAD(COLS, W, w + P(5) + (size_t)(k)*16)
  if (cols > COLS) {
    if (step == 1) {
      PRODUCTS(ADD_2, 1)
    } else {
      PRODUCTS(ADD_2, step)
    }
  } else
#endif
#if WIDE == 2
  if (cols == COLS) {
#undef WEIGHTS
#define WEIGHTS(k) LOAD(COLS, W, w + (k)*P(6))
    PRODUCTS(ADD_1, step)
#undef WEIGHTS
#define WEIGHTS(k) GATHER(COLS, W, w + (k)*P(6), P(7), cols - 1)
  } else
#endif
  {
#if ROWS == 1
    // Four independent sums, to hide latency.
    VECTOR(COLS) s0 = acc[0][0], s1 = s0, s2 = s0, s3 = s0;
    const int lanes = LANES;
    int k = LANE_ID;
#define NEXT(sum)                                                \
  sum = FMAS(COLS, LD(X, from[0], k * step), WEIGHTS(k), sum); \
  k += lanes;
    while (k + 3 * lanes < length) {
      NEXT(s0)
      NEXT(s1)
      NEXT(s2)
      NEXT(s3)
    }
    while (k < length) {
      NEXT(s0)
    }
#undef NEXT
    acc[0][0] = (s0 + s1) + (s2 + s3);
#ifdef SHARE
    float parts[COLS];
    STORE(COLS, f32, acc[0][0], parts);
    for (int j = 0; j < COLS; j++) parts[j] = sub_group_reduce_add(parts[j]);
    if (LANE_ID) return;
    acc[0][0] = LOAD(COLS, f32, parts);
#endif
#else
    PRODUCTS(ADD_1, step)
#endif
  }
#undef WEIGHTS
#undef BESIDE
#undef PRODUCTS
  VECTOR(COLS) sums[PANELS][ROWS];
  EACH_SUM sums[i][r] = acc[i][r];
  UNROLL_ENDS
  for (int i = 0; i < PANELS; i++) {
    const int column = first + i * COLS, own = LEAST(COLS, P(1) - column);
    UNROLL_ENDS
    for (int r = 0; r < ROWS; r++) {
      if (top + r <= last && own > 0) {
        const int to = (ITEM(2) * P(0) + top + r) * P(1) + column;
#if WIDE == 3
        sums[i][r] = sums[i][r] * factor;
#endif
        FINISH(sums[i][r], column, own, to)
      }
    }
  }
}
