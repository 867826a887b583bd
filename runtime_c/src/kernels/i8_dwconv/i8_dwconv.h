// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution (channel multiplier 1) over channels-last tensors: the contract.
//
// For every image b, output pixel (y, x) and channel c, in int32 arithmetic modulo 2^32,
//
//   acc = bias[c] + sum_{ky, kx} (in(b, y * stride_h + ky * dilation_h - pad_top,
//                                       x * stride_w + kx * dilation_w - pad_left, c) - x_zero) *
//                                (W[ky][kx][c] - w_zero[c])
//
// where taps outside the image are skipped (padding is x_zero), and then by the kind of output
//
//   SMR_I8_TO_I8   out = int8(round_half_even(clamp(float(acc) * multiplier[c],
//                                                   lo - zero, hi - zero)) + zero)
//   SMR_I8_TO_I32  out = acc
//
// float() rounds half to even and the product is rounded once, so all instruction sets give the
// same bits, however the work is divided.
//
// Weights: panels `[ceil(channels / 16)][taps][16]` of int8, panel p at `w + p *
// panel_stride_bytes`, of any values. bias, w_zero and multiplier: [channels rounded up to 16].
//
// bias, w_zero, multiplier and an int32 out must be 4-aligned; other pointers need no alignment.
// Nothing outside the tensors, the panels and the padded arrays is read or written. `out` must not
// overlap anything else.
#ifndef SMR_KERNELS_I8_DWCONV_H
#define SMR_KERNELS_I8_DWCONV_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/i8_gemm/i8_gemm.h"

/// The conversion of a channel's sum.
struct smr_i8_dwconv_end {
  const int32_t *bias;      ///< NULL, or padded to 16
  const float *multiplier;  ///< finite, padded to 16; not with SMR_I8_TO_I32
  smr_i8_output to;         ///< SMR_I8_TO_I8 or SMR_I8_TO_I32
  int32_t zero, lo, hi;     ///< SMR_I8_TO_I8: all within [-128, 127], lo <= hi
};

/// Strides in elements between pixels, rows and images.
struct smr_i8_dwconv_args {
  size_t batch, channels;
  size_t in_h, in_w, out_h, out_w;
  size_t kernel_h, kernel_w;  ///< 1-D convolution: height 1
  size_t stride_h, stride_w, dilation_h, dilation_w;
  size_t pad_top, pad_left;  ///< the other end follows from out_h, out_w
  size_t pieces;             ///< number of row blocks wanted for threads, subject to a minimal
                             ///< height; or 0
  const int8_t *in;
  size_t in_pixel_stride, in_row_stride, in_batch_stride;
  int32_t x_zero;  ///< within [-128, 127]
  const int8_t *w;
  size_t panel_stride_bytes;  ///< usually smr_i8_dwconv_panel_stride_bytes(taps)
  const int32_t *w_zero;      ///< within [-128, 127], padded to 16; NULL if all are 0
  void *out;
  size_t out_pixel_stride, out_row_stride, out_batch_stride;
  struct smr_i8_dwconv_end end;
};

/// Length of the range to divide. A unit is a few rows by a few panels of channels, with limited
/// columns to bound the work.
size_t smr_i8_dwconv_units(const struct smr_i8_dwconv_args *args);

struct smr_i8_dwconv_config;

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_dwconv_config *smr_i8_dwconv_config(uint32_t isa);

/// Name for profiles, e.g. "i8_dwconv_3x3__avx2".
const char *smr_i8_dwconv_kernel(const struct smr_i8_dwconv_config *config,
                                 const struct smr_i8_dwconv_args *args);

/// Compute units [begin, end). Disjoint ranges may run at the same time; needs no scratch.
void smr_i8_dwconv_run(const struct smr_i8_dwconv_config *config,
                       const struct smr_i8_dwconv_args *args, size_t begin, size_t end);

/// Depthwise convolution of any spatial rank, over an indirection buffer.
struct smr_i8_dwconv_indirect_args {
  size_t pixels, taps, channels;
  const int8_t *const *indirect;  ///< [pixels][taps] pointers to [channels] bytes
  size_t in_offset_bytes;         ///< added to every pointer but `pad`
  const int8_t *pad;              ///< [channels] bytes of x_zero, or NULL; pointers equal to it
                                  ///< mean padding
  int32_t x_zero;
  const int8_t *w;
  size_t panel_stride_bytes;
  const int32_t *w_zero;  ///< as above
  void *out;
  size_t out_stride;  ///< elements between pixels
  struct smr_i8_dwconv_end end;
};

/// Compute pixels [begin, end). Any division gives the same bits. Long ranges cost less per pixel:
/// each call prepares the weights once.
void smr_i8_dwconv_indirect_run(const struct smr_i8_dwconv_config *config,
                                const struct smr_i8_dwconv_indirect_args *args, size_t begin,
                                size_t end);

/// Bytes of a panel of `taps` taps, rounded up to 64.
size_t smr_i8_dwconv_panel_stride_bytes(size_t taps);

/// Pack plain int8 weights, those of tap t and channel c at w[t * tap_stride + c * channel_stride],
/// into ceil(channels / 16) panels; channels beyond `channels` and bytes between panels become 0.
void smr_i8_dwconv_pack(size_t taps, size_t channels, const int8_t *w, size_t tap_stride,
                        size_t channel_stride, int8_t *panels);

#endif
