// SPDX-License-Identifier: Apache-2.0
// Convolution over 1 to 3 spatial axes and its transpose: an item makes ROWS pixels x COLS
// channels of the output.
//
// X: activations [N, D, H, W, C]. W: weights, in panels [groups][panels][K][16] (PLAIN=0) or plain
// [O, K] (PLAIN=1), or int8 in panels [groups][panels][K / 4][16][4] (PLAIN=2), K being the taps
// times the channels of a group. SPREAD=1: transposed.
// P: 0 pixels, 1 C, 2 channels of a group, 3 O, 4 outputs of a group, 5 elements from panel to
// panel,
//    6-8 D H W, 9-b those of the output, c-e taps. Q: 0-2 strides, 3-5 dilations, 6-8 pads,
//    9 activation, a flags, b column blocks of a group. F: lo, hi, alpha, beta.
// NARROW: input channels that are loaded at once, where not 0. ITEM: block of pixels along dimension
// TALL, block of columns along the other of the first two.
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL const W *w = IN(1, W);
  GLOBAL const X *bias = IN(2, X);
  GLOBAL const X *residual = IN(3, X);
  GLOBAL X *y = OUT(5, X);
  const int flags = Q(a), post = Q(9);
  const float lo = F(0), hi = F(1), alpha = F(2), beta = F(3);
  const int group = ITEM(1 - TALL) / Q(b), first = (ITEM(1 - TALL) % Q(b)) * COLS;
  const int cols = LEAST(COLS, P(4) - first), depth = P(2), last = P(0) - 1;
  const int pixel = ITEM(TALL) * ROWS;
  if (pixel > last) return;
  const int channel = group * P(4) + first;
#if PLAIN == 1
  const int length = P(c) * P(d) * P(e) * depth;
  w += (size_t)channel * (size_t)length;
#else
  w += (size_t)(group * ((P(4) + 15) / 16) + first / 16) * (size_t)P(5) + (size_t)(first % 16);
#endif
#if PLAIN == 2
  // IN(4): O scales, then O zero points, as floats.
  GLOBAL const f32 *scales = IN(4, f32) + channel;
  const f32x16 zero = GATHER16(f32, scales + P(3), 1, cols - 1);
  const f32x16 factor = GATHER16(f32, scales, 1, cols - 1);
#endif
  int image[ROWS], od[ROWS], oh[ROWS], ow[ROWS];
  VECTOR(COLS) acc[ROWS];
  FIRST_PIXEL(pixel)
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    ow[r] = at_w;
    oh[r] = at_h;
    od[r] = at_d;
    image[r] = at_image * P(6);
    NEXT_PIXEL(pixel + r, last)
    acc[r] = SPLAT(COLS, 0.0f);
  }
  for (int kd = 0; kd < P(c); kd++) {
    for (int kh = 0; kh < P(d); kh++) {
      for (int kw = 0; kw < P(e); kw++) {
        int at[ROWS], mask[ROWS], all = -1, any = 0;
        UNROLL
        for (int r = 0; r < ROWS; r++) {
          const int d = tap_place(SPREAD, od[r], kd, Q(0), Q(3), Q(6), P(6));
          const int h = tap_place(SPREAD, oh[r], kh, Q(1), Q(4), Q(7), P(7));
          const int v = tap_place(SPREAD, ow[r], kw, Q(2), Q(5), Q(8), P(8));
          mask[r] = d < 0 || h < 0 || v < 0 ? 0 : -1;
          at[r] = mask[r] ? (((image[r] + d) * P(7) + h) * P(8) + v) * P(1) + group * depth : 0;
          all &= mask[r];
          any |= mask[r];
        }
        if (any) {
#if PLAIN == 1
          const int tap = ((kd * P(d) + kh) * P(e) + kw) * depth;
#define WEIGHTS(c) GATHER(COLS, W, w + tap + (c), length, cols - 1)
#elif PLAIN == 2
          const int tap = ((kd * P(d) + kh) * P(e) + kw) * depth;
#define WEIGHTS(c) (QUAD_BYTES(w + (size_t)((tap + (c)) >> 2) * 64, (tap + (c)) & 3) - zero)
#else
          GLOBAL const W *panel = w + (size_t)(((kd * P(d) + kh) * P(e) + kw) * depth) * 16;
#define WEIGHTS(c) LOAD(COLS, W, panel + (size_t)(c)*16)
#endif
          GLOBAL const X *from[ROWS];
          UNROLL
          for (int r = 0; r < ROWS; r++) from[r] = x + at[r];
          int begin = 0;
#if NARROW
          for (; begin + NARROW <= depth; begin += NARROW) {
            float lanes[ROWS][NARROW];
            UNROLL
            for (int r = 0; r < ROWS; r++) {
              const VECTOR(NARROW) v =
                  mask[r] ? LOAD(NARROW, X, from[r] + begin) : SPLAT(NARROW, 0.0f);
              STORE(NARROW, f32, v, lanes[r]);
            }
            UNROLL_NARROW
            for (int c = 0; c < NARROW; c++) {
              const VECTOR(COLS) row = WEIGHTS(begin + c);
              UNROLL
              for (int r = 0; r < ROWS; r++) acc[r] = FMAS(COLS, lanes[r][c], row, acc[r]);
            }
          }
#endif
          if (all) {
            for (int c = begin; c < depth; c++) {
              const VECTOR(COLS) row = WEIGHTS(c);
              UNROLL
              for (int r = 0; r < ROWS; r++) acc[r] = FMAS(COLS, LD(X, from[r], c), row, acc[r]);
            }
          } else {
            for (int c = begin; c < depth; c++) {
              const VECTOR(COLS) row = WEIGHTS(c);
              UNROLL
              for (int r = 0; r < ROWS; r++) {
                const float v = LD(X, from[r], c & mask[r]);
                acc[r] = FMAS(COLS, MASKED(v, mask[r]), row, acc[r]);
              }
            }
          }
#undef WEIGHTS
        }
      }
    }
  }
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    if (pixel + r <= last) {
      const int to = (pixel + r) * P(3) + channel;
#if PLAIN == 2
      acc[r] = acc[r] * factor;
#endif
      FINISH(acc[r], channel, cols, to)
    }
  }
}
