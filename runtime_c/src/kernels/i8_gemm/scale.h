// SPDX-License-Identifier: Apache-2.0
// Sums become int8: the part of core.h that tiles with I8_NAME(direct_tiles) use themselves.

// Sums times multipliers as integers that I8_NAME(narrow) takes. The upper end is clamped before
// the conversion, which has no answer for what is too large; the lower one as bytes, since what is
// too small becomes the least integer (and NaN, from a multiplier that makes no sense, one of the
// ends).
SMR_INLINE N(vi) I8_NAME(scale)(const N(vi) sums, const N(vf) multiplier, const N(vf) hi) {
  return N(to_int)(N(min)(N(mul)(N(to_float)(sums), multiplier), hi));
}
