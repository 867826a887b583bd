// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_RESIZE_KERNELS_H
#define SMR_KERNELS_F32_RESIZE_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_resize/f32_resize.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_resize_kernels smr_f32_resize_ukernels__##suffix;
#include "kernels/f32_resize/kernels.inc"
#undef SMR_UKERNEL

#endif
