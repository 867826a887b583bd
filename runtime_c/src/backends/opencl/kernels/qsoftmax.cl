// SPDX-License-Identifier: Apache-2.0
// Softmax of int8 along the middle axis of x [outer, n, inner], by a table of exponentials.
//
// P: 0 outer * inner, 1 n, 2 inner. IN(1): 256 uint32. ITEM: one of outer * inner.
KERNEL(NAME) {
  const int i = ITEM(0);
  if (i >= P(0)) return;
  const int start = i / P(2) * P(1) * P(2) + i % P(2), step = P(2), n = P(1);
  GLOBAL const i8 *x = IN(0, i8) + start;
  GLOBAL const u32 *table = IN(1, u32);
  GLOBAL i8 *y = OUT(5, i8) + start;
  int most = -128;
  for (int k = 0; k < n; k++) most = MOST(most, x[k * step]);
  u64 sum = 0;
  for (int k = 0; k < n; k++) sum += table[most - x[k * step]];
  const u64 factor = ((u64)1 << 55) / (sum ? sum : 1);
  for (int k = 0; k < n; k++) {
    const u64 e = table[most - x[k * step]];
    const u64 v = (e * factor + ((u64)1 << 46)) >> 47;
    y[k * step] = (i8)((v < 255 ? (int)v : 255) - 128);
  }
}
