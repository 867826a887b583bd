// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_NORM_KERNELS_H
#define SMR_KERNELS_F32_NORM_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_norm/f32_norm.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_norm smr_f32_norm_ukernels__##suffix;
#include "kernels/f32_norm/kernels.inc"
#undef SMR_UKERNEL

#endif
