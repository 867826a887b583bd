// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_Q8_LOOKUP_KERNELS_H
#define SMR_KERNELS_Q8_LOOKUP_KERNELS_H

#include "base/isa.h"
#include "kernels/q8_lookup/q8_lookup.h"

#define SMR_UKERNEL(isa, suffix, lanes) \
  extern const struct smr_q8_lookup smr_q8_lookup_ukernels__##suffix;
#include "kernels/q8_lookup/kernels.inc"
#undef SMR_UKERNEL

#endif
