// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU. x [T, N, I] of X, w [D, G * H, I] and r [D, G * H, H] of W; all between in float32.
//
// KIND 0: gates [D, T * N, G * H] = x w^T + bias, ROWS rows an item; and the first states. IN: x, w,
// bias [D, 2 * G * H], h0, c0. OUT: gates, h, c. P: 0 T * N, 1 G * H, 2 I, 3 flags: 1 bias, 2 h0,
// 4 c0, 8 there is a c, 4 gates whose second bias belongs here, 5 N, 6 H. ITEM: gate, block of rows,
// direction.
// KIND 5: a last state as an output. IN: state. OUT: y. P: 0 elements. ITEM: element.
//
// The others are one step. P: 0 H, 1 N, 2 T, 3 number of the step, 4 whether the first direction is
// backwards, 5 flags: 1 lengths, 2 peepholes or bias, 4 input_forget, 6 D. F: 0 -clip, 1 clip. ITEM:
// hidden unit, batch entry, direction.
// KIND 1: LSTM. IN: gates, r, h, lengths, peepholes. OUT: y, next h, c.
// KIND 2: GRU, linear before reset. IN: gates, r, h, lengths, bias. OUT: y, next h.
// KIND 3: GRU: z, and h times the reset gate. IN: gates, r, h. OUT: 6 reset h, 7 z.
// SEQUENCE: all steps, where they are short: an item does one after the other. OUT 6 is both states
// h, which change places; P: 7 elements from one to the other. ITEM: batch entry, direction.
// KIND 4: GRU after that. IN: gates, r, reset h, lengths, h. OUT: y, next h, z, which is read.
#if KIND == 0
KERNEL(NAME) {
  const int j = ITEM(0), d = ITEM(2), top = ITEM(1) * ROWS, depth = P(2), wide = P(1);
  if (j >= wide) return;
  GLOBAL const X *x = IN(0, X);
  GLOBAL const W *w = IN(1, W) + (d * wide + j) * depth;
  GLOBAL f32 *gates = OUT(5, f32) + (d * P(0) + top) * wide + j;
  if (top < P(0)) {
    GLOBAL const X *from[ROWS];
    f32x16 acc[ROWS];
    UNROLL
    for (int r = 0; r < ROWS; r++) {
      from[r] = x + LEAST(top + r, P(0) - 1) * depth;
      acc[r] = SPLAT16(0.0f);
    }
    int k = 0;
    for (; k + 16 <= depth; k += 16) {
      const f32x16 row = LOAD(16, W, w + k);
      UNROLL
      for (int r = 0; r < ROWS; r++) acc[r] = FMA(LOAD(16, X, from[r] + k), row, acc[r]);
    }
    float start = 0.0f;
    if (P(3) & 1) {
      GLOBAL const X *bias = IN(2, X) + d * 2 * wide;
      start = LD(X, bias, j);
      if (j < P(4)) start = start + LD(X, bias, wide + j);
    }
    for (int r = 0; r < ROWS; r++) {
      float lanes[16], sum = start;
      if (top + r >= P(0)) break;
      STORE(16, f32, acc[r], lanes);
      for (int i = 0; i < 16; i++) sum = sum + lanes[i];
      for (int i = k; i < depth; i++) sum = FMA(LD(X, from[r], i), LD(W, w, i), sum);
      gates[r * wide] = sum;
    }
  }
  for (int r = 0; r < ROWS && top + r < P(5) && j < P(6); r++) {
    const int at = (d * P(5) + top + r) * P(6) + j;
    float h = 0.0f, c = 0.0f;
    if (P(3) & 2) h = LD(X, IN(3, X), at);
    if (P(3) & 4) c = LD(X, IN(4, X), at);
    OUT(6, f32)[at] = h;
    if (P(3) & 8) OUT(7, f32)[at] = c;
  }
}
#elif KIND == 5
KERNEL(NAME) {
  if (ITEM(0) < P(0)) ST(X, IN(0, f32)[ITEM(0)], OUT(5, X), ITEM(0));
}
#else
// sums[g] += the product of h and row g of r, which lie `apart` rows from each other.
HELPER void FN(products)(GLOBAL const W *r, int apart, GLOBAL const f32 *h, int n, float *sums) {
  f32x16 acc[GATES];
  UNROLL
  for (int g = 0; g < GATES; g++) acc[g] = SPLAT16(0.0f);
  int k = 0;
  for (; k + 16 <= n; k += 16) {
    const f32x16 v = LOAD(16, f32, h + k);
    UNROLL
    for (int g = 0; g < GATES; g++)
      acc[g] = FMA(LOAD(16, W, r + g * apart * n + k), v, acc[g]);
  }
  for (int g = 0; g < GATES; g++) {
    float lanes[16], sum = 0.0f;
    STORE(16, f32, acc[g], lanes);
    for (int i = 0; i < 16; i++) sum = sum + lanes[i];
    for (int i = k; i < n; i++) sum = FMA(LD(W, r, g * apart * n + i), h[i], sum);
    sums[g] = sums[g] + sum;
  }
}
#define CLIP(v) limited(v, F(0), F(1))

