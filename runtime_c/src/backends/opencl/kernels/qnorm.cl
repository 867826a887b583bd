// SPDX-License-Identifier: Apache-2.0
// Normalisation of int8 rows x [rows, n], to the last bit: kernels/i8_norm/i8_norm.h. CENTRED: layer
// norm, else root mean square.
//
// P: 0 rows, 1 n, 2 zero point of x, 3 of y, 4 whether there is a bias. F: 0 lo and 1 hi, less the
// zero point, 2 eps. IN: x, scale, bias. ITEM: row.

// The square root of a positive normal number, rounded once, which devices do not promise.
HELPER float FN(root)(float v) {
  const int bits = BITS_OF(v), exponent = (bits >> 23) - 150, shift = 2 - (exponent & 1);
  const u64 square = (u64)((bits & 0x7fffff) | 0x800000) << (24 + shift);
  // 25 bits: the last one says which way to round, as no root lies in the middle of two floats.
  u64 r = (u64)sqrt(F32_RTE(square));
  while (r * r > square) r--;
  while ((r + 1) * (r + 1) <= square) r++;
  return ldexp((float)(int)((r + 1) >> 1), 1 + (exponent - shift - 24) / 2);
}

KERNEL(NAME) {
  const int n = P(1);
  if (ITEM(0) >= P(0)) return;
  GLOBAL const i8 *x = IN(0, i8) + ITEM(0) * n;
  GLOBAL const f32 *scale = IN(1, f32);
  GLOBAL const f32 *bias = IN(2, f32);
  GLOBAL i8 *y = OUT(5, i8) + ITEM(0) * n;
  const float length = (float)n;
  i64 sum = 0, squares = 0;
  for (int i = 0; i < n; i++) {
    const int v = x[i];
    sum += v;
    squares += v * v;
  }
  const float rest = F(2) * length;
#if CENTRED
  const float wide = rest * length, spread = F32_RTE((i64)n * squares - sum * sum);
  const float v = spread + wide;
  const int factor = n, offset = -(int)sum;
#else
  const i64 zero = P(2);
  const float v = F32_RTE(squares - 2 * zero * sum + (i64)n * zero * zero) + rest;
  const int factor = 1, offset = -P(2);
#endif
  // A subnormal one stands beside deviations of 0.
  const float inverse = v < INFINITY ? divided(1.0f, FN(root)(MOST(v, 1.17549435e-38f))) : 0.0f;
  for (int i = 0; i < n; i++) {
    const float deviation = F32_RTE(x[i] * factor + offset) * inverse;
    float value = deviation * scale[i];
    if (P(4)) value = value + bias[i];
    y[i] = (i8)quantum(value, F(0), F(1), P(3));
  }
}
