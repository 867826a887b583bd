// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_NARROW_KERNELS_H
#define SMR_KERNELS_F32_NARROW_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_narrow/f32_narrow.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_narrow_config smr_f32_narrow_ukernels__##suffix;
#include "kernels/f32_narrow/kernels.inc"
#undef SMR_UKERNEL

#endif