KERNEL(NAME) {
  const int units = P(0);
#if SEQUENCE
  const int n = ITEM(0), d = ITEM(1);
  for (int step = 0; step < P(2); step++)
    for (int j = 0; j < units; j++) {
#else
  const int j = ITEM(0), n = ITEM(1), d = ITEM(2), step = P(3);
  if (j < units) {
#endif
  const int t = P(4) || d == 1 ? P(2) - 1 - step : step;
  const int row = d * P(1) + n, at = row * units + j;
#if KIND == 1
  const int all = 4;
#else
  const int all = 3;
#endif
  GLOBAL const f32 *gates = IN(0, f32) + ((d * P(2) + t) * P(1) + n) * all * units + j;
  GLOBAL const W *r = IN(1, W) + (d * all * units + j) * units;
#if SEQUENCE
  GLOBAL const f32 *h = OUT(6, f32) + step % 2 * P(7) + row * units;
  GLOBAL f32 *next = OUT(6, f32) + (step + 1) % 2 * P(7);
#else
  GLOBAL const f32 *h = IN(2, f32) + row * units;
  GLOBAL f32 *next = OUT(6, f32);
#endif
  float s[GATES];
#if KIND == 3
  s[0] = gates[0];
  s[1] = gates[units];
  FN(products)(r, units, h, units, s);
  OUT(7, f32)[at] = sigmoid(CLIP(s[0]));
  next[at] = sigmoid(CLIP(s[1])) * h[j];
#else
#if KIND == 4
  const float old = IN(4, f32)[at];
#else
  const float old = h[j];
#endif
  const int live = !(P(5) & 1) || t < IN(3, i32)[n];
  float fresh = old;
  if (live) {
#if KIND == 1
    for (int g = 0; g < 4; g++) s[g] = gates[g * units];
    FN(products)(r, units, h, units, s);
    GLOBAL const X *peepholes = IN(4, X) + d * 3 * units + j;
    float c = OUT(7, f32)[at];
    if (P(5) & 2) {
      s[0] = FMA(LD(X, peepholes, 0), c, s[0]);
      s[2] = FMA(LD(X, peepholes, 2 * units), c, s[2]);
    }
    const float in = sigmoid(CLIP(s[0]));
    const float forget = P(5) & 4 ? 1.0f - in : sigmoid(CLIP(s[2]));
    c = FMA(in, tanh(CLIP(s[3])), forget * c);
    if (P(5) & 2) s[1] = FMA(LD(X, peepholes, units), c, s[1]);
    fresh = sigmoid(CLIP(s[1])) * tanh(c);
    OUT(7, f32)[at] = c;
#elif KIND == 2
    s[0] = gates[0];
    s[1] = gates[units];
    s[2] = P(5) & 2 ? LD(X, IN(4, X), (d * 6 + 5) * units + j) : 0.0f;
    FN(products)(r, units, h, units, s);
    const float z = sigmoid(CLIP(s[0])), reset = sigmoid(CLIP(s[1]));
    fresh = FMA(1.0f - z, tanh(CLIP(FMA(reset, s[2], gates[2 * units]))), z * old);
#else
    s[0] = gates[2 * units];
    FN(products)(r + 2 * units * units, units, h, units, s);
    const float z = OUT(7, f32)[at];
    fresh = FMA(1.0f - z, tanh(CLIP(s[0])), z * old);
#endif
  }
  next[at] = fresh;
  ST(X, live ? fresh : 0.0f, OUT(5, X), ((t * P(6) + d) * P(1) + n) * units + j);
#endif
  }
}
#undef CLIP
#endif
