// SPDX-License-Identifier: Apache-2.0
// Sums and products of int8 rows in portable C.

// A second loop converts int32 to int8, so that compilers vectorize both.
enum { I8_VBINARY_STEP = 256 };

// `value` gives the accumulator of element j.
#define I8_VBINARY_LOOP(value)                                                                 \
  const int32_t zero = out->zero_point;                                                        \
  const float m = out->multiplier, lo = (float)(out->lo - zero), hi = (float)(out->hi - zero); \
  int32_t block[I8_VBINARY_STEP];                                                              \
  for (size_t i = 0; i < n; i += I8_VBINARY_STEP) {                                            \
    const size_t count = n - i < I8_VBINARY_STEP ? n - i : I8_VBINARY_STEP;                    \
    for (size_t j = i; j < i + count; j++)                                                     \
      block[j - i] = smr_requantized((value), m, lo, hi, zero);                                \
    for (size_t j = 0; j < count; j++) y[i + j] = (int8_t)block[j];                            \
  }

SMR_VECTORIZED static void N(i8_vbinary_add)(size_t n, const int8_t *a, int32_t ma, const int8_t *b,
                                             int32_t mb, int32_t offset,
                                             const struct smr_i8_vbinary_out *out, int8_t *y){
    I8_VBINARY_LOOP(a[j] * ma + b[j] * mb + offset)}

SMR_VECTORIZED static void N(i8_vbinary_mul)(size_t n, const int8_t *a, int32_t za, const int8_t *b,
                                             int32_t zb, const struct smr_i8_vbinary_out *out,
                                             int8_t *y){I8_VBINARY_LOOP((a[j] - za) * (b[j] - zb))}

SMR_VECTORIZED
    static void N(i8_vbinary_scale)(size_t n, const int8_t *a, int32_t factor, int32_t offset,
                                    const struct smr_i8_vbinary_out *out, int8_t *y) {
  I8_VBINARY_LOOP(a[j] * factor + offset)
}
#undef I8_VBINARY_LOOP
