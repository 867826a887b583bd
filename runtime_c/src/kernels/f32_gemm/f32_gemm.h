// SPDX-License-Identifier: Apache-2.0
// Contract of the float matrix product over weight panels, direct or through an indirection buffer.
//
// For every batch b, row i < m and column j < n
//
//   out[b][i][j] = clamp(bias[b][j] + sum_t sum_c A_b(i, t, c) * W_b[t * k + c][j]
//                        + residual[b][i][j], lo, hi)
//
// with t < taps and c < k. Each output is accumulated in the order (t, c), starting from the bias,
// in whichever tile it is. So the division of work does not change the result, to the bit. (With m
// == 1, direct and taps == 1, a matrix-vector kernel runs; its order depends only on n and k.) NaN
// propagates through the clamp. ISAs with fused multiply-add use it; the portable kernel does not.
//
// SMR_ISA_NEON_FP16 selects float16 arithmetic if weights are float16, n > 16 and the sum has 32
// terms or more; callers that want float32 accuracy clear the bit. A row of A is then divided into
// chunks of 32 terms (t, c). They are rounded to float16, relative to a power of two near the
// chunk's largest magnitude M, and summed in float16; chunks are added in float32. An output
// differs from the exact one by at most 0.0163 sum |A W| + 2^-28 sum M (1 + |W|); with random terms
// by a thousandth of its typical size. Elements that would not be finite are recomputed in float32.
//
// Weights: panels `[ceil(n / 16)][taps * k][16]` of float32 or float16, channels beyond n zero,
// panel p at `w + p * panel_stride_bytes`. Grouped convolution: batch = groups.
//
// No pointer needs alignment beyond 4 bytes (2 for float16). Nothing is read outside A's rows
// `[k]`, the panels, the padded bias and the residual, nothing is written outside out's `[m][n]`.
// `out` may equal `residual` (same type and stride) and must not overlap A, weights or bias.
#ifndef SMR_KERNELS_F32_GEMM_H
#define SMR_KERNELS_F32_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cut.h"
#include "base/parts.h"

enum { SMR_PANEL = 16 };  // channels of a weight panel, see docs/reference/format.md

/// The last two only occur as types of weights. SMR_GEMM_BF16 has separate kernels
/// (kernels/bf16_gemm). SMR_GEMM_S8 has matrix-vector kernels only, which give the bits of a
/// product by the dequantized weights in float32.
typedef enum {
  SMR_GEMM_F32 = 0,
  SMR_GEMM_F16 = 1,
  SMR_GEMM_BF16 = 2,
  SMR_GEMM_S8 = 3
} smr_gemm_type;
enum { SMR_GEMM_TYPES = 4 };

/// A panel of SMR_GEMM_S8: this head, then bytes [k][16]. Columns beyond n are zero. The weight of
/// byte q in column j is (q - zeros[j]) * scales[j].
struct smr_gemm_s8_head {
  float scales[SMR_PANEL];
  uint16_t zeros[SMR_PANEL];  ///< float16
  uint32_t shifted;           ///< 0 if all zero points of the product's panels are 0
  uint32_t unused[7];         ///< the bytes begin at a multiple of 64
};

/// Arguments shared by all tiles of a batch entry.
struct smr_f32_gemm_params {
  size_t k;                   ///< channels per tap
  size_t taps;                ///< 1 unless indirect
  size_t a_stride;            ///< direct: elements between rows of A
  size_t a_offset_bytes;      ///< indirect: added to every pointer but `zero`
  const float *zero;          ///< indirect: [k] zeros (padding), or NULL if there is no padding
  size_t panel_stride_bytes;  ///< between weight panels
  size_t out_stride;          ///< elements between rows of out
  size_t residual_stride;     ///< elements between rows of the residual
  smr_gemm_type out_type;     ///< type of out and residual
  float lo, hi;               ///< clamp; -INFINITY and INFINITY for none
};

/// One tile: rows <= MR, columns <= NR. `a` is its first row (direct) or NULL; `indirect` is its
/// first row of pointers `[rows][taps]` or NULL. `w`, `bias` ([columns] rounded up to 16, or NULL),
/// `out` and `residual` (or NULL) point to its first column.
typedef void (*smr_f32_gemm_ukernel)(size_t rows, size_t columns, const float *a,
                                     const float *const *indirect, const void *w, const float *bias,
                                     void *out, const void *residual,
                                     const struct smr_f32_gemm_params *params);

