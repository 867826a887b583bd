// SPDX-License-Identifier: Apache-2.0
// Code shared by several kernel files, in the dialect. Included after dialect.cl and functions.cl.
#define FN(x) CAT3(NAME, _, x)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define LD_u16 LD_f32
#define LD_u32 LD_f32
#define ST_u16(v, p, i) ((p)[i] = (u16)(v))
#define ST_u32 ST_f32
#define LD(T, p, i) CAT(LD_, T)(p, i)
#define ST(T, v, p, i) CAT(ST_, T)(v, p, i)
// In kernels with SHARE=1 the lanes of a subgroup do together what an item of others does:
// SHARED_ITEM(d), as far as there are so many. Functions of subgroups are of floats, and all lanes
// have to come to the same ones. Other kernels have one lane.
#define SHARED(alone, together) CAT(SHARED_, SHARE)(alone, together)
#define SHARED_SHARE(alone, together) alone
#define SHARED_1(alone, together) together
#define SHARED_ITEM(d) SHARED(ITEM(d), (get_sub_group_id() * get_num_groups(d) + get_group_id(d)))
#define LANE_ID SHARED(0, get_sub_group_local_id())
#define LANES SHARED(1, get_sub_group_size())
// Vectors of n lanes, n being 4 or 16.
#define VECTOR(n) CAT(f32x, n)
#define LOAD(n, T, p) CAT4(LD, n, _, T)(p)
#define STORE(n, T, v, p) CAT4(ST, n, _, T)(v, p)
#define SPLAT(n, v) CAT(SPLAT, n)(v)
#define CLAMP(n, v, lo, hi) CAT(CLAMP, n)(v, lo, hi)
#define FMAS(n, s, v, acc) FMA(SPLAT(n, s), v, acc)
// Lanes p[0], p[s], p[2 s], …; those beyond the last, m, repeat it.
#define LANE(T, p, s, i, m) LD(T, p, (s) * LEAST(i, m))
#define GATHER4(T, p, s, m) \
  VEC4(LANE(T, p, s, 0, m), LANE(T, p, s, 1, m), LANE(T, p, s, 2, m), LANE(T, p, s, 3, m))
#define GATHER16(T, p, s, m)                                                                    \
  VEC16(LANE(T, p, s, 0, m), LANE(T, p, s, 1, m), LANE(T, p, s, 2, m), LANE(T, p, s, 3, m),     \
        LANE(T, p, s, 4, m), LANE(T, p, s, 5, m), LANE(T, p, s, 6, m), LANE(T, p, s, 7, m),     \
        LANE(T, p, s, 8, m), LANE(T, p, s, 9, m), LANE(T, p, s, 10, m), LANE(T, p, s, 11, m),   \
        LANE(T, p, s, 12, m), LANE(T, p, s, 13, m), LANE(T, p, s, 14, m), LANE(T, p, s, 15, m))
#define GATHER(n, T, p, s, m) CAT(GATHER, n)(T, p, s, m)
// Lanes in registers need constant indices; sixteen of them lie in memory. So do sums at the end.
#define UNROLL_NARROW CAT(UNROLL_, NARROW)
#define UNROLL_ENDS CAT(UNROLL_, COLS)
#define UNROLL_16
#define UNROLL_4 UNROLL
// Whether a float is NaN.
#define NOT_A_NUMBER(v) ((v) != (v))
// A float where the mask is all ones, 0 where it is 0.
#define MASKED(v, mask) FLOAT_OF(BITS_OF(v) & (mask))
// Items of products, by TALL: rows lie along dimension 0, 1, or (2) the one that Q(f) says; then
// they read two panels of weights where there are two.
#define PANELS (1 + TALL / 2)
#define DOWN (TALL == 2 ? Q(f) : TALL)
// The sums of an item, acc[i][r]: of row r and the COLS columns of panel i.
#define EACH_SUM                   \
  UNROLL                           \
  for (int i = 0; i < PANELS; i++) \
    UNROLL                         \
    for (int r = 0; r < ROWS; r++)
// Adds products to them: WEIGHTS(k), of k = `step`, times the numbers `lane` of the rows; ADD_2 in
// two panels, BESIDE(k) being the weights of the second.
#define ADD_1(step, lane)                           \
  {                                                 \
    const VECTOR(COLS) row = WEIGHTS(step);         \
    UNROLL                                          \
    for (int r = 0; r < ROWS; r++)                  \
      acc[0][r] = FMAS(COLS, lane, row, acc[0][r]); \
  }
#define ADD_2(step, lane)                                        \
  {                                                              \
    const VECTOR(COLS) row = WEIGHTS(step), next = BESIDE(step); \
    UNROLL                                                       \
    for (int r = 0; r < ROWS; r++) {                             \
      const VECTOR(COLS) both = SPLAT(COLS, lane);               \
      acc[0][r] = FMA(both, row, acc[0][r]);                     \
      acc[1][r] = FMA(both, next, acc[1][r]);                    \
    }                                                            \
  }
