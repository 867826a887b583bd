// SPDX-License-Identifier: Apache-2.0
// What qmatmul, qconv and qconv_transpose share: packed int8 weights, and for each column the start
// of its sum, its zero point and its multiplier.
//
// Inputs are x, w, bias?. Weights are read from the file's panels in place, are packed once per
// model (plain constants, through `derived`), or are packed in the prologue of every run (computed
// weights, into scratch). Column sums of constant weights are also made once per model: they are
// valid for every node and instruction set. The column arrays follow from these sums, the bias and
// the quantization parameters of x, w and y. As nodes that share weights differ in the latter,
// every prologue computes the arrays, at a few operations per column.
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
  size_t (*source_tap)(const struct smr_job *job, size_t tap);  // NULL: identity
  bool depthwise;  // panels [n/16][taps][16], k and groups are 1; else [n/16][rows/4][16][4]
  bool pads_taps;  // pad each tap to a multiple of four rows
  bool pads_file;  // but panels of the file are not padded: one group, constant; needs qlinear_pad
  size_t parts;    // consecutive ranges of taps with separate column sums
  size_t (*part_taps)(const struct smr_job *job, size_t part);  // NULL: one part
  uint32_t weight_key;  // SMR_LINEAR_KEY_ and an exact rest; 0: no key can express it, so never
                        // derived
  bool caller_packs;    // the operator packs computed weights
  /* set by smr_qlinear_prepare */
  const struct smr_i8_gemm_config *config;
  enum smr_linear_source w_from, sums_from;
  size_t tap_rows;  // rows per tap in the panels
  size_t panel_stride_bytes, w_group_bytes, w_bytes;
  size_t columns;  // n rounded up to whole panels
  size_t w_offset, sums_offset, start_offset, multiplier_offset, zero_offset;  // in scratch
  bool has_w_zero;
  size_t scale_groups;  // groups with zero points and multipliers; with SMR_LINEAR_CALLER one for
                        // all
  smr_i8_output to;
  int32_t x_zero, zero, lo, hi;
  float scale;  // of the output
};

/// Check dtypes and quantization parameters (of w: per tensor, or per index of `axis`), that the
/// output has dtype `to`, and that no sum of `depth` products overflows int32 before
/// requantization.
samara_status smr_qlinear_check(const struct smr_job *job,
                                const struct smr_attrs_int8_output *attrs, int64_t to,
                                uint32_t axis, int64_t depth);

/// Decide where weights and sums come from; fill `derived`, take scratch, read the attributes.
samara_status smr_qlinear_prepare(struct smr_job *job, const struct smr_attrs_int8_output *attrs,
                                  struct smr_qlinear *linear);

/// For the functions' `pack`.
samara_status smr_qlinear_pack(const struct smr_job *job, const struct smr_qlinear *linear,
                               void *out);

/// Pack what must be packed in every run, and fill the column arrays.
void smr_qlinear_prologue(const struct smr_job *job, const struct smr_qlinear *linear);

/// Pack group `group` of plain weights.
void smr_qlinear_pack_group(const struct smr_job *job, const struct smr_qlinear *linear,
                            size_t group, int8_t *out);

/// Start values of the products of part `part`, for packed weights that the caller keeps: one part,
/// one group.
void smr_qlinear_start(const struct smr_job *job, const struct smr_qlinear *linear,
                       const int8_t *panels, int32_t *start);

/// Address of the weights (not with SMR_LINEAR_CALLER), while running.
const int8_t *smr_qlinear_weights(const struct smr_job *job, const struct smr_qlinear *linear);

/// The arrays of a group's columns. Groups are `columns` elements apart. With depthwise weights
/// `start` is the bias.
struct smr_i8_gemm_columns smr_qlinear_columns(const struct smr_job *job,
                                               const struct smr_qlinear *linear, size_t part,
                                               size_t group);

/// Set the arguments known here: batch, n, weights, columns, the kind of output.
void smr_qlinear_args(const struct smr_job *job, const struct smr_qlinear *linear, size_t part,
                      struct smr_i8_gemm_args *args);

/// smr_i8_gemm_run for a product inside a tile. Checks the deadline on the way.
samara_status smr_qlinear_multiply(struct smr_deadline_watch *watch,
                                   const struct smr_i8_gemm_plan *plan,
                                   const struct smr_i8_gemm_args *args, size_t begin, size_t end);

/// Bytes of an element of the output.
static inline size_t smr_qlinear_out_bytes(const struct smr_qlinear *linear) {
  return smr_i8_output_bytes(linear->to);
}

#endif
