// SPDX-License-Identifier: Apache-2.0
// Pools the largest 8-bit integer of one window over the channels: the contract.
#ifndef SMR_KERNELS_X8_POOL_H
#define SMR_KERNELS_X8_POOL_H

#include "kernels/f32_pool/f32_pool.h"

/// y[c] = the largest x[tap][c], for c < channels. Strides of the window are bytes.
void smr_s8_pool_max(size_t channels, const struct smr_pool_window *window, int8_t *y);
void smr_u8_pool_max(size_t channels, const struct smr_pool_window *window, uint8_t *y);

#endif
