// SPDX-License-Identifier: Apache-2.0
// Sums of outer products over pixels: the contract.
//
// Weight gradients are such sums: each pixel adds the product of its output gradients (one side)
// and of the inputs under a tap (the other side). Both sides are read in place, with adjacent
// channels, so nothing is transposed or packed.
//
// Every element is accumulated in `out` in the order (plane, row, pixel), whatever its tile. ISAs
// with fused multiply-add use it; the portable kernel does not. Nothing outside the named elements
// is read or written. No pointer needs alignment beyond 4 bytes. `out` overlaps neither side.
#ifndef SMR_KERNELS_F32_OUTER_H
#define SMR_KERNELS_F32_OUTER_H

#include <stddef.h>
#include <stdint.h>

/// The pixels to sum over: three nested loops. Strides are in elements.
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

/// out[t * out_stride + c] += sum over pixels of a[pixel][c] * b[pixel][t * b_tap + c], for t <
/// taps and c < channels: the diagonal of each product, for depthwise convolutions. The order of
/// each sum depends on the walk and the ISA alone.
typedef void (*smr_f32_outer_diagonal_ukernel)(size_t taps, size_t channels, size_t b_tap,
                                               const struct smr_f32_outer_walk *walk);

/// The kernels of one ISA.
struct smr_f32_outer_config {
  const char *name;           ///< for profiles
  const char *diagonal_name;  ///< the same
  size_t mr, nr;
  size_t tall, narrow;  ///< narrow tiles may have more rows: tall >= mr, narrow <= nr
  smr_f32_outer_ukernel ukernel;
  smr_f32_outer_diagonal_ukernel diagonal;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_outer_config *smr_f32_outer_config(uint32_t isa);

/// Make the innermost loop of a walk as long as its strides allow. Keeps the order of pixels.
void smr_f32_outer_merge(struct smr_f32_outer_walk *walk);

#endif
