// SPDX-License-Identifier: Apache-2.0
// Elements of x along some axes as one: START, then OF of acc and v for each, then END of acc
// and their number n. With SHARE=1, ALL of total for those of all lanes.
//
// P: 0 elements of y, 1 items, 2-7 dims that stay, 8-d strides of x along them, e elements of x for
// each of y, f zero point of x. Q: 0-5 dims that go, 6-b strides along them, c zero point of y.
// F: 0 lo, 1 hi, of y less its zero point, 2 factor. SHARED_ITEM(0): element of y.
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL Y *y = OUT(5, Y);
  const int n = P(e), rows = Q(0) * Q(1) * Q(2) * Q(3) * Q(4);
  const int lane = LANE_ID, lanes = LANES;
  for (int i = SHARED_ITEM(0); i < P(0); i += P(1)) {
    int t = i, at = 0;
#define AXIS(size, stride)   \
  at += t % (size) * (stride); \
  t /= (size);
    AXIS(P(7), P(d))
    AXIS(P(6), P(c))
    AXIS(P(5), P(b))
    AXIS(P(4), P(a))
    AXIS(P(3), P(9))
    AXIS(P(2), P(8))
    ACC total = START;
    for (int row = 0; row < rows; row++) {
      int from = at;
      t = row;
#define AT(size, stride)         \
  from += t % (size) * (stride); \
  t /= (size);
      AT(Q(4), Q(a))
      AT(Q(3), Q(9))
      AT(Q(2), Q(8))
      AT(Q(1), Q(7))
      AT(Q(0), Q(6))
#undef AT
      // Sums of sums of sums: a long sum would lose digits.
      for (int high = 0; high < Q(5); high += 2048 * lanes) {
        ACC part = START;
        const int end = LEAST(high + 2048 * lanes, Q(5));
        for (int first = high; first < end; first += 32 * lanes) {
          const int last = LEAST(first + 32 * lanes, end);
          ACC acc = START;
          for (int k = first + lane; k < last; k += lanes) {
            const ACC v = (ACC)LD(X, x, from + k * Q(b));
            acc = OF;
          }
          const ACC v = acc;
          acc = part;
          part = JOIN;
        }
        const ACC v = part;
        ACC acc = total;
        total = JOIN;
      }
    }
#undef AXIS
    const ACC acc = SHARED(total, ALL);
    (void)n;
    if (lane == 0) ST(Y, END, y, i);
  }
}
