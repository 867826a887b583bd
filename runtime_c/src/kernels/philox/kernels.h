// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_PHILOX_KERNELS_H
#define SMR_KERNELS_PHILOX_KERNELS_H

#include "base/isa.h"
#include "kernels/philox/philox.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_philox_kernels smr_philox_ukernels__##suffix;
#include "kernels/philox/kernels.inc"
#undef SMR_UKERNEL

#endif
