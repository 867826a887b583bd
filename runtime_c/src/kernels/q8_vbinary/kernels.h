// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_Q8_VBINARY_KERNELS_H
#define SMR_KERNELS_Q8_VBINARY_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/q8_vbinary/q8_vbinary.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_q8_vbinary smr_q8_vbinary_ukernels__##suffix;
#include "kernels/q8_vbinary/kernels.inc"
#undef SMR_UKERNEL

#endif