/// The kernels of one ISA. `ukernel` and `gemv` are indexed by smr_gemm_type of the weights.
/// A matrix-vector kernel has the same signature, rows == 1 and any number of columns.
struct smr_f32_gemm_config {
  const char *isa;
  size_t mr;                  ///< rows of the largest tile of `ukernel`
  size_t nr[SMR_GEMM_TYPES];  ///< its columns, by weight type; multiples of 16
  smr_f32_gemm_ukernel ukernel[SMR_GEMM_TYPES];
  size_t tall_mr;             ///< rows of `tall` (direct, columns <= 16), 0 if there is none
  smr_f32_gemm_ukernel tall;  ///< float32 weights only
  smr_f32_gemm_ukernel gemv[SMR_GEMM_TYPES];
  size_t gemv_nr[SMR_GEMM_TYPES];  ///< best number of columns per call of `gemv`
  const char *names[SMR_GEMM_TYPES], *tall_name, *gemv_names[SMR_GEMM_TYPES];  ///< for profiles
  /// Write k rows of a panel of SMR_GEMM_S8 as floats [k][16].
  void (*unfold_s8)(size_t k, const void *panel, float *out);
  const struct smr_f32_gemm_config *plain;  ///< the same kernels without float16 arithmetic
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_gemm_config *smr_f32_gemm_config(uint32_t isa);

/// Called after each finished block of output, on the thread that computed it, while it is in
/// cache.
typedef void (*smr_f32_gemm_post)(void *context, void *out, size_t rows, size_t columns,
                                  size_t out_stride, smr_gemm_type out_type);

/// Weights that tiles cannot read directly. The panels of a column group are unfolded to float32
/// before its rows are computed.
struct smr_f32_gemm_source {
  /// Unfold rows [first, first + rows) of the panels with columns [column, column + columns) of
  /// batch entry `batch`. The panels start at `w`, `panel_stride_bytes` apart; they are written to
  /// `out`, `out_stride_bytes` apart. NULL: the weights are floats.
  void (*expand)(const void *context, size_t batch, size_t column, size_t columns, const void *w,
                 size_t panel_stride_bytes, size_t first, size_t rows, float *out,
                 size_t out_stride_bytes);
  /// Multiply a row of A by one such panel, from its first row on, and add to sums[16].
  void (*row)(const void *context, size_t batch, size_t column, size_t columns, const void *w,
              const float *a, float *sums);
  const void *context;
  size_t rows;       ///< direct products of at most so many rows use `row`
  size_t first_row;  ///< the product starts at this row of the panels
  float *scratch;    ///< smr_f32_gemm_source_bytes, one per thread
};

/// Bytes of scratch for a product of `rows` = taps * k rows.
size_t smr_f32_gemm_source_bytes(const struct smr_f32_gemm_config *config, size_t rows);

/// The arguments of a product. Strides are in elements unless named `_bytes`.
struct smr_f32_gemm_args {
  size_t batch, m, n, k, taps;  ///< k is channels per tap; all >= 0, taps 1 when direct
  const float *a;               ///< direct: A_b(i, 0, c) = a[b * a_batch_stride + i * a_stride + c]
  size_t a_stride, a_batch_stride;  ///< a_batch_stride shifts the indirect pointers too (not zero)
  const float *const
      *indirect;  ///< NULL, or [m][taps] pointers to [k] floats, row-major, whatever the tile
  size_t a_offset_bytes;  ///< indirect: added to every pointer but `zero`
  const float *zero;      ///< indirect: [k] zeros; pointers equal to it mean padding
  const void *w;
  smr_gemm_type w_type;
  size_t panel_stride_bytes;          ///< usually taps * k * 16 * element size rounded up to 64
  size_t w_batch_stride_bytes;        ///< 0 shares the weights
  struct smr_f32_gemm_source source;  ///< if used, w_type is SMR_GEMM_F32
  const float *bias;                  ///< NULL, or [ceil(n / 16) * 16] per batch entry
  size_t bias_batch_stride;
  void *out;
  smr_gemm_type out_type;
  size_t out_stride, out_batch_stride;
  const void *residual;  ///< NULL, or of out_type; added before the clamp
  size_t residual_stride, residual_batch_stride;
  float lo, hi;
  smr_f32_gemm_post post;  ///< NULL, or run on every finished block
  void *post_context;
};

/// How a product is divided. Depends on the config and on batch, m, n, k, taps, a_stride, w_type,
/// source.rows and whether `indirect` is set; not on pointers or threads. Made once per session.
struct smr_f32_gemm_plan {
  const struct smr_f32_gemm_config *config;
  smr_f32_gemm_ukernel ukernel;
  size_t units;                 ///< length of the range to divide; 0 if there is nothing to do
  struct smr_tile_blocks rows;  ///< tiles over m, of nearly equal height
  size_t group_panels;          ///< panels per column group
  size_t groups;                ///< column groups over n
  const char *kernel;           ///< name for profiles, e.g. "f32_gemm_8x48__avx512"
};

void smr_f32_gemm_plan_make(const struct smr_f32_gemm_config *config,
                            const struct smr_f32_gemm_args *args, struct smr_f32_gemm_plan *plan);

/// Add the micro-kernels that a product by float weights calls to `parts` (may be NULL): those that
/// a plan selects and those that its last tiles need, on every instruction set. `rows_vary`: for
/// any m; `columns_vary`: for any m and n. Fails if this build lacks one.
samara_status smr_f32_gemm_need(const struct smr_f32_gemm_args *args, bool rows_vary,
                                bool columns_vary, struct smr_parts *parts, samara_error *error);

/// Divide the rows of a plan further, into at least `units` units if it has so many tiles.
void smr_f32_gemm_plan_share(struct smr_f32_gemm_plan *plan, size_t units);

/// Compute units [begin, end) of `plan->units`. Disjoint ranges may run concurrently, and any
/// division gives the same bits. Needs no scratch. With k == 0 or taps == 0 the sum is empty.
void smr_f32_gemm_run(const struct smr_f32_gemm_plan *plan, const struct smr_f32_gemm_args *args,
                      size_t begin, size_t end);

/// Bytes of a packed operand: panels of `rows` = taps * k rows and n columns, stride rounded to 64.
size_t smr_panel_stride_bytes(size_t rows, size_t element_bytes);
size_t smr_panels(size_t n);

#endif
