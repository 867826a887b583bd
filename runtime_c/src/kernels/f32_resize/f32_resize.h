// SPDX-License-Identifier: Apache-2.0
// Weighted sums that resize NHWC float tensors, one output row at a time: the contract.
#ifndef SMR_KERNELS_F32_RESIZE_H
#define SMR_KERNELS_F32_RESIZE_H

#include <stddef.h>
#include <stdint.h>

enum smr_f32_resize_type { SMR_RESIZE_F32, SMR_RESIZE_F16, SMR_RESIZE_TYPES };

/// The inputs of each output along an axis: output o is the sum of weights[o * width + t] times
/// input first[o] + t, for t < count[o]. A count of 0 means that the output is outside.
struct smr_resize_axis {
  const int32_t *first;
  const int32_t *count;
  const float *weights;
  size_t width;
};

/// The rows that are blended to an output row: `count[0]` x `count[1]`, each `stride_bytes` apart.
/// The weight of a row is the product of its two weights.
struct smr_resize_rows {
  const void *x;
  size_t count[2];
  size_t stride_bytes[2];
  const float *weights[2];
};

/// y[i] = the weighted sum of element i of the rows, for i < n. Input of the table's type.
typedef void (*smr_f32_resize_blend)(size_t n, const struct smr_resize_rows *rows, float *y);

/// Pixels of one output row from the blended row `x`. Strides are in elements, between pixels of
/// `channels`. Output has the table's type. Pixels outside are not written.
typedef void (*smr_f32_resize_row)(size_t pixels, size_t channels,
                                   const struct smr_resize_axis *axis, const float *x,
                                   size_t x_stride, void *y, size_t y_stride);

struct smr_f32_resize_kernels {
  smr_f32_resize_blend blend[SMR_RESIZE_TYPES];
  smr_f32_resize_row row[SMR_RESIZE_TYPES];
  const char *name;  // for profiles, e.g. "f32_resize__avx2"
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_resize_kernels *smr_f32_resize_kernels(uint32_t isa);

#endif
