// SPDX-License-Identifier: Apache-2.0
// Linear interpolation of int8 along one or two axes of x [N, H, W, C], by taps of two indices
// and the weight of the second.
//
// P: 0 C, 1 items of a pixel, 2 H, 3 W, 4 5 those of y, 6 zero point of x, 7 that of y, 8
// whether IN(1) is of H
// and IN(2) of W, else IN(1) is of W alone. F: 0 lo, 1 hi, of y less its zero point, 2 factor.
// ITEM: channel, pixel.
KERNEL(NAME) {
  GLOBAL const i8 *x = IN(0, i8);
  GLOBAL i8 *y = OUT(5, i8);
  GLOBAL const i32 *hs = IN(1, i32);
  GLOBAL const i32 *ws = P(8) ? IN(2, i32) : IN(1, i32);
  int t = ITEM(1);
  y += t * P(0);
  ws += t % P(5) * 3;
  t /= P(5);
  hs += P(8) ? t % P(4) * 3 : 0;
  x += t / P(4) * P(2) * P(3) * P(0);
  const int top = P(8) ? hs[0] : 0, bottom = P(8) ? hs[1] : 0, down = P(8) ? hs[2] : 0;
  const int a = (top * P(3) + ws[0]) * P(0), b = (top * P(3) + ws[1]) * P(0);
  const int c = (bottom * P(3) + ws[0]) * P(0), e = (bottom * P(3) + ws[1]) * P(0);
  const int right = ws[2], left = 2048 - right, zero = P(6);
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    int sum = (x[a + i] - zero) * left + (x[b + i] - zero) * right;
    if (P(8))
      sum = sum * (2048 - down) + ((x[c + i] - zero) * left + (x[e + i] - zero) * right) * down;
    y[i] = (i8)quantum((float)sum * F(2), F(0), F(1), P(7));
  }
}
