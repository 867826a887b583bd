// SPDX-License-Identifier: Apache-2.0
// Softmax along the middle axis of x [outer, n, inner], or the logarithm of it (LOGS=1).
//
// P: 0 outer * inner, 1 n, 2 inner. ITEM: one of outer * inner.
KERNEL(NAME) {
  const int i = ITEM(0);
  if (i >= P(0)) return;
  const int start = i / P(2) * P(1) * P(2) + i % P(2), step = P(2), n = P(1);
  GLOBAL const X *x = IN(0, X) + start;
  GLOBAL X *y = OUT(5, X) + start;
  float most = LD(X, x, 0), sum = 0.0f;
  for (int k = 1; k < n; k++) {
    const float v = LD(X, x, k * step);
    most = v > most || v != v ? v : most;
  }
  for (int first = 0; first < n; first += 256) {
    const int last = LEAST(first + 256, n);
    float part = 0.0f;
    for (int k = first; k < last; k++) part = part + exp(LD(X, x, k * step) - most);
    sum = sum + part;
  }
#if LOGS
  const float below = log(sum);
  for (int k = 0; k < n; k++) ST(X, LD(X, x, k * step) - most - below, y, k * step);
#else
  const float factor = 1.0f / sum;
  for (int k = 0; k < n; k++) ST(X, exp(LD(X, x, k * step) - most) * factor, y, k * step);
#endif
}
