// SPDX-License-Identifier: Apache-2.0
// Normalisation of groups of elements of x [N, S, G, R], those of one n and g together: over S
// and R (CENTRED=1: less their mean).
//
// P: 0 N * G, 1 S, 2 G, 3 R, 4 flags: 1 scale, 2 bias, 5 whether they are by g * R + r alone,
// else by r, 6 whether lanes share S, else R.
// F: 0 eps. SHARED_ITEM(0): one of N * G.
KERNEL(NAME) {
  const int i = SHARED_ITEM(0), lane = LANE_ID, lanes = LANES;
  if (i >= P(0)) return;
  const int lane_s = P(6) ? lane : 0, step_s = P(6) ? lanes : 1;
  const int lane_r = P(6) ? 0 : lane, step_r = P(6) ? 1 : lanes;
  const int wide = P(2) * P(3), first = i % P(2) * P(3), channel = P(5) ? first : 0;
  const int start = i / P(2) * P(1) * wide + first;
  GLOBAL const X *x = IN(0, X) + start;
  GLOBAL const X *scale = IN(1, X) + channel;
  GLOBAL const X *bias = IN(2, X) + channel;
  GLOBAL X *y = OUT(5, X) + start;
  const float n = (float)P(1) * (float)P(3);
  float mean = 0.0f, square = 0.0f;
#if CENTRED
  for (int s = lane_s; s < P(1); s += step_s) {
    float part = 0.0f;
    for (int r = lane_r; r < P(3); r += step_r) part = part + LD(X, x, s * wide + r);
    mean = mean + part;
  }
  mean = SHARED(mean, sub_group_reduce_add(mean)) / n;
#endif
  for (int s = lane_s; s < P(1); s += step_s) {
    float part = 0.0f;
    for (int r = lane_r; r < P(3); r += step_r) {
      const float v = LD(X, x, s * wide + r) - mean;
      part = part + v * v;
    }
    square = square + part;
  }
  square = SHARED(square, sub_group_reduce_add(square));
  const float factor = 1.0f / sqrt(square / n + F(0));
  for (int s = lane_s; s < P(1); s += step_s) {
    for (int r = lane_r; r < P(3); r += step_r) {
      float v = (LD(X, x, s * wide + r) - mean) * factor;
      if (P(4) & 1) v = v * LD(X, scale, r);
      if (P(4) & 2) v = v + LD(X, bias, r);
      ST(X, v, y, s * wide + r);
    }
  }
}
