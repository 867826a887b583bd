// SPDX-License-Identifier: Apache-2.0
// A function of one float: OF, of x and of the attributes a and b. P: 0 elements, 1 items. F: a, b.
KERNEL(NAME) {
  GLOBAL const X *in = IN(0, X);
  GLOBAL X *y = OUT(5, X);
  const float a = F(0), b = F(1);
  (void)a;
  (void)b;
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    const float x = LD(X, in, i);
    ST(X, OF, y, i);
  }
}