// The epilogue of products: bias (flag 1), residual (flag 2), clamp and activation. Stores `cols`
// of the COLS lanes of v at y[at…], channels from c on.
#define FINISH(v, c, cols, at)                                                       \
  if ((cols) == COLS) {                                                              \
    if (flags & 1) v = v + LOAD(COLS, X, bias + (c));                                \
    if (flags & 2) v = v + LOAD(COLS, X, residual + (at));                           \
    v = CLAMP(COLS, v, lo, hi);                                                      \
    if (post) {                                                                      \
      float lanes[COLS];                                                                 \
      STORE(COLS, f32, v, lanes);                                                        \
      for (int j = 0; j < COLS; j++) lanes[j] = post_value(lanes[j], post, alpha, beta);     \
      v = LOAD(COLS, f32, lanes);                                                        \
    }                                                                                \
    STORE(COLS, X, v, y + (at));                                                     \
  } else {                                                                           \
    float lanes[COLS];                                                                   \
    STORE(COLS, f32, v, lanes);                                                          \
    for (int j = 0; j < (cols); j++) {                                               \
      float s = lanes[j];                                                                \
      if (flags & 1) s = s + LD(X, bias, (c) + j);                                   \
      if (flags & 2) s = s + LD(X, residual, (at) + j);                              \
      s = s < lo ? lo : s;                                                           \
      s = s > hi ? hi : s;                                                           \
      s = post_value(s, post, alpha, beta);                                          \
      ST(X, s, y, (at) + j);                                                         \
    }                                                                                \
  }
// The output pixel that an item begins with, by image and axes, from its number; and the one after
// it, up to number `last`. Divisions are slow: there is one pixel that needs them.
#define FIRST_PIXEL(number)                                           \
  int at_w = (number) % P(b), at_h = (number) / P(b), at_d, at_image; \
  at_d = at_h / P(a);                                                 \
  at_h = at_h % P(a);                                                 \
  at_image = at_d / P(9);                                             \
  at_d = at_d % P(9);
#define NEXT_PIXEL(number, last)                \
  if ((number) < (last) && ++at_w == P(b)) {    \
    at_w = 0;                                   \
    if (++at_h == P(a)) {                       \
      at_h = 0;                                 \
      if (++at_d == P(9)) {                     \
        at_d = 0;                               \
        at_image++;                             \
      }                                         \
    }                                           \
  }
// The epilogue of int8 products: bias and requantization of `lanes`, stored at y[at…].
#define QFINISH(cols, at, column)                                                        \
  for (int j = 0; j < (cols); j++) {                                                \
    const i32 sum = Q(a) & 1 ? (i32)((u32)lanes[j] + (u32)bias[(column) + j]) : lanes[j]; \
    if (Q(d))                                                                       \
      OUT(5, i32)[(at) + j] = sum;                                                  \
    else                                                                            \
      OUT(5, i8)                                                                    \
      [(at) + j] = (i8)quantum((float)sum * multipliers[(column) + j], F(0), F(1), Q(c)); \
  }
// a / b, rounded once, which devices do not promise: a multiple of b's reciprocal is not enough
// where results are integers.
// b is positive and normal; quotients are normal, or so small that nobody looks at them.
HELPER float divided(float a, float b) {
  const int bits = BITS_OF(a), magnitude = bits & 0x7fffffff, divisor = BITS_OF(b);
  if (magnitude == 0 || magnitude >= 0x7f800000) return a;
  int from = magnitude >> 23, m = (magnitude & 0x7fffff) | (from ? 0x800000 : 0);
  from = from ? from : 1;
  for (; m < 0x800000; m <<= 1) from--;
  const u64 top = (u64)m << 31, by = (u64)((divisor & 0x7fffff) | 0x800000);
  const u64 q = top / by, rest = top - q * by;
  const int shift = q >> 31 ? 8 : 7;
  const u64 middle = (u64)1 << (shift - 1), low = q & (((u64)1 << shift) - 1);
  u64 whole = q >> shift;
  if (low > middle || (low == middle && (rest || (whole & 1)))) whole++;
  const float value = ldexp((float)(int)whole, from - (divisor >> 23) - 31 + shift);
  return bits < 0 ? -value : value;
}

// The index that a tap of a window reads along a dimension of `size`, or -1: for output index `out`
// of a convolution, or, with `spread`, of a transposed convolution.
HELPER int tap_place(int spread, int out, int tap, int stride, int dilation, int pad, int size) {
  const int t = out + pad - tap * dilation;
  const int at = spread ? t / stride : out * stride + tap * dilation - pad;
  if (spread && (t < 0 || at * stride != t)) return -1;
  return at >= 0 && at < size ? at : -1;
}

// Products of batches: move `x` and `w` to the matrices of batch ITEM(2). P: 9-b the last three dims
// of the batch, c-f strides of x; Q: 0-3 strides of w.
#define TO_BATCH            \
  {                         \
    int t = ITEM(2);        \
    x += t % P(b) * P(f);   \
    w += t % P(b) * Q(3);   \
    t /= P(b);              \
    x += t % P(a) * P(e);   \
    w += t % P(a) * Q(2);   \
    t /= P(a);              \
    x += t % P(9) * P(d);   \
    w += t % P(9) * Q(1);   \
    t /= P(9);              \
    x += t * P(c);          \
    w += t * Q(0);          \
  }

// For kernels that read or write integers; floats are moved as u16 and u32.
#if INTEGERS
#define LD_i8 LD_f32
#define ST_i8(v, p, i) ((p)[i] = (i8)(v))
#define LD_u8 LD_f32
#define ST_u8(v, p, i) ((p)[i] = (u8)(v))
#define LD_i16 LD_f32
#define ST_i16(v, p, i) ((p)[i] = (i16)(v))
#define LD_i32 LD_f32
#define ST_i32 ST_f32
#define LD_i64 LD_f32
#define ST_i64 ST_f32
#define LD_u64 LD_f32
#define ST_u64 ST_f32
#define LD_i32_f32(p, i) ((float)(p)[i])
// docs/reference/quantized-arithmetic.md: p in steps of the output, clamped, rounded, + zero point.
HELPER int quantum(float p, float lo, float hi, int zero) {
  float v = p == p ? p : 0.0f;
  v = v < lo ? lo : v;
  v = v > hi ? hi : v;
  return (int)rint(v) + zero;
}
#endif
