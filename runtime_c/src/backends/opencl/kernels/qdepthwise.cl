// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of int8 of at most 256 taps: an item makes ROWS pixels x 16 channels.
// Parameters as in qconv.cl.
//
// W: PACKING 0 plain [C, taps], 1 [C / 16][taps][16].
KERNEL(NAME) {
  GLOBAL const i8 *x = IN(0, i8);
  GLOBAL const i8 *w = IN(1, i8);
  GLOBAL const i32 *bias = IN(2, i32);
  GLOBAL const f32 *multipliers = IN(3, f32);
  const int channel = ITEM(1) * 16, cols = LEAST(16, P(3) - channel);
  const int pixel = ITEM(0) * ROWS, last = P(0) - 1;
  if (pixel > last) return;
  GLOBAL const i32 *zeros = IN(3, i32) + P(3) + channel;
#if PACKING == 0
  const int taps = P(c) * P(d) * P(e);
  w += (size_t)channel * (size_t)taps;
#define WEIGHTS(t) (GATHER16(i8, w + (t), taps, cols - 1) - zero)
#else
  w += (size_t)(channel / 16) * (size_t)P(5);
#define WEIGHTS(t) (LD16_i8(w + (t)*16) - zero)
#endif
  const f32x16 zero = GATHER16(i32_f32, zeros, 1, cols - 1), shift = SPLAT16((float)Q(9));
  int start[ROWS], d0[ROWS], h0[ROWS], w0[ROWS], inside = cols == 16;
  f32x16 part[ROWS];
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
    part[r] = SPLAT16(0.0f);
  }
  int tap = 0;
  for (int kd = 0; kd < P(c); kd++) {
    for (int kh = 0; kh < P(d); kh++) {
      for (int kw = 0; kw < P(e); kw++, tap++) {
        const f32x16 row = WEIGHTS(tap);
        const int more = ((kd * Q(3) * P(7) + kh * Q(4)) * P(8) + kw * Q(5)) * P(1);
        if (inside) {
          UNROLL
          for (int r = 0; r < ROWS; r++) {
            GLOBAL const i8 *from = x + (start[r] + more);
            part[r] = FMA(LD16_i8(from) - shift, row, part[r]);
          }
        } else {
          UNROLL
          for (int r = 0; r < ROWS; r++) {
            const int d = d0[r] + kd * Q(3), h = h0[r] + kh * Q(4), v = w0[r] + kw * Q(5);
            if (d >= 0 && d < P(6) && h >= 0 && h < P(7) && v >= 0 && v < P(8)) {
              GLOBAL const i8 *from = x + (start[r] + more);
              if (cols == 16) {
                part[r] = FMA(LD16_i8(from) - shift, row, part[r]);
              } else {
                part[r] = FMA(GATHER16(i8, from, 1, cols - 1) - shift, row, part[r]);
              }
            }
          }
        }
      }
    }
  }
#undef WEIGHTS
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    if (pixel + r <= last) {
      const i32x16 whole = INTS16(part[r]);
      i32 lanes[16];
      ST16_i32(whole, lanes);
      QFINISH(cols, (pixel + r) * P(3) + channel, channel)
    }
  }
}
