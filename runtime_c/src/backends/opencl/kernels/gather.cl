// SPDX-License-Identifier: Apache-2.0
// Slices of x [outer, n, inner] by position: y [outer, m, inner]. IN(1): m positions.
//
// P: 0 inner, 1 items of a slice, 2 n, 3 m. ITEM: element of a slice, slice of y.
KERNEL(NAME) {
  GLOBAL const i32 *positions = IN(1, i32);
  const int slice = ITEM(1);
  GLOBAL const X *x = IN(0, X) + (slice / P(3) * P(2) + positions[slice % P(3)]) * P(0);
  GLOBAL X *y = OUT(5, X) + slice * P(0);
  for (int i = ITEM(0); i < P(0); i += P(1)) y[i] = x[i];
}
