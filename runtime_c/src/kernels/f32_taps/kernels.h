// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_TAPS_KERNELS_H
#define SMR_KERNELS_F32_TAPS_KERNELS_H

#include "base/isa.h"
#include "kernels/f32_taps/f32_taps.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_f32_taps_kernels smr_f32_taps_ukernels__##suffix;
#include "kernels/f32_taps/kernels.inc"
#undef SMR_UKERNEL

#endif
