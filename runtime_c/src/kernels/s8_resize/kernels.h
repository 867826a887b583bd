// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_S8_RESIZE_KERNELS_H
#define SMR_KERNELS_S8_RESIZE_KERNELS_H

#include "base/isa.h"
#include "kernels/s8_resize/s8_resize.h"

#define SMR_UKERNEL(isa, suffix) extern const struct smr_s8_resize smr_s8_resize_ukernels__##suffix;
#include "kernels/s8_resize/kernels.inc"
#undef SMR_UKERNEL

#endif
