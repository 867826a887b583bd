// SPDX-License-Identifier: Apache-2.0
// Statistics and normalisation of columns, one tile at a time: the contract.
//
// A tile is `rows` >= 1 rows of `columns` >= 1 adjacent elements, `stride` apart. Sums are added up
// in blocks of rows, so errors do not grow with the number of rows; callers combine tiles in
// double. Orders of addition depend on the extents and the ISA only. Nothing outside the elements
// is touched; per-column arrays have `columns` elements.
#ifndef SMR_KERNELS_F32_CHANNEL_NORM_H
#define SMR_KERNELS_F32_CHANNEL_NORM_H

#include <stddef.h>
#include <stdint.h>

/// mean[j] of column j, rounded; rest[j] = sum of x - mean[j], the rounding error; square[j] = sum
/// of (x - mean[j])^2. Reads x twice.
typedef void (*smr_f32_channel_moments)(size_t rows, size_t columns, size_t stride, const float *x,
                                        float *mean, float *rest, float *square);

/// sum[j] = sum of dy, product[j] = sum of dy * (x - shift[j]).
typedef void (*smr_f32_channel_products)(size_t rows, size_t columns, size_t stride,
                                         const float *dy, const float *x, const float *shift,
                                         float *sum, float *product);

/// The map of a column: y = (x - shift) * factor + bias, or
/// dx = dy * factor + (x - shift) * slope + bias.
struct smr_f32_channel_map {
  const float *shift, *factor, *slope, *bias;
};

/// `y` may be `x`; otherwise they do not overlap. `slope` is not read.
typedef void (*smr_f32_channel_apply)(size_t rows, size_t columns, size_t stride, const float *x,
                                      const struct smr_f32_channel_map *map, float *y);

/// `dx` may be `dy` or `x`; otherwise nothing overlaps.
typedef void (*smr_f32_channel_grad)(size_t rows, size_t columns, size_t stride, const float *dy,
                                     const float *x, const struct smr_f32_channel_map *map,
                                     float *dx);

struct smr_f32_channel_norm {
  const char *name;  // for profiles
  smr_f32_channel_moments moments;
  smr_f32_channel_apply apply;
};

/// A separate table, so that a library that only runs models can leave it out.
struct smr_f32_channel_norm_grad {
  smr_f32_channel_products products;
  smr_f32_channel_grad grad;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_channel_norm *smr_f32_channel_norm_config(uint32_t isa);
const struct smr_f32_channel_norm_grad *smr_f32_channel_norm_grad_config(uint32_t isa);

#endif
