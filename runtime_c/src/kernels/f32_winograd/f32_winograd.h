// SPDX-License-Identifier: Apache-2.0
// Convolution of 3x3 windows with stride 1 by Winograd's transforms: the contract.
//
//   out[b][y][x][n] = clamp(bias[n] + sum_t sum_c in[b][y + ty - pad_top][x + tx - pad_left][c] *
//                           w[t][c][n] + residual[b][y][x][n], lo, hi)
//
// A form F(m, 3) computes m x m outputs from (m + 2) x (m + 2) inputs. Inputs and weights are
// transformed to (m + 2)^2 points, where a window becomes one product per channel. Outputs are
// divided into tiles of m x m, starting in the top left corner, and tiles into blocks. In a block,
// each point is one matrix product, tiles x channels by channels x outputs, with weights that were
// transformed beforehand.
//
// Points are 0, +-1 and infinity in F(2, 3); 0, +-5/8, +-3/2 and infinity in F(4, 3), which lose
// least among all multiples of 1/16 (errors: docs/internals/kernels.md). Transformed weights are
// computed in float64 and rounded once; they have the same bits on every ISA.
//
// The order of each sum depends only on the form and the channels, not on tile, block or thread. An
// infinity or NaN in the input affects all outputs of the tiles that read it.
//
// No pointer needs alignment beyond 4 bytes. Nothing outside the tensors is read or written.
#ifndef SMR_KERNELS_F32_WINOGRAD_H
#define SMR_KERNELS_F32_WINOGRAD_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/f32_gemm/f32_gemm.h"

enum smr_winograd_form { SMR_WINOGRAD_F23, SMR_WINOGRAD_F43, SMR_WINOGRAD_FORMS };

enum { SMR_WINOGRAD_TAPS = 9, SMR_WINOGRAD_MOST_LINE = 6, SMR_WINOGRAD_MOST_POINTS = 36 };

/// Outputs per side of a tile, and points of a tile.
static inline size_t smr_winograd_side(enum smr_winograd_form form) {
  return form == SMR_WINOGRAD_F43 ? 4 : 2;
}
static inline size_t smr_winograd_points(enum smr_winograd_form form) {
  return (smr_winograd_side(form) + 2) * (smr_winograd_side(form) + 2);
}

/// One tile of output. rows x columns of it exist, each at most the form's side.
struct smr_f32_winograd_output {
  size_t channels, rows, columns;
  const float *products;  ///< of the tile's first point
  size_t point_stride;    ///< between points
  const float *bias;      ///< NULL, or [channels]
  float *out;
  size_t out_pixel_stride, out_row_stride;
  const float *residual;  ///< NULL, or added before the clamp
  size_t residual_pixel_stride, residual_row_stride;
  float lo, hi;
};

/// Plain or packed weights: element (tap t, channel c, output n) lies at
/// src[n / 16 * panel_stride + t * tap_stride + c * c_stride + n % 16 * n_stride].
struct smr_f32_winograd_weights {
  size_t channels, n;
  const float *src;
  size_t panel_stride, tap_stride, c_stride, n_stride;
  float *dst;  ///< [points][ceil(n / 16)][channels][16], zeros beyond n
};

/// The functions of an instruction set for one form.
struct smr_f32_winograd_ukernels {
  /// Transform a tile of input to points. `pixels`: the (m + 2)^2 pixels of the tile, row by row,
  /// each [channels]; out[point * point_stride + c].
  void (*input)(size_t channels, const float *const *pixels, float *out, size_t point_stride);
  void (*output)(const struct smr_f32_winograd_output *tile);
  /// Panels [begin, end) of the weights.
  void (*weights)(const struct smr_f32_winograd_weights *args, size_t begin, size_t end);
};

/// The arguments of a convolution. Strides are in elements.
struct smr_f32_winograd_args {
  size_t batch, in_h, in_w, channels, out_h, out_w, n;
  size_t pad_top, pad_left;
  size_t threads;  ///< the number of blocks is a multiple of it if that leaves enough tiles per
                   ///< block; or 0
  const float *in;
  size_t in_pixel_stride, in_row_stride, in_batch_stride;
  const float *zero;     ///< [channels] zeros, read as padding
  const float *weights;  ///< transformed
  const float *bias;     ///< NULL, or [ceil(n / 16) * 16]
  float *out;
  size_t out_pixel_stride, out_row_stride, out_batch_stride;
  const float *residual;
  size_t residual_pixel_stride, residual_row_stride, residual_batch_stride;
  float lo, hi;
  smr_f32_gemm_post post;  ///< NULL, or run on finished pixels
  void *post_context;
};

/// How a convolution is divided; made once per session. Only the products depend on the ISA.
struct smr_f32_winograd_plan {
  enum smr_winograd_form form;
  const struct smr_f32_winograd_ukernels *ukernels;
  size_t tiles_h, tiles_w, tiles;       ///< of an image, of all images
  size_t blocks;                        ///< of tiles, of nearly equal size
  size_t block_tiles;                   ///< in the largest; the others have as many or one less
  size_t in_stride, in_point;           ///< floats between tiles and between points of the input
  size_t out_stride, out_point;         ///< and of the products
  struct smr_f32_gemm_plan products;    ///< of a block with block_tiles
  struct smr_f32_gemm_plan products_1;  ///< of a block with one tile less
  const char *kernel;                   ///< name for profiles, e.g. "f32_winograd_f43__avx512"
};

void smr_f32_winograd_plan_make(enum smr_winograd_form form, uint32_t isa,
                                const struct smr_f32_gemm_config *config,
                                const struct smr_f32_winograd_args *args,
                                struct smr_f32_winograd_plan *plan);

/// Tiles in the largest block; needs no plan.
size_t smr_f32_winograd_block_tiles(enum smr_winograd_form form, size_t tiles, size_t channels,
                                    size_t n);

/// Floats of a block's buffers: points and products.
size_t smr_f32_winograd_block_floats(const struct smr_f32_winograd_plan *plan);

/// The most floats of a block with `tiles` tiles or fewer in total.
size_t smr_f32_winograd_most_floats(enum smr_winograd_form form, size_t tiles, size_t channels,
                                    size_t n);

/// Bytes of transformed weights; and transforming panels [begin, end) of ceil(n / 16).
size_t smr_f32_winograd_weight_bytes(enum smr_winograd_form form, size_t channels, size_t n);
void smr_f32_winograd_weights(enum smr_winograd_form form, uint32_t isa,
                              const struct smr_f32_winograd_weights *args, size_t begin,
                              size_t end);

/// The three steps of block `block`, in buffers at `room` (preferably 64-aligned): transform tiles
/// [begin, end) of it; compute units [begin, end) of its products; transform tiles back. Any
/// division of a step gives the same bits. Each step must be complete before the next.
void smr_f32_winograd_input(const struct smr_f32_winograd_plan *plan,
                            const struct smr_f32_winograd_args *args, size_t block, float *room,
                            size_t begin, size_t end);
size_t smr_f32_winograd_units(const struct smr_f32_winograd_plan *plan, size_t block);
void smr_f32_winograd_products(const struct smr_f32_winograd_plan *plan,
                               const struct smr_f32_winograd_args *args, size_t block, float *room,
                               size_t begin, size_t end);
void smr_f32_winograd_output(const struct smr_f32_winograd_plan *plan,
                             const struct smr_f32_winograd_args *args, size_t block,
                             const float *room, size_t begin, size_t end);

/// Number of tiles of block `block`.
size_t smr_f32_winograd_tiles(const struct smr_f32_winograd_plan *plan, size_t block);

#endif
