// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient share: where the rows of a head lie, and the weights of a block.
//
// Inputs 0 to 2 are q, k, v. A product is a head of a batch entry; its query rows come in blocks
// whose weights, softmax(scale * q kᵀ + mask), live in thread scratch, so the matrix of all weights
// never exists.
#ifndef SMR_OPS_ATTENTION_H
#define SMR_OPS_ATTENTION_H

#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/f32_softmax/f32_softmax.h"
#include "kernels/f32_vbinary/f32_vbinary.h"
#include "ops/deadline.h"
#include "ops/op.h"

/// Where the rows of one operand lie, in elements.
struct smr_attention_rows {
  size_t batch_stride, head_stride, row_stride;
};

/// An operand packed into panels, in thread scratch.
struct smr_attention_panels {
  size_t offset, stride_bytes;
};

struct smr_attention {
  size_t heads, products;  // heads of one batch entry; all of them
  size_t s, t, d, dv;
  struct smr_attention_rows q, k, v, y;
  uint32_t mask_input;
  uint32_t leading;
  size_t lead[SAMARA_MAX_RANK];       // batch and heads
  size_t mask_lead[SAMARA_MAX_RANK];  // strides of the mask along them, 0 where it has 1
  size_t mask_row, mask_column;       // the same along S and T
  size_t block_rows, blocks;          // blocks of one head
  struct smr_attention_panels keys;   // kᵀ
  size_t queries_offset, scores_offset, score_stride;
  float scale;
  bool causal;
  const struct smr_f32_gemm_config *gemm;
  smr_f32_softmax_row softmax;
  smr_f32_vbinary_ukernel add, mul;
};

/// Fail unless all operands have one float type.
samara_status smr_attention_check(const struct smr_job *job);

/// Sizes and strides; `y` has the dims of the output.
void smr_attention_read(const struct smr_job *job, struct smr_attention *all,
                        const struct smr_tensor *y, uint32_t mask_input);

/// Cut the rows into blocks of at most `most_rows` and take thread scratch for keys, queries and
/// weights. s must not be 0.
samara_status smr_attention_take_scratch(struct smr_job *job, struct smr_attention *all,
                                         size_t most_rows);
/// Needs of the kernels of attention weights, but for products.
samara_status smr_attention_need(struct smr_job *job, const struct smr_attention *attention);
/// Take thread scratch for `columns` columns of `rows` rows in panels.
samara_status smr_attention_take_panels(struct smr_job *job, size_t rows, size_t columns,
                                        struct smr_attention_panels *panels);

/// Head number `product` of an operand.
float *smr_attention_head(const struct smr_attention *all, const struct smr_tensor *x,
                          const struct smr_attention_rows *rows, size_t product);

/// Pack rows [0, n) of a head into `panels` of `scratch`: as they are, or transposed.
void smr_attention_pack(const struct smr_job *job, const float *head,
                        const struct smr_attention_rows *rows, size_t n, size_t width,
                        bool transposed, const struct smr_attention_panels *panels, char *scratch);

/// Keys that a block of rows sees.
size_t smr_attention_keys(const struct smr_attention *all, size_t first, size_t rows);
/// Keys that row `first + i` of it sees; `keys` as above.
size_t smr_attention_seen(const struct smr_attention *all, size_t row, size_t keys);

/// The weights of `rows` rows from `first` on, 0 where keys are not seen, at scores_offset of
/// `scratch`; the rows of q times scale at queries_offset. The keys have been packed.
samara_status smr_attention_weights(struct smr_deadline_watch *watch,
                                    const struct smr_attention *all, size_t product, size_t first,
                                    size_t rows, char *scratch);

/// A whole product, unpacked sizes in `args`; lo and hi are set here.
samara_status smr_attention_multiply(struct smr_deadline_watch *watch,
                                     const struct smr_attention *all,
                                     struct smr_f32_gemm_args args);

#endif
