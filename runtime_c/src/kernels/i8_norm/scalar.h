// SPDX-License-Identifier: Apache-2.0
// Normalisation of int8 rows in portable C.

#include "kernels/i8_norm/sums.h"

// A second loop converts int32 to int8, so that compilers vectorize both.
#define I8_NORM_STEP 256

SMR_VECTORIZED static void N(i8_norm_write)(size_t n, const int8_t *x,
                                            const struct smr_i8_norm_args *args,
                                            const struct N(i8_norm_by) * by, int8_t *y) {
  const int32_t zero = args->zero_point, factor = by->factor, offset = by->offset;
  const float lo = (float)(args->lo - zero), hi = (float)(args->hi - zero), inverse = by->inverse;
  int32_t block[I8_NORM_STEP];
  for (size_t i = 0; i < n; i += I8_NORM_STEP) {
    const size_t count = n - i < I8_NORM_STEP ? n - i : I8_NORM_STEP;
    const float *scale = args->scale + i, *bias = args->bias != NULL ? args->bias + i : NULL;
    for (size_t j = 0; j < count; j++) {
      const float deviation = (float)(x[i + j] * factor + offset) * inverse;
      const float p = deviation * scale[j];
      block[j] = smr_rounded(bias != NULL ? p + bias[j] : p, lo, hi, zero);
    }
    for (size_t j = 0; j < count; j++) y[i + j] = (int8_t)block[j];
  }
}

static void N(i8_norm_centred_row)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                                   int8_t *y) {
  const struct N(i8_norm_by) by = N(i8_norm_sums)(n, x, args, 1);
  N(i8_norm_write)(n, x, args, &by, y);
}

static void N(i8_norm_plain_row)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                                 int8_t *y) {
  const struct N(i8_norm_by) by = N(i8_norm_sums)(n, x, args, 0);
  N(i8_norm_write)(n, x, args, &by, y);
}

static const struct smr_i8_norm N(i8_norm_kernels) = {
    .name = "i8_norm__scalar",
    .centred_row = N(i8_norm_centred_row),
    .plain_row = N(i8_norm_plain_row),
};
#undef I8_NORM_STEP
