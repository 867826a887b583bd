// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_I8_DYNAMIC_KERNELS_H
#define SMR_KERNELS_I8_DYNAMIC_KERNELS_H

#include "base/isa.h"
#include "kernels/i8_dynamic/i8_dynamic.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_i8_dynamic_kernels smr_i8_dynamic_ukernels__##suffix;
#include "kernels/i8_dynamic/kernels.inc"
#undef SMR_UKERNEL

#endif
