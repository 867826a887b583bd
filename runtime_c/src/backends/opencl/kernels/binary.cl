// SPDX-License-Identifier: Apache-2.0
// A function of two operands that broadcast: OF, of a and b.
//
// P: 0 elements of a row, 1 items of a row, 2-6 dims of rows, 7-b strides of a, c a along the row.
// Q: 0-4 strides of b, 5 b along the row. Of int8: P: d e f zero points of a, b, y; Q: 6 7 factors
// of a and b; F: 0 lo, 1 hi, of y less its zero point, 2 a factor. ITEM: element, row.
KERNEL(NAME) {
  GLOBAL const X *left = IN(0, X);
  GLOBAL const X *right = IN(1, X);
  GLOBAL Y *y = OUT(5, Y);
  int t = ITEM(1), d;
  y += t * P(0);
#define AXIS(n, sa, sb) \
  d = t % (n);          \
  t /= (n);             \
  left += d * (sa);     \
  right += d * (sb);
  AXIS(P(6), P(b), Q(4))
  AXIS(P(5), P(a), Q(3))
  AXIS(P(4), P(9), Q(2))
  AXIS(P(3), P(8), Q(1))
  AXIS(P(2), P(7), Q(0))
#undef AXIS
#define a LD(X, left, i *P(c))
#define b LD(X, right, i *Q(5))
  for (int i = ITEM(0); i < P(0); i += P(1)) ST(Y, OF, y, i);
#undef a
#undef b
}
