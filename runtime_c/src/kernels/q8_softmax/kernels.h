// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_Q8_SOFTMAX_KERNELS_H
#define SMR_KERNELS_Q8_SOFTMAX_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/q8_softmax/q8_softmax.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_q8_softmax smr_q8_softmax_ukernels__##suffix;
#include "kernels/q8_softmax/kernels.inc"
#undef SMR_UKERNEL

#endif
