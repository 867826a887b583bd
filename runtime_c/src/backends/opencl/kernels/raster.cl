// SPDX-License-Identifier: Apache-2.0
// Elements of a box copied from strides to strides: what transpose, concat, split, slice, expand
// and tile are.
//
// P: 0 elements of a row, 1 items of a row, 2-6 dims of rows, 7-b strides of x, c x along the row,
// d first element of x, e first element of y. Q: 0-4 strides of y, 5 y along the row.
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL X *y = OUT(5, X);
  int t = ITEM(1), d, from = P(d), to = P(e);
#define AXIS(n, sx, sy) \
  d = t % (n);          \
  t /= (n);             \
  from += d * (sx);     \
  to += d * (sy);
  AXIS(P(6), P(b), Q(4))
  AXIS(P(5), P(a), Q(3))
  AXIS(P(4), P(9), Q(2))
  AXIS(P(3), P(8), Q(1))
  AXIS(P(2), P(7), Q(0))
#undef AXIS
  for (int i = ITEM(0); i < P(0); i += P(1)) y[to + i * Q(5)] = x[from + i * P(c)];
}
