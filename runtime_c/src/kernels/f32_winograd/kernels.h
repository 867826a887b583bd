// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_WINOGRAD_KERNELS_H
#define SMR_KERNELS_F32_WINOGRAD_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_winograd/f32_winograd.h"

#define SMR_UKERNEL(isa, suffix)                \
  extern const struct smr_f32_winograd_ukernels \
      smr_f32_winograd_ukernels__##suffix[SMR_WINOGRAD_FORMS];
#include "kernels/f32_winograd/kernels.inc"
#undef SMR_UKERNEL

#endif
