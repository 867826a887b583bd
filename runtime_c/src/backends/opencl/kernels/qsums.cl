// SPDX-License-Identifier: Apache-2.0
// Sums of products of int8 for devices that run thousands of items: part of the text of kernels
// that include it. Bytes are multiplied as they are, STEP (1 or 4) of them along the depth at once;
// what zero points change is added once, at the end. Sums are modulo 2^32.
#ifdef __opencl_c_integer_dot_product_input_4x8bit_packed
#define DOT_4(a, b) dot_4x8packed_ss_int(a, b)
#else
#define BYTE_OF(v, k) ((i32)((v) << (24 - 8 * (k))) >> 24)
#define DOT_4(a, b)                                                                       \
  (BYTE_OF(a, 0) * BYTE_OF(b, 0) + BYTE_OF(a, 1) * BYTE_OF(b, 1) +                        \
   BYTE_OF(a, 2) * BYTE_OF(b, 2) + BYTE_OF(a, 3) * BYTE_OF(b, 3))
#endif
#define DOT_1(a, b) ((a) * (b))
#define BYTES_4 u32
#define BYTES_1 i32
#define FETCH_4(p) QUAD(p)
#define FETCH_1(p) ((i32)(p)[0])
#define REPEAT_4(v) ((u32)((v)&255) * 0x01010101u)
#define REPEAT_1(v) (v)
#define DOT(a, b) CAT(DOT_, STEP)(a, b)
#define BYTES CAT(BYTES_, STEP)
#define FETCH(p) CAT(FETCH_, STEP)(p)
#define REPEAT(v) CAT(REPEAT_, STEP)(v)
// acc[r][j] of row r and column j, and the sums of each row of x and each column of w.
#define SUMS_BEGIN                                                                        \
  u32 acc[ROWS][COLS], sum_x[ROWS], sum_w[COLS];                                          \
  UNROLL                                                                                  \
  for (int j = 0; j < COLS; j++) {                                                        \
    sum_w[j] = 0;                                                                         \
    UNROLL                                                                                \
    for (int r = 0; r < ROWS; r++) acc[r][j] = sum_x[r] = 0;                              \
  }
// x: what row r has; w: where the bytes of column j are.
#define SUMS_ADD(x, w)                                                                    \
  BYTES left[ROWS];                                                                       \
  UNROLL                                                                                  \
  for (int r = 0; r < ROWS; r++) {                                                        \
    left[r] = x;                                                                          \
    sum_x[r] += (u32)DOT(left[r], REPEAT(1));                                             \
  }                                                                                       \
  UNROLL                                                                                  \
  for (int j = 0; j < COLS; j++) {                                                        \
    const BYTES right = FETCH(w);                                                         \
    sum_w[j] += (u32)DOT(right, REPEAT(1));                                               \
    UNROLL                                                                                \
    for (int r = 0; r < ROWS; r++) acc[r][j] += (u32)DOT(left[r], right);                 \
  }
// The sums of row r over `n` products as `lanes`: those of (x - its zero point Q(9)) * (w - zeros).
#define SUMS_END(r, n)                                                                    \
  i32 lanes[COLS];                                                                        \
  UNROLL                                                                                  \
  for (int j = 0; j < COLS; j++) {                                                        \
    const u32 rest = (u32)zeros[LEAST(j, cols - 1)] * (sum_x[r] - (u32)(n) * (u32)Q(9));  \
    lanes[j] = (i32)(acc[r][j] - (u32)Q(9) * sum_w[j] - rest);                            \
  }
