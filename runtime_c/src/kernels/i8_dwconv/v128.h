// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution for vectors of 128 bits: half a panel of channels at a time.
#include "simd/bytes.h"

#define I8DW_V N(v8i16)
#define I8DW_OP(op) N(i8dw_##op)
#define I8DW_WORDS 8

// The operations of kernels/i8_dwconv/pairs.h.
SMR_INLINE N(v8i16) N(i8dw_set1_epi16)(int16_t x) { return N(wset1)(x); }
SMR_INLINE N(v8i16) N(i8dw_sub_epi16)(N(v8i16) a, N(v8i16) b) { return a - b; }
SMR_INLINE N(v8i16) N(i8dw_add_epi32)(N(v8i16) a, N(v8i16) b) {
  return (N(v8i16))N(iadd)((N(vi))a, (N(vi))b);
}
SMR_INLINE N(v8i16) N(i8dw_sub_epi32)(N(v8i16) a, N(v8i16) b) {
  return (N(v8i16))N(isub)((N(vi))a, (N(vi))b);
}
SMR_INLINE N(v8i16) N(i8dw_madd_epi16)(N(v8i16) a, N(v8i16) b) { return (N(v8i16))N(madd)(a, b); }
SMR_INLINE N(v8i16) N(i8dw_unpacklo_epi16)(N(v8i16) a, N(v8i16) b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
SMR_INLINE N(v8i16) N(i8dw_unpackhi_epi16)(N(v8i16) a, N(v8i16) b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

SMR_INLINE N(v8i16) N(i8dw_words)(const int8_t *x) { return N(widen)(x); }
SMR_INLINE N(v8i16) N(i8dw_words_n)(const int8_t *x, size_t n) {
  return N(widen_low)(N(load_8_n)(x, n));
}
SMR_INLINE N(v8i16) N(i8dw_panels)(const int8_t *w, size_t panel_stride, size_t panels) {
  (void)panel_stride, (void)panels;
  return N(widen)(w);
}
SMR_INLINE void N(i8dw_spread)(const void *x, size_t panels, N(v8i16) * to) {
  (void)panels;
  memcpy(to, x, 2 * sizeof *to);
}

SMR_INLINE void N(i8dw_store_ints)(int32_t *y, const N(v8i16) * acc, size_t n) {
  N(istore_n)(y, (N(vi))acc[0], n < VF ? n : VF);
  if (n > VF) N(istore_n)(y + VF, (N(vi))acc[1], n - VF);
}

#define I8DW_ENDS
struct N(i8dw_limits) {
  struct N(i8_limits) bytes;
};
SMR_INLINE struct N(i8dw_limits) N(i8dw_limits_of)(const struct smr_i8_dwconv_end *end) {
  return (struct N(i8dw_limits)){N(i8_limits)(end->lo, end->hi, end->zero)};
}
SMR_INLINE N(vi) N(i8dw_round)(N(v8i16) acc, N(v8i16) multiplier, const struct N(i8_limits) * l) {
  return N(round_i8)(N(mul)(N(to_float)((N(vi))acc), (N(vf))multiplier), l);
}
SMR_INLINE void N(i8dw_narrow)(const struct N(i8dw_limits) * limits, const N(v8i16) * acc,
                               const N(v8i16) * multiplier, int8_t *y, size_t n) {
  const N(v8i16) words = N(words_of)(N(i8dw_round)(acc[0], multiplier[0], &limits->bytes),
                                     N(i8dw_round)(acc[1], multiplier[1], &limits->bytes));
  const N(v16i8) bytes = N(bytes_of)(words, words);
  if (n == I8DW_WORDS)
    memcpy(y, &bytes, I8DW_WORDS);
  else
    N(store_8_n)(y, bytes, n);
}

#include "kernels/i8_dwconv/pairs.h"
