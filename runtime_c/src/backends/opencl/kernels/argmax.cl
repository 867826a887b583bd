// SPDX-License-Identifier: Apache-2.0
// The index of the largest (LESS=0) or smallest (LESS=1) element along the middle axis of x
// [outer, n, inner].
//
// P: 0 elements of y, 1 n, 2 inner, 3 whether the last of equal ones. ITEM: element of y.
#if WHOLE
#define ODD(v) 0
#else
#define ODD(v) NOT_A_NUMBER(v)
#endif
KERNEL(NAME) {
  const int i = ITEM(0);
  if (i >= P(0)) return;
  GLOBAL const X *x = IN(0, X) + i / P(2) * P(1) * P(2) + i % P(2);
  ACC best = (ACC)LD(X, x, 0);
  int at = 0;
  for (int k = 1; k < P(1); k++) {
    const ACC v = (ACC)LD(X, x, k * P(2));
    const int odd = ODD(v), was = ODD(best);
#if LESS
    const int wins = (v < best) | (odd & !was);
#else
    const int wins = (v > best) | (odd & !was);
#endif
    if (wins || (P(3) && ((v == best) | (odd & was)))) {
      best = v;
      at = k;
    }
  }
  OUT(5, i64)[i] = at;
}
#undef ODD
