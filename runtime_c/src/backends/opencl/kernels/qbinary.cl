// SPDX-License-Identifier: Apache-2.0
// A function of two int8 operands that broadcast: OF, an int32 of a and b less their zero
// points, times F(2). Parameters as in binary.cl, and
//
// P: d e f zero points of a, b, y. Q: 6 7 factors of a and b. F: 0 lo, 1 hi, of y less its zero
// point.
KERNEL(NAME) {
  GLOBAL const i8 *left = IN(0, i8);
  GLOBAL const i8 *right = IN(1, i8);
  GLOBAL i8 *y = OUT(5, i8);
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
  const int ka = Q(6), kb = Q(7);
  (void)ka;
  (void)kb;
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    const int a = left[i * P(c)] - P(d), b = right[i * Q(5)] - P(e);
    y[i] = (i8)quantum((float)(OF)*F(2), F(0), F(1), P(f));
  }
}
