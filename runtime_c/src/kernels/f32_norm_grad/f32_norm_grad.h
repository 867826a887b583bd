// SPDX-License-Identifier: Apache-2.0
// Gradients of normalised rows: the contract.
//
//   y = (x - mean) * r * scale + bias,  r = 1 / sqrt(mean of (x - mean)^2 + eps)
//
// gives with h = dy * scale and u = x - mean
//
//   dx = r * (h - mean of h - u * r^2 * mean of (h * u))
//   dscale += dy * u * r      dbias += dy
//
// or with 0 for both plain means if not centred. `scale` may be NULL (1); `dscale` and `dbias` may
// be NULL (not wanted). `dx` may be `dy` or `x`; otherwise nothing overlaps. Sums along the row are
// blocked, so errors do not grow with its length. dscale and dbias add one row at a time, and the
// caller limits the number of rows. Orders of addition depend on the extents and the ISA only.
#ifndef SMR_KERNELS_F32_NORM_GRAD_H
#define SMR_KERNELS_F32_NORM_GRAD_H

#include <stddef.h>
#include <stdint.h>

/// One row of n >= 1 adjacent elements; scale, dscale and dbias have n elements.
typedef void (*smr_f32_norm_grad_row)(size_t n, const float *dy, const float *x, const float *scale,
                                      float eps, float *dx, float *dscale, float *dbias);

struct smr_f32_norm_grad {
  const char *name;                   // for profiles
  smr_f32_norm_grad_row centred_row;  // layer normalisation
  smr_f32_norm_grad_row plain_row;    // root mean square
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_norm_grad *smr_f32_norm_grad_config(uint32_t isa);

#endif
