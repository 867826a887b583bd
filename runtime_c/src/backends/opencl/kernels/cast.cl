// SPDX-License-Identifier: Apache-2.0
// Elements of type X as type Y: OF, of x. P: 0 elements, 1 items.
KERNEL(NAME) {
  GLOBAL const X *in = IN(0, X);
  GLOBAL Y *y = OUT(5, Y);
#define x LD(X, in, i)
  for (int i = ITEM(0); i < P(0); i += P(1)) ST(Y, OF, y, i);
#undef x
}
