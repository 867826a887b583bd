// SPDX-License-Identifier: Apache-2.0
// Convolution over 1 to 3 spatial axes and its transpose: an item makes ROWS pixels x
// PANELS * COLS channels of the output.
//
// X: activations [N, D, H, W, C]. W: weights, in panels [groups][panels][K][16] (PLAIN=0) or plain
// [O, K] (PLAIN=1), or int8 in panels [groups][panels][K / 4][16][4] (PLAIN=2), K being the taps
// times the channels of a group. SPREAD=1: transposed.
// P: 0 pixels, 1 C, 2 channels of a group, 3 O, 4 outputs of a group, 5 elements from panel to
// panel,
//    6-8 D H W, 9-b those of the output, c-e taps. Q: 0-2 strides, 3-5 dilations, 6-8 pads,
//    9 activation, a flags, b column blocks of a group, f dimension. F: lo, hi, alpha, beta.
// NARROW: input channels that are loaded at once, where not 0. ITEM: block of pixels along dimension
// DOWN, block of columns along the other of the first two.
// Adds the products of `length` channels, from one tap on, or of those from `begin` on.
#define PRODUCTS_FROM(begin, ADD)                                       \
  if (all) {                                                            \
    for (int c = begin; c < length; c++) ADD(c, LD(X, from[r], c))      \
  } else {                                                              \
    for (int c = begin; c < length; c++)                                \
      ADD(c, MASKED(LD(X, from[r], c & mask[r]), mask[r]))              \
  }
#if NARROW
#define PRODUCTS(ADD)                                                      \
  int begin = 0;                                                           \
  for (; begin + NARROW <= length; begin += NARROW) {                      \
    float lanes[ROWS][NARROW];                                             \
    UNROLL                                                                 \
    for (int r = 0; r < ROWS; r++) {                                       \
      const VECTOR(NARROW) v =                                             \
          mask[r] ? LOAD(NARROW, X, from[r] + begin) : SPLAT(NARROW, 0.0f); \
      STORE(NARROW, f32, v, lanes[r]);                                     \
    }                                                                      \
    UNROLL_NARROW                                                          \
    for (int c = 0; c < NARROW; c++) ADD(begin + c, lanes[r][c])           \
  }                                                                        \
  PRODUCTS_FROM(begin, ADD)
#elif SPREAD
#define PRODUCTS(ADD) PRODUCTS_FROM(0, ADD)
#else
// A row that is outside computes with the first channels of x, and takes its sums back.
#define PRODUCTS(ADD)                                                       \
  if (all) {                                                                \
    int begin = 0;                                                          \
    for (; begin + 4 <= length; begin += 4) {                               \
      UNROLL                                                                \
      for (int c = 0; c < 4; c++) ADD(begin + c, LD(X, from[r], begin + c)) \
    }                                                                       \
    for (int c = begin; c < length; c++) ADD(c, LD(X, from[r], c))          \
  } else {                                                                  \
    VECTOR(COLS) kept[PANELS][ROWS];                                        \
    EACH_SUM kept[i][r] = acc[i][r];                                        \
    for (int c = 0; c < length; c++) ADD(c, LD(X, from[r], c))              \
    EACH_SUM acc[i][r] = mask[r] ? acc[i][r] : kept[i][r];                  \
  }
#endif
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  PANEL(W) w = PANEL_IN(W);
  GLOBAL const X *bias = IN(2, X);
  GLOBAL const X *residual = IN(3, X);
  GLOBAL X *y = OUT(5, X);
  const int flags = Q(a), post = Q(9);
  const float lo = F(0), hi = F(1), alpha = F(2), beta = F(3);
  const int group = ITEM(1 - DOWN) / Q(b), first = (ITEM(1 - DOWN) % Q(b)) * (COLS * PANELS);
  const int cols = LEAST(COLS * PANELS, P(4) - first), depth = P(2), last = P(0) - 1;
  const int pixel = ITEM(DOWN) * ROWS;
  if (pixel > last) return;
  const int channel = group * P(4) + first;
#if PLAIN == 1
  const int column = P(c) * P(d) * P(e) * depth;
  w += (size_t)channel * (size_t)column;
#else
  w += (PLACE)(group * ((P(4) + 15) / 16) + first / 16) * (PLACE)TEXEL(P(5)) +
       (PLACE)TEXEL(first % 16);
#endif
#if PLAIN == 2
  // IN(4): O scales, then O zero points, as floats.
  GLOBAL const f32 *scales = IN(4, f32) + channel;
  const f32x16 zero = GATHER16(f32, scales + P(3), 1, cols - 1);
  const f32x16 factor = GATHER16(f32, scales, 1, cols - 1);
