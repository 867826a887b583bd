// SPDX-License-Identifier: Apache-2.0
// Float 2-D convolution with few input channels (a network's first layer): the contract.
//
// Computes what f32_gemm computes through an indirection buffer, with k = (ky, kx, c), but reads
// the image in place through a table of offsets, in any order of its axes (channels last or
// channels first), and needs no pointer per pixel. Meant for kernel_h * kernel_w * in_c up to a
// few hundred; right for any. Taps outside the image contribute 0 * w. Each output is accumulated
// in the order (ky, kx, c) from the bias, however the work is split.
//
// Weights: panels `[ceil(n / 16)][kernel_h * kernel_w * in_c][16]` as in f32_gemm.h. Output is
// channels last. No pointer needs alignment beyond 4 bytes (2 for float16); nothing outside the
// tensors, the panels and the padded bias is read. `out` may equal `residual` (same strides) and
// must not overlap `in`, the weights or the bias.
#ifndef SMR_KERNELS_F32_CONV_DIRECT_H
#define SMR_KERNELS_F32_CONV_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/f32_gemm/f32_gemm.h"

/// Strides in elements. Every in_*_stride times its extent stays below 2^31.
struct smr_f32_conv_direct_args {
  size_t batch, n;
  size_t in_h, in_w, in_c, out_h, out_w;
  size_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  size_t pad_top, pad_left;  ///< the other end follows from out_h, out_w
  const float *in;
  size_t in_pixel_stride, in_row_stride, in_channel_stride, in_batch_stride;
  const void *w;
  smr_gemm_type w_type;
  size_t panel_stride_bytes;
  const float *bias;  ///< NULL, or [ceil(n / 16) * 16]
  void *out;
  smr_gemm_type out_type;
  size_t out_pixel_stride, out_row_stride, out_batch_stride;
  const void *residual;  ///< NULL, or of out_type; added before the clamp
  size_t residual_pixel_stride, residual_row_stride, residual_batch_stride;
  float lo, hi;            ///< clamp; -INFINITY and INFINITY for none
  smr_f32_gemm_post post;  ///< NULL, or run on every finished row of pixels
  void *post_context;
};

/// Rows <= MR, columns <= NR of output. `rows_a` holds MR pointers (those beyond `rows` repeat a
/// valid one); A(i, j) = rows_a[i][offsets[j]] for j < params->k.
typedef void (*smr_f32_conv_direct_ukernel)(size_t rows, size_t columns, const float *const *rows_a,
                                            const int32_t *offsets, const void *w,
                                            const float *bias, void *out, const void *residual,
                                            const struct smr_f32_gemm_params *params);

/// The kernels of one ISA, indexed by smr_gemm_type of the weights.
struct smr_f32_conv_direct_config {
  const char *name;  ///< for profiles
  size_t mr, nr;
  smr_f32_conv_direct_ukernel ukernel[2];
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_conv_direct_config *smr_f32_conv_direct_config(uint32_t isa);

/// Length of the 1-D range to split: batch * out_h rows.
size_t smr_f32_conv_direct_units(const struct smr_f32_conv_direct_args *args);

/// Whether the padded image is small enough to be copied whole: part conv_direct_small.
bool smr_f32_conv_direct_is_small(const struct smr_f32_conv_direct_args *args);

/// Bytes of scratch (4-byte aligned) each concurrent call of run needs.
size_t smr_f32_conv_direct_scratch_bytes(const struct smr_f32_conv_direct_config *config,
                                         const struct smr_f32_conv_direct_args *args);

/// Compute units [begin, end). Disjoint ranges may run at the same time, each with its own scratch.
void smr_f32_conv_direct_run(const struct smr_f32_conv_direct_config *config,
                             const struct smr_f32_conv_direct_args *args, size_t begin, size_t end,
                             void *scratch);

#endif
