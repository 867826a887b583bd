// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_VBINARY_KERNELS_H
#define SMR_KERNELS_F32_VBINARY_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_vbinary/f32_vbinary.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const smr_f32_vbinary_ukernel smr_f32_vbinary_ukernels__##suffix[SMR_F32_VBINARY_COUNT];
#include "kernels/f32_vbinary/kernels.inc"
#undef SMR_UKERNEL

#endif
