// SPDX-License-Identifier: Apache-2.0
// Dispatch of resize kernels.
#include "base/fp.h"

#include "kernels/f32_resize/f32_resize.h"

#include "base/isa.h"
#include "kernels/f32_resize/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_resize_kernels *kernels;
} f32_resize_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_resize_ukernels__##suffix},
#include "kernels/f32_resize/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_resize_kernels *smr_f32_resize_kernels(uint32_t isa) {
  size_t i = 0;
  while ((f32_resize_rows[i].isa & isa) != f32_resize_rows[i].isa) i++;  // the last needs nothing
  return f32_resize_rows[i].kernels;
}