#endif
  int image[ROWS], od[ROWS], oh[ROWS], ow[ROWS];
  VECTOR(COLS) acc[PANELS][ROWS];
  FIRST_PIXEL(pixel)
#if COLS == 16 && !SPREAD
  // Whether all pixels lie beside each other: where the outer ones see a tap, all do. Where they see
  // all taps of a line, these are one run of channels, as their weights are.
  const int level = at_w + ROWS <= P(b) && pixel + ROWS - 1 <= last;
#endif
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    ow[r] = SPREAD ? at_w : at_w * Q(2) - Q(8);
    oh[r] = at_h;
    od[r] = at_d;
    image[r] = at_image * P(6);
    NEXT_PIXEL(pixel + r, last)
  }
  EACH_SUM acc[i][r] = SPLAT(COLS, 0.0f);
  for (int kd = 0; kd < P(c); kd++) {
    for (int kh = 0; kh < P(d); kh++) {
      int line[ROWS], lit[ROWS];
      UNROLL
      for (int r = 0; r < ROWS; r++) {
        const int d = tap_place(SPREAD, od[r], kd, Q(0), Q(3), Q(6), P(6));
        const int h = tap_place(SPREAD, oh[r], kh, Q(1), Q(4), Q(7), P(7));
        lit[r] = d < 0 || h < 0 ? 0 : -1;
        line[r] = ((image[r] + d) * P(7) + h) * P(8);
      }
      for (int kw = 0, taps = 1; kw < P(e); kw += taps) {
        int at[ROWS], mask[ROWS], all = -1, any = 0;
        taps = 1;
#if COLS == 16 && !SPREAD
        const int left = ow[0] + kw * Q(5), right = left + (ROWS - 1) * Q(2);
        if (level && lit[0] && left >= 0 && right < P(8)) {
          if (kw == 0 && depth == P(1) && Q(5) == 1 && right + P(e) <= P(8)) taps = P(e);
          UNROLL
          for (int r = 0; r < ROWS; r++) {
            mask[r] = any = -1;
            at[r] = (line[0] + left + r * Q(2)) * P(1) + group * depth;
          }
        } else
#endif
        {
          UNROLL
          for (int r = 0; r < ROWS; r++) {
#if SPREAD
            const int v = tap_place(1, ow[r], kw, Q(2), Q(5), Q(8), P(8));
            mask[r] = v < 0 ? 0 : lit[r];
#else
            const int v = ow[r] + kw * Q(5);
            mask[r] = (u32)v < (u32)P(8) ? lit[r] : 0;
#endif
            at[r] = mask[r] & ((line[r] + v) * P(1) + group * depth);
            all &= mask[r];
            any |= mask[r];
          }
        }
        if (any) {
#if PLAIN == 1
          const int tap = ((kd * P(d) + kh) * P(e) + kw) * depth;
#define WEIGHTS(c) GATHER(COLS, W, w + tap + (c), column, cols - 1)
#elif PLAIN == 2
          const int tap = ((kd * P(d) + kh) * P(e) + kw) * depth;
#define WEIGHTS(c) (QUAD_BYTES(w + (size_t)((tap + (c)) >> 2) * 64, (tap + (c)) & 3) - zero)
#else
          PANEL(W) panel = w + (PLACE)(((kd * P(d) + kh) * P(e) + kw) * depth) * TEXEL(16);
#define WEIGHTS(c) READ(COLS, W, panel + (PLACE)(c)*TEXEL(16))
#define BESIDE(c) LOAD(COLS, W, panel + P(5) + (size_t)(c)*16)
#endif
          const int length = depth * taps;
          GLOBAL const X *from[ROWS];
          UNROLL
          for (int r = 0; r < ROWS; r++) from[r] = x + at[r];
#if PANELS == 2
          if (cols > COLS) {
            PRODUCTS(ADD_2)
          } else
#endif
          {
            PRODUCTS(ADD_1)
          }
#undef BESIDE
#undef WEIGHTS
        }
      }
    }
  }
#undef PRODUCTS
#undef PRODUCTS_FROM
  VECTOR(COLS) sums[PANELS][ROWS];
  EACH_SUM sums[i][r] = acc[i][r];
  UNROLL_ENDS
  for (int i = 0; i < PANELS; i++) {
    const int to_channel = channel + i * COLS, own = LEAST(COLS, cols - i * COLS);
    UNROLL_ENDS
    for (int r = 0; r < ROWS; r++) {
      if (pixel + r <= last && own > 0) {
        const int to = (pixel + r) * P(3) + to_channel;
#if PLAIN == 2
        sums[i][r] = sums[i][r] * factor;
#endif
        FINISH(sums[i][r], to_channel, own, to)
      }
    }
  }
}
