// SPDX-License-Identifier: Apache-2.0
// Pools one window over the channels of NHWC float tensors: the contract.
#ifndef SMR_KERNELS_F32_POOL_H
#define SMR_KERNELS_F32_POOL_H

#include <stddef.h>
#include <stdint.h>

enum smr_f32_pool_kind {
  SMR_POOL_MAX,  // the largest; NaN counts as largest
  SMR_POOL_AVG,  // sum / divisor
  SMR_POOL_L1,   // sum of |x|
  SMR_POOL_L2,   // sqrt(sum of x^2)
  SMR_POOL_VECTOR_KINDS,
  SMR_POOL_POWER = SMR_POOL_VECTOR_KINDS,  // (sum of |x|^p)^(1/p), with p passed as the divisor
  SMR_POOL_KINDS
};

enum smr_f32_pool_type { SMR_POOL_F32, SMR_POOL_F16, SMR_POOL_TYPES };

/// The taps of a window that lie inside the tensor: a box. `x` points to the first channel of the
/// first tap; strides are in elements. n[i] >= 1.
struct smr_pool_window {
  const void *x;
  size_t n[3];
  size_t stride[3];
};

/// y[c] = the pool of x[tap][c] over the window, for c < channels, in float32; float16 is rounded
/// once. Taps are added in row-major order, so results do not depend on the ISA, except for the
/// sign of zero among equal maxima. `y` does not overlap the window.
typedef void (*smr_f32_pool_ukernel)(size_t channels, const struct smr_pool_window *window,
                                     float divisor, void *y);

/// The kernels of SMR_POOL_POWER, the same on every CPU (f32_pool_libm.c).
extern const smr_f32_pool_ukernel smr_f32_pool_libm[SMR_POOL_TYPES];

/// The best kernel among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
smr_f32_pool_ukernel smr_f32_pool_kernel(uint32_t isa, enum smr_f32_pool_kind kind,
                                         enum smr_f32_pool_type type);
/// Its name for profiles, e.g. "f32_pool__avx2".
const char *smr_f32_pool_kernel_name(uint32_t isa, enum smr_f32_pool_kind kind);

#endif
