// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_S8_MEAN_KERNELS_H
#define SMR_KERNELS_S8_MEAN_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/s8_mean/s8_mean.h"

#define SMR_UKERNEL(isa, suffix) extern const struct smr_s8_mean smr_s8_mean_ukernels__##suffix;
#include "kernels/s8_mean/kernels.inc"
#undef SMR_UKERNEL

#endif
