// SPDX-License-Identifier: Apache-2.0
// Declares the micro-kernels listed in kernels.inc, for their own files, dispatch and tests.
#ifndef SMR_KERNELS_X8_POOL_KERNELS_H
#define SMR_KERNELS_X8_POOL_KERNELS_H

#include "base/isa.h"
#include "kernels/x8_pool/x8_pool.h"

#define SMR_UKERNEL(isa, suffix)                                                                   \
  void smr_x8_pool_max_s8_ukernel__##suffix(size_t channels, const struct smr_pool_window *window, \
                                            int8_t *y);                                            \
  void smr_x8_pool_max_u8_ukernel__##suffix(size_t channels, const struct smr_pool_window *window, \
                                            uint8_t *y);
#include "kernels/x8_pool/kernels.inc"
#undef SMR_UKERNEL

#endif
