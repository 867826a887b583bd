// SPDX-License-Identifier: Apache-2.0
// Softmax along the middle axis of x [outer, n, inner], or the logarithm of it (LOGS=1).
//
// P: 0 outer * inner, 1 n, 2 inner. SHARED_ITEM(0): one of outer * inner.
KERNEL(NAME) {
  const int i = SHARED_ITEM(0), lane = LANE_ID, lanes = LANES;
  if (i >= P(0)) return;
  const int start = i / P(2) * P(1) * P(2) + i % P(2), step = P(2), n = P(1);
  GLOBAL const X *x = IN(0, X) + start;
  GLOBAL X *y = OUT(5, X) + start;
  float most = LD(X, x, 0), sum = 0.0f;
  for (int k = lane; k < n; k += lanes) {
    const float v = LD(X, x, k * step);
    most = v > most || v != v ? v : most;
  }
  most = SHARED(most, sub_group_reduce_max(most));
  for (int first = 0; first < n; first += 256 * lanes) {
    const int last = LEAST(first + 256 * lanes, n);
    float part = 0.0f;
    for (int k = first + lane; k < last; k += lanes) part = part + exp(LD(X, x, k * step) - most);
    sum = sum + part;
  }
  sum = SHARED(sum, sub_group_reduce_add(sum));
#if LOGS
  const float below = log(sum);
  for (int k = lane; k < n; k += lanes) ST(X, LD(X, x, k * step) - most - below, y, k * step);
#else
  const float factor = 1.0f / sum;
  for (int k = lane; k < n; k += lanes) ST(X, exp(LD(X, x, k * step) - most) * factor, y, k * step);
#endif
}
