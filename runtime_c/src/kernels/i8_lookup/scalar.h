// SPDX-License-Identifier: Apache-2.0
// Lookups of int8 in portable C.

static void N(i8_lookup)(size_t n, const int8_t *x, const int8_t table[256], int8_t *y) {
  const int8_t *zero = table + 128;
  for (size_t i = 0; i < n; i++) y[i] = zero[x[i]];
}
