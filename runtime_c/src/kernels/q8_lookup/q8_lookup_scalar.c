// SPDX-License-Identifier: Apache-2.0
// Lookups of int8 in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/q8_lookup/kernels.h"

static void q8_lookup_scalar(size_t n, const int8_t *x, const int8_t table[256], int8_t *y) {
  const int8_t *zero = table + 128;
  for (size_t i = 0; i < n; i++) y[i] = zero[x[i]];
}

const struct smr_q8_lookup smr_q8_lookup_ukernels__scalar = {.name = "q8_lookup__scalar",
                                                             .run = q8_lookup_scalar};
