// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution over 1 to 3 spatial axes: an item makes ROWS pixels x COLS channels.
//
// X: activations [N, D, H, W, C]. W: weights [C / 16][taps][16] (PLAIN=0) or plain [C, taps]
// (PLAIN=1). P, Q, F and ITEM as in conv.cl, or, of int8 (WHOLE=1), in qconv.cl: at most 256 taps,
// whose sums are exact as floats.
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  PANEL(W) w = PANEL_IN(W);
#if WHOLE
  GLOBAL const i32 *bias = IN(2, i32);
  GLOBAL const f32 *multipliers = IN(3, f32);
#else
  GLOBAL const X *bias = IN(2, X);
  GLOBAL const X *residual = IN(3, X);
  GLOBAL X *y = OUT(5, X);
  const int flags = Q(a), post = Q(9);
  const float lo = F(0), hi = F(1), alpha = F(2), beta = F(3);
#endif
  const int channel = ITEM(1 - TALL) * COLS, cols = LEAST(COLS, P(3) - channel);
  const int pixel = ITEM(TALL) * ROWS, last = P(0) - 1;
  if (pixel > last) return;
#if PLAIN
  const int taps = P(c) * P(d) * P(e);
  w += (size_t)channel * (size_t)taps;
#define WEIGHTS(t) GATHER(COLS, W, w + (t), taps, cols - 1)
#else
  w += (PLACE)(channel / 16) * (PLACE)TEXEL(P(5)) + (PLACE)TEXEL(channel % 16);
#define WEIGHTS(t) READ(COLS, W, w + (t)*TEXEL(16))
#endif
#if WHOLE
  GLOBAL const i32 *zeros = IN(3, i32) + P(3) + channel;
  const VECTOR(COLS) zero = GATHER(COLS, i32_f32, zeros, 1, cols - 1);
  const VECTOR(COLS) shift = SPLAT(COLS, (float)Q(9));
#define LESS(v, by) ((v) - by)
#else
#define LESS(v, by) (v)
#endif
  int start[ROWS], d0[ROWS], h0[ROWS], w0[ROWS], inside = cols == COLS;
  VECTOR(COLS) acc[ROWS];
  FIRST_PIXEL(pixel)
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    w0[r] = at_w * Q(2) - Q(8);
    h0[r] = at_h * Q(1) - Q(7);
    d0[r] = at_d * Q(0) - Q(6);
    start[r] = (((at_image * P(6) + d0[r]) * P(7) + h0[r]) * P(8) + w0[r]) * P(1) + channel;
    if (d0[r] < 0 || h0[r] < 0 || w0[r] < 0 || d0[r] + (P(c) - 1) * Q(3) >= P(6) ||
        h0[r] + (P(d) - 1) * Q(4) >= P(7) || w0[r] + (P(e) - 1) * Q(5) >= P(8))
      inside = 0;
    NEXT_PIXEL(pixel + r, last)
    acc[r] = SPLAT(COLS, 0.0f);
  }
  int tap = 0;
  for (int kd = 0; kd < P(c); kd++) {
    for (int kh = 0; kh < P(d); kh++) {
      for (int kw = 0; kw < P(e); kw++, tap++) {
        const VECTOR(COLS) row = LESS(WEIGHTS(tap), zero);
        const int more = ((kd * Q(3) * P(7) + kh * Q(4)) * P(8) + kw * Q(5)) * P(1);
        if (inside) {
          UNROLL
          for (int r = 0; r < ROWS; r++) {
            GLOBAL const X *from = x + (start[r] + more);
            acc[r] = FMA(LESS(LOAD(COLS, X, from), shift), row, acc[r]);
          }
        } else {
          UNROLL
          for (int r = 0; r < ROWS; r++) {
            const int d = d0[r] + kd * Q(3), h = h0[r] + kh * Q(4), v = w0[r] + kw * Q(5);
            if (d >= 0 && d < P(6) && h >= 0 && h < P(7) && v >= 0 && v < P(8)) {
              GLOBAL const X *from = x + (start[r] + more);
              if (cols == COLS) {
                acc[r] = FMA(LESS(LOAD(COLS, X, from), shift), row, acc[r]);
              } else {
                acc[r] = FMA(LESS(GATHER(COLS, X, from, 1, cols - 1), shift), row, acc[r]);
              }
            }
          }
        }
      }
    }
  }
#undef WEIGHTS
#undef LESS
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    if (pixel + r <= last) {
      const int to = (pixel + r) * P(3) + channel;
#if WHOLE
      float sums[COLS];
      i32 lanes[COLS];
      STORE(COLS, f32, acc[r], sums);
      for (int j = 0; j < COLS; j++) lanes[j] = (i32)sums[j];
      QFINISH(cols, to, channel)
#else
      FINISH(acc[r], channel, cols, to)
#endif
    }
  }
}
