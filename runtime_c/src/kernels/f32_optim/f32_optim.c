// SPDX-License-Identifier: Apache-2.0
// Dispatch of optimiser kernels.
#include "base/fp.h"

#include "kernels/f32_optim/f32_optim.h"

#include "base/isa.h"
#include "kernels/f32_optim/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_optim_kernels *kernels;
} f32_optim_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_optim_ukernels__##suffix},
#include "kernels/f32_optim/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_optim_kernels *smr_f32_optim_kernels(uint32_t isa) {
  size_t i = 0;
  while ((f32_optim_rows[i].isa & isa) != f32_optim_rows[i].isa) i++;  // the last needs nothing
  return f32_optim_rows[i].kernels;
}
