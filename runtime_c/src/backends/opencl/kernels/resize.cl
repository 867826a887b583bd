// SPDX-License-Identifier: Apache-2.0
// Elements of x [N, D, H, W, C] at other sizes: sums over taps that IN(1) lists by axis and
// output, or copies (NEAREST=1).
//
// P: 0 C, 1 items of a pixel, 2-4 D H W, 5-7 those of y, 8-a taps of an axis, b-d first entry of
// an axis.
// IN(1): entries of an index and the bits of a weight. ITEM: channel, pixel.
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL X *y = OUT(5, X);
  GLOBAL const i32 *table = IN(1, i32);
  int t = ITEM(1);
  y += t * P(0);
  GLOBAL const i32 *ws = table + 2 * (P(d) + t % P(7) * P(a));
  t /= P(7);
  GLOBAL const i32 *hs = table + 2 * (P(c) + t % P(6) * P(9));
  t /= P(6);
  GLOBAL const i32 *ds = table + 2 * (P(b) + t % P(5) * P(8));
  x += t / P(5) * P(2) * P(3) * P(4) * P(0);
#if NEAREST
  x += ((ds[0] * P(3) + hs[0]) * P(4) + ws[0]) * P(0);
  for (int i = ITEM(0); i < P(0); i += P(1)) y[i] = x[i];
#else
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    float sum = 0.0f;
    for (int d = 0; d < P(8); d++) {
      float plane = 0.0f;
      for (int h = 0; h < P(9); h++) {
        float row = 0.0f;
        const int at = (ds[2 * d] * P(3) + hs[2 * h]) * P(4);
        for (int w = 0; w < P(a); w++)
          row = row + LD(X, x, (at + ws[2 * w]) * P(0) + i) * FLOAT_OF(ws[2 * w + 1]);
        plane = plane + row * FLOAT_OF(hs[2 * h + 1]);
      }
      sum = sum + plane * FLOAT_OF(ds[2 * d + 1]);
    }
    ST(X, sum, y, i);
  }
#endif
}
