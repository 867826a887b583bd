// SPDX-License-Identifier: Apache-2.0
// Sums and products of int8 rows over the vocabulary.
#if VF > 1
#include "simd/bytes.h"

// Stores n <= 4 VF elements of acc[k] as output.
SMR_INLINE void N(i8_vbinary_store)(int8_t *y, const N(vi) acc[4], N(vf) multiplier,
                                    const struct N(i8_limits) * limits, size_t n) {
  N(vf) p[4];
  SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] = N(mul)(N(to_float)(acc[k]), multiplier);
  N(store_i8)(y, p, limits, n);
}

// The loop over blocks of 4 VF elements; the last may be shorter. `value` gives acc[k] for the
// lanes u[k] and v[k]. `pair` is 0 without b.
#define I8_VBINARY_BLOCK(pair, value)                         \
  const size_t some = n - i < 4 * VF ? n - i : 4 * VF;        \
  N(vi) u[4], v[4], acc[4];                                   \
  N(load_i8_some)(a + i, some, u);                            \
  if (pair) N(load_i8_some)(b + i, some, v);                  \
  SMR_UNROLL for (size_t k = 0; k < 4; k++) acc[k] = (value); \
  N(i8_vbinary_store)(y + i, acc, m, &limits, some);

#define I8_VBINARY_OUT                      \
  const N(vf) m = N(set1)(out->multiplier); \
  const struct N(i8_limits) limits = N(i8_limits)(out->lo, out->hi, out->zero_point)

static void N(i8_vbinary_add)(size_t n, const int8_t *a, int32_t ma, const int8_t *b, int32_t mb,
                              int32_t offset, const struct smr_i8_vbinary_out *out, int8_t *y) {
  I8_VBINARY_OUT;
  const N(vi) fa = N(iset1)(ma), fb = N(iset1)(mb), start = N(iset1)(offset);
  for (size_t i = 0; i < n; i += 4 * VF) {
    I8_VBINARY_BLOCK(1, N(iadd)(N(iadd)(N(imul)(u[k], fa), N(imul)(v[k], fb)), start))
  }
}

static void N(i8_vbinary_mul)(size_t n, const int8_t *a, int32_t za, const int8_t *b, int32_t zb,
                              const struct smr_i8_vbinary_out *out, int8_t *y) {
  I8_VBINARY_OUT;
  const N(vi) na = N(iset1)(za), nb = N(iset1)(zb);
  for (size_t i = 0; i < n; i += 4 * VF) {
    I8_VBINARY_BLOCK(1, N(imul)(N(isub)(u[k], na), N(isub)(v[k], nb)))
  }
}

static void N(i8_vbinary_scale)(size_t n, const int8_t *a, int32_t factor, int32_t offset,
                                const struct smr_i8_vbinary_out *out, int8_t *y) {
  I8_VBINARY_OUT;
  const int8_t *b = NULL;
  const N(vi) f = N(iset1)(factor), start = N(iset1)(offset);
  for (size_t i = 0; i < n; i += 4 * VF) {
    I8_VBINARY_BLOCK(0, N(iadd)(N(imul)(u[k], f), start))
    (void)b, (void)v;
  }
}

#undef I8_VBINARY_OUT
#undef I8_VBINARY_BLOCK
#endif

static const struct smr_i8_vbinary N(i8_vbinary_kernels) = {
    .name = "i8_vbinary__" SMR_SIMD_NAME,
    .add = SMR_KERNEL_OF(q8_vbinary_add, N(i8_vbinary_add), smr_i8_vbinary_add_scalar),
    .mul = SMR_KERNEL_OF(q8_vbinary_mul, N(i8_vbinary_mul), smr_i8_vbinary_mul_scalar),
    .scale = SMR_KERNEL_OF(q8_vbinary_scale, N(i8_vbinary_scale), smr_i8_vbinary_scale_scalar),
};
