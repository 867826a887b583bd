// SPDX-License-Identifier: Apache-2.0
// y = a where the condition is true, else b; all three broadcast.
//
// P: 0 elements of a row, 1 items of a row, 2-6 dims of rows, 7-b strides of the condition, c it
// along the row. Q: 0-4 strides of a, 5 a along the row, 6-a strides of b, b it along the row.
KERNEL(NAME) {
  GLOBAL const u8 *condition = IN(0, u8);
  GLOBAL const X *a = IN(1, X);
  GLOBAL const X *b = IN(2, X);
  GLOBAL X *y = OUT(5, X);
  int t = ITEM(1), d;
  y += t * P(0);
#define AXIS(n, sc, sa, sb) \
  d = t % (n);              \
  t /= (n);                 \
  condition += d * (sc);    \
  a += d * (sa);            \
  b += d * (sb);
  AXIS(P(6), P(b), Q(4), Q(a))
  AXIS(P(5), P(a), Q(3), Q(9))
  AXIS(P(4), P(9), Q(2), Q(8))
  AXIS(P(3), P(8), Q(1), Q(7))
  AXIS(P(2), P(7), Q(0), Q(6))
#undef AXIS
  for (int i = ITEM(0); i < P(0); i += P(1))
    y[i] = condition[i * P(c)] ? a[i * Q(5)] : b[i * Q(b)];
}
