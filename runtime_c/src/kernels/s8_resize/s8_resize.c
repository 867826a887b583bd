// SPDX-License-Identifier: Apache-2.0
// Dispatch of the linear interpolation of int8.
#include "base/fp.h"

#include "kernels/s8_resize/s8_resize.h"

#include "kernels/s8_resize/kernels.h"

static const struct s8_resize_row {
  uint32_t isa;
  const struct smr_s8_resize *kernels;
} s8_resize_rows[] = {
#define SMR_UKERNEL(isa, suffix) {isa, &smr_s8_resize_ukernels__##suffix},
#include "kernels/s8_resize/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_s8_resize *smr_s8_resize_config(uint32_t isa) {
  size_t i = 0;
  while ((s8_resize_rows[i].isa & isa) != s8_resize_rows[i].isa) i++;  // the last needs nothing
  return s8_resize_rows[i].kernels;
}
