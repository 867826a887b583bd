// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_SOFTMAX_KERNELS_H
#define SMR_KERNELS_F32_SOFTMAX_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_softmax/f32_softmax.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_softmax smr_f32_softmax_ukernels__##suffix;
#include "kernels/f32_softmax/kernels.inc"
#undef SMR_UKERNEL

#endif
