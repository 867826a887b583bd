// SPDX-License-Identifier: Apache-2.0
// Matrix product of int8: an item makes ROWS rows x COLS columns of one matrix of the
// output.
//
// P and Q(0-3) as in matmul.cl; P(5) in bytes. W: PACKING 1 panels [panels][K / 4][16][4], 0 any
// strides. IN(2), IN(3), Q(9) on, F, TALL and STEP as in qconv.cl, but that IN(3) has P(1)
// multipliers. ITEM(2): batch.
#include "backends/opencl/kernels/qsums.cl"
KERNEL(NAME) {
  GLOBAL const i8 *x = IN(0, i8);
  GLOBAL const i8 *w = IN(1, i8);
  GLOBAL const i32 *bias = IN(2, i32);
  GLOBAL const f32 *multipliers = IN(3, f32);
  const int first = ITEM(1 - TALL) * COLS, cols = LEAST(COLS, P(1) - first);
  const int top = ITEM(TALL) * ROWS, last = P(0) - 1, length = P(2), step = P(4);
  if (top > last || cols <= 0) return;
  GLOBAL const i32 *zeros = IN(3, i32) + P(1) + first;
  TO_BATCH
#if PACKING == 0
  w += first * P(7);
#define WEIGHTS(k) (GATHER16(i8, w + (k)*P(6), P(7), cols - 1) - zero)
#define ROW_OF(k) ((k)*P(6))
#define COLUMN(j) (LEAST(j, cols - 1) * P(7))
#else
  w += (size_t)(first / 16) * (size_t)P(5) + (size_t)(first % 16 * 4);
#define WEIGHTS(k) (QUAD_BYTES(w + (size_t)((k) >> 2) * 64, (k)&3) - zero)
#define ROW_OF(k) (((k) >> 2) * 64 + ((k)&3))
#define COLUMN(j) (4 * (j))
#endif
  GLOBAL const i8 *from[ROWS];
  UNROLL
  for (int r = 0; r < ROWS; r++) from[r] = x + LEAST(top + r, last) * P(3);
#if STEP
  SUMS_BEGIN
  for (int k = 0; k < length; k += STEP) {
    GLOBAL const i8 *row = w + ROW_OF(k);
    SUMS_ADD(FETCH(from[r] + k * step), row + COLUMN(j))
  }
#else
  const f32x16 zero = GATHER16(i32_f32, zeros, 1, cols - 1), shift = SPLAT16((float)Q(9));
  i32x16 acc[ROWS];
  UNROLL
  for (int r = 0; r < ROWS; r++) acc[r] = SPLATI16(0);
  for (int begin = 0; begin < length; begin += 256) {
    const int end = LEAST(begin + 256, length);
    f32x16 part[ROWS];
    UNROLL
    for (int r = 0; r < ROWS; r++) part[r] = SPLAT16(0.0f);
    int k = begin;
    // Converting int8 to float is slow: convert 16 at once.
    for (; step == 1 && k + 16 <= end; k += 16) {
      float lanes[ROWS][16];
      UNROLL
      for (int r = 0; r < ROWS; r++) {
        const f32x16 v = LD16_i8(from[r] + k) - shift;
        STORE(16, f32, v, lanes[r]);
      }
      for (int j = 0; j < 16; j++) {
        const f32x16 row = WEIGHTS(k + j);
        UNROLL
        for (int r = 0; r < ROWS; r++) part[r] = FMAS(16, lanes[r][j], row, part[r]);
      }
    }
    for (; k < end; k++) {
      const f32x16 row = WEIGHTS(k);
      UNROLL
      for (int r = 0; r < ROWS; r++)
        part[r] = FMAS(16, (float)(from[r][k * step] - Q(9)), row, part[r]);
    }
    UNROLL
    for (int r = 0; r < ROWS; r++) acc[r] = acc[r] + INTS16(part[r]);
  }
#endif
#undef WEIGHTS
#undef ROW_OF
#undef COLUMN
  UNROLL
  for (int r = 0; r < ROWS; r++) {
    if (top + r <= last) {
#if STEP
      SUMS_END(r, length)
#else
      const i32x16 whole = acc[r];
      i32 lanes[16];
      ST16_i32(whole, lanes);
#endif
      QFINISH(cols, (ITEM(2) * P(0) + top + r) * P(1) + first, first)
    }
  }
}
