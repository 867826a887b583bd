// SPDX-License-Identifier: Apache-2.0
// Maximum of 8-bit integers over one window, per channel: the contract.
#ifndef SMR_KERNELS_I8_POOL_H
#define SMR_KERNELS_I8_POOL_H

#include "kernels/f32_pool/f32_pool.h"

struct smr_i8_pool {
  const char *name;  ///< for profiles, e.g. "i8_pool__avx2"

  /// y[c] = the largest x[tap][c], for c < channels. Strides of the window are bytes.
  void (*max_s8)(size_t channels, const struct smr_pool_window *window, int8_t *y);
  void (*max_u8)(size_t channels, const struct smr_pool_window *window, uint8_t *y);
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_pool *smr_i8_pool_config(uint32_t isa);

#endif
