// SPDX-License-Identifier: Apache-2.0
// Dispatch of the means of int8.
#include "base/fp.h"

#include "kernels/s8_mean/s8_mean.h"

#include "kernels/s8_mean/kernels.h"

static const struct s8_mean_row {
  uint32_t isa;
  const struct smr_s8_mean *kernels;
} s8_mean_rows[] = {
#define SMR_UKERNEL(isa, suffix) {isa, &smr_s8_mean_ukernels__##suffix},
#include "kernels/s8_mean/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_s8_mean *smr_s8_mean_config(uint32_t isa) {
  size_t i = 0;
  while ((s8_mean_rows[i].isa & isa) != s8_mean_rows[i].isa) i++;  // the last needs nothing
  return s8_mean_rows[i].kernels;
}
