// SPDX-License-Identifier: Apache-2.0
// Numbers between float and int8: OF, of x and its index i. P: 0 elements, 1 items, 2 zero point
// of x, 3 that of y.
//
// F: 0 lo, 1 hi, of y less its zero point, 2 a factor or divisor. IN(1): the table of a lookup.
KERNEL(NAME) {
  GLOBAL const X *in = IN(0, X);
  GLOBAL const i8 *table = IN(1, i8);
  GLOBAL Y *y = OUT(5, Y);
  (void)table;
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    const ACC x = LD(X, in, i);
    ST(Y, OF, y, i);
  }
}
