// SPDX-License-Identifier: Apache-2.0
// Attention of one row of q: an item makes up to 128 columns of its output, key by key.
//
// q [.., S, D], k [.., T, D], v [.., T, E], by strides. P: 0 S, 1 T, 2 D, 3 E, 4 heads (the
// inner of
// two batch axes), 5 6 7 q by batch, head, row, 8 9 a k, b c d v, e f and Q(0) y.
// Q: 1 causal, 2 mask, 3 what is added to a row to make the key that it is, 4 5 6 7 8 mask by outer,
// middle, head, row, key, 9 middle size, a most keys of a causal row, b heads of q that share one of k.
// F: 0 scale. ITEM: row, batch, block of 128 columns.
KERNEL(NAME) {
  const int row = ITEM(0), batch = ITEM(1) / P(4), head = ITEM(1) % P(4);
  const int first = ITEM(2) * 128, cols = LEAST(128, P(3) - first), depth = P(2);
  if (row >= P(0)) return;
  GLOBAL const X *query = IN(0, X) + batch * P(5) + head * P(6) + row * P(7);
  const int own = row + Q(3), last = Q(1) ? LEAST(P(1), own + 1) : P(1);
  const int begin = Q(1) && own + 1 > Q(a) ? own + 1 - Q(a) : 0;
  GLOBAL const X *key = IN(1, X) + batch * P(8) + head / Q(b) * P(9) + begin * P(a);
  GLOBAL const X *value = IN(2, X) + batch * P(b) + head / Q(b) * P(c) + begin * P(d) + first;
  GLOBAL const X *mask =
      IN(3, X) + batch / Q(9) * Q(4) + batch % Q(9) * Q(5) + head * Q(6) + row * Q(7);
  GLOBAL X *y = OUT(5, X) + batch * P(e) + head * P(f) + row * Q(0) + first;
  f32x16 acc[8];
  for (int j = 0; j < 8; j++) acc[j] = SPLAT16(0.0f);
  float most = -INFINITY, sum = 0.0f;
  for (int t = begin; t < last; t++) {
    f32x16 wide = SPLAT16(0.0f);
    int d = 0;
    for (; d + 16 <= depth; d += 16) wide = FMA(LOAD(16, X, query + d), LOAD(16, X, key + d), wide);
    float lanes[16], score = 0.0f;
    STORE(16, f32, wide, lanes);
    for (int j = 0; j < 16; j++) score = score + lanes[j];
    for (; d < depth; d++) score = score + LD(X, query, d) * LD(X, key, d);
    score = score * F(0);
    if (Q(2)) score = score + LD(X, mask, t * Q(8));
    if (score > most || score != score) {
      // Rescale the sums so far by this factor.
      const float less = most == -INFINITY ? 0.0f : exp(most - score);
      for (int j = 0; j < 8; j++) acc[j] = acc[j] * SPLAT16(less);
      sum = sum * less;
      most = score;
    }
    const float weight = score == -INFINITY ? 0.0f : exp(score - most);
    sum = sum + weight;
    if (weight != 0.0f) {
      for (int j = 0; j < cols / 16; j++)
        acc[j] = FMAS(16, weight, LOAD(16, X, value + j * 16), acc[j]);
      if (cols % 16)
        acc[cols / 16] = FMAS(
            16, weight, GATHER(16, X, value + cols / 16 * 16, 1, cols % 16 - 1), acc[cols / 16]);
    }
    key += P(a);
    value += P(d);
  }
  const int none = last <= begin;
  const float factor = none ? 0.0f : 1.0f / sum;
  for (int j = 0; j < 8; j++) {
    float lanes[16];
    const f32x16 row16 = acc[j];
    STORE(16, f32, row16, lanes);
    for (int k = 0; k < 16; k++)
      if (j * 16 + k < cols)
        ST(X, sum == 0.0f && !none ? NAN : lanes[k] * factor, y, j * 16 + k);
  }
}
