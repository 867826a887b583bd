// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_ACTIVATION_GRAD_KERNELS_H
#define SMR_KERNELS_F32_ACTIVATION_GRAD_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_activation_grad/f32_activation_grad.h"

#define SMR_UKERNEL(isa, suffix, lanes)        \
  extern const smr_f32_activation_grad_ukernel \
      smr_f32_activation_grad_ukernels__##suffix[SMR_F32_ACTIVATION_GRAD_COUNT];
#include "kernels/f32_activation_grad/kernels.inc"
#undef SMR_UKERNEL

#endif
