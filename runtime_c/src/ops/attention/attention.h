// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient share: addresses of the rows of a head, and the weights of a
// block.
//
// Inputs 0 to 2 are q, k, v. One product is computed per head of each batch entry. Its query rows
// are divided into blocks. The weights of a block, softmax(scale * q kᵀ + mask), are in thread
// scratch, so the matrix of all weights is never stored.
#ifndef SMR_OPS_ATTENTION_H
#define SMR_OPS_ATTENTION_H

#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/f32_softmax/f32_softmax.h"
#include "kernels/f32_vbinary/f32_vbinary.h"
#include "ops/deadline.h"
#include "ops/op.h"

/// Heads of a batch entry, and strides of the rows of an operand in elements.
struct smr_attention_rows {
  size_t heads, batch_stride, head_stride, row_stride;
};

/// Keys [begin, end).
struct smr_attention_span {
  size_t begin, end;
};

/// An operand packed into panels, in thread scratch.
struct smr_attention_panels {
  size_t offset, stride_bytes;
};

struct smr_attention {
  size_t products;  // heads of q in all batch entries
  size_t groups;    // heads of q that share one of k and v
  size_t s, t, d, dv;
  struct smr_attention_rows q, k, v, y;
  uint32_t mask_input;
  uint32_t leading;
  size_t lead[SAMARA_MAX_RANK];       // batch and heads
  size_t mask_lead[SAMARA_MAX_RANK];  // strides of the mask along them, 0 if the mask has extent 1
  size_t mask_row, mask_column;       // strides of the mask along S and T
  size_t block_rows, blocks;          // blocks of one head
  struct smr_attention_panels keys;   // kᵀ
  size_t queries_offset, scores_offset, score_stride;
  float scale;
  bool causal;
  size_t ahead, behind;  // row i, if causal, is key i + ahead - behind; one of them is 0
  size_t window;         // most keys of a row, if causal
  const struct smr_f32_gemm_config *gemm;
  smr_f32_softmax_row softmax;
  smr_f32_vbinary_ukernel add, mul;
};

/// Fail unless all operands have one float type.
samara_status smr_attention_check(const struct smr_job *job);

/// Set sizes and strides; `y` has the dims of the output.
void smr_attention_read(const struct smr_job *job, struct smr_attention *all,
                        const struct smr_tensor *y, uint32_t mask_input);

/// Divide the rows into blocks of at most `most_rows`. Take thread scratch for keys, queries and
/// weights. s must not be 0.
samara_status smr_attention_take_scratch(struct smr_job *job, struct smr_attention *all,
                                         size_t most_rows);
/// Record the kernels for attention weights, except for products.
samara_status smr_attention_need(struct smr_job *job, const struct smr_attention *attention);
/// Take thread scratch for panels of `columns` columns and `rows` rows.
samara_status smr_attention_take_panels(struct smr_job *job, size_t rows, size_t columns,
                                        struct smr_attention_panels *panels);

/// Head number `head` of an operand, over all batch entries. That of k and v for a product is
/// product / groups.
float *smr_attention_head(const struct smr_tensor *x, const struct smr_attention_rows *rows,
                          size_t head);

/// Pack n rows from `head` on into `panels` in `scratch`, plain or transposed.
void smr_attention_pack(const struct smr_job *job, const float *head,
                        const struct smr_attention_rows *rows, size_t n, size_t width,
                        bool transposed, const struct smr_attention_panels *panels, char *scratch);

/// Keys visible to a row.
struct smr_attention_span smr_attention_seen(const struct smr_attention *all, size_t row);
/// Keys visible to any of a block of rows. If they are packed from key `origin` on, the span begins
/// at a panel of them.
struct smr_attention_span smr_attention_keys(const struct smr_attention *all, size_t first,
                                             size_t rows, size_t origin);

/// Compute the weights of `rows` rows from `first` on for `keys` at scores_offset in `scratch`; 0
/// for keys that are not visible. Writes q * scale at queries_offset. The keys must be packed from
/// key `origin` on.
samara_status smr_attention_weights(struct smr_deadline_watch *watch,
                                    const struct smr_attention *all, size_t product, size_t first,
                                    size_t rows, struct smr_attention_span keys, size_t origin,
                                    char *scratch);

/// Compute a product of the unpacked sizes in `args`. Sets lo and hi.
samara_status smr_attention_multiply(struct smr_deadline_watch *watch,
                                     const struct smr_attention *all,
                                     struct smr_f32_gemm_args args);

#endif
