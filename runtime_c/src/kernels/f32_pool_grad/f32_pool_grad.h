// SPDX-License-Identifier: Apache-2.0
// The index of the largest element under a window, and gradients of pools: the contract.
//
// A window is the box of its taps that lie inside the tensor, numbered in row-major order. Among
// equal elements the first counts as largest. NaNs are larger than all numbers; among NaNs the last
// counts.
#ifndef SMR_KERNELS_F32_POOL_GRAD_H
#define SMR_KERNELS_F32_POOL_GRAD_H

#include <stddef.h>
#include <stdint.h>

/// `x` and `dx` point to the first channel of the first tap; strides are in floats and the same for
/// both. n[i] >= 1. Only taps of the box [begin, end) are written.
struct smr_pool_grad_window {
  const float *x;
  float *dx;
  size_t n[3], stride[3], begin[3], end[3];
};

struct smr_f32_pool_grad {
  const char *name;  // for profiles
  /// taps[c] = the number of the tap with the largest element, for c < channels.
  void (*where)(size_t channels, const struct smr_pool_grad_window *window, int32_t *taps);
  /// dx[taps[c]][c] += dy[c] if that tap is in the box.
  void (*pick)(size_t channels, const struct smr_pool_grad_window *window, const float *dy,
               const int32_t *taps);
  /// dx[tap][c] += dy[c] * scale for all taps of the box.
  void (*spread)(size_t channels, const struct smr_pool_grad_window *window, const float *dy,
                 float scale);
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_pool_grad *smr_f32_pool_grad_config(uint32_t isa);

#endif
