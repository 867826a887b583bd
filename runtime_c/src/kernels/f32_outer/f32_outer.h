// SPDX-License-Identifier: Apache-2.0
// Sums of outer products over pixels: the contract.
//
// Weight gradients are such sums: each pixel adds the product of its output gradients (one side)
// and of the inputs under a tap (the other side). Both sides are read where they lie, channels
// next to each other, so nothing is transposed or packed first.
//
// Every element is accumulated in `out` in the order (plane, row, pixel), whatever tile it falls
// into. ISAs with a fused multiply-add use it, the portable one not. Nothing outside the elements
// named is read or written; no pointer needs alignment beyond 4 bytes; `out` overlaps neither side.
#ifndef SMR_KERNELS_F32_OUTER_H
#define SMR_KERNELS_F32_OUTER_H

#include <stddef.h>
#include <stdint.h>

/// Which pixels are met: three nested steps. Strides in elements.
struct smr_f32_outer_walk {
  size_t planes, rows, pixels;
  const float *a;
  size_t a_plane, a_row, a_step;
  const float *b;
  size_t b_plane, b_row, b_step;
  float *out;
  size_t out_stride;
};

/// out[i * out_stride + j] += sum over pixels of a[pixel][i] * b[pixel][j], for i < height <= mr
/// and j < width <= nr, or height <= tall and width <= narrow; both at least 1.
typedef void (*smr_f32_outer_ukernel)(size_t height, size_t width,
                                      const struct smr_f32_outer_walk *walk);

/// out[t * out_stride + c] += sum over pixels of a[pixel][c] * b[pixel][t * b_tap + c], for
/// t < taps and c < channels: the diagonal of each product, for depthwise convolutions. Sums of one
/// element are made in an order that depends on the walk and the ISA alone.
typedef void (*smr_f32_outer_diagonal_ukernel)(size_t taps, size_t channels, size_t b_tap,
                                               const struct smr_f32_outer_walk *walk);

/// The kernels of one ISA.
struct smr_f32_outer_config {
  const char *name;           ///< for profiles
  const char *diagonal_name;  ///< the same
  size_t mr, nr;
  size_t tall, narrow;  ///< tiles with fewer columns may have more rows: tall >= mr, narrow <= nr
  smr_f32_outer_ukernel ukernel;
  smr_f32_outer_diagonal_ukernel diagonal;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_outer_config *smr_f32_outer_config(uint32_t isa);

/// Make the innermost runs of a walk as long as its strides allow; the order of pixels stays.
void smr_f32_outer_merge(struct smr_f32_outer_walk *walk);

#endif
