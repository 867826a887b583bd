// SPDX-License-Identifier: Apache-2.0
// Dispatch of pool gradients.
#include "base/fp.h"

#include "kernels/f32_pool_grad/f32_pool_grad.h"

#include "base/isa.h"
#include "kernels/f32_pool_grad/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_pool_grad *table;
} f32_pool_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_pool_grad_ukernels__##suffix},
#include "kernels/f32_pool_grad/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_pool_grad *smr_f32_pool_grad_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_pool_grad_rows[i].isa & isa) != f32_pool_grad_rows[i].isa) i++;  // last: none
  return f32_pool_grad_rows[i].table;
}
