// SPDX-License-Identifier: Apache-2.0
// Packed weights of lstm and gru: their sizes, where they are, and the products by them.
#ifndef SMR_OPS_RECURRENT_PACK_H
#define SMR_OPS_RECURRENT_PACK_H

#include "ops/recurrent/recurrent.h"

/// Describe `count` matrices [n][k] from row `first` of the gates on, which are packed from *bytes
/// on, for products of `rows` rows. Adds their size to *bytes. Fails with LIMIT if that does not
/// fit memory.
samara_status smr_recurrent_weights_make(struct smr_job *job, const struct smr_recurrent *all,
                                         struct smr_recurrent_weights *weights, size_t first,
                                         size_t n, size_t count, size_t k, size_t rows,
                                         size_t *bytes);

/// Request a packed copy of constant w or r, with `bytes` bytes per direction in `count` matrices,
/// or take scratch. Sets its index in job->derived, or -1 and the offset in scratch.
samara_status smr_recurrent_place(struct smr_job *job, const struct smr_recurrent *all,
                                  int32_t input, size_t count, size_t bytes, int32_t *derived,
                                  size_t *offset);

/// Arguments known here of a product of `rows` rows by float weights. `apart`: matrix by matrix.
struct smr_f32_gemm_args smr_recurrent_args(const struct smr_recurrent *all,
                                            const struct smr_recurrent_weights *weights,
                                            size_t rows, bool apart);

/// Record the kernels of such a product.
samara_status smr_recurrent_need(struct smr_job *job, const struct smr_recurrent *all,
                                 const struct smr_f32_gemm_args *args);

/// Take thread scratch for weights that such products dequantize.
samara_status smr_recurrent_take_unfolded(struct smr_job *job, struct smr_recurrent *all);

/// smr_op_funcs.pack of lstm and gru.
samara_status smr_recurrent_pack(const struct smr_job *job, const struct smr_derived *what,
                                 void *out);

/// Pack w or r of one direction.
void smr_recurrent_pack_direction(const struct smr_job *job, const struct smr_recurrent *all,
                                  int32_t input, size_t direction, void *out);

/// Address of this direction's packed w or r.
char *smr_recurrent_packed(const struct smr_recurrent_run *run, int32_t input);

#endif
