// SPDX-License-Identifier: Apache-2.0
// Running sums along the middle axis of x [outer, n, inner].
//
// FLOATING: floats, whose rounding errors are summed beside them (Knuth's two-sum), as the CPU sums
// in float64. Else integers that wrap.
// P: 0 outer * inner, 1 n, 2 inner, 3 whether each sum leaves out its own element, 4 whether sums
// run from the end. ITEM: one of outer * inner.
KERNEL(NAME) {
  const int i = ITEM(0), n = P(1);
  if (i >= P(0)) return;
  const int start = i / P(2) * n * P(2) + i % P(2);
  GLOBAL const X *x = IN(0, X) + start;
  GLOBAL X *y = OUT(5, X) + start;
  const int step = P(4) ? -P(2) : P(2);
  int at = P(4) ? (n - 1) * P(2) : 0;
#if FLOATING
  float sum = 0.0f, error = 0.0f;
#else
  X sum = 0;
#endif
  for (int k = 0; k < n; k++, at += step) {
#if FLOATING
    const float v = LD(X, x, at), next = sum + v, part = next - sum;
    const float whole = sum + error, before = whole - whole == 0.0f ? whole : sum;
    error = error + ((sum - (next - part)) + (v - part));
    sum = next;
    const float more = sum + error, after = more - more == 0.0f ? more : sum;
    ST(X, P(3) ? before : after, y, at);
#else
    const X before = sum;
    sum = sum + x[at];
    y[at] = P(3) ? before : sum;
#endif
  }
}
