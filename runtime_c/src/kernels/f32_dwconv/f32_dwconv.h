// SPDX-License-Identifier: Apache-2.0
// Float depthwise convolution (channel multiplier 1) over channels-last tensors: the contract.
//
// For every image b, output pixel (y, x) and channel c
//
//   out = clamp(bias[c] + sum_{ky, kx} in(b, y * stride_h + ky * dilation_h - pad_top,
//                                          x * stride_w + kx * dilation_w - pad_left, c) *
//                                          W[ky][kx][c]
//               + residual, lo, hi)
//
// where taps outside the image are skipped or count as zeros. Each output is accumulated in the
// order (ky, kx), starting from the bias, however the work is divided. NaN propagates through the
// clamp.
//
// Weights: panels `[ceil(channels / 16)][taps][16]` of float32 or float16, panel p at
// `w + p * panel_stride_bytes`, channels beyond `channels` zero. Bias: [channels rounded up to 16].
//
// No pointer needs alignment beyond 4 bytes (2 for float16). Nothing outside the tensors, the
// panels and the padded bias is read. `out` may equal `residual` (same strides) and must not
// overlap `in`, the weights or the bias.
#ifndef SMR_KERNELS_F32_DWCONV_H
#define SMR_KERNELS_F32_DWCONV_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/parts.h"
#include "kernels/f32_gemm/f32_gemm.h"

/// Strides in elements between pixels, rows and images.
struct smr_f32_dwconv_args {
  size_t batch, channels;
  size_t in_h, in_w, out_h, out_w;
  size_t kernel_h, kernel_w;  ///< 1-D convolution: height 1
  size_t stride_h, stride_w, dilation_h, dilation_w;
  size_t pad_top, pad_left;  ///< the other end follows from out_h, out_w
  size_t pieces;             ///< number of row blocks wanted for threads, subject to a minimal
                             ///< height; or 0
  const float *in;
  size_t in_pixel_stride, in_row_stride, in_batch_stride;
  const void *w;
  smr_gemm_type w_type;
  size_t panel_stride_bytes;  ///< usually taps * 16 * element size rounded up to 64
  const float *bias;          ///< NULL, or padded to 16
  float *out;
  size_t out_pixel_stride, out_row_stride, out_batch_stride;
  const float *residual;  ///< NULL, or added before the clamp
  size_t residual_pixel_stride, residual_row_stride, residual_batch_stride;
  float lo, hi;            ///< clamp; -INFINITY and INFINITY for none
  smr_f32_gemm_post post;  ///< NULL, or called on every finished run of pixels of a row
  void *post_context;
};

/// Length of the range to divide. A unit is a few rows (all rows of copied images) by a few panels
/// of channels, with limited columns to bound the work.
size_t smr_f32_dwconv_units(const struct smr_f32_dwconv_args *args);

/// Record the parts that a convolution needs on any instruction set. Fails if this build lacks one.
/// `sizes_vary`: images may have any size; `weights_vary`: weights may have any dims, too. A
/// residual is recognised by its stride.
samara_status smr_f32_dwconv_need(const struct smr_f32_dwconv_args *args, bool sizes_vary,
                                  bool weights_vary, struct smr_parts *parts, samara_error *error);

struct smr_f32_dwconv_config;

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_dwconv_config *smr_f32_dwconv_config(uint32_t isa);

/// Name for profiles, e.g. "f32_dwconv_3x3__avx512".
const char *smr_f32_dwconv_kernel(const struct smr_f32_dwconv_config *config,
                                  const struct smr_f32_dwconv_args *args);

/// Compute units [begin, end). Disjoint ranges may run concurrently. Needs up to 24 KiB of stack
/// (none on bare metal) and no scratch.
void smr_f32_dwconv_run(const struct smr_f32_dwconv_config *config,
                        const struct smr_f32_dwconv_args *args, size_t begin, size_t end);

/// Outputs [y0, y1) by [x0, x1) of an image, for up to 64 channels from `channel`, a multiple of
/// 16.
struct smr_f32_dwconv_rect {
  size_t image, channel, y0, y1, x0, x1;
};

/// Compute a rectangle. Any division into rectangles gives the same bits.
void smr_f32_dwconv_run_rect(const struct smr_f32_dwconv_config *config,
                             const struct smr_f32_dwconv_args *args,
                             const struct smr_f32_dwconv_rect *rect);

/// The gradient of a 3x3 convolution with strides of 2 with respect to its input, for pixels that
/// read nothing outside. Quad (i, j) is the outputs, with p, q, r, s the inputs (i, j), (i, j + 1),
/// (i + 1, j) and (i + 1, j + 1),
///
///   (2i, 2j)     = p * W[0] + q * W[1] + r * W[2] + s * W[3]
///   (2i, 2j + 1) = q * W[4] + s * W[5]
///   (2i + 1, 2j) = r * W[6] + s * W[7]
///   (2i + 1, 2j + 1) = s * W[8]
///
/// summed in that order, channel by channel. Strides in elements. Weights are panels of float32.
struct smr_f32_dwconv_quads {
  size_t rows, pixels, channels;  ///< of quads
  const float *in;
  size_t in_row, in_step;
  const void *w;
  size_t panel_stride_bytes;
  float *out;
  size_t out_row, out_step;  ///< between rows and pixels of the output: half a quad
};

void smr_f32_dwconv_quads_run(const struct smr_f32_dwconv_config *config,
                              const struct smr_f32_dwconv_quads *quads);

/// Name for profiles.
const char *smr_f32_dwconv_quads_kernel(const struct smr_f32_dwconv_config *config);

/// Depthwise convolution of any spatial rank, over an indirection buffer.
struct smr_f32_dwconv_indirect_args {
  size_t pixels, taps, channels;
  const float *const *indirect;  ///< [pixels][taps] pointers to [channels] floats
  size_t in_offset_bytes;        ///< added to every pointer but `zero`
  const float *zero;             ///< [channels] zeros, or NULL; pointers equal to it mean padding
  const void *w;
  smr_gemm_type w_type;
  size_t panel_stride_bytes;
  const float *bias;  ///< NULL, or padded to 16
  float *out;
  size_t out_stride;      ///< elements between pixels
  const float *residual;  ///< NULL, or added before the clamp
  size_t residual_stride;
  float lo, hi;
};

/// Compute pixels [begin, end) in tap order. Any division gives the same bits.
void smr_f32_dwconv_indirect_run(const struct smr_f32_dwconv_config *config,
                                 const struct smr_f32_dwconv_indirect_args *args, size_t begin,
                                 size_t end);

#endif
