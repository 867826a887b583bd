// SPDX-License-Identifier: Apache-2.0
// Conversion of sums to int8: the part that tiles with I8_NAME(direct_tiles) use themselves.

// Sums times multipliers, as integers for I8_NAME(narrow). The upper end is clamped before the
// conversion, which is undefined for large values. The lower end is clamped as bytes, because too
// small values become the least integer. (NaN, from an invalid multiplier, becomes one of the
// ends.)
SMR_INLINE N(vi) I8_NAME(scale)(const N(vi) sums, const N(vf) multiplier, const N(vf) hi) {
  return N(to_int)(N(min)(N(mul)(N(to_float)(sums), multiplier), hi));
}
