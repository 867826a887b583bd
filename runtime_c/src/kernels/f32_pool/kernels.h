// SPDX-License-Identifier: Apache-2.0
// Declares the tables listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_F32_POOL_KERNELS_H
#define SMR_KERNELS_F32_POOL_KERNELS_H

#include "base/isa.h"
#include "base/parts.h"
#include "kernels/f32_pool/f32_pool.h"

#define SMR_UKERNEL(isa, suffix, lanes)                                                    \
  extern const smr_f32_pool_ukernel smr_f32_pool_ukernels__##suffix[SMR_POOL_VECTOR_KINDS] \
                                                                   [SMR_POOL_TYPES];
#include "kernels/f32_pool/kernels.inc"
#undef SMR_UKERNEL
extern const smr_f32_pool_ukernel smr_f32_pool_ukernels__libm[SMR_POOL_TYPES];

#endif
