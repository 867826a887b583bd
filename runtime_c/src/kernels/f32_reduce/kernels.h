// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_REDUCE_KERNELS_H
#define SMR_KERNELS_F32_REDUCE_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_reduce/f32_reduce.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_reduce smr_f32_reduce_ukernels__##suffix;
#include "kernels/f32_reduce/kernels.inc"
#undef SMR_UKERNEL

#endif
