// SPDX-License-Identifier: Apache-2.0
// What qmatmul, qconv and qconv_transpose share: packed int8 weights, and what is to be known of
// their columns: the sum's start, zero point and multiplier.
//
// Inputs are x, w, bias?. Weights are read from the file's panels in place, are packed once per
// model (plain constants, through `derived`) or in the prologue of every run (computed weights,
// into scratch). Column sums of constant weights are made once per model too: they hold for every
// node and instruction set. The arrays of columns follow from them, a bias and the parameters of x,
// w and y, a few operations per column in every prologue: nodes that share weights differ in those.
#ifndef SMR_OPS_QLINEAR_H
#define SMR_OPS_QLINEAR_H

#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/matmul/linear.h"

/// Part of the state of the operators.
struct smr_qlinear {
  /* set by the operator: plain element (tap t, row k, column n) of group g lies at
   * g * group_stride + source_tap(t) * tap_stride + k * k_stride + n * n_stride */
  size_t groups, taps, k, n;
  size_t group_stride, tap_stride, k_stride, n_stride;
  size_t (*source_tap)(const struct smr_job *job, size_t tap);  // NULL: itself
  bool depthwise;  // panels [n/16][taps][16], k and groups are 1; else [n/16][rows/4][16][4]
  bool pads_taps;  // each tap is filled up to a multiple of four rows
  bool pads_file;  // but not in the panels of a file: one group, constant; needs qlinear_pad
  size_t parts;    // ranges of taps, in their order, that have column sums of their own
  size_t (*part_taps)(const struct smr_job *job, size_t part);  // NULL: one part
  uint32_t weight_key;  // SMR_LINEAR_KEY_ and exact rest; 0: cannot be said, so never derived
  bool caller_packs;    // computed weights: the operator packs them itself
  /* set by smr_qlinear_prepare */
  const struct smr_i8_gemm_config *config;
  enum smr_linear_source w_from, sums_from;
  size_t tap_rows;  // of a tap in the panels
  size_t panel_stride_bytes, w_group_bytes, w_bytes;
  size_t columns;  // n rounded up to whole panels
  size_t w_offset, sums_offset, start_offset, multiplier_offset, zero_offset;  // in scratch
  bool has_w_zero;
  size_t scale_groups;  // that have zero points and multipliers: with SMR_LINEAR_CALLER one for all
  smr_i8_output to;
  int32_t x_zero, zero, lo, hi;
  float scale;  // of the output
};

/// The operators' own check: dtypes and parameters of quantization (w's per tensor, or per index of
/// `axis`), that the output has dtype `to`,
/// and that no sum of `depth` products leaves int32 before it is requantized.
samara_status smr_qlinear_check(const struct smr_job *job,
                                const struct smr_attrs_int8_output *attrs, int64_t to,
                                uint32_t axis, int64_t depth);

/// Decide where weights and sums come from; fill `derived`, add scratch, read the attributes.
samara_status smr_qlinear_prepare(struct smr_job *job, const struct smr_attrs_int8_output *attrs,
                                  struct smr_qlinear *linear);

/// For the functions' `pack`.
samara_status smr_qlinear_pack(const struct smr_job *job, const struct smr_qlinear *linear,
                               void *out);

/// Pack what is packed in every run, and fill the arrays of columns.
void smr_qlinear_prologue(const struct smr_job *job, const struct smr_qlinear *linear);

/// Pack group `group` of plain weights.
void smr_qlinear_pack_group(const struct smr_job *job, const struct smr_qlinear *linear,
                            size_t group, int8_t *out);

/// Where the products of part `part` start, with packed weights that the caller keeps: one part,
/// one group.
void smr_qlinear_start(const struct smr_job *job, const struct smr_qlinear *linear,
                       const int8_t *panels, int32_t *start);

/// Weights (not with SMR_LINEAR_CALLER), while running.
const int8_t *smr_qlinear_weights(const struct smr_job *job, const struct smr_qlinear *linear);

/// The arrays of a group's columns; those of the next groups follow, `columns` elements apart. Of
/// depthwise weights `start` is the bias.
struct smr_i8_gemm_columns smr_qlinear_columns(const struct smr_job *job,
                                               const struct smr_qlinear *linear, size_t part,
                                               size_t group);

/// Fill what a product takes from here: batch, n, weights, columns, the kind of output.
void smr_qlinear_args(const struct smr_job *job, const struct smr_qlinear *linear, size_t part,
                      struct smr_i8_gemm_args *args);

/// smr_i8_gemm_run for a product inside a tile: looks at the clock on the way.
samara_status smr_qlinear_multiply(struct smr_deadline_watch *watch,
                                   const struct smr_i8_gemm_plan *plan,
                                   const struct smr_i8_gemm_args *args, size_t begin, size_t end);

/// Bytes of an element of the output.
static inline size_t smr_qlinear_out_bytes(const struct smr_qlinear *linear) {
  return smr_i8_output_bytes(linear->to);
}

#endif
