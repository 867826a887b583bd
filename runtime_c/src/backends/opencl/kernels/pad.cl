// SPDX-License-Identifier: Apache-2.0
// Elements added around a tensor, or cut off.
//
// P: 0 elements of a row, 1 items of a row, 2-6 dims of rows, 7-b sizes of x, c size along the row,
// d mode (0 constant, 1 reflect, 2 edge, 3 wrap), e whether IN(1) holds the constant, f the
// constant.
// Q: 0-4 strides of x, 5 the one along the row, 6-a elements before, b those of the row.
HELPER int FN(from)(int at, int size, int mode) {
  if (at >= 0 && at < size) return at;
  if (mode == 0 || size == 0) return -1;
  if (mode == 2) return at < 0 ? 0 : size - 1;
  if (mode == 3) return (at % size + size) % size;
  const int period = 2 * (size - 1);
  if (period == 0) return 0;
  at = (at % period + period) % period;
  return at < size ? at : period - at;
}
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL const X *value = IN(1, X);
  GLOBAL X *y = OUT(5, X);
  int t = ITEM(1), d, inside = 1;
  y += t * P(0);
#define AXIS(n, size, stride, before)             \
  d = FN(from)(t % (n) - (before), size, P(d));   \
  t /= (n);                                       \
  if (d < 0) inside = 0;                          \
  x += inside ? d * (stride) : 0;
  AXIS(P(6), P(b), Q(4), Q(a))
  AXIS(P(5), P(a), Q(3), Q(9))
  AXIS(P(4), P(9), Q(2), Q(8))
  AXIS(P(3), P(8), Q(1), Q(7))
  AXIS(P(2), P(7), Q(0), Q(6))
#undef AXIS
  const X filler = P(e) ? value[0] : (X)P(f);
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    const int at = inside ? FN(from)(i - Q(b), P(c), P(d)) : -1;
    y[i] = at < 0 ? filler : x[at * Q(5)];
  }
}
