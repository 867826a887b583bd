// SPDX-License-Identifier: Apache-2.0
// Pools over 1 to 3 spatial axes of x [N, D, H, W, C]: KIND 0 the largest, 1 the mean, 2 the
// mean of int8.
//
// P: 0 C, 1 items of a pixel, 2-4 D H W, 5-7 those of y, 8-a window, b-d strides, e zero point
// of x,
// f whether pads count. Q: 0-2 dilations, 3-5 pads before, 6-8 pads after, 9 zero point of y.
// F: 0 lo, 1 hi, of y less its zero point, 2 scale of x, 3 scale of y. IN(1): the factor for
// each count, for KIND 2; of
// `dequantized` values if there is none (Q(a)). ITEM: channel, pixel.
#if WHOLE
#define ODD(v) 0
#else
#define ODD(v) NOT_A_NUMBER(v)
#endif
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL X *y = OUT(5, X);
  int t = ITEM(1);
  y += t * P(0);
  const int w0 = t % P(7) * P(d) - Q(5);
  t /= P(7);
  const int h0 = t % P(6) * P(c) - Q(4);
  t /= P(6);
  const int d0 = t % P(5) * P(b) - Q(3);
  x += t / P(5) * P(2) * P(3) * P(4) * P(0);
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    int counted = 0;
#if KIND == 0
    BEST best = LOW;
#elif KIND == 1
    float sum = 0.0f;
#else
    int sum = 0;
    float real = 0.0f;
#endif
    for (int kd = 0; kd < P(8); kd++) {
      const int d = d0 + kd * Q(0);
      for (int kh = 0; kh < P(9); kh++) {
        const int h = h0 + kh * Q(1);
        for (int kw = 0; kw < P(a); kw++) {
          const int w = w0 + kw * Q(2);
          if (d >= 0 && d < P(2) && h >= 0 && h < P(3) && w >= 0 && w < P(4)) {
            const BEST v = (BEST)LD(X, x, ((d * P(3) + h) * P(4) + w) * P(0) + i);
            counted++;
#if KIND == 0
            if ((v > best) | ODD(v)) best = v;
#elif KIND == 1
            sum = sum + v;
#else
            sum += v - P(e);
            real = real + (float)(v - P(e)) * F(2);
#endif
          } else if (P(f) && d < P(2) + Q(6) && h < P(3) + Q(7) && w < P(4) + Q(8)) {
            counted++;
          }
        }
      }
    }
#if KIND == 0
    (void)counted;
    ST(X, best, y, i);
#elif KIND == 1
    ST(X, counted ? sum / (float)counted : 0.0f, y, i);
#else
    counted = MOST(counted, 1);
    const float p = Q(a) ? divided(divided(real, (float)counted), F(3))
                         : (float)sum * IN(1, f32)[counted];
    y[i] = (X)quantum(p, F(0), F(1), Q(9));
#endif
  }
}
#undef ODD
