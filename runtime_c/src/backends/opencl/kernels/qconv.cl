// SPDX-License-Identifier: Apache-2.0
// Convolution of int8, and its transpose (SPREAD=1): an item makes ROWS pixels x COLS channels.
// Parameters as in conv.cl, but:
//
// W: PACKING 0 plain [O, K], 1 panels [groups][panels][K / 4][16][4]. IN(2): bias, int32, if
// flag 1. IN(3): O multipliers, then O zero points of w. P(5): bytes from panel to panel. Q: 9 zero
// point of x, c that of y, d whether the sums are the output. F: 0 lo, 1 hi, of y less its zero
// point.
//
// STEP=0 (COLS=16): products of two numbers below 256 are added as floats: 256 of them are exact.
// STEP=1, 4: qsums.cl; 4 needs panels and depths that are multiples of 4.
#include "backends/opencl/kernels/qsums.cl"
KERNEL(NAME) {
  GLOBAL const i8 *x = IN(0, i8);
  GLOBAL const i8 *w = IN(1, i8);
  GLOBAL const i32 *bias = IN(2, i32);
  GLOBAL const f32 *multipliers = IN(3, f32);
  const int group = ITEM(1 - TALL) / Q(b), first = (ITEM(1 - TALL) % Q(b)) * COLS;
  const int cols = LEAST(COLS, P(4) - first), depth = P(2), last = P(0) - 1;
  const int pixel = ITEM(TALL) * ROWS;
  if (pixel > last) return;
  const int channel = group * P(4) + first;
  GLOBAL const i32 *zeros = IN(3, i32) + P(3) + channel;
#if PACKING == 0
  const int length = P(c) * P(d) * P(e) * depth;
  w += (size_t)channel * (size_t)length;
#define WEIGHTS(k) (GATHER16(i8, w + (k), length, cols - 1) - zero)
#define ROW_OF(k) (k)
#define COLUMN(j) (LEAST(j, cols - 1) * length)
#else
  w += (size_t)(group * ((P(4) + 15) / 16) + first / 16) * (size_t)P(5) + (size_t)(first % 16 * 4);
#define WEIGHTS(k) (QUAD_BYTES(w + (size_t)((k) >> 2) * 64, (k)&3) - zero)
#define ROW_OF(k) (((k) >> 2) * 64 + ((k)&3))
#define COLUMN(j) (4 * (j))
#endif
  int image[ROWS], od[ROWS], oh[ROWS], ow[ROWS], filled = 0;
#if STEP
  SUMS_BEGIN
#else
  const f32x16 zero = GATHER16(i32_f32, zeros, 1, cols - 1), shift = SPLAT16((float)Q(9));
  f32x16 part[ROWS];
  i32x16 acc[ROWS];
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    part[r] = SPLAT16(0.0f);
    acc[r] = SPLATI16(0);
  }
#endif
  FIRST_PIXEL(pixel)
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    ow[r] = at_w;
    oh[r] = at_h;
    od[r] = at_d;
    image[r] = at_image * P(6);
    NEXT_PIXEL(pixel + r, last)
  }
  for (int kd = 0; kd < P(c); kd++) {
    for (int kh = 0; kh < P(d); kh++) {
      for (int kw = 0; kw < P(e); kw++) {
        int at[ROWS], mask[ROWS];
        UNROLL
        for (int r = 0; r < ROWS; r++) {
          const int d = tap_place(SPREAD, od[r], kd, Q(0), Q(3), Q(6), P(6));
          const int h = tap_place(SPREAD, oh[r], kh, Q(1), Q(4), Q(7), P(7));
          const int v = tap_place(SPREAD, ow[r], kw, Q(2), Q(5), Q(8), P(8));
          mask[r] = d < 0 || h < 0 || v < 0 ? 0 : -1;
          at[r] = mask[r] ? (((image[r] + d) * P(7) + h) * P(8) + v) * P(1) + group * depth : 0;
        }
        GLOBAL const i8 *from[ROWS];
        UNROLL
        for (int r = 0; r < ROWS; r++) from[r] = x + at[r];
        const int tap = ((kd * P(d) + kh) * P(e) + kw) * depth;
#if STEP
        int any = 0;
        UNROLL
        for (int r = 0; r < ROWS; r++) any |= mask[r];
        if (any == 0) continue;
        filled += depth;
        for (int c = 0; c < depth; c += STEP) {
          GLOBAL const i8 *row = w + ROW_OF(tap + c);
          SUMS_ADD(mask[r] ? FETCH(from[r] + c) : REPEAT(Q(9)), row + COLUMN(j))
        }
#else
        for (int begin = 0; begin < depth; begin += 256) {
          const int end = LEAST(begin + 256, depth);
          if (filled + end - begin > 256) {
            UNROLL
            for (int r = 0; r < ROWS; r++) {
              acc[r] = acc[r] + INTS16(part[r]);
              part[r] = SPLAT16(0.0f);
            }
            filled = 0;
          }
          filled += end - begin;
          int c = begin;
          // Converting int8 to float is slow: convert 16 at once.
          for (; c + 16 <= end; c += 16) {
            float lanes[ROWS][16];
            UNROLL
            for (int r = 0; r < ROWS; r++) {
              const f32x16 v = mask[r] ? LD16_i8(from[r] + c) - shift : SPLAT16(0.0f);
              STORE(16, f32, v, lanes[r]);
            }
            for (int k = 0; k < 16; k++) {
              const f32x16 row = WEIGHTS(tap + c + k);
              UNROLL
              for (int r = 0; r < ROWS; r++) part[r] = FMAS(16, lanes[r][k], row, part[r]);
            }
          }
          for (; c < end; c++) {
            const f32x16 row = WEIGHTS(tap + c);
            UNROLL
            for (int r = 0; r < ROWS; r++) {
              const float v = (float)((from[r][c & mask[r]] - Q(9)) & mask[r]);
              part[r] = FMAS(16, v, row, part[r]);
            }
          }
        }
#endif
      }
    }
  }
#undef WEIGHTS
#undef ROW_OF
#undef COLUMN
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    if (pixel + r <= last) {
#if STEP
      SUMS_END(r, filled)
#else
      const i32x16 whole = acc[r] + INTS16(part[r]);
      i32 lanes[16];
      ST16_i32(whole, lanes);
#endif
      QFINISH(cols, (pixel + r) * P(3) + channel, channel)
    }
  }
}
