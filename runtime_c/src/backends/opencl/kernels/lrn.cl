// SPDX-License-Identifier: Apache-2.0
// Local response normalisation along the last axis. P: 0 elements, 1 items, 2 channels, 3
// neighbours.
//
// F: 0 alpha / neighbours, 1 beta, 2 bias.
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL X *y = OUT(5, X);
  for (int i = ITEM(0); i < P(0); i += P(1)) {
    const int c = i % P(2), first = c - (P(3) - 1) / 2;
    float sum = 0.0f;
    for (int k = MOST(first, 0); k < LEAST(first + P(3), P(2)); k++) {
      const float v = LD(X, x, i - c + k);
      sum = sum + v * v;
    }
    ST(X, LD(X, x, i) / pow(F(2) + F(0) * sum, F(1)), y, i);
  }
}
