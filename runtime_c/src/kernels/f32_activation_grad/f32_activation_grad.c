// SPDX-License-Identifier: Apache-2.0
// Compiles gradients of activations for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_activation_grad/f32_activation_grad.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_BODY "kernels/f32_activation_grad/body.h"
#include "kernels/training.inc"
#undef SMR_SIMD_BODY

static const struct {
  uint32_t isa;
  const smr_f32_activation_grad_ukernel *table;
  const char *name;
} f32_activation_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) \
  {bit, smr_f32_activation_grad_kernels_##suffix, "f32_activation_grad__" #suffix},
#include "kernels/training.inc"
#undef SMR_UKERNEL
};

static size_t f32_activation_grad_row(uint32_t isa) {
  size_t i = 0;
  while ((f32_activation_grad_rows[i].isa & isa) != f32_activation_grad_rows[i].isa)
    i++;  // the last needs nothing
  return i;
}

smr_f32_activation_grad_ukernel smr_f32_activation_grad_kernel(
    uint32_t isa, enum smr_f32_activation_grad function) {
  return f32_activation_grad_rows[f32_activation_grad_row(isa)].table[function];
}

const char *smr_f32_activation_grad_kernel_name(uint32_t isa) {
  return f32_activation_grad_rows[f32_activation_grad_row(isa)].name;
}
