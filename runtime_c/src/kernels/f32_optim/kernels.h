// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_OPTIM_KERNELS_H
#define SMR_KERNELS_F32_OPTIM_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_optim/f32_optim.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_optim_kernels smr_f32_optim_ukernels__##suffix;
#include "kernels/f32_optim/kernels.inc"
#undef SMR_UKERNEL

#endif
