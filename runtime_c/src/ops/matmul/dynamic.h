// SPDX-License-Identifier: Apache-2.0
// What conv_dynamic and matmul_dynamic share: quantized weights for products of bytes, and the
// arrays of their columns.
//
// y = float(sum of q * (w - z_w)) * (s * s_w) + bias, where q and s are computed from x at run
// time.
#ifndef SMR_OPS_DYNAMIC_H
#define SMR_OPS_DYNAMIC_H

#include "kernels/i8_dynamic/i8_dynamic.h"
#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/matmul/linear.h"

/// First member of the operators' state. Columns cover all groups, each padded to whole panels.
struct smr_dynamic {
  struct smr_linear linear;  // weights in panels of bytes, bias, clamp, activation
  uint32_t sums_derived;
  enum smr_linear_source sums_from;                                  // of the column sums of the
                                                                     // weights
  size_t sums_offset, start_offset, multiplier_offset, zero_offset;  // in scratch
  bool shifted;                                                      // some weight has a zero point
};

/// Prepares the weights. The operator has set the fields of struct smr_linear that it must set.
samara_status smr_dynamic_prepare(struct smr_job *job, const struct smr_attrs_epilogue *epilogue,
                                  struct smr_dynamic *dynamic);

/// The functions' `pack`.
samara_status smr_dynamic_pack(const struct smr_job *job, const struct smr_derived *what,
                               void *out);
/// The same for a struct smr_dynamic elsewhere in the state.
samara_status smr_dynamic_pack_to(const struct smr_job *job, const struct smr_dynamic *dynamic,
                                  const struct smr_derived *what, void *out);

/// Called alone, before the tiles.
void smr_dynamic_prologue(const struct smr_job *job, const struct smr_dynamic *dynamic);
/// The same for a product that needs only weights, bias and multipliers.
void smr_dynamic_prologue_row(const struct smr_job *job, const struct smr_dynamic *dynamic);

/// Subtract `zero`, the number that stands for 0 in q, from every q: it becomes known after the
/// prologue.
void smr_dynamic_shift(const struct smr_job *job, const struct smr_dynamic *dynamic, int32_t zero);
/// The same for sums that do not begin with the columns' start: what to add to each of one group.
void smr_dynamic_shifts(const struct smr_job *job, const struct smr_dynamic *dynamic, int32_t zero,
                        int32_t *shifts);

/// Set the arguments known here: batch, n, weights, columns, clamp, activation, kind of output.
void smr_dynamic_args(const struct smr_job *job, const struct smr_dynamic *dynamic,
                      struct smr_i8_gemm_args *args);

#endif
