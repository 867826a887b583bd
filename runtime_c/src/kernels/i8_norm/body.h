// SPDX-License-Identifier: Apache-2.0
// Normalisation of int8 rows over the vocabulary.
#if VF == 1
#include "kernels/i8_norm/scalar.h"
#else
#include "kernels/i8_norm/sums.h"
#include "simd/bytes.h"

// p of VF lanes; n of them have scale and bias. NaN becomes 0.
SMR_INLINE N(vf) N(i8_norm_value)(N(vi) x, const struct N(i8_norm_by) * by, const float *scale,
                                  const float *bias, size_t n) {
  const N(vi) d = N(iadd)(N(imul)(x, N(iset1)(by->factor)), N(iset1)(by->offset));
  N(vf) p = N(mul)(N(to_float)(d), N(set1)(by->inverse));
  p = N(mul)(p, n == VF ? N(load)(scale) : N(load_n)(scale, n));
  if (bias != NULL) p = N(add)(p, n == VF ? N(load)(bias) : N(load_n)(bias, n));
  return N(select)(N(eq)(p, p), p, N(zero)());
}

SMR_INLINE void N(i8_norm_write)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                                 const struct N(i8_norm_by) * by, const float *bias, int8_t *y) {
  const struct N(i8_limits) limits = N(i8_limits)(args->lo, args->hi, args->zero_point);
  const float *scale = args->scale;
  N(vi) v[4];
  N(vf) p[4];
  size_t i = 0;
  for (; i + 4 * VF <= n; i += 4 * VF) {
    N(load_i8)(x + i, v);
    SMR_UNROLL for (size_t k = 0; k < 4; k++) p[k] =
        N(i8_norm_value)(v[k], by, scale + i + k * VF, bias != NULL ? bias + i + k * VF : NULL, VF);
    N(store_i8)(y + i, p, &limits, 4 * VF);
  }
  if (i == n) return;
  N(load_i8_n)(x + i, n - i, v);
  SMR_UNROLL for (size_t k = 0; k < 4; k++) {
    const size_t at = i + k * VF < n ? i + k * VF : n, left = n - at < VF ? n - at : VF;
    p[k] = N(i8_norm_value)(v[k], by, scale + at, bias != NULL ? bias + at : NULL, left);
  }
  N(store_i8)(y + i, p, &limits, n - i);
}

// Functions, which both kinds of rows call.
SMR_APART void N(i8_norm_write_biased)(size_t n, const int8_t *x,
                                       const struct smr_i8_norm_args *args,
                                       const struct N(i8_norm_by) * by, int8_t *y) {
  N(i8_norm_write)(n, x, args, by, args->bias, y);
}
SMR_APART void N(i8_norm_write_scaled)(size_t n, const int8_t *x,
                                       const struct smr_i8_norm_args *args,
                                       const struct N(i8_norm_by) * by, int8_t *y) {
  N(i8_norm_write)(n, x, args, by, NULL, y);
}

SMR_INLINE void N(i8_norm_row)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                               int8_t *y, const int centred) {
  const struct N(i8_norm_by) by = N(i8_norm_sums)(n, x, args, centred);
  if (args->bias != NULL)
    N(i8_norm_write_biased)(n, x, args, &by, y);
  else
    N(i8_norm_write_scaled)(n, x, args, &by, y);
}

static void N(i8_norm_centred_row)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                                   int8_t *y) {
  N(i8_norm_row)(n, x, args, y, 1);
}

static void N(i8_norm_plain_row)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                                 int8_t *y) {
  N(i8_norm_row)(n, x, args, y, 0);
}

static const struct smr_i8_norm N(i8_norm_kernels) = {
    .name = "i8_norm__" SMR_SIMD_NAME,
    .centred_row = N(i8_norm_centred_row),
    .plain_row = N(i8_norm_plain_row),
};
#endif
