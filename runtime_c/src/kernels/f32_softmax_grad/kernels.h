// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_SOFTMAX_GRAD_KERNELS_H
#define SMR_KERNELS_F32_SOFTMAX_GRAD_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_softmax_grad/f32_softmax_grad.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_softmax_grad smr_f32_softmax_grad_ukernels__##suffix;
#include "kernels/f32_softmax_grad/kernels.inc"
#undef SMR_UKERNEL

#endif
